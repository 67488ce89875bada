"""Polls and their votes: bounded, anonymous, the same for every server process, and refused where a message was made by hand."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.server import poll_store
from tests.conftest import ROOT

PROCESS = """
import sys
from app.server import poll_store
poll = poll_store.find_poll(sys.argv[1])
for i in range(40):
    poll_store.store_vote(poll, f"{i:031x}{sys.argv[2]}", i % 3)
print(sum(poll_store.count_votes(poll)))
"""


def voter(number: int) -> str:
    return f"{number:032x}"


def ask(patches: int = 16) -> poll_store.Poll:
    return poll_store.find_poll(poll_store.open_poll("cat", "small", patches))


def test_a_phone_has_one_vote_which_it_may_change_until_the_poll_is_closed():
    poll = ask()
    poll_store.store_vote(poll, voter(1), 3)
    poll_store.store_vote(poll, voter(2), 3)
    poll_store.store_vote(poll, voter(2), 15)
    assert poll_store.count_votes(poll) == [0, 0, 0, 1] + [0] * 11 + [1] and poll_store.find_vote(poll.code, voter(2)) == 15
    poll_store.set_poll_open(poll.code, False)
    with pytest.raises(poll_store.PollError, match="closed"):
        poll_store.store_vote(poll, voter(2), 3)
    poll_store.restart_poll(poll.code, "espresso", "small", 16)
    with pytest.raises(poll_store.PollError, match="another photo"):
        poll_store.store_vote(poll, voter(2), 3)  # of the photo before
    again = poll_store.find_poll(poll.code)
    assert again == poll._replace(photo="espresso") and sum(poll_store.count_votes(again)) == 0
    poll_store.end_poll(poll.code)
    with pytest.raises(poll_store.PollError, match="No poll"):
        poll_store.store_vote(again, voter(2), 3)


def test_what_no_page_sends_is_refused_and_changes_nothing():
    poll = ask()
    for patch in (-1, 16, 10**30, 1.0, True, "3", None, [3], {"patch": 3}):
        with pytest.raises(poll_store.PollError, match="no such patch"):
            poll_store.store_vote(poll, voter(1), patch)
    for name in ("", "x" * 32, "0" * 33, voter(1).upper() + "'", None, 3, b"0" * 32):
        with pytest.raises(poll_store.PollError):
            poll_store.store_vote(poll, name, 3)
    for code in ("", poll.code.lower(), poll.code + "'", "%", None, 3, ["a"] * 7, "Z" * 10**6):
        with pytest.raises(poll_store.PollError, match="No poll"):
            poll_store.find_poll(code)
    for patches in (0, -1, poll_store.MOST_PATCHES + 1):
        with pytest.raises(poll_store.PollError):
            poll_store.open_poll("cat", "small", patches)
    assert sum(poll_store.count_votes(poll)) == 0


def test_polls_votes_and_age_are_bounded(monkeypatch):
    monkeypatch.setattr(poll_store, "MOST_VOTES", 20)
    monkeypatch.setattr(poll_store, "MOST_POLLS", 3)
    first, refused = ask(), 0
    for number in range(60):
        try:
            poll_store.store_vote(first, voter(number), number % 16)
        except poll_store.PollError:
            refused += 1
    poll_store.store_vote(first, voter(1), 9)  # whoever has voted may change it
    assert sum(poll_store.count_votes(first)) == 20 and refused == 40
    ask(), ask()
    with pytest.raises(poll_store.PollError, match="3 polls"):
        ask()
    now = poll_store.time.time()
    monkeypatch.setattr(poll_store.time, "time", lambda: now + poll_store.LIFETIME_S + 1)
    with pytest.raises(poll_store.PollError, match="No poll"):
        poll_store.find_poll(first.code)
    ask()  # those that are over make way, and their votes with them
    assert sum(poll_store.count_votes(first)) == 0


def test_server_processes_and_their_threads_see_the_same_votes():
    poll = ask()
    command = [sys.executable, "-c", PROCESS, poll.code]
    others = [subprocess.Popen([*command, name], cwd=ROOT, stdout=subprocess.PIPE, text=True) for name in "ab"]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: poll_store.store_vote(poll, voter(number), 5), range(1000, 1040)))
    seen = [int(one.communicate(timeout=60)[0]) for one in others]
    assert all(one >= 40 for one in seen)
    assert poll_store.count_votes(poll)[:6] == [28, 26, 26, 0, 0, 40]  # 40 of each, in thirds


def test_a_folder_that_cannot_be_written_is_said(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("INSIDE_VIT_POLLS", str(tmp_path / "file"))
    with pytest.raises(poll_store.PollError, match="can't be kept"):
        ask()
    monkeypatch.setenv("INSIDE_VIT_POLLS", str(tmp_path))
    poll_store.poll_database_file().write_text("no database " * 100)
    with pytest.raises(poll_store.PollError, match="can't be kept"):
        ask()

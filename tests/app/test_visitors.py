"""What a visitor brings is the visitor's alone, and gone when they leave: two visits to one server, and a look inside."""

import gc
import re
import time
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest
from app_server import Visit
from picture_files import corners, saved
from PIL import Image
from streamlit.runtime import Runtime

from app.state.memory import media_files, memory_cache, visitor_storage
from vitcore.images import Photo

MINE = saved(corners((300, 200)), "PNG")


@pytest.fixture
def hurry(monkeypatch):
    """Two minutes in a moment."""
    monkeypatch.setattr(visitor_storage, "GRACE_S", 0.5)
    monkeypatch.setattr(visitor_storage, "CHECK_INTERVAL_S", 0.2)
    monkeypatch.setattr(visitor_storage, "_watchman", None)  # the next visitor's: the one there is may sleep for 20 seconds yet
    monkeypatch.setattr(Runtime.instance()._session_mgr._session_storage._cache, "_ttl", 0.5)


@pytest.fixture
def nothing_set_aside():
    """What `tests/conftest.py` has set aside is looked through as well; for the tests after this it is set aside again."""
    gc.unfreeze()
    yield
    gc.collect()
    gc.freeze()


def mine(part: str) -> list[tuple]:
    return [key for key in memory_cache.CACHE.keys() if any(part in str(word) for word in key)]


def alive(*kinds: type) -> list:
    """Objects of these kinds that the collector knows. Their types alone are asked: what a weak proxy stands for may be gone."""
    gc.unfreeze()  # the app itself sets aside what is there when it has run for a while
    return [one for one in gc.get_objects() if issubclass(type(one), kinds)]


def wait_for(what, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not what() and time.monotonic() < until:
        time.sleep(0.1)
    assert what()


def test_two_visits_with_the_same_photo(server, hurry, nothing_set_aside):
    one, two = Visit(server).open("patches"), Visit(server).open("patches")
    one.upload("file", "my-secret-diary.png", MINE)
    assert "my-secret-diary.png" in one.text
    two.upload("file", "holiday.png", MINE)
    assert "holiday.png" in two.text and "diary" not in two.text, "the same bytes, and a name of one's own"
    for visit in (one, two):
        visit.open("report")
    assert "diary" not in two.text and "holiday" not in one.text
    assert mine("my-secret-diary") and mine("holiday")
    names = {photo.name for photo in alive(Photo)}
    assert {"my-secret-diary.png", "holiday.png"} <= names

    one.close()
    wait_for(lambda: not mine("my-secret-diary"))
    wait_for(lambda: Runtime.instance().uploaded_file_mgr.get_files(one.session, ["file-my-secret-diary.png"]) == [])
    gc.collect()
    assert "my-secret-diary.png" not in {photo.name for photo in alive(Photo)}
    assert mine("holiday"), "who is still there keeps theirs"
    two.open("patches")
    assert "holiday.png" in two.text
    two.close()
    wait_for(lambda: not mine("holiday"))


def ticket(visit: Visit) -> str:
    """What its page was given to keep."""
    return re.findall(r'"ticket": ?"([^"]+)"', visit.text)[-1]


def again(server: str, shown: str) -> Visit:
    """A page that is loaded again, at the address it had."""
    return Visit(server, f"{visitor_storage.COOKIE}={shown}").open("patches", "photo=your-photo")


@pytest.mark.parametrize("public", ["0", "1"])
def test_a_page_that_is_loaded_again_has_its_visitors_photo(server, monkeypatch, public):
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", public)
    one, other = Visit(server).open("patches"), Visit(server).open("patches")
    one.upload("file", "my-holiday.png", MINE)
    shown, theirs = ticket(one), ticket(other)
    assert shown != theirs and len(shown) > 40
    one.close()
    back = again(server, shown)
    assert "my-holiday.png" in back.text and "is not here" not in back.text and ticket(back) == shown
    back.close()
    twice = again(server, shown)
    assert "my-holiday.png" in twice.text, "as often as it is loaded"
    for nobodys in (theirs, shown[:-1], "*"):
        stranger = again(server, nobodys)
        assert "my-holiday.png" not in stranger.text and "The photo of this link is not here" in stranger.text
        stranger.close()
    assert len(mine("my-holiday")) == len(set(mine("my-holiday"))) and sum(k[0] == "upload" for k in mine(me_of(shown))) == 1
    for visit in (twice, other):
        visit.close()


def me_of(shown: str) -> str:
    return visitor_storage._tickets[shown]


def test_a_ticket_is_good_for_as_long_as_the_photo_is_kept(server, hurry):
    one = Visit(server).open("patches")
    one.upload("file", "gone-soon.png", MINE)
    shown = ticket(one)
    tab = again(server, shown)
    one.close()
    time.sleep(4 * (visitor_storage.GRACE_S + visitor_storage.CHECK_INTERVAL_S))
    assert mine("gone-soon"), "another tab of the same visitor is open"
    tab.close()
    wait_for(lambda: not mine("gone-soon"))
    late = again(server, shown)
    assert "gone-soon" not in late.text and shown not in visitor_storage._tickets and ticket(late) != shown
    assert ticket(late).rpartition(".")[2] == shown.rpartition(".")[2], "the same tab, by which a poll knows a phone"
    late.close()


def test_nothing_of_a_visitor_is_left_anywhere(server, hurry, nothing_set_aside):
    """Pictures made of the photo and not only the photo: its pixels are one colour that nothing else has."""
    colour = (13, 237, 101)
    one = Visit(server).open("patches")
    one.upload("file", "green.png", saved(Image.new("RGB", (128, 128), colour), "PNG"))
    for page in ("", "attention", "distance", "rollout", "quiz", "report"):
        one.open(page)

    def traces() -> int:
        arrays = [np.asarray(o) for o in alive(np.ndarray, Image.Image)]
        whole = [a for a in arrays if a.ndim == 3 and a.shape[-1] == 3 and a.dtype == np.uint8 and a.size > 10_000]
        return sum(bool((a == colour).all()) for a in whole)

    assert len(mine("green.png")) > 5
    one.close()
    wait_for(lambda: not mine("green.png"))
    wait_for(lambda: gc.collect() >= 0 and traces() == 0)


def test_after_half_an_hour_it_is_gone_even_where_nobody_can_tell(monkeypatch):
    """No server, no sign of life."""
    memory_cache.CACHE.put(("upload", "somebody"), b"x" * 1000, pinned=True)
    monkeypatch.setattr(visitor_storage, "_last_visits", {"somebody": ({""}, time.monotonic())})
    monkeypatch.setattr(visitor_storage.runtime, "exists", lambda: False)
    now = time.monotonic()
    assert visitor_storage.departed_visitors(now + visitor_storage.SILENCE_S - 1) == []
    assert visitor_storage.departed_visitors(now + visitor_storage.SILENCE_S + 1) == ["somebody"]
    assert visitor_storage.SILENCE_S <= 30 * 60
    visitor_storage.forget_visitor("somebody")
    assert memory_cache.CACHE.peek(("upload", "somebody")) is None


def test_every_message_comes_whole(server):
    """A reference is to what the browser said it has; by then it may have forgotten it, and the page is dead."""
    visit = Visit(server).open("bring")
    largest = max(visit.said, key=len)
    assert visit.open("bring").references == 0
    assert len(largest) > 10_000 and largest in visit.said, "which Streamlit would replace by a reference"
    visit.close()


def test_a_download_waits_for_who_asked_for_it(server, monkeypatch):
    """It is made when it is asked for, and other visitors' runs end before a slow line has fetched it."""
    one, other = Visit(server).open("rollout"), Visit(server).open("patches")
    files = Runtime.instance().media_file_mgr
    asked = next(file for file, made in files._deferred_callables.items() if made["session_id"] == one.session)
    address = server.replace("ws:", "http:").replace("/_stcore/stream", files.execute_deferred(asked))
    for _ in range(3):
        other.open("patches")
    with urlopen(address) as answer:
        assert len(answer.read()) > 1000
    later = media_files.DELAY_S + 1
    monkeypatch.setattr(media_files, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + later))
    media_files.delete_due_files()
    with pytest.raises(HTTPError, match="404"):
        urlopen(address)
    for visit in (one, other):
        visit.close()

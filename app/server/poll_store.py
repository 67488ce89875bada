"""Polls in a lecture: which patch of a photo mattered, one anonymous vote a phone, kept in one small SQLite file.

Every server process on the machine reads the same file, for a proxy scatters phones among them. Nothing in it tells a person: a
vote is a patch and a random name of a phone's tab. All is bounded: polls, votes of each, and how long they are kept.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from app import texts

if TYPE_CHECKING:
    import sqlite3

MOST_POLLS, MOST_VOTES, MOST_PATCHES = 200, 2000, 4096
LIFETIME_S = 4 * 60 * 60  # after its photo was asked about last
ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # nothing that is read as something else
CODE_LETTERS = 7  # 35 bits: with all polls open, a guess meets one in 170 million times
VOTER = re.compile("[0-9a-f]{32}")
WAIT_S = 5.0  # for another process that writes
TABLES = """
CREATE TABLE IF NOT EXISTS polls (code TEXT PRIMARY KEY, photo TEXT, model TEXT, patches INTEGER, is_open INTEGER, asked_s REAL);
CREATE TABLE IF NOT EXISTS votes (code TEXT, voter TEXT, patch INTEGER, PRIMARY KEY (code, voter)) WITHOUT ROWID;
"""


class PollError(ValueError):
    """What a poll can't do; the message is one sentence for whoever asked."""


class Poll(NamedTuple):
    """A poll: the photo and the model that it asks about, by their names in an address, and how many patches there are."""

    code: str
    photo: str
    model: str
    patches: int
    is_open: bool


def poll_database_file() -> Path:
    """Where polls are kept: `INSIDE_VIT_POLLS`, a folder, or the app's cache in the home folder."""
    return Path(os.environ.get("INSIDE_VIT_POLLS") or Path.home() / ".cache" / "inside-vit") / "polls.sqlite3"


def open_poll(photo: str, model: str, patches: int) -> str:
    """The code of a new poll. Raises: PollError, where there are too many or they can't be kept."""
    code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LETTERS))
    with _connection() as db:
        old = time.time() - LIFETIME_S
        db.execute("DELETE FROM votes WHERE code IN (SELECT code FROM polls WHERE asked_s < ?)", (old,))
        db.execute("DELETE FROM polls WHERE asked_s < ?", (old,))
        if db.execute("SELECT count(*) FROM polls").fetchone()[0] >= MOST_POLLS:
            raise _refusal("too many", count=MOST_POLLS)
        db.execute("INSERT INTO polls VALUES (?, ?, ?, ?, 1, ?)", (code, photo, model, _checked_count(patches), time.time()))
    return code


def find_poll(code: str) -> Poll:
    """The poll of this code. Raises: PollError, where there is none (any more)."""
    with _connection() as db:
        return _find(db, code)


def restart_poll(code: str, photo: str, model: str, patches: int) -> None:
    """The poll asks about this photo and model from now on; earlier votes are gone. Raises: PollError."""
    with _connection() as db:
        db.execute("DELETE FROM votes WHERE code = ?", (_find(db, code).code,))
        asked = (photo, model, _checked_count(patches), time.time(), code)
        db.execute("UPDATE polls SET photo = ?, model = ?, patches = ?, is_open = 1, asked_s = ? WHERE code = ?", asked)


def set_poll_open(code: str, is_open: bool) -> None:
    """Take votes, or take no more. Raises: PollError."""
    with _connection() as db:
        db.execute("UPDATE polls SET is_open = ? WHERE code = ?", (int(is_open), _find(db, code).code))


def end_poll(code: str) -> None:
    """Forget a poll and its votes. Raises: PollError, where they can't be reached."""
    with _connection() as db:
        db.execute("DELETE FROM votes WHERE code = ?", (code,))
        db.execute("DELETE FROM polls WHERE code = ?", (code,))


def store_vote(poll_as_shown: Poll, voter: str, patch: Any) -> None:
    """Take the vote of a phone that was shown this poll; it takes the place of its last one.

    voter: 32 hexadecimal digits, the phone's random name. Raises: PollError, where the poll is closed, asks about another photo
    by now, is full, or has no such patch.
    """
    with _connection() as db:
        poll = _find(db, poll_as_shown.code)
        if poll._replace(is_open=poll_as_shown.is_open) != poll_as_shown:
            raise _refusal("asks other")
        if not poll.is_open:
            raise _refusal("closed")
        is_patch = isinstance(patch, int) and not isinstance(patch, bool) and 0 <= patch < poll.patches
        if not is_patch or not isinstance(voter, str) or not VOTER.fullmatch(voter):
            raise _refusal("no patch")
        known = db.execute("SELECT 1 FROM votes WHERE code = ? AND voter = ?", (poll.code, voter)).fetchone()
        if not known and db.execute("SELECT count(*) FROM votes WHERE code = ?", (poll.code,)).fetchone()[0] >= MOST_VOTES:
            raise _refusal("full", count=MOST_VOTES)
        db.execute("INSERT OR REPLACE INTO votes VALUES (?, ?, ?)", (poll.code, voter, patch))


def find_vote(code: str, voter: str) -> int | None:
    """The patch that a phone has voted for. Raises: PollError."""
    with _connection() as db:
        found = db.execute("SELECT patch FROM votes WHERE code = ? AND voter = ?", (code, voter)).fetchone()
    return None if found is None else int(found[0])


def count_votes(poll: Poll) -> list[int]:
    """Votes by patch, (patches,). Raises: PollError."""
    counts = [0] * poll.patches
    with _connection() as db:
        for patch, votes in db.execute("SELECT patch, count(*) FROM votes WHERE code = ? GROUP BY patch", (poll.code,)):
            if patch < poll.patches:  # of a moment ago, when the poll asked about a model with a larger grid
                counts[patch] = votes
    return counts


def _find(db: sqlite3.Connection, code: Any) -> Poll:
    known = isinstance(code, str) and len(code) == CODE_LETTERS
    row = known and db.execute(
        "SELECT code, photo, model, patches, is_open FROM polls WHERE code = ? AND asked_s >= ?", (code, time.time() - LIFETIME_S)
    ).fetchone()  # fmt: skip
    if not row:
        raise _refusal("no poll")
    code, photo, model, patches, is_open = row
    return Poll(code, photo, model, patches, bool(is_open))


def _checked_count(patches: int) -> int:
    if not 0 < patches <= MOST_PATCHES:
        raise _refusal("too fine", count=MOST_PATCHES)
    return patches


def _refusal(key: str, **facts: object) -> PollError:
    return PollError(texts.prose("poll").fill(key, **facts))


@contextmanager
def _connection() -> Iterator[sqlite3.Connection]:
    """The file, opened, in one transaction that no other process writes into. Raises: PollError, where it can't be used."""
    import sqlite3

    file = poll_database_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(file, timeout=WAIT_S, isolation_level=None)
        try:
            db.execute("PRAGMA synchronous = OFF")  # a vote need not outlive a power cut
            db.executescript(TABLES)
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        finally:
            db.close()  # what was not committed is undone
    except (sqlite3.Error, OSError) as error:
        raise _refusal("not kept", reason=getattr(error, "strerror", None) or str(error)) from None

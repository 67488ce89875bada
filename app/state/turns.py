"""Turns: only so many pages are drawn at one time, first come, first served; the others wait, which costs nothing.

Fifty threads that draw at once share one interpreter: each is handed it for 5 ms, often while it holds a lock that the
next one wants, and all of them end late. One after another they end sooner, the first at once. Who takes long (a download,
an average over photos) does not hold up the rest: after `LONG_S` a turn no longer counts.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Iterator

LONG_S = 0.5  # after this a page is waiting for something else than the interpreter


class Turns:
    """At most `room` holders at one time, in the order of asking."""

    def __init__(self, room: int, long_s: float = LONG_S) -> None:
        self._room, self._long_s = room, long_s
        self._waiting: tuple[deque[object], deque[object]] = deque(), deque()  # who comes first, and the rest
        self._begun: dict[object, float] = {}
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def one(self, first: bool = False) -> Iterator[None]:
        """Wait for a turn (`first`: before all who are not), hold it, and hand it on, however the block ends."""
        me, line = object(), self._waiting[not first]
        with self._changed:
            line.append(me)
            while not (self._next() is me and self._count() < self._room):
                self._changed.wait(self._long_s / 5)
            line.popleft()
            self._begun[me] = time.monotonic()
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                del self._begun[me]
                self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting[0]) + len(self._waiting[1])

    def _next(self) -> object:
        return (self._waiting[0] or self._waiting[1])[0]

    def _count(self) -> int:
        now = time.monotonic()
        return sum(now - begun < self._long_s for begun in self._begun.values())


pages = Turns(max(2, os.cpu_count() or 2))  # of all visits to this server

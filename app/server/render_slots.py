"""Render slots: only so many pages are drawn at one time, first come, first served; the others wait, which costs nothing.

Fifty threads that draw at once share one interpreter: each is handed it for 5 ms, often while it holds a lock that the
next one wants, and all of them end late. One after another they end sooner, the first at once. Who takes long (a download,
an average over photos) does not hold up the rest: after `SLOW_RENDER_S` a slot no longer counts.
"""

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Iterator

SLOW_RENDER_S = 0.5  # after this a page is waiting for something else than the interpreter


class RenderSlots:
    """At most `capacity` holders at one time, in the order of asking."""

    def __init__(self, capacity: int, long_s: float = SLOW_RENDER_S) -> None:
        self._capacity, self._long_s = capacity, long_s
        self._queues: tuple[deque[object], deque[object]] = deque(), deque()  # who comes first, and the rest
        self._started_at: dict[object, float] = {}
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def acquire(self, priority: bool = False) -> Iterator[None]:
        """Wait for a slot (`priority`: before all who have none), hold it, and hand it on, however the block ends."""
        request, queue = object(), self._queues[not priority]
        with self._changed:
            queue.append(request)
            while not (self._next_request() is request and self._active_count() < self._capacity):
                self._changed.wait(self._long_s / 5)
            queue.popleft()
            self._started_at[request] = time.monotonic()
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                del self._started_at[request]
                self._changed.notify_all()

    @property
    def waiting_count(self) -> int:
        return len(self._queues[0]) + len(self._queues[1])

    def _next_request(self) -> object:
        return (self._queues[0] or self._queues[1])[0]

    def _active_count(self) -> int:
        now = time.monotonic()
        return sum(now - begun < self._long_s for begun in self._started_at.values())


PAGE_SLOTS = RenderSlots(max(2, os.cpu_count() or 2))  # of all visits to this server
acquire = PAGE_SLOTS.acquire

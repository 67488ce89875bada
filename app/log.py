"""The server's log has a bound: what is said again within a minute is counted, not written, and so much is written at most."""

from __future__ import annotations

import logging
import sys
import threading
import time
from typing import Any

EVERY_S = 60.0
MOST = 100  # records in that time; with a traceback each has about 5 kB

_log = logging.getLogger(__name__)


class Fold(logging.Filter):
    """Lets a record through the first time in `EVERY_S`; the next that comes after says how many were left out.

    Two records are the same when they have one logger, one message before its values are put in, and one place that raised.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._seen: dict[
            tuple[object, ...], tuple[float, int]
        ] = {}  # when it was let through, how often it was not since
        self._since, self._count = 0.0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write it."""
        if record.levelno < logging.WARNING:
            return True
        with self._lock:
            return self._new(record, time.monotonic())

    def _new(self, record: logging.LogRecord, now: float) -> bool:
        key = (record.name, record.msg if isinstance(record.msg, str) else type(record.msg), *_place(record))
        last, left_out = self._seen.get(key, (-EVERY_S, 0))
        if now - last < EVERY_S:
            self._seen[key] = last, left_out + 1
            return False
        if now - self._since >= EVERY_S:
            self._seen = {one: seen for one, seen in self._seen.items() if seen[1] and now - seen[0] < 60 * EVERY_S}
            self._since, self._count = now, 0
        self._count += 1
        if self._count > MOST:
            record.msg, record.args, record.exc_info = (
                f"More than {MOST} warnings in a minute: the rest is left out.",
                (),
                None,
            )
            return self._count == MOST + 1
        self._seen[key] = now, 0
        if left_out:
            record.msg, record.args = (
                f"{record.getMessage()} (and {left_out} times more since this was last written)",
                (),
            )
        return True


def bound() -> None:
    """From now on, for all loggers of this process, those there will be among them, and for what Python says by itself."""
    fold = Fold()

    class Bounded(logging.getLoggerClass()):  # type: ignore[misc]
        def __init__(self, name: str, level: int = logging.NOTSET) -> None:
            super().__init__(name, level)
            self.addFilter(fold)

    logging.setLoggerClass(Bounded)
    for logger in (logging.root, *logging.root.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            logger.addFilter(fold)
    sys.unraisablehook = _ignored
    threading.excepthook = _ended


def _ignored(it: Any) -> None:
    where = getattr(it.object, "__qualname__", type(it.object).__qualname__)
    _log.error("Ignored in %s", where, exc_info=(it.exc_type, it.exc_value, it.exc_traceback))


def _ended(it: threading.ExceptHookArgs) -> None:
    if it.exc_value is not None and not isinstance(it.exc_value, SystemExit):
        name = it.thread.name if it.thread else "a thread"
        _log.error("%s ended", name, exc_info=(it.exc_type, it.exc_value, it.exc_traceback))


def _place(record: logging.LogRecord) -> tuple[object, ...]:
    """What was raised, and where: nothing where nothing was."""
    if not record.exc_info or record.exc_info[1] is None:
        return ()
    kind, _, trace = record.exc_info
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return (kind, trace and (trace.tb_frame.f_code.co_filename, trace.tb_lineno))

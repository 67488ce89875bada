"""The server's log has a bound: what is said again within a minute is counted, not written, and so much is written at most."""

import logging
import sys
import threading
import time
from typing import Any

WINDOW_S = 60.0
MAX_RECORDS = 100  # records in that time; with a traceback each has about 5 kB

_log = logging.getLogger(__name__)


class RepeatFilter(logging.Filter):
    """Lets a record through the first time in `WINDOW_S`; the next that comes after says how many were left out.

    Two records are the same when they have one logger, one message before its values are put in, and one place that raised.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._last_written: dict[tuple[object, ...], tuple[float, int]] = {}  # when it was let through, how often it was not since
        self._since, self._count = 0.0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        with self._lock:
            return self._is_new(record, time.monotonic())

    def _is_new(self, record: logging.LogRecord, now: float) -> bool:
        key = (record.name, record.msg if isinstance(record.msg, str) else type(record.msg), *_error_origin(record))
        last, left_out = self._last_written.get(key, (-WINDOW_S, 0))
        if now - last < WINDOW_S:
            self._last_written[key] = last, left_out + 1
            return False
        if now - self._since >= WINDOW_S:
            self._last_written = {
                one: seen for one, seen in self._last_written.items() if seen[1] and now - seen[0] < 60 * WINDOW_S
            }
            self._since, self._count = now, 0
        self._count += 1
        if self._count > MAX_RECORDS:
            record.msg, record.args, record.exc_info = (
                f"More than {MAX_RECORDS} warnings in a minute: the rest is left out.",
                (),
                None,
            )
            return self._count == MAX_RECORDS + 1
        self._last_written[key] = now, 0
        if left_out:
            record.msg, record.args = (f"{record.getMessage()} (and {left_out} times more since this was last written)", ())
        return True


def limit_log_rate() -> None:
    """From now on, for all loggers of this process, those there will be among them, and for what Python says by itself."""
    fold = RepeatFilter()

    class Bounded(logging.getLoggerClass()):  # type: ignore[misc]
        def __init__(self, name: str, level: int = logging.NOTSET) -> None:
            super().__init__(name, level)
            self.addFilter(fold)

    logging.setLoggerClass(Bounded)
    for logger in (logging.root, *logging.root.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            logger.addFilter(fold)
    sys.unraisablehook = _log_unraisable
    threading.excepthook = _log_thread_error


def _log_unraisable(unraisable: Any) -> None:
    where = getattr(unraisable.object, "__qualname__", type(unraisable.object).__qualname__)
    _log.error("Ignored in %s", where, exc_info=(unraisable.exc_type, unraisable.exc_value, unraisable.exc_traceback))


def _log_thread_error(thread_error: threading.ExceptHookArgs) -> None:
    if thread_error.exc_value is not None and not isinstance(thread_error.exc_value, SystemExit):
        name = thread_error.thread.name if thread_error.thread else "a thread"
        _log.error("%s ended", name, exc_info=(thread_error.exc_type, thread_error.exc_value, thread_error.exc_traceback))


def _error_origin(record: logging.LogRecord) -> tuple[object, ...]:
    """What was raised, and where: nothing where nothing was."""
    if not record.exc_info or record.exc_info[1] is None:
        return ()
    kind, _, trace = record.exc_info
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return (kind, trace and (trace.tb_frame.f_code.co_filename, trace.tb_lineno))

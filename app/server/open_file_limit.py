"""Open files: as many as the system allows; where they run short, visitors who come are refused, and those who are here are not.

Every connection is an open file, every visit three more (Streamlit's). macOS allows 256. Where none is left, asyncio tries to
accept the same connection 2,000 times a second and logs each try.
"""

import asyncio
import contextlib
import errno
import logging
import os
import socket
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import runtime

WANTED_FILES = 4096  # a thousand visitors; more than macOS gives (10,240) can't be asked for there
FILES_PER_VISIT = 4  # measured: 50 visitors have 190
RESERVED_FILES = 40  # for the pages of those who are here: models, photos, fonts
BACKLOG = 4096  # connections that can wait to be accepted

_log = logging.getLogger(__name__)


def raise_open_file_limit(wanted_limit: int = WANTED_FILES) -> int | None:
    """Raise this process's limit of open files to `wanted_limit`, or as near as its hard limit lets it; says so where that is less.

    Returns the limit; None where the system has none (Windows).
    """
    try:
        import resource
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = wanted_limit if hard == resource.RLIM_INFINITY else min(wanted_limit, hard)
    if soft != resource.RLIM_INFINITY and soft < target:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
            soft = target
    if soft == resource.RLIM_INFINITY or soft >= wanted_limit:
        return None if soft == resource.RLIM_INFINITY else soft
    visitors = max(0, (soft - 2 * RESERVED_FILES) // FILES_PER_VISIT)
    _log.warning("This system lets the app open %d files, enough for about %d visitors at once; more are refused.", soft, visitors)
    return soft


class RefuseVisitorsMiddleware:
    """ASGI middleware: while fewer than RESERVE files can still be opened, requests are answered 503, Service Unavailable."""

    def __init__(self, app: ASGIApp, limit: int | None) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or not self.is_short() or self.close_idle_sessions():
            return await self.app(scope, receive, send)
        _log.warning("Too few files can still be opened: visitors who come are refused.")
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1013})  # try again later: Streamlit's page does
        said = "Too many visitors at once. Try again in a few seconds."
        await PlainTextResponse(said, 503, {"connection": "close", "retry-after": "5"})(scope, receive, send)

    def is_short(self) -> bool:
        """Whether too few can still be opened."""
        return self.limit is not None and self.limit - _open_file_count() < RESERVED_FILES

    def close_idle_sessions(self) -> bool:
        """End visits whose page is closed. Streamlit keeps 128 of them for two minutes, in case they go on: those that showed
        no page go first, then the oldest."""
        with contextlib.suppress(AttributeError, RuntimeError):  # the names are Streamlit's own and not promised
            visits: Any = runtime.get_instance()._session_mgr
            for visit in sorted(visits._session_storage.list(), key=lambda one: one.script_run_count > 0):
                visits.close_session(visit.session.id)
                if not self.is_short():
                    return True
        return False


def _open_file_count() -> int:
    try:
        return len(os.listdir("/dev/fd"))  # noqa: PTH208 - asked at every request, and a list of paths takes ten times as long
    except FileNotFoundError:
        return 0
    except OSError:  # not even this one
        return WANTED_FILES


@contextlib.asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """While the server runs: a connection for which there is no file left is closed, not tried again."""
    asyncio.get_running_loop().set_exception_handler(ConnectionRefuser().on_error)
    yield


class ConnectionRefuser:
    """Keeps one file open for nothing, to have one with which to accept a connection and close it."""

    def __init__(self) -> None:
        self.spare_file: int | None = os.open(os.devnull, os.O_RDONLY)

    def on_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What asyncio calls when something went wrong; all but one thing is its own to handle."""
        error, listening = context.get("exception"), context.get("socket")
        if not (isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE) and listening is not None):
            return loop.default_exception_handler(context)
        _log.warning("No more files can be opened: connections are refused.")
        self.refuse_waiting(listening.fileno())

    def refuse_waiting(self, listening: int) -> None:
        """Accept all connections that wait, and close them."""
        if self.spare_file is not None:
            os.close(self.spare_file)
        server_socket = socket.socket(fileno=listening)
        with contextlib.suppress(OSError):  # none waits any more; or somebody else took the file
            for _ in range(BACKLOG):
                server_socket.accept()[0].close()
        server_socket.detach()
        try:
            self.spare_file = os.open(os.devnull, os.O_RDONLY)
        except OSError:
            self.spare_file = None

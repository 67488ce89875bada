"""Files on their way in: counted in the budget from their first byte, and taken only where a control of the visit asked for them.

Streamlit (1.67) takes a file of any number and name for any visit that is open, and keeps it until the visit has been closed for
two minutes. Here a file needs an address that this visit was given, comes from the browser that has the visit's connection, fits
into what one visit and all of them may have lying, and goes again if no control takes it within a minute of the visit's last file:
a control takes the files of a folder together, when all of them are here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import runtime
from streamlit.web.server.server_util import is_xsrf_enabled
from streamlit.web.server.starlette.starlette_app_utils import validate_xsrf_token
from streamlit.web.server.starlette.starlette_server_config import XSRF_COOKIE_NAME

from app import permissions
from app.state.memory import memory_cache

ADDRESS = re.compile(r"/_stcore/upload_file/([^/]+)/([^/]+)$")
MEGABYTE = 2**20
VISIT_LIMIT_MB = {"local": 2000, "public": 250}  # of one visit's files in sum: a model and a folder of photos
ALL_SHARE = 0.5  # of the budget, at most, for the files of all visits
UNCLAIMED_S = 60.0
READ_AWAY_S = 60.0  # of a refused file: a browser that is still sending hears no answer, but that the connection was reset
MOST_ADDRESSES = 2000  # that a visit has been given and not used, one for each file of a folder

NOT_ASKED = "No control of this visit asked for that file."
NOT_YOURS = "That visit is another browser's."
TOO_MANY = "The files of this visit are too large in sum: remove some, or open the page again."
NO_ROOM = "The server has no room for that file now. Try again in a minute."

_start = threading.Lock()
_uploads: PendingUploadManager | None = None
_log = logging.getLogger(__name__)


class _File:
    __slots__ = ("claimed", "size")

    def __init__(self, size: int) -> None:
        self.size, self.claimed = size, False


class PendingUploadManager:
    """What lies in Streamlit's memory (`MemoryUploadedFileManager`), by visit and file; its methods are told to count."""

    def __init__(self, manager: Any) -> None:
        self.manager = manager
        self._files: dict[tuple[str, str], _File] = {}
        self._addresses: dict[str, OrderedDict[str, None]] = {}  # visit -> files it may send
        self._coming: dict[str, list[int]] = {}  # visit -> bytes of files on their way
        self._last_arrival: dict[str, float] = {}  # visit -> when its last file was here
        self._lock = threading.RLock()
        self._streamlit = manager.add_file, manager.remove_file, manager.remove_session_files, manager.get_files
        self._give_addresses = manager.get_upload_urls
        manager.add_file, manager.remove_file, manager.remove_session_files = self.add, self.remove, self.remove_visit
        manager.get_files, manager.get_upload_urls = self.claim, self.give_addresses

    def give_addresses(self, session_id: str, file_names: Sequence[str]) -> Any:
        """The addresses that a visit's page asks for, one for each file; the newest stay good."""
        given = self._give_addresses(session_id, list(file_names)[:MOST_ADDRESSES])
        with self._lock:
            mine = self._addresses.setdefault(session_id, OrderedDict())
            mine.update((one.file_id, None) for one in given)
            while len(mine) > MOST_ADDRESSES:
                mine.popitem(last=False)
        return given

    def why_refused(self, session_id: str, file_id: str, size: int) -> tuple[int, str] | None:
        """The status and the sentence with which a file of so many bytes is refused; None where it may come, and is counted."""
        most = VISIT_LIMIT_MB["public" if permissions.is_public() else "local"] * MEGABYTE
        with self._lock:
            if file_id not in self._addresses.get(session_id, ()):
                return 403, NOT_ASKED
            mine = sum(one.size for (visit, _), one in self._files.items() if visit == session_id)
            if mine + sum(self._coming.get(session_id, ())) + size > most:
                return 413, TOO_MANY
            everyone = sum(one.size for one in self._files.values()) + sum(map(sum, self._coming.values()))
            if everyone + size > ALL_SHARE * memory_cache.CACHE.capacity() or not memory_cache.CACHE.hold(size):
                return 503, NO_ROOM
            del self._addresses[session_id][file_id]
            self._coming.setdefault(session_id, []).append(size)
        return None

    def arrived(self, session_id: str, size: int) -> None:
        """A file that `why_refused` has let come is here, or won't be."""
        with self._lock:
            self._coming[session_id].remove(size)
            if not self._coming[session_id]:
                del self._coming[session_id]
            memory_cache.CACHE.release(size)

    def add(self, session_id: str, file: Any) -> None:
        with self._lock:
            self._forget(session_id, file.file_id)
            self._streamlit[0](session_id, file)
            self._files[session_id, file.file_id] = _File(len(file.data))
            self._last_arrival[session_id] = time.monotonic()
            memory_cache.CACHE.hold(len(file.data), force=True)

    def remove(self, session_id: str, file_id: str) -> None:
        with self._lock:
            self._streamlit[1](session_id, file_id)
            self._forget(session_id, file_id)

    def remove_visit(self, session_id: str) -> None:
        with self._lock:
            self._streamlit[2](session_id)
            self._addresses.pop(session_id, None)
            self._last_arrival.pop(session_id, None)
            for visit, file_id in [one for one in self._files if one[0] == session_id]:
                self._forget(visit, file_id)

    def claim(self, session_id: str, file_ids: Sequence[str]) -> Any:
        with self._lock:
            for file_id in file_ids:
                if file := self._files.get((session_id, file_id)):
                    file.claimed = True
        return self._streamlit[3](session_id, file_ids)

    def drop_unclaimed(self) -> None:
        """Throw away what no control has taken for too long."""
        with self._lock:
            late = time.monotonic() - UNCLAIMED_S
            idle = {visit for visit, last in self._last_arrival.items() if last < late and visit not in self._coming}
            for visit, file_id in [one for one, file in self._files.items() if not file.claimed and one[0] in idle]:
                self.remove(visit, file_id)

    def _forget(self, session_id: str, file_id: str) -> None:
        if file := self._files.pop((session_id, file_id), None):
            memory_cache.CACHE.release(file.size)


def limit_upload_memory() -> PendingUploadManager | None:
    """From now on the uploads of this process's server are counted; None where none runs. Once is enough."""
    global _uploads
    if not runtime.exists():
        return None
    manager = runtime.get_instance().uploaded_file_mgr
    with _start:
        if _uploads is None or _uploads.manager is not manager:
            _uploads = PendingUploadManager(manager)
        return _uploads


def drop_unclaimed_uploads() -> None:
    """Throw away what no control has taken for too long."""
    if _uploads is not None:
        _uploads.drop_unclaimed()


class GuardUploadsMiddleware:
    """ASGI middleware: a file that nobody asked for, or for which there is no room, is refused, and nothing of it is kept."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = ADDRESS.search(scope["path"]) if scope["type"] == "http" and scope["method"] in ("PUT", "DELETE") else None
        uploads = limit_upload_memory() if found else None
        if found is None or uploads is None:
            return await self.app(scope, receive, send)
        session_id, file_id = found[1], found[2]
        size = _announced_bytes(scope)
        refused = None if is_request_of_visit(scope, session_id) else (403, NOT_YOURS)
        if refused is None and scope["method"] == "DELETE":
            return await self.app(scope, receive, send)
        if refused := refused or uploads.why_refused(session_id, file_id, size):
            status, reason = refused
            _log.warning("An upload was refused: %s", reason)
            await _read_away(receive, size)
            return await PlainTextResponse(reason, status, {"connection": "close"})(scope, receive, send)
        try:
            await self.app(scope, receive, send)
        finally:
            uploads.arrived(session_id, size)


async def _read_away(receive: Receive, most: int) -> None:
    """Take what a browser sends and forget it, as many bytes as it has said, for a minute at most."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(READ_AWAY_S):
            while most > 0:
                message = await receive()
                most -= len(message.get("body", b""))
                if not message.get("more_body"):
                    return


def _announced_bytes(scope: Scope) -> int:
    """How large the file is said to be; where nothing is said, as large as one may be. Streamlit stops reading past that."""
    said = dict(scope["headers"]).get(b"content-length", b"")
    most = permissions.upload_limit_mb() * MEGABYTE
    return min(int(said), most + MEGABYTE) if said.isdigit() else most


def is_request_of_visit(scope: Scope, session_id: str) -> bool:
    """Whether the request comes from the browser that has the visit's connection: both hold one secret in a cookie."""
    client: Any = runtime.get_instance().get_client(session_id)
    if client is None or not is_xsrf_enabled():
        return client is not None
    shown = HTTPConnection(scope).cookies.get(XSRF_COOKIE_NAME)
    return validate_xsrf_token(shown, client.client_context.cookies.get(XSRF_COOKIE_NAME))

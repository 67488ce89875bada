"""Files on their way in: those that a page asked for, by the browser that shows it, within what a visit and all may have."""

import asyncio
import http.client
import threading
import time
from types import SimpleNamespace

import pytest
import uvicorn
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string

from app.state.memory import memory_cache, upload_memory_limit
from app.state.memory.memory_cache import MemoryCache

MB = 2**20


class Server:
    """An upload manager of Streamlit's behind our guard; `visits` are browsers' cookies by visit."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, budget_mb: int) -> None:
        self.manager, self.visits = MemoryUploadedFileManager("/_stcore/upload_file"), {}
        self.cache = MemoryCache(lambda: budget_mb * MB)
        server = SimpleNamespace(uploaded_file_mgr=self.manager, get_client=self.client)
        monkeypatch.setattr(upload_memory_limit.runtime, "exists", lambda: True)
        monkeypatch.setattr(upload_memory_limit.runtime, "get_instance", lambda: server)
        monkeypatch.setattr(memory_cache, "CACHE", self.cache)
        monkeypatch.setattr(upload_memory_limit, "_uploads", None)
        self.uploads = upload_memory_limit.limit_upload_memory()

    def client(self, visit: str) -> object:
        if visit not in self.visits:
            return None
        return SimpleNamespace(client_context=SimpleNamespace(cookies={"_streamlit_xsrf": self.visits[visit]}))

    def come(self, visit: str) -> None:
        self.visits[visit] = generate_xsrf_token_string()

    def address(self, visit: str) -> str:
        return self.manager.get_upload_urls(visit, ["a.bin"])[0].file_id

    def send(self, visit: str, file_id: str, size_mb: float, method: str = "PUT", cookie: str = "", said: bool = True) -> int:
        sent: list[dict] = []
        size = int(size_mb * MB)

        async def streamlit(scope: dict, *_: object) -> None:
            if method == "PUT":
                self.manager.add_file(visit, UploadedFileRec(file_id, "a.bin", "", Bytes(size)))
            else:
                self.manager.remove_file(visit, file_id)
            sent.append({"status": 204})

        async def collect(message: dict) -> None:
            sent.append(message)

        headers = [(b"cookie", f"_streamlit_xsrf={cookie or self.visits[visit]}".encode())]
        headers += [(b"content-length", str(size).encode())] if said else []
        scope = {"type": "http", "method": method, "path": f"/base/_stcore/upload_file/{visit}/{file_id}", "headers": headers}
        asyncio.run(upload_memory_limit.GuardUploadsMiddleware(streamlit)(scope, nothing_more, collect))
        return sent[0]["status"]

    @property
    def lying_mb(self) -> float:
        return sum(len(one.data) for files in self.manager.file_storage.values() for one in files.values()) / MB


async def nothing_more() -> dict:
    """All that was sent has come."""
    return {"type": "http.request", "body": b"", "more_body": False}


class Bytes:
    """So many bytes, without any."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "1")
    return Server(monkeypatch, budget_mb=1000)


def test_what_no_page_asked_for_or_another_visitor_sends_is_refused(server):
    server.come("me")
    server.come("thief")
    mine = server.address("me")
    assert server.send("me", "made-up", 1) == 403 and server.send("me", mine, 1, cookie=server.visits["thief"]) == 403
    assert server.send("me", mine, 1) == 204 and server.send("me", mine, 1) == 403, "an address is good for one file"
    assert server.send("me", mine, 0, "DELETE", cookie=server.visits["thief"]) == 403 and server.lying_mb == 1
    assert server.send("me", mine, 0, "DELETE") == 204 and server.lying_mb == server.cache.reserved == 0
    server.visits["gone"] = server.visits.pop("me")
    assert server.send("gone", "made-up", 1) == 403


def test_a_large_file_that_is_refused_is_answered_with_a_sentence(server):
    """Over a real connection, which a server that does not read would reset while the file is on its way."""
    server.come("me")
    asgi = uvicorn.Config(upload_memory_limit.GuardUploadsMiddleware(None), port=0, log_level="error", lifespan="off")
    guard = uvicorn.Server(asgi)
    thread = threading.Thread(target=guard.run, daemon=True)
    thread.start()
    while not guard.started:
        time.sleep(0.01)
    port = guard.servers[0].sockets[0].getsockname()[1]
    for _ in range(3):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"cookie": f"_streamlit_xsrf={server.visits['me']}"}
        connection.request("PUT", "/_stcore/upload_file/me/made-up", body=bytes(30 * MB), headers=headers)
        answer = connection.getresponse()
        assert (answer.status, answer.read().decode()) == (403, upload_memory_limit.NOT_ASKED)
    guard.should_exit = True
    thread.join(10)
    assert server.cache.reserved == 0


def test_large_files_of_one_visit_and_of_thirty(server):
    server.come("flood")
    answers = [server.send("flood", server.address("flood"), 90) for _ in range(10)]
    assert answers == [204] * 2 + [413] * 8 and server.lying_mb * MB == server.cache.reserved == 180 * MB
    server.manager.remove_session_files("flood")
    assert server.cache.reserved == 0
    for i in range(30):
        server.come(f"v{i}")
        server.send(f"v{i}", server.address(f"v{i}"), 95, said=i % 2 == 0)
    assert 300 <= server.lying_mb <= upload_memory_limit.ALL_SHARE * 1000 and server.cache.reserved == server.lying_mb * MB
    assert len(server.manager.get_upload_urls("v0", ["x"] * 10_000)) == upload_memory_limit.MOST_ADDRESSES


def test_a_folder_is_taken_together_however_long_its_files_take(server, monkeypatch):
    server.come("me")
    names = [f"{i}.jpg" for i in range(60)]
    files, now = [one.file_id for one in server.manager.get_upload_urls("me", names)], upload_memory_limit.time.monotonic()
    for place, file_id in enumerate(files):
        monkeypatch.setattr(upload_memory_limit.time, "monotonic", lambda place=place: now + 10 * place)
        assert server.send("me", file_id, 3) == 204
        upload_memory_limit.drop_unclaimed_uploads()
    assert len(server.manager.get_files("me", files)) == len(files)


def test_what_no_control_takes_goes_and_what_one_took_stays(server, monkeypatch):
    server.come("me")
    taken, left = server.address("me"), server.address("me")
    assert server.send("me", taken, 5) == server.send("me", left, 6) == 204
    assert len(server.manager.get_files("me", [taken])) == 1
    now = upload_memory_limit.time.monotonic()
    monkeypatch.setattr(upload_memory_limit.time, "monotonic", lambda: now + upload_memory_limit.UNCLAIMED_S + 1)
    upload_memory_limit.drop_unclaimed_uploads()
    assert server.lying_mb == 5 and server.cache.reserved == 5 * MB and not server.manager.get_files("me", [left])

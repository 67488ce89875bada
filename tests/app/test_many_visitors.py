"""A storm of connections where few files may be open: some are refused, the next visitor gets a page, the log is short."""

import asyncio
import contextlib
import json
import logging
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from types import SimpleNamespace

import pytest
from app_process import ROOT, served
from app_server import Visit
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from app.server import log_rate_limit, open_file_limit

MOST_FILES = 120  # the least with which a page is drawn and a model loaded
STORM = 400  # connections
LOG_BYTES = 20_000


async def _come(port: int, kind: str) -> None:
    with contextlib.suppress(OSError, TimeoutError, EOFError, Exception):
        if kind == "visit":
            coming = await connect(f"ws://127.0.0.1:{port}/_stcore/stream", subprotocols=["streamlit"], open_timeout=60)
            coming.transport.abort()
        else:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.sleep(2)
            writer.transport.abort()


async def _storm(port: int) -> None:
    await asyncio.gather(*(_come(port, ("visit", "silent")[i % 2]) for i in range(STORM)))


def _status(address: str, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> int:
    request = urllib.request.Request(
        f"{address}{path}", body or None, {k.replace("_", "-"): v for k, v in headers.items()}, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code


def _ask_as_another_site(address: str) -> None:
    assert _status(address, "/patches", Host="evil.example") == 403
    with pytest.raises(InvalidStatus):
        Visit(f"{address.replace('http', 'ws')}/_stcore/stream", origin="http://evil.example")


def _upload_what_is_asked_for_and_what_is_not(address: str) -> None:
    with urllib.request.urlopen(f"{address}/_stcore/health", timeout=60) as answer:
        cookie = answer.headers["set-cookie"].partition(";")[0]
    me = Visit(f"{address.replace('http', 'ws')}/_stcore/stream", cookie=cookie).open("bring")
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\nabc\r\n--x--\r\n'
    kind = "multipart/form-data; boundary=x"
    sent = {"Cookie": cookie, "X_Xsrftoken": cookie.partition("=")[2], "Content_Type": kind}
    assert _status(address, f"/_stcore/upload_file/{me.session}/made-up", "PUT", body, **sent) == 403
    where = me.upload_address("a.bin")
    assert _status(address, where, "PUT", body, **sent) == 204 and _status(address, where, "PUT", body, **sent) == 403
    me.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_after_a_storm_of_connections_the_next_visitor_gets_a_page(tmp_path):
    with served(tmp_path, MOST_FILES) as address:
        asyncio.run(_storm(int(address.rpartition(":")[2])))
        page = Visit(f"{address.replace('http', 'ws')}/_stcore/stream").open("bring")
        assert "Bring your model" in page.text and "Traceback" not in page.text
        with urllib.request.urlopen(f"{address}/patches", timeout=60) as answer:
            assert answer.status == 200
        page.close()
        _ask_as_another_site(address)
        _upload_what_is_asked_for_and_what_is_not(address)
    said = (tmp_path / "log").read_text()
    assert said.count("This system lets the app open 120 files, enough for about 10 visitors at once") == 1
    assert "connections are refused" in said and "Traceback" not in said and len(said) < LOG_BYTES, said[-3000:]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_the_limit_is_raised_as_far_as_the_system_lets_it():
    script = (
        "import json, resource; from app.server.open_file_limit import raise_open_file_limit;"
        "said = raise_open_file_limit(); print(json.dumps([said, *resource.getrlimit(resource.RLIMIT_NOFILE)]))"
    )
    for limits, expected, says in (
        ("ulimit -S -n 256; ulimit -H -n 1500", [1500, 1500, 1500], "open 1500 files, enough for about 355 visitors"),
        ("ulimit -S -n 256", None, ""),
    ):
        command = ["sh", "-c", f'{limits}; exec "$@"', "sh", sys.executable, "-c", script]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        said, soft, hard = json.loads(done.stdout)
        assert [said, soft, hard] == (expected or [min(open_file_limit.WANTED_FILES, hard)] * 2 + [hard])
        assert says in done.stderr


def test_a_visitor_for_whom_there_is_no_file_is_told_to_come_later(monkeypatch):
    sent: list[dict] = []
    monkeypatch.setattr(open_file_limit, "_open_file_count", lambda: 100)

    async def app(*_: object) -> None:
        sent.append({"answered": True})

    async def send(message: dict) -> None:
        sent.append(message)

    def ask(kind: str, limit: int | None) -> list[dict]:
        sent.clear()
        asyncio.run(open_file_limit.RefuseVisitorsMiddleware(app, limit)({"type": kind}, None, send))
        return list(sent)

    enough = 100 + open_file_limit.RESERVED_FILES
    for kind in ("http", "websocket", "lifespan"):
        assert ask(kind, enough) == ask(kind, None) == [{"answered": True}]
    assert ask("http", enough - 1)[0]["status"] == 503
    assert ask("websocket", enough - 1) == [{"type": "websocket.close", "code": 1013}]
    assert ask("lifespan", enough - 1) == [{"answered": True}]


def test_connections_that_wait_are_closed():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        waiting = [socket.create_connection(listening.getsockname()) for _ in range(5)]
        door = open_file_limit.ConnectionRefuser()
        door.on_error(None, {"exception": OSError(24, "Too many open files"), "socket": listening})  # type: ignore[arg-type]
        for one in waiting:
            one.settimeout(60)
            assert one.recv(1) == b"", "closed"
            one.close()
        assert listening.fileno() > 0 and door.spare_file is not None


def test_the_log_says_the_same_once_a_minute_and_counts_the_rest(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(log_rate_limit, "time", SimpleNamespace(monotonic=lambda: clock.now))
    fold, written = log_rate_limit.RepeatFilter(), []

    def say(message: str, *args: object, level: int = logging.ERROR, error: Exception | None = None) -> None:
        info = (type(error), error, error.__traceback__) if error else None
        record = logging.LogRecord("some.logger", level, __file__, 1, message, args, info)
        if fold.filter(record):
            written.append(record.getMessage())

    for i in range(1000):
        say("visit %d failed", i)
    say("another")
    assert written == ["visit 0 failed", "another"]
    clock.now += log_rate_limit.WINDOW_S
    say("visit %d failed", 7)
    assert written[2:] == ["visit 7 failed (and 999 times more since this was last written)"]

    def fails(one: bool) -> Exception:
        try:
            if one:
                raise ValueError("here")
            raise ValueError("there")
        except ValueError as error:
            return error

    written.clear()
    for one in (True, True, False, True, False):
        say("it failed", error=fails(one))
    assert len(written) == 2, "the same words of two places are two"

    written.clear()
    clock.now += log_rate_limit.WINDOW_S
    for i in range(10 * log_rate_limit.MAX_RECORDS):
        say(f"message {i}")
    assert written == [
        *(f"message {i}" for i in range(log_rate_limit.MAX_RECORDS)),
        "More than 100 warnings in a minute: the rest is left out.",
    ]
    written.clear()
    say("The server is up", level=logging.INFO)
    assert written == ["The server is up"]

"""Who a request comes from and by which name: this server's own pages and names are answered, others are refused in a sentence."""

import asyncio

import pytest
from streamlit import config

from app import permissions
from app.server import request_origin


def ask(host: str, origin: str | None = None, kind: str = "http", method: str = "GET") -> list[dict]:
    """What is sent to a request; [] where the app would answer."""
    sent: list[dict] = []
    headers = [(b"host", host.encode()), *([(b"origin", origin.encode())] if origin else [])]

    async def app(*_: object) -> None:
        sent.clear()

    async def send(message: dict) -> None:
        sent.append(message)

    sent.append({"type": "nothing"})
    asyncio.run(request_origin.RefuseForeignMiddleware(app)({"type": kind, "method": method, "headers": headers}, None, send))
    return sent[1:]


@pytest.fixture(autouse=True)
def local(monkeypatch):
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "0")
    options = {"server.allowedHosts": [], "server.corsAllowedOrigins": []}
    get = config.get_option
    monkeypatch.setattr(request_origin.config, "get_option", lambda name: options[name] if name in options else get(name))
    return options


def test_a_name_that_is_not_this_machine_is_refused(local):
    own = ("localhost:8501", "LOCALHOST", "127.0.0.1:8501", "[::1]:8501", "192.168.1.7:8501", "[fe80::1%25eth0]:80",
           "a.localhost:1")  # fmt: skip
    foreign = ("evil.example:8501", "localhost.evil.example", "127.0.0.1.evil.example", "", "a@localhost", "localhost/x",
               "localhost:x", "2130706433.example", "lab-7:8501")  # fmt: skip
    assert [host for host in own if ask(host)] == []
    for host in foreign:
        refused = ask(host)
        assert refused[0]["status"] == 403 and refused[1]["body"].decode() == request_origin.HOST_REFUSED, host
        assert ask(host, f"http://{host}", "websocket") == [{"type": "websocket.close", "code": 1008}], host
    local["server.allowedHosts"] = ["lab-7", "*.example.org"]
    assert (
        not ask("lab-7:8501")
        and not ask("vit.example.org")
        and not ask("localhost")
        and ask("example.net")
        and ask("evilexample.org")
    )


def test_in_public_mode_any_name_is_answered_unless_names_are_set(local, monkeypatch):
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "1")
    assert permissions.is_public() and not ask("vit.example.org")
    local["server.allowedHosts"] = ["vit.example.org"]
    assert not ask("vit.example.org") and ask("evil.example")


def test_another_sites_page_cannot_speak_to_this_server(local, monkeypatch):
    """Streamlit would ask the internet for this machine's address before it refuses."""
    host = "localhost:8501"
    for kind, method in (("websocket", ""), ("http", "PUT"), ("http", "DELETE"), ("http", "POST")):
        for origin in ("http://evil.example", "null", "http://localhost:3000", "http://localhost:8501.evil.example"):
            assert ask(host, origin, kind, method), (kind, method, origin)
        assert not ask(host, "http://localhost:8501", kind, method) and not ask(host, None, kind, method)
    assert not ask(host, "http://evil.example"), "what is only read, a browser keeps from it"
    local["server.corsAllowedOrigins"] = ["https://name-8501.app.example.dev"]
    assert not ask(host, "https://name-8501.app.example.dev", "websocket")


def test_the_address_that_visitors_were_told_is_an_own_origin_behind_any_proxy(local, monkeypatch):
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "1")
    assert ask("upstream:8501", "https://vit.example.org", "websocket")
    local["browser.serverAddress"] = "vit.example.org"
    assert not ask("upstream:8501", "https://vit.example.org", "websocket")
    assert ask("upstream:8501", "https://evil.example", "websocket")
    local["browser.serverAddress"] = "localhost"
    assert ask("127.0.0.1:8501", "http://localhost:9999", "websocket"), "another server of this machine"

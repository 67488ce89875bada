"""Who may speak to this server: requests by a name that isn't this server's, or from a page of another site, are refused.

A hostile site can point its own name at 127.0.0.1 (DNS rebinding): a visitor's browser then takes this server for that site, and
lets its scripts read and press everything. Such a request says the site's name as its Host. No name can be given an IP address's
place, so addresses are always answered. Streamlit (1.67) looks at Host only where `server.allowedHosts` is set, and only for its
WebSocket; an Origin that it does not know makes it ask an address of the internet for its own.
"""

import ipaddress
import logging
from urllib.parse import urlsplit

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import config

from app import permissions

ANY_HOST = "*"
READING = ("GET", "HEAD", "OPTIONS")  # without an effect, and not readable from another site's page
HOST_REFUSED = "This server does not answer to that name. Who runs it can allow it: --server.allowedHosts NAME."
ORIGIN_REFUSED = "This server takes no requests from other sites. Who runs it can allow one: --server.corsAllowedOrigins URL."

_log = logging.getLogger(__name__)


class RefuseForeignMiddleware:
    """ASGI middleware: a foreign Host or Origin is answered 403 in one sentence; a WebSocket is closed (1008, policy violation)."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or not (reason := _refusal_of_request(scope)):
            return await self.app(scope, receive, send)
        _log.warning(reason)
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008})
        answer = PlainTextResponse(reason, 403, {"cache-control": "no-store", "connection": "close"})
        await answer(scope, receive, send)


def _refusal_of_request(scope: Scope) -> str:
    """The sentence that says why a request is not answered; empty where it is."""
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    host, origin = headers.get(b"host", ""), headers.get(b"origin")
    if not _is_own_host(host):
        return HOST_REFUSED
    if origin is None or (scope["type"] == "http" and scope["method"] in READING):
        return ""
    return "" if _is_own_origin(origin, host) else ORIGIN_REFUSED


def _is_own_host(host: str) -> bool:
    """Whether this server goes by that name: its own, those it was told, in local mode this machine's, and any address."""
    allowed = [one.strip().lower().rstrip(".") for one in config.get_option("server.allowedHosts")]
    if ANY_HOST in allowed or (not allowed and permissions.is_public()):
        return True
    if (name := _host_name(host)) is None:
        return False
    own = [(config.get_option(option) or "").lower() for option in ("server.address", "browser.serverAddress")]
    return (
        name == "localhost"
        or name.endswith(".localhost")
        or _is_address(name)
        or name in [*own, *allowed]
        or any(one.startswith("*.") and name.endswith(one[1:]) for one in allowed)
    )


def _host_name(host: str) -> str | None:
    """The name in a Host header, without its port; None where it is not such a header."""
    try:
        parts = urlsplit(f"//{host}")
        parts.port  # noqa: B018 - raises where it is none
    except ValueError:
        return None
    if not parts.hostname or "@" in host or parts.path or parts.query or parts.fragment:
        return None
    return parts.hostname.rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_own_origin(origin: str, host: str) -> bool:
    """Whether the page that asks is this server's, or of a site that it was told."""
    if not config.get_option("server.enableCORS"):
        return True
    allowed = {one.strip() for one in config.get_option("server.corsAllowedOrigins")}
    page, known_as = urlsplit(origin), (config.get_option("browser.serverAddress") or "").lower()
    if known_as not in permissions.LOOPBACK_ADDRESSES and page.hostname == known_as:
        return True  # behind a proxy that asks by a name of its own
    return page.netloc.lower() == host.lower() or origin in allowed

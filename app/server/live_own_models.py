"""Models that a browser runs itself and that do not ship: the graph and the weights of each under an address of its own.

A visitor's own model is given to the browser that has the visitor's connection and to nobody else; a run's, at which everybody here
may look, to who knows its address. A file that is not as it was compared with PyTorch any more is not given at all.
"""

import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from app.server.live_shipped_files import LargeFileResponse, cache_headers

GRAPH, WEIGHTS = "model.onnx", "model.safetensors"
MOST_GRANTS = 200  # models that have an address; the one asked for longest ago goes first
GONE = 410


class LiveGraph(Protocol):
    """What a browser is given (`app.state.models.live_onnx_graph.LiveGraph`)."""

    @property
    def graph(self) -> bytes:
        """The bytes of the ONNX file."""

    @property
    def weights(self) -> Path:
        """The file that it names."""

    def is_unchanged_since_comparison(self) -> bool:
        """Whether that file is there and as it was."""


@dataclass(eq=False)
class _Grant:
    model: LiveGraph
    sessions: set[str] | None  # of Streamlit's, whose browsers may fetch it; None: anybody's


_grants: OrderedDict[str, _Grant] = OrderedDict()
_addresses: dict[str, str] = {}  # of a version of a model: the part of its address that tells it
_lock = threading.Lock()


def grant_model_url(version: str, model: LiveGraph, session_id: str | None) -> str:
    """Where the graph and the weights of a model are from now on, relative to a page; their names are to follow.

    session_id: the visit to whose browser alone they are given; None: to every browser.
    """
    with _lock:
        _forget_gone()
        token = _addresses.get(version)
        if token is None or _grants[token].model is not model:
            token = hashlib.sha256(version.encode()).hexdigest()[:32] if session_id is None else secrets.token_urlsafe(32)
            _addresses[version] = token
            _grants[token] = _Grant(model, None if session_id is None else set())
        if session_id is not None and (mine := _grants[token].sessions) is not None:
            mine.add(session_id)
        _grants.move_to_end(token)
        return f"live-models/{token}/"


def _forget_gone() -> None:
    """Addresses whose files are gone, as when their visitor has left, and the oldest of too many."""
    gone = [token for token, one in _grants.items() if not one.model.is_unchanged_since_comparison()]
    for token in [*gone, *list(_grants)[: max(0, len(_grants) - len(gone) - MOST_GRANTS)]]:
        _grants.pop(token, None)
    for version in [version for version, token in _addresses.items() if token not in _grants]:
        del _addresses[version]


class LiveModelRoutes:
    """The route; `is_of_visit` says whether a request comes from the browser of a visit."""

    def __init__(self, is_of_visit: Callable[[Scope, str], bool]) -> None:
        self.is_of_visit = is_of_visit

    def routes(self) -> list[Route]:
        return [Route("/live-models/{token}/{name}", self.respond)]

    def respond(self, request: Request) -> Response:
        """The graph or the weights: 404 for whom they are not, 410 where they are gone or not as they were."""
        name, one = request.path_params["name"], _grants.get(request.path_params["token"])
        if one is None or name not in (GRAPH, WEIGHTS) or not self._may_have(request, one):
            return Response(status_code=404, headers={"Cache-Control": "no-store"})
        if not one.model.is_unchanged_since_comparison():
            return Response(status_code=GONE, headers={"Cache-Control": "no-store"})
        headers = cache_headers("public" if one.sessions is None else "private") | {"Content-Encoding": "identity"}
        given: dict[str, Any] = {"media_type": "application/octet-stream", "headers": headers}
        return Response(one.model.graph, **given) if name == GRAPH else LargeFileResponse(one.model.weights, **given)

    def _may_have(self, request: Request, one: _Grant) -> bool:
        return one.sessions is None or any(self.is_of_visit(request.scope, visit) for visit in list(one.sessions))

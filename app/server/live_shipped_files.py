"""The files with which a browser runs the shipped model itself: onnxruntime-web, our worker, the model's graph and its weights.

They come from this server alone. Their address changes when one of them does, so a browser may keep each for good. The worker's
policy lets it ask no other host for anything: no frame of a camera can leave through it.
"""

import gzip
import html
import json
import threading
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from vitcore.assets import asset_path
from vitcore.models.model_cards import DEFAULT_MODEL

RUNTIME = Path(__file__).parents[1] / "onnxruntime_web" / "node_modules" / "onnxruntime-web" / "dist"
EARLY, WORKER, LIBRARY, WASM = "live_early_start.js", "live_worker.js", "ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"
GRAPH, WEIGHTS = f"{DEFAULT_MODEL}.onnx", f"{DEFAULT_MODEL}.safetensors"
KINDS = {
    ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm", ".png": "image/png", ".jpg": "image/jpeg",
}  # fmt: skip
ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}  # threads need both
POLICY = "default-src 'none'; connect-src 'self'; worker-src 'self'; script-src 'self' 'wasm-unsafe-eval'"


def cache_headers(cache_scope: str = "public") -> dict[str, str]:
    """Headers of a file that a browser keeps for good; with `cache_scope` "private" no proxy on its way does."""
    return {
        "Cache-Control": f"{cache_scope}, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp",
        "Content-Security-Policy": POLICY, "Vary": "Accept-Encoding",
    }  # fmt: skip


def served_file(name: str) -> Path | None:
    """Where a file lies that is served under this name; None of any other name, and of the worker, which is made."""
    return {
        LIBRARY: RUNTIME / LIBRARY,
        WASM: RUNTIME / WASM,
        GRAPH: asset_path(f"models/{GRAPH}"),
        WEIGHTS: asset_path(f"models/{WEIGHTS}"),
    }.get(name)


def missing_live_files() -> list[str]:
    """The names of files that are not here: onnxruntime-web's, where npm could not install it."""
    return [name for name in (LIBRARY, WASM, GRAPH, WEIGHTS) if not (file := served_file(name)) or not file.is_file()]


class LargeFileResponse(FileResponse):
    """A file read in pieces of a megabyte: each piece waits for its turn among the pages that run, and the weights have 11."""

    chunk_size = 2**20


class EarlyPhoto(NamedTuple):
    """The photo that the worker answers for before a page has asked."""

    name: str  # in the gallery
    key: str  # of the photo and the model, as the page has it
    spec: dict[str, Any]  # what the worker is told of the model
    pixels: bytes  # that the model sees, a PNG
    sharp: bytes  # the same part of the photo at its own sharpness, a JPEG

    def pictures(self) -> dict[str, bytes]:
        """Both pictures, by the names they are served under."""
        return {_marked("pixels.png", self.pixels): self.pixels, _marked("sharp.jpg", self.sharp): self.sharp}


class LiveFileRoutes:
    """The files and their address; `worker` gives the worker's script, one module, and `early` that which begins it."""

    def __init__(self, worker: Callable[[], str], early: Callable[[], str], photo: Callable[[], EarlyPhoto | None]) -> None:
        self.worker, self.early, self.make_photo = worker, early, photo
        self.photo: EarlyPhoto | None = None  # as soon as it can be made
        self._making = threading.Lock()

    def routes(self) -> list[Route]:
        return [Route("/live-files/{version}/{name}", self.respond)]

    def respond(self, request: Request) -> Response:
        """A file, as `live_files_url` names it; compressed, but for pictures and weights, which do not get smaller."""
        name, file = request.path_params["name"], served_file(request.path_params["name"])
        made = {WORKER: self.worker, _marked(EARLY, self.early()): self.early}.get(name)
        picture = self.photo.pictures().get(name) if self.photo else None
        known = picture or made is not None or (file is not None and file.is_file())
        if not known or request.path_params["version"] != live_files_version(self.worker()):
            return Response(status_code=404, headers={"Cache-Control": "no-store"})
        kind = KINDS.get(Path(name).suffix, "application/octet-stream")
        headers = cache_headers()
        if picture:
            return Response(picture, media_type=kind, headers=headers | {"Content-Encoding": "identity"})
        if name == WEIGHTS and file is not None:  # named, or the middleware below would compress it for each visitor
            return LargeFileResponse(file, media_type=kind, headers=headers | {"Content-Encoding": "identity"})
        source = file or (made or self.worker)()
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(_content(source), media_type=kind, headers=headers | {"Content-Encoding": "identity"})
        return Response(compressed_bytes(source), media_type=kind, headers=headers | {"Content-Encoding": "gzip"})

    def compress_ahead(self) -> None:
        """Compress the wasm while nobody asks for it: the first visitor would wait."""
        if not missing_live_files():
            threading.Thread(target=compressed_bytes, args=(RUNTIME / WASM,), name="compress wasm", daemon=True).start()

    def _prepare_photo(self) -> None:
        """Make the early photo, for visitors to come, in a thread."""

        def make() -> None:
            with self._making:
                self.photo = self.photo or self.make_photo()

        if not self.photo and not self._making.locked():
            threading.Thread(target=make, name="early photo of Live", daemon=True).start()

    def early_tag(self) -> str:
        """What begins the worker while the page Live is on its way: a script in the page's head; none where files are missing.

        It names the early photo where that is made already, and has it made for those who come later.
        """
        if missing_live_files():
            return ""
        self._prepare_photo()
        worker = self.worker()
        at, told = live_files_url(worker), {"files": shipped_model_urls(worker)}
        if self.photo:
            pixels, sharp = (at + name for name in self.photo.pictures())
            told["first"] = self.photo._asdict() | {"pixels": pixels, "sharp": sharp}
        data = "".join(f' data-{name}="{html.escape(json.dumps(value))}"' for name, value in told.items())
        return f'<script async src="{at}{_marked(EARLY, self.early())}" data-model="{DEFAULT_MODEL}"{data}></script>'


def _marked(name: str, content: str | bytes) -> str:
    """A name that changes with what is served under it."""
    return f"{zlib.crc32(content.encode() if isinstance(content, str) else content):08x}-{name}"


@lru_cache(maxsize=8)  # five are served, and a worker of another run may be one more
def compressed_bytes(source: Path | str) -> bytes:
    """A file, or a text, read and compressed once for all visitors: the wasm takes a second."""
    return gzip.compress(_content(source), 6, mtime=0)


def _content(source: Path | str) -> bytes:
    return source.encode() if isinstance(source, str) else source.read_bytes()


def live_files_url(worker: str) -> str:
    """Where the files are, relative to a page; their names are to follow."""
    return f"live-files/{live_files_version(worker)}/"


def shipped_model_urls(worker: str) -> dict[str, str]:
    """What a browser runs the shipped model with, relative to a page; `named`: what the graph calls the file of its weights."""
    at = live_files_url(worker)
    names = {"worker": WORKER, "library": LIBRARY, "wasm": WASM, "graph": GRAPH, "weights": WEIGHTS}
    return {kind: at + name for kind, name in names.items()} | {"named": WEIGHTS}


@lru_cache(maxsize=1)
def live_files_version(worker: str) -> str:
    """A mark of all that the files hold."""
    mark = zlib.crc32(worker.encode())
    for name in (LIBRARY, WASM, GRAPH, WEIGHTS):
        mark = zlib.crc32(_bytes_of(name), mark)
    return f"{mark:08x}"


def _bytes_of(name: str) -> bytes:
    file = served_file(name)
    return file.read_bytes() if file and file.is_file() else b""

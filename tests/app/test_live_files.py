"""Live's files as the server gives them, and what the page does without them, with another model, and with a frame that is kept."""

import html
import io
import json
import re
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.testclient import TestClient

import vitcore
from app import texts
from app.components.component_files import live_early_script, live_worker_script
from app.server import first_paint, live_shipped_files
from app.state.memory import memory_cache
from app.state.models import loaded_models
from app.state.photos import sample_photos
from app.state.visit import live_settings
from tests.conftest import ROOT
from vitcore.assets import asset_path
from vitcore.models.model_cards import DEFAULT_MODEL


@pytest.fixture(scope="module")
def client():
    files = live_shipped_files.LiveFileRoutes(
        live_worker_script, live_early_script, lambda: None
    )  # whatever another test has loaded
    with TestClient(Starlette(routes=[*first_paint.page_routes(files.early_tag), *files.routes()])) as client:
        client.files = files
        yield client


def test_files_are_kept_for_good_and_ask_no_other_host(client):
    at = f"/{live_shipped_files.live_files_url(live_worker_script())}"
    worker = client.get(at + live_shipped_files.WORKER)
    assert worker.text == live_worker_script() and worker.headers["content-encoding"] == "gzip"
    assert "connect-src 'self'" in worker.headers["content-security-policy"]
    plain = client.get(at + live_shipped_files.WORKER, headers={"accept-encoding": "identity"})
    assert plain.text == live_worker_script() and plain.headers["content-encoding"] == "identity"
    weights = client.get(at + live_shipped_files.WEIGHTS)
    assert weights.content == (ROOT / "assets" / "models" / live_shipped_files.WEIGHTS).read_bytes()
    assert weights.headers["content-encoding"] == "identity", "the middleware would compress it for each visitor"
    for answer in (worker, weights, client.get(at + live_shipped_files.GRAPH)):
        assert answer.status_code == 200 and "immutable" in answer.headers["cache-control"]
        assert answer.headers["cross-origin-embedder-policy"] == "require-corp"
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["{at}vit-tiny-patch8-128.json", "{at}..%2Fmain.py", "/live-files/00000000/live_worker.js", "{at}"]
)
def test_nothing_else_is_served(client, path):
    assert client.get(path.format(at=f"/{live_shipped_files.live_files_url(live_worker_script())}")).status_code == 404


def test_what_is_served_is_compressed_once(monkeypatch):
    """More than one visitor asks for all of it, in one order."""
    live_shipped_files.compressed_bytes.cache_clear()
    read, content = [], live_shipped_files._content
    monkeypatch.setattr(live_shipped_files, "_content", lambda source: read.append(source) or content(source))
    files = [
        live_shipped_files.served_file(name)
        for name in (live_shipped_files.GRAPH, live_shipped_files.LIBRARY, live_shipped_files.WASM)
    ]
    sources = [live_early_script(), live_worker_script(), *(file for file in files if file and file.is_file())]
    for _ in range(2):
        for source in sources:
            live_shipped_files.compressed_bytes(source)
    assert read == sources


def test_only_the_page_live_begins_apart_from_other_windows(client):
    """Threads of WebAssembly need it; nothing else on the app does."""
    assert client.get("/live").headers["cross-origin-opener-policy"] == "same-origin"
    assert "cross-origin-opener-policy" not in client.get("/patches").headers


def test_the_worker_begins_with_the_page_live_and_with_no_other(client, monkeypatch):
    monkeypatch.setattr(live_shipped_files, "missing_live_files", list)
    early = r'<script async src="(.+?)" data-model="(.+?)" data-files="(.+?)">'
    assert re.search(early, client.get("/patches").text) is None
    src, model, files = re.search(early, client.get("/live").text).groups()
    assert model == DEFAULT_MODEL and client.get(f"/{src}").text == live_early_script()
    assert json.loads(html.unescape(files)) == live_shipped_files.shipped_model_urls(live_worker_script())
    monkeypatch.setattr(live_shipped_files, "missing_live_files", lambda: [live_shipped_files.WASM])
    assert re.search(early, client.get("/live").text) is None


def test_the_worker_is_given_the_first_photo_once_it_is_made(client, monkeypatch, shipped):
    """The address of each picture changes with it: a browser keeps it for good."""
    monkeypatch.setattr(live_shipped_files, "missing_live_files", list)
    first = r'<script async src=".+?" data-model=".+?" data-files=".+?" data-first="(.+?)">'
    monkeypatch.setattr(memory_cache, "CACHE", memory_cache.MemoryCache())
    assert live_settings.early_photo() is None, "the first visitor's page would wait for it"
    assert re.search(first, client.get("/live").text) is None
    loaded_models.loaded_model(DEFAULT_MODEL)
    monkeypatch.setattr(client.files, "photo", live_settings.early_photo())
    photo = json.loads(html.unescape(re.search(first, client.get("/live").text)[1]))
    rec = vitcore.record(shipped, asset_path("samples/red-panda.jpg"))
    assert photo["name"] == "red-panda" and photo["key"] == f"{DEFAULT_MODEL} {sample_photos.sample_digest('red-panda')}"
    assert photo["spec"]["grid"]["rows"] == rec.grid.rows and photo["spec"]["readout"] == list(np.flatnonzero(rec.pooling_weights))
    pixels, sharp = client.get(f"/{photo['pixels']}"), client.get(f"/{photo['sharp']}")
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(pixels.content))), rec.model_input.pixels)
    assert sharp.headers["content-type"] == "image/jpeg" and "immutable" in sharp.headers["cache-control"]
    assert photo["pixels"].split("/")[-1].split("-")[0] == f"{zlib.crc32(pixels.content):08x}"


def png(side: int = 40) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (side, side), "red").save(file, "PNG")
    return file.getvalue()


def test_a_frame_that_is_kept_becomes_the_visitors_photo_or_nothing_changes(monkeypatch):
    from app.state.photos import uploaded_photo
    from app.views.live import keep_frame

    chosen, said, kept = [], [], []
    monkeypatch.setattr(keep_frame, "set_control", lambda *what: chosen.append(what))
    monkeypatch.setattr(keep_frame.st, "toast", lambda sentence, **_: said.append(sentence))
    monkeypatch.setattr(uploaded_photo.visitor_storage, "keep_for_visitor", lambda *what: kept.append(what))
    monkeypatch.setattr(uploaded_photo.visitor_storage, "visitor_id", lambda: "somebody")
    keep_frame.upload_frame_as_photo(b"no picture")
    assert not chosen and not kept and len(said) == 1
    keep_frame.upload_frame_as_photo(png())
    assert chosen == [("photo", uploaded_photo.PHOTO_ID)] and len(said) == 1
    assert kept == [("upload", (png(), "live-frame.png"))]


def test_without_its_files_the_page_says_what_is_missing(monkeypatch, tmp_path):
    from app.views.live import live_message

    monkeypatch.setattr(live_shipped_files, "RUNTIME", tmp_path)
    assert live_shipped_files.missing_live_files() == [live_shipped_files.LIBRARY, live_shipped_files.WASM]

    visit = SimpleNamespace(texts=texts.prose("live", "en"), vit=SimpleNamespace(name="vit-tiny-patch8-128"))
    files, problem = live_message._files(visit)
    assert files == {} and "onnxruntime-web is not installed" in problem

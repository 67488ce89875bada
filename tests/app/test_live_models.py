"""Models of visitors and of runs as browsers run them: whose they are, what is compared first, and what is refused."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save
from starlette.applications import Starlette
from starlette.testclient import TestClient
from visitor import App

from app.server import live_own_models, live_shipped_files
from app.state.memory import visitor_storage
from app.state.models import live_onnx_graph
from tests.model_files import run_folder
from vitcore.train import run_folder as runs

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(autouse=True)
def connected(disk, monkeypatch):
    """One connection for all visits; and onnxruntime-web is taken to be here: no browser runs it in these tests."""
    monkeypatch.setattr(live_shipped_files, "missing_live_files", list)
    monkeypatch.setattr(visitor_storage, "session_id", lambda: "who brought it")


def browser(*visits: str) -> TestClient:
    """A browser that has the connections of these visits."""
    return TestClient(Starlette(routes=live_own_models.LiveModelRoutes(lambda _scope, visit: visit in visits).routes()))


def brought(name: str, data: bytes) -> App:
    """A visitor at Live, with a model of their own."""
    app = App("bring").fine()
    app.upload(name, data, app.key_of("own_model_")).fine()
    app.set(**{app.key_of("own_heads"): "3"}).fine()
    app.press("own_open")
    return app.go("live").fine()


def difference(app: App, who: TestClient, module: torch.nn.Module, folder: Path) -> float:
    """By how much the logits of a runtime, which is given what the page names, differ from PyTorch's."""
    files = app.component("live")["files"]
    answers = [who.get(f"/{files[kind]}") for kind in ("graph", "weights")]
    assert [one.status_code for one in answers] == [200, 200], app.component("live")["problem"]
    assert all(one.headers["cross-origin-embedder-policy"] == "require-corp" for one in answers)
    for name, answer in zip(("given.onnx", files["named"]), answers, strict=True):
        (folder / name).write_bytes(answer.content)
    session = onnxruntime.InferenceSession(folder / "given.onnx", providers=["CPUExecutionProvider"])
    image = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(3))
    heads = np.ones((len(module.blocks), module.blocks[0].attn.num_heads, 1, 1), np.float32)
    with torch.no_grad():
        return float(np.abs(session.run(["logits"], {"image": image.numpy(), "heads": heads})[0] - module(image).numpy()).max())


def pickled(module: torch.nn.Module) -> bytes:
    file = io.BytesIO()
    torch.save({name: w.clone() for name, w in module.state_dict().items()}, file)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["safetensors", "pth"])
def test_a_visitors_own_model_is_given_to_their_browser_alone(kind, make_module, disk, tmp_path):
    module = make_module()
    data = save({name: w.clone() for name, w in module.state_dict().items()}) if kind == "safetensors" else pickled(module)
    app = brought(f"mine.{kind}", data)
    copies = [file.name for file in disk.glob("inside-vit-*/*")]
    assert len(copies) == (1 if kind == "safetensors" else 2), "one copy on disk, where a browser can read what was brought"
    assert difference(app, browser("who brought it"), module, tmp_path) < 1e-4
    at = "/" + app.component("live")["files"]["weights"]
    answer = browser("who brought it").get(at)
    assert answer.headers["cache-control"].startswith("private") and answer.headers["content-encoding"] == "identity"
    assert browser("somebody else").get(at).status_code == 404 == browser().get(at).status_code
    assert browser("who brought it").get(at.replace("model.safe", "other.safe")).status_code == 404
    app.go("bring").fine().press("own_forget")
    assert browser("who brought it").get(at).status_code == 410 and not list(disk.glob("inside-vit-*"))
    assert app.go("live").fine().component("live")["files"]["graph"].startswith("live-files/"), "the shipped one again"


def test_a_run_goes_live_until_its_model_is_another(tmp_path):
    module = run_folder(runs.RUNS_FOLDER / "20260101-000000")
    app = App("live", model="runs/20260101-000000").fine()
    assert difference(app, browser(), module, tmp_path) < 1e-4
    assert app.component("live")["cut"] == {"short": 32, "high": 32, "wide": 32, "filter": "bilinear"}
    at = "/" + app.component("live")["files"]["weights"]
    run_folder(runs.RUNS_FOLDER / "20260101-000000", seed=1)
    assert browser().get(at).status_code == 410, "other weights than those that were compared"
    assert "/" + app.run().fine().component("live")["files"]["weights"] != at


REFUSED = {
    "no onnx": "The onnx package is not installed: pip install inside-vit[onnx]. This is the server's answer.",
    "too large": "has 2 MB of weights, and Live gives a browser at most 1 MB.",
    "other filter": "takes photos cut or resized in a way that Live has not.",
    "no plain ViT": "reads its answer by 'max', which no ONNX graph is made of.",
    "another graph": "gives other logits than PyTorch",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_can_not_go_live_is_said_in_a_sentence_and_the_server_answers(kind, monkeypatch):
    changes = {"no plain ViT": {"global_pool": "max"}, "too large": {"embed_dim": 96, "depth": 4, "num_heads": 3}}
    run = runs.RUNS_FOLDER / "20260101-000000"
    run_folder(run, **changes.get(kind, {}))
    if kind == "no onnx":
        monkeypatch.setitem(sys.modules, "onnx", None)
    if kind == "too large":
        monkeypatch.setattr(live_onnx_graph, "MOST_MB", 1)
    if kind == "other filter":
        card = run / "model.json"
        card.write_text(card.read_text().replace("bilinear", "nearest"))
    if kind == "another graph":
        monkeypatch.setattr(live_onnx_graph, "AGREES", 0.0)
    said = App("live", model="runs/20260101-000000").fine().component("live")
    assert REFUSED[kind] in said["problem"] and said["problem"].endswith("This is the server's answer.")
    assert said["files"] == {} and len(said["server"]["answer"]) == 5

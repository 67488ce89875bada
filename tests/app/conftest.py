"""What tests of the pages share: a server that stays warm from test to test, and models that need no download."""

import tempfile
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import app_test, local_script_runner

import vitcore
from app.state.memory import garbage_collection, memory_cache
from app.state.models import save_and_unzip_upload
from app.state.photos import photo_collections
from tests.conftest import NORMALISE, TINY, lively
from tests.printed_figures import printed_once
from vitcore.architectures.build_model import build_from_description
from vitcore.models import load_model
from vitcore.train import run_folder
from vitcore.train.evaluation import few_shot

pytest.register_assert_rewrite("visitor")


@pytest.fixture(scope="session", autouse=True)
def one_server():
    """AppTest starts a server at every run: it compiles every page, and reads what every installed package says of itself.

    Here all runs share the compiled pages, as a server does, and no package is asked for components that it doesn't have.
    It pretends one server for each run, attribute by attribute, a tenth of the run's time; here that is one for all.
    And AppTest asks a thousand times a second whether the script has ended; here it sleeps until then. Nor does the app's sweeper
    walk every 20 seconds through all that tests have loaded. A class of the few-shot page has half of its photos, which are
    drawn five times, not twenty, and of the same figure a page or a report gets the same bytes.
    """
    compiled, ended, pretended = ScriptCache(), local_script_runner.require_widgets_deltas, MagicMock(spec=Runtime)

    def wait(runner, timeout=3):
        runner._script_thread.join(timeout)
        ended(runner, timeout)

    with pytest.MonkeyPatch.context() as patch, printed_once():
        patch.setattr(manifest_scanner, "scan_component_manifests", lambda *_, **__: [])
        for module in (app_test, local_script_runner):
            patch.setattr(module, "ScriptCache", lambda: compiled)
        patch.setattr(local_script_runner, "require_widgets_deltas", wait)
        patch.setattr(app_test, "MagicMock", lambda spec: pretended.reset_mock() or pretended)  # else it remembers every call
        patch.setattr(garbage_collection, "INTERVAL_S", 3600.0)
        patch.setattr(photo_collections, "PHOTOS_PER_CLASS", 6)
        patch.setattr(few_shot.few_shot_over_draws, "__defaults__", (5, few_shot.RIDGE_PENALTY))
        st.config.set_option("runner.postScriptGC", False)  # of everything torch, timm and plotly have, after every run
        yield


@pytest.fixture(autouse=True)
def no_models_and_no_runs(monkeypatch, tmp_path):
    """Every test starts with no folder of models placed by hand, no runs and no polls."""
    monkeypatch.setenv("INSIDE_VIT_POLLS", str(tmp_path / "polls"))
    monkeypatch.setenv("VITCORE_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr(run_folder, "RUNS_FOLDER", tmp_path / "runs")


@pytest.fixture
def disk(monkeypatch, tmp_path) -> Path:
    """Where folders of visitors are made: nothing else is there."""
    place = tmp_path / "disk"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setattr(save_and_unzip_upload, "SPARE_DISK_BYTES", 0)
    return place


@pytest.fixture
def nothing_is_cached():
    """Every test that asks for it starts as a fresh server does; for the others the model that ships stays warm."""
    st.cache_data.clear()
    st.cache_resource.clear()
    memory_cache.CACHE.clear()


@pytest.fixture(scope="session")
def known() -> dict[str, object]:
    """The modules that were ever offered, by name: what the app keeps of a model it keeps under its name."""
    return {}


@pytest.fixture
def offer(monkeypatch, known):
    """`offer(name=vit)`: models the app can have by name, as if they had been downloaded; the hub has no others."""
    offered: dict[str, load_model.Vit] = {}
    load = load_model.load

    def fetch(name, progress=None):
        if name not in offered:
            raise load_model.ModelError(f"{name} could not be downloaded: the hub can't be reached (ConnectError).")
        if progress:
            progress(1, 2)
        return Path(name)

    monkeypatch.setattr(load_model, "fetch_weights", fetch)
    monkeypatch.setattr(load_model, "load", lambda name, **how: load(name, **how) if how or name not in offered else offered[name])

    def give(*models: dict[str, load_model.Vit], **named: load_model.Vit) -> None:
        for name, vit in {**(models[0] if models else {}), **named}.items():
            assert known.setdefault(name, vit.module) is vit.module, f"another test offers another model as {name}"
            offered[name] = vit

    return give


@pytest.fixture(scope="session")
def kinds(make_module) -> dict[str, load_model.Vit]:
    """Models of every kind a page has to be honest about, small and random, each by the name the app knows it by."""
    import timm
    import torch

    small = {name: TINY[name] for name in ("embed_dim", "depth", "num_heads")}
    with torch.random.fork_rng():
        torch.manual_seed(0)  # timm draws weights from torch's own numbers
        modules = {
            "registers": make_module(reg_tokens=4),
            "no-class-token": make_module(class_token=False, global_pool="map"),
            "mean-of-patches": make_module(class_token=False, global_pool="avg", fc_norm=False),
            "no-positions": make_module(pos_embed="none"),
            "no-head": make_module(num_classes=0),
            "wide": make_module(img_size=(24, 48)),
            "distilled": timm.create_model("deit_tiny_distilled_patch16_224", **small, img_size=32, patch_size=8).eval(),
            "hybrid": timm.create_model("vit_tiny_r_s16_p8_224", **small, img_size=128).eval(),
        }
        modules |= {
            "axial": lively(build_from_description({"family": "axial", **TINY}, 32)),
            "network": timm.create_model("test_resnet", num_classes=10).eval(),
            "windows": timm.create_model("swin_tiny_patch4_window7_224", img_size=112, embed_dim=24, depths=(1, 1, 1),
                                         num_heads=(1, 2, 3), num_classes=10).eval(),
        }  # fmt: skip
    return {name: vitcore.wrap(module, name=name, **NORMALISE) for name, module in modules.items()}


@pytest.fixture
def files(monkeypatch):
    """The bytes behind each address that a page hands out."""
    kept = {}

    def add(data: bytes, mime: str, place: str) -> str:
        name = f"/media/{place}-{hash(data)}.bin"
        kept[name] = data
        return name

    for module in (
        "views.attention.explorer_message",
        "views.overview.look_message",
        "views.tokens.tokens_message",
        "widgets.attention_urls",
    ):
        monkeypatch.setattr(f"app.{module}.media_url", add)
    return kept


@pytest.fixture(scope="module")
def server():
    """The address of an app in a process of its own."""
    from app_server import served

    with served() as address:
        yield address

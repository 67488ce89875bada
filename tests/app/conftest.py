"""What tests of the pages share: a server that has cached nothing, and models that need no download."""

from pathlib import Path

import pytest
import streamlit as st

from vitcore import zoo
from vitcore.train import runs as files

pytest.register_assert_rewrite("visitor")


@pytest.fixture(autouse=True)
def nothing_is_cached(monkeypatch, tmp_path):
    """Every test starts as a fresh server does, with no folder of models placed by hand and no runs."""
    monkeypatch.setenv("VITCORE_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr(files, "RUNS", tmp_path / "runs")
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture
def offer(monkeypatch):
    """`offer(name=vit)`: models the app can have by name, as if they had been downloaded; the hub has no others."""
    offered: dict[str, zoo.Vit] = {}
    load = zoo.load

    def fetch(name, progress=None):
        if name not in offered:
            raise zoo.ModelError(f"{name} could not be downloaded: the hub can't be reached (ConnectError).")
        if progress:
            progress(1, 2)
        return Path(name)

    monkeypatch.setattr(zoo, "fetch", fetch)
    monkeypatch.setattr(zoo, "load", lambda name: offered[name] if name in offered else load(name))
    return offered.update


@pytest.fixture(scope="session")
def kinds(make_module) -> dict[str, zoo.Vit]:
    """Models of every kind a page has to be honest about, small and random, each by the name the app knows it by."""
    import timm

    modules = {
        "registers": make_module(reg_tokens=4),
        "no-class-token": make_module(class_token=False, global_pool="map"),
        "mean-of-patches": make_module(class_token=False, global_pool="avg", fc_norm=False),
        "no-positions": make_module(pos_embed="none"),
        "no-head": make_module(num_classes=0),
        "wide": make_module(img_size=(24, 48)),
        "distilled": timm.create_model("deit_tiny_distilled_patch16_224").eval(),
        "hybrid": timm.create_model("vit_small_r26_s32_224").eval(),
    }
    return {name: zoo.wrap(module, name) for name, module in modules.items()}

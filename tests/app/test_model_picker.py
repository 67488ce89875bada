"""A model that can't be had is said, with what to do; the app stays on the model it had."""

import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from visitor import MAIN, App

import vitcore
from vitcore.models import load_model
from vitcore.models.model_cards import DEFAULT_MODEL, MODEL_CARDS

HUB = MODEL_CARDS[1]


def unreachable(monkeypatch):
    def fetch(name, progress=None):
        raise load_model.ModelError(f"{name} could not be downloaded: the hub can't be reached (ConnectError).")

    monkeypatch.setattr(load_model, "fetch_weights", fetch)


def test_the_hub_is_out_of_reach(monkeypatch):
    unreachable(monkeypatch)
    app = App("overview")
    for slug in ("overview", "rollout", "report"):  # the frame around every page is one
        before = app.go(slug).fine().charts()
        app.set(model=HUB.name).fine()
        (said,) = app.sentences("warning")
        assert "can't be reached" in said and f"The app stays on {MODEL_CARDS[0].title}." in said
        assert app.charts() == before and app.values()["model"] == DEFAULT_MODEL, "the picker names the model that is shown"
    assert not app.go("overview").fine().at.warning


def test_it_is_tried_again_when_asked_and_that_is_said(monkeypatch, kinds, offer):
    unreachable(monkeypatch)
    app = App("rollout", model=HUB.name).fine()
    assert len(app.component("gathered")["values"]) == 256 and "Tried" not in app.sentences("warning")[0]
    assert "Tried 2 times." in app.press("Try again").sentences("warning")[0]
    asked = []
    monkeypatch.setattr(load_model, "fetch_weights", lambda name, progress=None: asked.append(name))
    small = kinds["registers"]
    offer({HUB.name: replace(small, card=replace(small.card, name=HUB.name))})
    app.set(style="paper").fine()
    assert app.at.warning and not asked, "not at every touch"
    app.press("Try again")
    assert asked == [HUB.name] and not app.at.warning
    assert len(app.component("gathered")["values"]) == 16


def test_the_app_stays_on_the_model_it_had(kinds, offer):
    offer(registers=kinds["registers"])
    app = App("rollout", model="registers").set(model="not-there").fine()
    (said,) = app.sentences("warning")
    assert "not-there" in said and said.endswith("The app stays on registers.")
    assert len(app.component("gathered")["values"]) == 16


def test_a_download_says_how_far_it_is(kinds, offer):
    from streamlit.delta_generator import DeltaGenerator

    offer(registers=kinds["registers"])
    told = []
    with pytest.MonkeyPatch.context() as patch:
        progress = DeltaGenerator.progress
        patch.setattr(DeltaGenerator, "progress", lambda self, *args: told.append(args) or progress(self, *args))
        App("overview", model="registers").fine()
    assert told[0][0] == 0.5 and "Downloading the model" in told[0][1]


def test_names_that_could_do_harm():
    for name in (HARMFUL[0], "no_such_vit"):  # of a link
        app = App("patches", model=name).fine()
        assert app.at.warning and ("no_such_vit" in app.text("warning")) == (name == "no_such_vit")
    for name in ["no_such_vit", *HARMFUL]:
        app.set(model=name).fine()
        (said,) = app.sentences("warning")
        assert len(said) < 700 and said.endswith(f"The app stays on {MODEL_CARDS[0].title}."), name
        assert name != "no_such_vit" or name in said
        assert app.charts() and len(app.component("split")["cell"]) == 2


HARMFUL = ["../../etc/passwd", "/etc/passwd", "https://x.example/m", "..", "a" * 5000, "💥", "a b", "x.safetensors", "**bold**",
           "runs/first", "-", "%00", "'; --", "![](x)"]  # fmt: skip


def test_a_model_in_which_no_grid_is_found_is_refused_in_a_sentence(monkeypatch):
    """It downloads, and then there is nothing to show of it."""
    import timm

    monkeypatch.setattr(load_model, "fetch_weights", lambda name, progress=None: None)
    load, name = load_model.load, "tnt_s_patch16_224"

    def made(name):
        return load(name) if name == DEFAULT_MODEL else vitcore.wrap(timm.create_model(name, depth=2), name=name)

    monkeypatch.setattr(load_model, "load", made)
    app = App("rollout", model=name).fine()
    (said,) = app.sentences("warning")
    assert name in said and said.endswith(f"The app stays on {MODEL_CARDS[0].title}.")
    assert app.pictures()


REAL = f"""
import os
from streamlit.testing.v1 import AppTest
at = AppTest.from_file({str(MAIN)!r}, default_timeout=120)
at.query_params["model"] = {HUB.name!r}
at.run()
assert not at.exception, at.exception
(said,) = [w.value for w in at.warning]
assert "reached" in said and "safetensors" not in said and "stays on" in said, said  # and no path of the server
assert len(at.get("bidi_component")) >= 6
print(said)
"""


@pytest.mark.slow
def test_the_hub_is_really_out_of_reach(tmp_path):
    """Nothing is replaced: a server whose hub is a closed port."""
    env = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
    env |= {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path), "VITCORE_MODELS": str(tmp_path / "by-hand")}
    env.pop("HF_HUB_OFFLINE", None)
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", REAL], env=env, cwd=MAIN.parents[1], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert time.monotonic() - begun < 120

"""Live in Chromium with a visitor's own model and a run's: they answer as `vitcore.record` does, and are given to nobody else."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect
from safetensors.torch import save
from test_live_in_a_browser import seen
from wait_and_look import LONG_MS, at_rest, follow, pick, serious

import vitcore
from app import texts
from app.server.live_shipped_files import missing_live_files
from tests.conftest import TINY
from tests.model_files import run_folder
from vitcore.assets import asset_path

BRING = texts.prose("bring", "en")
OWN = {"reg_tokens": 2, "global_pool": "avg", "img_size": 64}


def agrees(page, vit) -> None:
    """The browser's answer on the page's photo is the recording's."""
    expect(page.locator("figure .checked")).to_contain_text("differ from the server's by at most", timeout=LONG_MS)
    found, rec = seen(page), vitcore.record(vit, asset_path("samples/red-panda.jpg"))
    rolled = rec.rollout().ravel()
    assert np.abs(found["logits"] - rec.logits).max() < 1e-4 and np.ptp(rec.logits) > 0.5
    assert np.abs(found["rolled"][rec.grid.prefix :] - rolled).max() < 1e-5 * rolled.max()


@pytest.mark.skipif(bool(missing_live_files()), reason="onnxruntime-web is not installed here: run `make app`")
def test_a_visitors_model_and_a_run_are_run_by_the_browser(visit, home, make_module, tmp_path):
    run_folder(home / "runs" / "20260102-030405", seed=5)
    own = tmp_path / "mine.safetensors"
    own.write_bytes(save({name: w.clone() for name, w in make_module(seed=4, **OWN).state_dict().items()}))
    page = at_rest(visit("bring"))
    page.locator("[data-testid=stMain] input[type=file]").first.set_input_files(own)
    expect(page.get_by_role("heading", name="mine.safetensors")).to_be_visible(timeout=LONG_MS)
    pick(at_rest(page), page.get_by_role("combobox", name="How many attention heads does each block have?"), "3")
    at_rest(page).get_by_role("button", name=BRING["open"]).click()
    expect(page.get_by_role("combobox", name="Model")).to_have_value("mine (yours)", timeout=LONG_MS)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    at_rest(follow(page, "live"))
    agrees(page, vitcore.load(own, answers={"heads": "3"}))
    assert serious(page) == []
    mine = [url for url in asked if "/live-models/" in url]
    assert sorted(url.rpartition("/")[2] for url in mine) == ["model.onnx", "model.safetensors"]

    other = at_rest(visit("live?model=runs/20260102-030405"))
    agrees(other, vitcore.load(home / "runs" / "20260102-030405"))
    given = [[one.request.get(url).status for url in mine] for one in (page, other)]
    assert given == [[200, 200], [404, 404]], "another visitor's browser is given nothing, whatever it knows"
    layer = other.locator("figure .layers input")
    assert layer.get_attribute("max") == str(TINY["depth"] - 1)
    assert re.search(r"threads: \d", other.locator("figure .rate").inner_text())

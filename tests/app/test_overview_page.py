"""The landing page: its first picture is there before the model is, and is what the model says; its doors open."""

import base64
import io
import json
from unittest.mock import patch

import numpy as np
import pytest
import streamlit as st
from files import corners, saved
from PIL import Image
from streamlit.testing.v1 import AppTest
from visitor import MAIN, App

import vitcore
from app import texts
from app.shell import current_visit
from app.state import landing_figures
from app.state.photos import sample_photos, uploaded_photo
from vitcore.figures.attention import resize_for_figure
from vitcore.figures.heat_overlay import fine_detail, heat_colours, scale_top
from vitcore.images import sharp_crop


def pixels(address: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))).convert("RGB"))


def title(app: App) -> str:
    (title,) = app.fine().at.title
    return title.value


def test_every_picture_has_words_and_the_doors_open():
    menu = texts.prose("menu", "en")
    app = App("overview", lecture="true", photo="cat").fine()  # bound to the address, which Streamlit guards
    for slug in ("patches", "attention", "positions", "filters", "distance", "answer"):
        spec = app.component(f"door_{slug}")
        assert len(spec["alt"]) > 10 and spec["title"] and spec["traces"], slug
    for page in ("story", "learn"):
        assert title(app.go("overview").press(f"door_{page}")) == menu[page]
    app.go("overview").at.session_state["_touched"] = 37  # what a click on the first picture puts there
    assert title(app.run()) == menu["attention"] and app.values()["patch"] == 37


@pytest.fixture(scope="module")
def rec(shipped):
    return vitcore.record(shipped, sample_photos.SAMPLES / f"{sample_photos.samples()[0]['id']}.jpg")


# The first picture


def test_the_picture_that_ships_is_what_is_computed_now(rec, shipped):
    """If this fails after a change of the model, the photo or the drawing: python -m app.state.landing_figures"""
    kept = json.loads(landing_figures.PICTURE_FILE.read_text())
    mask, grid = rec.rollout(), rec.grid
    assert kept["model"] == vitcore.models.model_cards.DEFAULT_MODEL and kept["photo"] == sample_photos.samples()[0]["id"]
    assert (kept["rows"], kept["cols"], kept["cell"]) == (grid.rows, grid.cols, list(grid.step_px))
    assert np.allclose(kept["values"], 100 * mask.ravel(), atol=2e-4)
    assert kept["top"] == pytest.approx(scale_top(mask) / mask.mean(), rel=1e-4) and kept["more"] == (scale_top(mask) < mask.max())
    assert kept["readout"] == shipped.pooling
    drawn = heat_colours(mask, scale_top(mask)).astype(int)
    assert np.abs(pixels(kept["overlay"]) - drawn).max() <= 3
    photo = resize_for_figure(sharp_crop(rec.photo, rec.model_input))
    assert np.abs(pixels(kept["detail"])[..., 0] - fine_detail(photo, grid).astype(int)).mean() < 4
    seen = np.asarray(photo.convert("RGB")).astype(int)
    assert pixels(kept["image"]).shape == seen.shape and np.abs(pixels(kept["image"]) - seen).mean() < 4


def test_the_first_picture_is_small_and_needs_no_model():
    assert landing_figures.PICTURE_FILE.stat().st_size < 150_000
    with patch.object(current_visit, "load_visit", lambda *_, **__: st.stop()):
        at = AppTest.from_file(str(MAIN), default_timeout=60).run()
    assert not at.exception
    assert json.loads(at.get_by_key("gathered_first").proto.json)["image"].startswith("data:image/webp")
    assert {at.get_by_key("door_story").label, at.get_by_key("door_learn").label} == {"Begin the story", "Start the film"}
    assert at.get_by_key("own_file")


def test_any_other_photo_and_model_is_computed(kinds, offer, shipped):
    panda = "“lesser panda” is ImageNet's name for what this photo shows: Red panda."
    assert panda in App("overview").fine().sentences("caption")
    app = App("overview", photo="cat").fine()
    assert panda not in app.sentences("caption")
    told = app.component("gathered_first")
    other = vitcore.record(shipped, sample_photos.SAMPLES / "cat.jpg")
    assert np.allclose(told["values"], 100 * other.rollout().ravel(), atol=2e-4)
    seen = np.asarray(resize_for_figure(sharp_crop(other.photo, other.model_input)).convert("RGB")).astype(int)
    assert np.abs(pixels(told["image"]) - seen).mean() < 4
    offer(wide=kinds["wide"])
    told = App("overview", model="wide").fine().component("gathered_first")
    grid = kinds["wide"].grid
    assert (told["rows"], told["cols"]) == (grid.rows, grid.cols) and len(told["values"]) == grid.patches


# Doors


def test_a_visitor_brings_a_photo_right_there():
    app = App("overview").fine()
    before = app.component("gathered_first")["image"]
    app.upload("text.jpg", b"not a photo", key="own_file").fine()
    (said,) = app.sentences("error")
    assert said.startswith("text.jpg") and app.component("gathered_first")["image"] == before
    app.upload("mine.png", saved(corners((300, 200)), "PNG"), key="own_file").fine()
    assert app.values()["photo"] == uploaded_photo.PHOTO_ID and not app.at.error
    assert app.component("gathered_first")["image"] != before
    mine = app.component("door_patches")
    assert mine != App("overview").component("door_patches")


def test_pictures_of_photo_and_model_are_kept_apart(kinds, offer):
    """What is kept for one model, photo, theme or language is not shown for another."""
    offer(registers=kinds["registers"])
    one = App("overview").fine()
    before = {part: one.component(f"door_{part}") for part in ("patches", "positions", "distance")}
    assert one.set(photo="cat").fine().component("door_patches") != before["patches"]
    assert one.set(model="registers").fine().component("door_positions") != before["positions"]
    dark = App("overview", "dark", lang="zh-TW").fine().component("door_distance")
    assert dark["title"] != before["distance"]["title"] and dark["x"] != before["distance"]["x"], "words and colours"

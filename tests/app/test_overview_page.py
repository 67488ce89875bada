"""The Look page without a browser: a first picture before there is a model, and then what the model says, number by number."""

import base64
import io
import json
import zipfile
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
import streamlit as st
from picture_files import corners, saved
from PIL import Image
from streamlit.testing.v1 import AppTest
from visitor import MAIN, App

import vitcore
from app import texts
from app.shell import load_page_visit
from app.state import landing_figures, reports
from app.state.photos import sample_photos, uploaded_photo
from app.state.recordings import cached_recordings, look_bytes_for_browser
from vitcore.analysis import attention_as_bytes, position_embeddings
from vitcore.analysis.attention_distance import uniform_distance_px
from vitcore.analysis.rollout import rollout
from vitcore.figures.attention import resize_for_figure
from vitcore.figures.heat_overlay import fine_detail
from vitcore.forward.block_activations import patch_embeddings
from vitcore.images import sharp_crop
from vitcore.models import load_model
from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.report.report_settings import ReportSettings

PICTURES = ("patches", "filters", "positions", "distance", "rollout")


def pixels(address: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))).convert("RGB"))


def title(app: App) -> str:
    (title,) = app.fine().at.title
    return title.value


def given(app: App) -> dict:
    return app.fine().component("look")


def codes(files: dict, spec: dict, *shape: int) -> np.ndarray:
    return attention_as_bytes.decode_weights(np.frombuffer(files[spec["url"]], np.uint8).reshape(shape))


def signed(files: dict, spec: dict, *shape: int) -> np.ndarray:
    return np.frombuffer(files[spec["url"]], np.int8).reshape(shape) / 127


def close(found, expected) -> None:
    """Equal within the error that the code states, and that of sums in float32."""
    expected = np.asarray(expected, np.float64)
    small = expected < attention_as_bytes.LEAST
    assert np.all(found[small] <= 2**-attention_as_bytes.SPAN)
    assert np.abs(found[~small] / expected[~small] - 1).max(initial=0) <= attention_as_bytes.WORST + 1e-4


@pytest.fixture(scope="module")
def rec(shipped):
    photo = sample_photos.SAMPLES / f"{sample_photos.sample_photo_rows()[0]['id']}.jpg"
    return vitcore.record(shipped, photo, maps=range(shipped.blocks))


# Before there is a model


def test_the_picture_that_ships_is_what_is_computed_now(rec, shipped):
    """If this fails after a change of the model, the photo or the drawing: python -m tests.shipping.landing_picture"""
    kept = json.loads(landing_figures.PICTURE_FILE.read_text())
    grid = rec.grid
    assert kept["model"] == vitcore.models.model_cards.DEFAULT_MODEL and kept["photo"] == sample_photos.sample_photo_rows()[0]["id"]
    assert kept["grid"] == {"rows": grid.rows, "cols": grid.cols, "prefix": grid.prefix, "step": list(grid.step_px)}
    assert np.allclose(kept["values"], rec.rollout().ravel(), atol=2e-6)
    assert kept["readout"] == shipped.pooling and kept["colours"] == landing_figures.encoded_colour_tables("light")
    assert [(label, pytest.approx(share, abs=1e-3)) for label, share in rec.top_classes()] == [tuple(one) for one in kept["answer"]]
    assert [shipped.labels[i] for i in kept["classes"]] == [label for label, _ in kept["answer"]]
    photo = resize_for_figure(sharp_crop(rec.photo, rec.model_input))
    assert np.abs(pixels(kept["detail"])[..., 0] - fine_detail(photo, grid).astype(int)).mean() < 4
    seen = np.asarray(photo.convert("RGB")).astype(int)
    assert pixels(kept["image"]).shape == seen.shape and np.abs(pixels(kept["image"]) - seen).mean() < 4


def test_the_first_picture_is_small_and_needs_no_model():
    assert landing_figures.PICTURE_FILE.stat().st_size < 150_000
    stopped = patch.object(load_page_visit, "load_visit", lambda *_, **__: st.stop())
    with stopped, patch.object(cached_recordings, "is_recording_cached", lambda *_: False):
        at = AppTest.from_file(str(MAIN), default_timeout=60).run()
    assert not at.exception
    early = json.loads(at.get_by_key("look_early").proto.json)
    assert early["photo"].startswith("data:image/webp") and early["early"] and len(early["values"]) == 256
    assert len(early["answer"]) == 5 and "class token" in early["words"]["readout"]


def test_the_first_picture_is_sent_to_nobody_whose_page_is_drawn_at_once():
    App("overview").fine()  # from now on the recording is kept
    assert cached_recordings.is_recording_cached(DEFAULT_MODEL, "red-panda") and not cached_recordings.is_recording_cached(
        "a model of nobody", "red-panda"
    )
    with patch.object(load_page_visit, "load_visit", lambda *_, **__: st.stop()):
        at = AppTest.from_file(str(MAIN), default_timeout=60).run()
    assert not at.exception and not any(one.key == "look_early" for one in at.get("bidi_component"))


# The numbers


def test_the_five_pictures_are_the_recordings_numbers(files, rec, shipped):
    data, n = given(App("overview")), rec.grid.patches
    assert not data["early"] and data["undefined"] == dict.fromkeys(PICTURES, "")
    for block in (0, 5, 11):
        close(codes(files, data["maps"][block], 3, 257, 257), rec.maps[block])
    steps = np.frombuffer(files[data["steps"]["url"]], np.float32).reshape(12, 16, 16)
    assert np.allclose(steps, rec.rollout_per_layer(), rtol=1e-6) and steps[-1].argmax() == rec.rollout().argmax()
    close(codes(files, data["rollout"], 257, 257)[101], rollout(rec.fused["mean"], 101, prefix=1))
    assert data["readouts"] is None, "the answer is read at one token, whose attention is sent already"
    cosine = position_embeddings.position_similarity(load_model.position_embeddings(shipped))
    assert np.abs(signed(files, data["positions"], n, n) - cosine).max() <= 0.5 / 127 + 1e-6
    assert len(data["positions"]["tiles"]) == 49 and data["positions"]["side"] == [7, 7]
    embedded = patch_embeddings(shipped, rec.model_input.pixels)
    assert (
        np.abs(signed(files, data["embedding"], *embedded.shape) * np.abs(embedded).max() - embedded).max()
        < 0.005 * np.abs(embedded).max()
    )
    assert np.allclose(data["distance"]["px"], rec.distance_px, atol=0.006)
    assert np.allclose(data["distance"]["prefix"], rec.prefix_attention_share, atol=6e-4)
    assert data["distance"]["uniform"] == pytest.approx(uniform_distance_px(rec.grid))
    assert [tuple(one[:2]) for one in data["answer"]] == [(label, pytest.approx(share)) for label, share in rec.top_classes()]
    picture = np.asarray(Image.open(io.BytesIO(files[data["pixels"]])).convert("RGB"))
    assert np.array_equal(picture, rec.model_input.pixels)


def test_the_components_that_are_framed_make_most_of_the_embedding(rec, shipped):
    """Against the embedding itself: a component's part is the spread over filters of what it adds to them."""
    from vitcore.analysis import filters, patches

    kernel = load_model.first_layer_filters(shipped)
    fitted = filters.principal_components(kernel)
    cut = patches.normalise_pixels(patches.split_patches(rec.model_input.pixels, shipped.patches), shipped.mean, shipped.std)
    rows = kernel.transpose(0, 2, 3, 1).reshape(len(kernel), -1)
    weights = (rows - rows.mean(0)) @ fitted.vectors.reshape(len(fitted.vectors), -1).T  # filter × component
    one = cut[37].ravel() @ fitted.vectors.reshape(len(fitted.vectors), -1).T
    spread = (weights * one).std(0)[: look_bytes_for_browser.MAX_COMPONENTS]
    parts = np.abs(
        np.frombuffer(look_bytes_for_browser.component_part_bytes(rec, look_bytes_for_browser.MAX_COMPONENTS), np.int8)
        .reshape(256, -1)[37]
        .astype(float)
    )
    assert set(np.argsort(spread)[-3:]) == set(np.argsort(parts, kind="stable")[-3:])
    exact = np.abs(filters.component_projections(cut, fitted, look_bytes_for_browser.MAX_COMPONENTS)[37])
    assert np.allclose(exact / exact.max(), spread / spread.max())


@pytest.mark.parametrize("kind", ["no-class-token", "mean-of-patches"])
def test_where_the_answer_is_read_from_many_tokens_their_attention_is_sent(kind, kinds, offer, files):
    offer({kind: kinds[kind]})
    data = given(App("overview", model=kind))
    vit = kinds[kind]
    rec = vitcore.record(vit, sample_photos.SAMPLES / f"{sample_photos.sample_photo_rows()[0]['id']}.jpg", maps=range(vit.blocks))
    for block in range(vit.blocks):
        found = codes(files, data["readouts"][block], vit.heads, rec.grid.tokens)
        close(rec.grid.to_map(found), rec.head_maps(block))
    assert vit.pooling in data["words"]["readout"] and "class token" not in json.dumps(data["words"])


def test_a_large_model_sends_the_layer_at_hand_and_rows_that_fit(files, make_vit, offer, photo):
    vit = make_vit(img_size=240, patch_size=8, num_heads=4, reg_tokens=2)
    vit = replace(vit, card=replace(vit.card, name="large-look"))
    offer({"large-look": vit})
    with patch.object(cached_recordings, "KEEP_MAPS_MB", 6):
        data = given(App("overview", model="large-look", photo="astronaut", layer="1", patch="697"))
    rec = vitcore.record(vit, photo, maps=[1], fusions=("mean",))
    assert [place is None for place in data["maps"]] == [True, False, True]
    for spec, expected in ((data["maps"][1], rec.maps[1]), (data["rollout"], None)):
        assert 700 in spec["queries"] and len(files[spec["url"]]) <= 800_000
        if expected is not None:
            close(codes(files, spec, 4, len(spec["queries"]), rec.grid.tokens), expected[:, spec["queries"]])
    close(
        codes(files, data["rollout"], -1, rec.grid.tokens)[data["rollout"]["queries"].index(700)],
        rollout(rec.fused["mean"], 700, prefix=3),
    )
    spec = data["positions"]
    assert {3 + tile for tile in spec["tiles"]} | {700} <= set(spec["queries"])
    cosine = position_embeddings.position_similarity(load_model.position_embeddings(vit))
    rows = signed(files, spec, len(spec["queries"]), rec.grid.patches)
    assert np.abs(rows - cosine[[one - 3 for one in spec["queries"]]]).max() <= 0.5 / 127 + 1e-6


# What is chosen, and what is not defined


def test_what_is_chosen_is_in_the_address_and_on_every_page():
    data = given(App("overview", patch="9", layer="3", one_head="2"))
    assert data["state"] == {"patch": 9, "layer": 3, "head": 2, "mask": False}
    assert given(App("overview"))["state"] == {"patch": None, "layer": None, "head": None, "mask": False}
    app = App("patches").set(patch=37)
    assert given(app.go("overview"))["state"]["patch"] == 37
    app.set(layer=4)
    assert app.go("attention").fine().values()["layer"] == 4


@pytest.mark.parametrize("name", PICTURES)
def test_each_picture_opens_its_page(name):
    menu = texts.prose("menu", "en")
    app = App("overview").fine()
    app.at.session_state["_open_page"] = name  # what the click puts there
    assert title(app.run()) == menu[name]


def test_the_five_pictures_are_taken_as_files(rec, shipped):
    app = App("overview", patch="3").fine()
    (button,) = (one for one in app.at.get("download_button") if one.proto.label == texts.prose("overview", "en")["take"])
    assert button.proto.deferred_file_id and not button.proto.disabled
    made = {}
    for patch_asked in (None, 3):
        data = reports.five_pictures(shipped.name, rec.photo.key, ReportSettings(patch=patch_asked), "light")
        with zipfile.ZipFile(io.BytesIO(data)) as files:
            made[patch_asked] = {name: files.read(name) for name in files.namelist()}
    assert list(made[3]) == [f"{number}-{name}.png" for number, name in enumerate(PICTURES, 1)]
    assert all(min(Image.open(io.BytesIO(one)).size) > 300 for one in made[3].values())
    assert made[3]["5-rollout.png"] != made[None]["5-rollout.png"] and made[3]["2-filters.png"] == made[None]["2-filters.png"]


def test_the_pictures_of_a_model_whose_heads_do_not_all_fit(rec, shipped, kinds, offer):
    with patch.object(cached_recordings, "KEEP_MAPS_MB", 0):
        data = reports.five_pictures(shipped.name, rec.photo.key, ReportSettings(), "light")
        assert len(zipfile.ZipFile(io.BytesIO(data)).namelist()) == len(PICTURES)
        assert len(App("bring").fine().component("sheet_pictures")["tiles"]) == len(reports.SHEET)
    offer(windows=kinds["windows"])
    labels = [one.proto.label for one in App("overview", model="windows").fine().at.get("download_button")]
    assert texts.prose("overview", "en")["take"] not in labels, "of a model in whose windows there is no rollout"


def test_the_doors_open():
    menu = texts.prose("menu", "en")
    app = App("overview", lecture="true", photo="cat").fine()  # bound to the address, which Streamlit guards
    for page in ("story", "learn"):
        assert title(app.go("overview").press(f"door_{page}")) == menu[page]


def test_a_visitor_brings_a_photo_right_there():
    app = App("overview").fine()
    before = app.component("look")["answer"]
    app.upload("text.jpg", b"not a photo", key="own_file").fine()
    (said,) = app.sentences("error")
    assert said.startswith("text.jpg") and app.component("look")["answer"] == before
    app.upload("mine.png", saved(corners((300, 200)), "PNG"), key="own_file").fine()
    assert app.values()["photo"] == uploaded_photo.PHOTO_ID and not app.at.error
    assert app.component("look")["answer"] != before


def test_words_are_the_languages_and_colours_the_themes():
    dark = given(App("overview", "dark", lang="zh-TW"))
    assert dark["mode"] == "dark" and dark["words"]["patches title"] == "1. 影像區塊"


def test_the_photos_own_name_is_said_beside_imagenets(offer):
    panda = "“lesser panda” is ImageNet's name for what this photo shows: Red panda."
    assert panda in App("overview").fine().sentences("caption")
    assert panda not in App("overview", photo="cat").fine().sentences("caption")

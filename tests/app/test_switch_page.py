"""Switch off: what is off is in the address; answer, maps, drops and swapped tokens are vitcore's own."""

import io

import numpy as np
import pytest
from PIL import Image
from visitor import App, numbers, photo

import vitcore
from app import texts
from app.state import step_animations
from app.state.memory import memory_cache
from app.state.photos import sample_photos
from app.state.recordings import cached_interventions
from vitcore.probabilities import probabilities
from vitcore.translation import percent


def answers(app):
    """The words in the folds that hold the answers to both questions."""
    return [fold.markdown[0].value for fold in app.at.expander if fold.label == "Show the answer"]


def test_the_page_shows_vitcores_pass_without_the_parts(shipped):
    whole, gone = vitcore.record(shipped, photo()), ["L2H0", "L5.mlp", "positions"]
    app = App("switch", off="positions-L5.mlp-L2H0-L99H0").fine()
    data, off = app.component("switches"), vitcore.record(vitcore.switch_off(shipped, gone), photo())
    assert data["state"]["off"] == "L2H0-L5.mlp-positions" == app.values()["off"]
    assert len(data["components"]) == 12 * 5 + 2 and data["scan"] is None
    assert data["map"]["scale"] == f"{257 * data['map']['top']:.3g} times an even share of all tokens"
    np.testing.assert_allclose(numbers(data["map"]["before"]), whole.rollout(), atol=1e-6)
    np.testing.assert_allclose(numbers(data["map"]["after"]), off.rollout(), atol=1e-6)
    two = [probabilities(one.logits, "softmax") for one in (whole, off)]
    for row in data["answer"]:
        np.testing.assert_allclose(row["shares"], [one[shipped.labels.index(row["label"])] for one in two], atol=1e-4)
    assert data["told"].startswith("3 parts are off.")
    data = app.set(switch_by="uniform", switch_map="class_attention").fine().component("switches")
    off = vitcore.record(vitcore.switch_off(shipped, ["L2H0"], "uniform"), photo())
    assert data["state"] == {"off": "L2H0", "by": "uniform", "map": "class_attention", "scan": ""}, "only attention can be uniform"
    np.testing.assert_allclose(numbers(data["map"]["after"]), off.pooled_attention(11), atol=1e-6)
    assert App("switch", off="L2H0-nonsense").fine().component("switches")["state"]["off"] == "L2H0"


@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_where_the_heads_are_is_said_by_the_name_of_their_grid(lang):
    text = texts.prose("switch", lang)  # on a narrow screen they lie below the map, out of sight
    assert text["switches"] in text["nothing off"]


def test_outlier_tokens_are_named_of_each_map(shipped):
    """Without positions this photo's corners are framed in the map before alone, and so it is said."""
    data = App("switch", photo="cat", off="positions").fine().component("switches")
    framed = data["map"]["outliers"]
    assert framed == {"before": [0, 15, 240, 255], "after": []}
    assert data["outlying"] == "Before: These 4 corner patches are outlier tokens, not what the model looks at."
    same = App("switch", photo="cat").fine().component("switches")
    assert same["map"]["outliers"]["after"] == framed["before"] and same["outlying"] == data["outlying"].removeprefix("Before: ")


def test_every_head_is_tried_and_the_strongest_named_once_it_is_asked_for(shipped):
    app = App("switch").fine()
    guess = next(key for key in app.controls if key.startswith("guess_switch"))
    assert app.component("switches")["scan"] is None and "matters most:" not in answers(app)[0]
    drops = -vitcore.head_ablation(shipped, photo())
    layer, head = divmod(int(drops.argmax()), 3)
    scan = app.set(every_head="tried").fine().component("switches")["scan"]
    np.testing.assert_allclose(scan["drops"], drops, atol=2e-3)
    assert scan["strongest"] == f"L{layer}H{head}"
    assert scan["told"].startswith(f"Head {head} of layer {layer} matters most: without it the logit of lesser panda falls by")
    app.set(**{guess: layer // 4}).fine()
    assert "right" in answers(app)[0].lower()
    assert f"Head {head} of layer {layer}" in answers(app)[0]


@pytest.fixture
def forget_means():
    """What is kept of a gallery is not another's."""

    def forget():
        memory_cache.CACHE.drop(lambda key: str(key[0]).endswith("_layer_means"))

    forget()
    yield
    forget()


def test_the_mean_is_that_of_the_gallery(shipped, monkeypatch, forget_means):
    some = sample_photos.sample_photo_rows()[:2]
    monkeypatch.setattr(cached_interventions.sample_photos, "sample_photo_rows", lambda: some)
    rec = vitcore.record(shipped, photo())
    mean = vitcore.mean_activations(shipped, [photo(row["id"]) for row in some], ["z", "attn_out", "k", "v"])
    names = ["L1H2", "L3.attn", "class_token"]
    off = vitcore.record(vitcore.switch_off(shipped, names, "mean", mean), photo())
    found = cached_interventions.switched_pass.__wrapped__(rec, "-".join(names), "mean", False, shipped)
    np.testing.assert_allclose(found.logits, off.logits, atol=1e-4)


def test_swapped_tokens_and_the_layer_of_the_turn(shipped):
    app = App("switch", second_photo="espresso", square="8").fine()
    before = app.text()
    found = vitcore.activation_patching(shipped, photo(), photo("espresso"), [[0], range(1, 257)])
    app.press("swap_them").fine()
    turns = f"The answer turns at layer {found.turning_layer(0)}"
    assert turns in app.text() and "Squares taken after layer" in app.text()
    assert "Squares taken after layer" not in before and turns in answers(app)[1]


def test_the_steered_answer_is_the_librarys_and_goes_along_as_a_film(shipped, monkeypatch):
    taken = {}
    monkeypatch.setattr("app.views.switch.steering_section.show_downloads", lambda make, key, **rest: taken.update(rest))
    app = App("switch", second_photo="espresso", steer="100", steer_layer="6").fine()
    direction = vitcore.steering_direction(shipped, towards=photo("espresso"), away=photo(), layer=6)
    steered = vitcore.record(vitcore.steer(shipped, direction, 6), photo())
    np.testing.assert_allclose(taken["logits_after"], steered.logits, atol=1e-3)
    (label, after), *_ = steered.top_classes(1)
    assert f"{percent(after)} after" in app.text("markdown").partition(f"{label}: ")[2]
    bars = app.chart("Answer after steering")["data"][0]["x"]
    np.testing.assert_allclose(bars, [100 * p for _, p in steered.top_classes(5)], atol=1e-2)
    film = Image.open(io.BytesIO(taken["animation"]()))
    assert film.n_frames == 1 + step_animations.STEERING_STEPS, "from 0 to 100 per cent"


def test_what_can_t_be_done_is_said(kinds, offer):
    offer({kind: kinds[kind] for kind in ("axial", "mean-of-patches", "no-head", "registers")})
    assert "do not hand on their heads apart" in App("switch", model="axial").fine().text()
    app = App("switch", model="registers", off="registers-class_token").fine()
    assert app.component("switches")["told"].startswith("2 parts are off.")
    app = App("switch", model="no-head", off="L0H0").fine()
    assert "cosine similarity" in app.component("switches")["told"]
    assert not app.component("switches")["scannable"]
    app = App("switch", model="mean-of-patches", swap="swapped").fine()
    assert not [one for one in app.component("switches")["components"] if one["kind"] == "class_token"]

"""The rollout lab: both sides are vitcore's to the last digit, what isn't defined is said, and a link keeps it all."""

import base64
import io
import json
import re
import time

import numpy as np
import pytest
from PIL import Image
from scipy.stats import spearmanr
from visitor import App

import vitcore
from app import texts
from app.state.photos import sample_photos
from vitcore.analysis.relevance import METHODS, absolute_shares
from vitcore.analysis.rollout import rollout_per_layer
from vitcore.assets import asset_path
from vitcore.figures.heat_overlay import heat_colours
from vitcore.figures.relevance import rollout_per_layer_top
from vitcore.forward.relevance import relevance
from vitcore.models.model_cards import DEFAULT_MODEL

KEYS = {name: texts.prose("rollout", "en")[f"method.{name}"] for name in METHODS}
QUICK = {"b_method": "integrated_gradients", "b_steps": "8"}


@pytest.fixture(scope="module")
def first(shipped):
    """The recording of the photo that pages begin with."""
    return vitcore.record(
        shipped, sample_photos.SAMPLES / f"{sample_photos.sample_photo_rows()[0]['id']}.jpg", fusions=("mean", "max", "min")
    )


def values(app, key="gathered"):
    return np.array(app.component(key)["values"])


def test_a_side_is_vitcores(shipped, first):
    app = App("rollout", compare="true")
    for method in (name for name in METHODS if name != "integrated_gradients"):
        expected = relevance(shipped, first.model_input, method).maps
        if method in ("chefer", "grad_cam"):
            expected = absolute_shares(expected)
        app.set(b_method=method).fine()
        assert np.allclose(values(app, "b_gathered"), 100 * expected.ravel(), rtol=1e-3, atol=1e-4), method


def test_integrated_gradients_are_in_logits_and_say_how_complete_they_are(shipped, first):
    app = App("rollout", **QUICK, b_baseline="black").fine()
    found = relevance(shipped, first.model_input, "integrated_gradients", steps=8, baseline="black")
    told = app.component("b_gathered")
    assert told["unit"] == "logits" and np.allclose(told["values"], found.maps.ravel(), atol=2e-3)
    (said,) = (c.partition("The logit rises by")[2] for c in app.sentences("caption") if "The logit rises by" in c)
    rise, total, gap = (float(v.replace("−", "-")) for v in re.findall(r"[−+]?\d+\.\d+", said))
    assert (rise, gap) == pytest.approx((found.rises[0], found.gaps[0]), abs=5e-3)
    assert total == pytest.approx(rise + gap, abs=2e-3)


@pytest.mark.parametrize("settings", [{"fusion": "max", "discard_ratio": 0.6}, {"residual": 0.2, "first_block": 4}], ids=str)
def test_two_rollouts_their_difference_and_their_correlation(settings, first):
    address = {"fusion": "b_fusion", "discard_ratio": "b_discard", "residual": "b_residual", "first_block": "b_first"}
    percent = ("discard_ratio", "residual")
    given = {address[k]: str(round(100 * v) if k in percent else v) for k, v in settings.items()}
    app = App("rollout", b_method="rollout", **given).fine()
    one, two = first.rollout(), first.rollout(**settings)
    assert np.allclose(values(app), 100 * one.ravel(), atol=1e-3)
    assert np.allclose(values(app, "b_gathered"), 100 * two.ravel(), atol=1e-3)
    differ = app.component("differ")
    assert np.allclose(differ["values"], 100 * (absolute_shares(one) - absolute_shares(two)).ravel(), atol=1e-3)
    assert differ["unit"] == "percentage points" and abs(sum(differ["values"])) < 1e-3
    assert float(app.at.metric[0].value) == pytest.approx(spearmanr(one.ravel(), two.ravel()).statistic, abs=0.006)


def test_a_side_does_not_touch_the_other_and_may_stand_alone():
    app = App("rollout", b_method="rollout").fine()
    before = values(app)
    assert np.allclose(values(app, "differ"), 0)
    app.set(b_fusion="min").fine()
    assert np.array_equal(values(app), before) and not np.allclose(values(app, "b_gathered"), before)
    app = App("rollout").fine()
    assert "b_method" not in app.controls and not app.at.metric
    assert values(app).size == 256 and app.component("build_up")


# The class that is asked


LIKELIEST = "the model's own prediction"


def test_the_class_is_the_likeliest_until_one_is_chosen(shipped, first):
    app = App("rollout", compare="true").fine()
    (top, _), (second, share_of_second), *_ = first.top_classes()
    assert f"Chefer relevance for {top}" in app.text("markdown")
    assert share_of_second < 0.0005
    app.press(f"{second} < 0.1 %")  # little, and not nothing
    assert app.values()["class"] == second and f"Chefer relevance for {second}" in app.text("markdown")
    expected = absolute_shares(relevance(shipped, first.model_input, "chefer", shipped.labels.index(second)).maps)
    assert np.allclose(values(app, "b_gathered"), 100 * expected.ravel(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("address", "setting"), [
    *(({"class": given}, "zebra") for given in ("340", "zebra")),
    *(({"class": given}, LIKELIEST) for given in ("1000", "-1", "no such animal", "1e3")),
    *(({"method": given}, "grad_cam") for given in ("grad_cam", "Grad-CAM")),
    ({"method": texts.prose("rollout", "zh-TW")["method.chefer"]}, "chefer"),
], ids=str)  # fmt: skip
def test_a_link_names_a_class_by_number_or_name_and_a_method_by_key_or_in_any_language(address, setting, shipped):
    assert shipped.labels[340] == "zebra"
    app = App("rollout", compare="true", **address).fine()
    assert app.values()[next(iter(address))] == setting
    assert setting != "zebra" or "Chefer relevance for zebra" in app.text("markdown")


def test_a_class_of_another_model_is_forgotten(kinds, offer):
    offer(registers=kinds["registers"])
    app = App("rollout", **{"class": "zebra"}).fine().set(model="registers").fine()
    assert app.values()["class"] == LIKELIEST


def test_classes_of_one_name_are_told_apart(shipped):
    from app.views.rollout.rollout_visit import unique_class_names

    assert unique_class_names(("crane", "cat", "crane")) == ["crane (0)", "cat", "crane (2)"]
    assert len(set(unique_class_names(shipped.labels))) == len(shipped.labels)


# What isn't defined


def test_a_model_without_a_head_has_no_class_to_ask_for(kinds, offer):
    offer({"no-head": kinds["no-head"]})
    app = App("rollout", model="no-head", compare="true").fine()
    assert "class" not in app.controls and app.values()["b_method"] == "rollout" and app.at.metric
    for method in (m for m in METHODS if METHODS[m].asks_class):
        app.set(b_method=method).fine()
        assert texts.prose("rollout", "en")["no class to ask"] in app.text("info")
        assert not app.at.metric and app.component("build_up")


KINDS = ["registers", "no-class-token", "mean-of-patches", "no-positions", "wide", "distilled", "hybrid"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_method_for_every_kind_of_model(kind, kinds, offer):
    vit = kinds[kind]
    offer({kind: vit})
    app = App("rollout", model=kind, b_steps="8")
    for method in METHODS:
        app.set(b_method=method).fine()
        assert values(app, "b_gathered").shape == (vit.grid.patches,) and np.isfinite(values(app, "differ")).all()
    assert len(app.component("build_up")["captions"]) == vit.blocks


# What is said of rollout for this model


def test_how_well_rollout_finds_the_object_is_said_of_the_model_it_was_measured_on(kinds, offer):
    card = json.loads((asset_path("models") / f"{DEFAULT_MODEL}.json").read_text(encoding="utf-8"))["trained"]
    own, teacher = (card[key]["pets"]["localisation"]["rollout_auc"] for key in ("measured", "teacher_measured_alike"))

    def all_said(**given: str) -> str:
        app = App("rollout", compare="false", **given).fine()
        return " ".join(app.sentences("markdown") + app.sentences("caption"))

    said = all_said()
    assert f"Rollout of this model has a pixel AUC of {own:.3f}" in said
    assert "not on the model shown here" not in said and "stays with the class token." in said
    offer({"registers": kinds["registers"]})
    said = all_said(model="registers")
    assert f"Rollout of ViT-Ti/16 has a pixel AUC of {teacher:.3f}" in said
    assert "marks the middle of the picture does better" in said and "not on the model shown here" in said
    assert "stays with the tokens before the patches." in said


# The build-up


def test_the_build_up_has_the_settings_of_the_left_rollout_and_is_one_picture_of_all_layers(first):
    app = App("rollout", fusion="max", residual="30", ask="true", query="40").fine()
    rows = rollout_per_layer(first.fused["max"], 41, residual=0.3)
    told = app.component("build_up")
    assert told["names"] == [f"layer {i}" for i in range(12)] and "patch 40" in told["label"]
    assert [re.findall(r"(\d+) %", c)[0] for c in told["captions"]] == [f"{100 * share:.0f}" for share in rows[:, 1:].sum(1)]
    strip = np.asarray(Image.open(io.BytesIO(base64.b64decode(told["frames"].partition(",")[2]))))
    maps = first.grid.to_map(rows)
    expected = heat_colours(maps, rollout_per_layer_top(maps, first.grid))
    assert strip.shape == (12 * first.grid.rows, first.grid.cols, 3)
    assert np.abs(strip.astype(int) - expected.reshape(strip.shape)).max() <= 1
    assert len(told["frames"]) < 40_000 and told["detail"]


def test_the_layer_rollout_begins_at_is_said(first):
    """In the headings, in the words below the build-up and in what its pictures are called; nothing where it begins at 0."""
    app = App("rollout", compare="false")
    said = [*app.fine().sentences("markdown"), *app.component("build_up")["captions"]]
    assert "## Rollout of the class token" in said and not any("layers 4" in one.lower() for one in said)
    app.set(first=4).fine()
    said = app.sentences("markdown")
    assert "## Rollout of the class token, layers 4–11" in said
    assert "The build-up, layer by layer, layers 4–11" in app.sentences("header")
    assert any("Here rollout begins at layer 4." in one for one in [*said, *app.sentences("caption")])
    captions = app.component("build_up")["captions"]
    assert captions[3] == "Layer 3 is left out: rollout begins at layer 4."
    share = rollout_per_layer(first.fused["mean"], 0, first_block=4)[7, 1:].sum()
    assert captions[7].startswith(f"From layer 4 to layer 7: {100 * share:.0f} % of the rollout is on patches")
    assert captions[4].startswith("Layer 4 alone: ")
    assert "## Rollout of the class token, layer 11" in app.set(first=11).fine().sentences("markdown")
    app.set(first=4, method="Gradient rollout").fine()
    headings = [one for one in app.sentences("markdown") if one.startswith("## Gradient rollout for")]
    assert headings and all(one.endswith(", layers 4–11") for one in headings)
    assert "The build-up, layer by layer" in app.sentences("header"), "the plain rollout, from layer 0"


# Words and time


@pytest.mark.parametrize("lang", list(texts.LANGUAGES))
def test_every_method_says_what_it_measures_what_it_cannot_tell_and_its_source(lang):
    text = texts.prose("rollout", lang)
    for name in METHODS:
        assert len(text[f"how.{name}"]) > 40 and len(text[f"limits.{name}"]) > 30
        assert re.search(r"arxiv\.org/abs/\d{4}\.\d{5}", text[f"source.{name}"])
        for said in (text[f"how.{name}"], text["difference how"], text["build-up how"]):
            assert "$" not in said and "](" not in said, "it is printed below downloaded pictures, as it is"
    assert text.keys() == texts.prose("rollout", "en").keys()


def test_a_map_is_computed_once_and_a_setting_of_rollout_is_answered_soon(monkeypatch, nothing_is_cached):
    """The bar is 150 ms; AppTest adds its own, so this is a guard against a mistake, not a measurement: of the processor's time,
    whatever else the machine does."""
    import vitcore.forward.relevance as module

    asked, compute = [], module.relevance
    monkeypatch.setattr(module, "relevance", lambda *a, **k: asked.append(a[2]) or compute(*a, **k))
    app = App("rollout", compare="true").fine()
    for fusion in ("max", "min"):
        app.set(fusion=fusion).fine()
    app.set(b_method="grad_cam").set(b_method="chefer").fine()
    assert asked == ["chefer", "grad_cam"]
    took = []
    for discard in (40, 50, 60, 70, 80):
        begin = time.process_time()
        app.set(discard=discard)
        took.append(time.process_time() - begin)
    assert sorted(took)[2] < 1.0


def test_a_patch_that_is_chosen_and_not_asked_is_said_and_the_one_that_gave_most(first):
    app = App("rollout", query="100").fine()
    assert "Patch 100 is chosen, but the map does not start from it" in app.text("caption")
    given = first.rollout()
    patch = int(given.argmax())
    row, col = divmod(patch, given.shape[1])
    said = f"Patch {patch} (row {row}, column {col}) has the largest share, {100 * given.max():.3g} % of the total, "
    said += f"{257 * given.max():.2g}× an even share."
    assert said in app.sentences("markdown")
    assert "is chosen, but" not in app.set(ask=True).fine().text("caption")


def test_what_is_not_as_usual_is_said_and_put_back():
    app = App("rollout", fusion="max", discard="90", b_method="rollout").fine()
    (said,) = [one for one in app.sentences("markdown") if one.startswith("**Left: these settings are not the defaults.**")]
    assert "maximum (default: mean)" in said and "90 (default: 0)" in said and "Residual" not in said
    app.press("as_usual")
    assert app.values()["fusion"] == "mean" and app.values()["discard"] == 0
    assert "not the default" not in app.text("markdown")

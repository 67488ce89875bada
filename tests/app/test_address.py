"""Everything a person can set is in the address, and an address full of nonsense still opens its page."""

from dataclasses import replace

import pytest
from visitor import SLUGS, App

from vitcore.models.model_cards import DEFAULT_MODEL, MODEL_CARDS

HUB = MODEL_CARDS[1]
AROUND = {"model": DEFAULT_MODEL, "camera_on": False, "lang": "en", "lecture": False}  # the controls of every page


NONSENSE = {
    "photo": "…", "model": "…", "patch": "-5", "block": "999", "gutter": "abc", "discard": "9999", "style": "x", "first": "77",
    "query": "99999", "ask": "maybe", "fusion": "sum", "residual": "NaN", "position": "-1", "side": "0",
    "components": "0", "k": "-3", "scale": "log", "cls": "", "over": "moon", "shuffle": "2", "seed": "1e3", "shared": "[]",
    "unheard": "of", "embed": "…",
}  # fmt: skip


@pytest.mark.parametrize("slug", SLUGS)
def test_a_nonsense_address_falls_back_and_a_dark_page_draws_dark_charts(slug):
    app, plain = App(slug, "dark", **NONSENSE).fine(), App(slug, "dark").fine()
    assert app.values() == plain.values()  # the pickers name the model that is shown; what failed is named in the sentence
    assert len(app.at.warning) == 1
    assert plain.pictures() and not plain.at.warning and not plain.at.error
    assert [c["alt"] for c in app.charts()] == [c["alt"] for c in plain.charts()]
    assert {c["layout"]["meta"]["mode"] for c in plain.charts()} <= {"dark"}


def test_a_nonsense_number_falls_back_or_into_range():
    for value in ("-1", "256", "1e400", "-inf", "nan", "", "0x10", "9" * 400, "1.5", "١٢"):
        values = App("rollout", ask="true", query=value, first=value, discard=value).fine().values()
        assert 0 <= values["patch"] < 256 and 0 <= values["first"] < 12 and 0 <= values["discard"] <= 95, value


SETTINGS = {
    "overview": {"patch": ("9", 9), "layer": ("3", 3), "one_head": ("2", 2)},
    "card": {"pass": ("training", "training"), "largest": ("32", 32), "memory_gb": ("0.5", 0.5)},
    "patches": {"gutter": ("4", 4), "patch": ("7", 7), "shuffle": ("true", True), "seed": ("3", 3)},
    "filters": {"components": ("12", 12), "scale": ("minmax", "minmax"), "k": ("5", 5), "component": ("4", 4)},
    "positions": {"patch": ("3", 3), "side": ("9", 9), "untrained": ("true", True), "all_tiles": ("true", True)},
    "live": {"poll": ("ABCDEFG", "ABCDEFG")},
    "distance": {"cls": ("renormalise", "renormalise"), "over": ("samples", "samples")},
    "rollout": {
        "ask": ("true", True), "patch": ("9", 9), "style": ("paper", "paper"), "fusion": ("max", "max"), "discard": ("30", 30),
        "residual": ("10", 10), "first": ("2", 2), "compare": ("true", True),
        "method": ("Rollout", "rollout"), "class": ("beagle", "beagle"), "b_method": ("Gradient rollout", "gradient_rollout"),
        "b_discard": ("5", 5), "b_residual": ("20", 20), "b_first": ("1", 1),
    },
    "tokens": {
        "layer": ("3", 3), "patch": ("9", 9), "second_photo": ("Espresso", "espresso"), "tokens_of": ("Keys", "keys"),
        "search_in": ("Own photos", "own"), "search_by": ("patch", "patch"), "search_folder": ("photos", "photos"),
        "tokens_view": ("Segments", "segments"), "whiten": ("false", False), "threshold": ("0.5", 0.5),
        "match_lines": ("true", True), "grouping": ("Normalised cut", "normalised_cut"), "segments": ("4", 4),
    },
    "outliers": {"layer": ("3", 3), "of": ("rollout", "rollout")},
    "cover": {
        "covered": ("16x16-gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE", "16x16-gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE"),
        "fill": ("Blur", "blur"), "cover_map": ("Grad-CAM", "grad_cam"), "cover_count": ("9", 9),
        "cover_order": ("weakest", "weakest"),
    },
    "switch": {
        "off": ("L1H1-L2.mlp", "L1H1-L2.mlp"), "switch_by": ("Mean", "mean"), "every_head": ("tried", "tried"),
        "switch_map": ("Class attention, last layer", "class_attention"), "second_photo": ("Espresso", "espresso"),
        "square": ("2 × 2 patches", "2"), "swap": ("swapped", "swapped"), "swap_layer": ("2", 2),
        "steer": ("50", 50), "steer_layer": ("2", 2),
    },
    "maptests": {"test_curve": ("insertion", "insertion"), "test_fill": ("mean", "mean")},
    "compare": {
        "b": ("The same, with another input", "itself"), "b_px": ("64 px", "64x64"), "b_photo": ("the same photo", "same"),
        "picture": ("rollout", "rollout"),
        "ask": ("true", True), "query": ("9", 9), "fusion": ("max", "max"), "discard": ("30", 30), "residual": ("10", 10),
        "view": ("curtain", "curtain"),
    },
    "story": {"step": ("7", 7), "patch": ("9", 9), "layer": ("2", 2), "one_head": ("2", 2)},
    "attention": {
        "layer": ("3", 3), "one_head": ("2", 2), "patch": ("9", 9), "second_patch": ("20", 20), "direction": ("gets", "gets"),
        "log": ("true", True), "one_scale": ("true", True), "rolled": ("true", True), "lit": ("light", "light"),
    },
    "quiz": {"quiz_seed": ("3", 3), "question": ("2", 2)},
    "report": {"pin": ("5", 5), "layer": ("3", 3), "one_head": ("2", 2), "of_token": ("0", 0), "received": ("true", True),
        "ask": ("true", True), "patch": ("9", 9), "fusion": ("max", "max"), "discard": ("30", 30), "residual": ("10", 10),
        "first": ("2", 2), "which": ("own", "own"), "off": ("L1H1", "L1H1"), "switch_by": ("Mean", "mean"),
        "deletion_fill": ("mean colour", "mean"), "fill": ("Blur", "blur"),
        "covered": ("16x16-gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE", "16x16-gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE"),
        "steer": ("50", 50), "steer_layer": ("2", 2), "second_photo": ("Espresso", "espresso"),
    },
}  # fmt: skip
MANY_PASSES = ("distance", "switch")  # through a small model


@pytest.mark.parametrize("slug", SLUGS)
def test_every_setting_is_in_the_address(slug, request):
    model = "registers" if slug in MANY_PASSES else DEFAULT_MODEL
    if slug in MANY_PASSES:
        request.getfixturevalue("offer")({model: request.getfixturevalue("kinds")[model]})
    given = SETTINGS[slug] | {"photo": ("cat", "cat"), "model": (model, model)}
    app = App(slug, **{key: address for key, (address, _) in given.items()}).fine()
    unbound = {key for key, control in app.controls.items() if not control.proto.query_param_key}
    # a camera is not opened by a link, nor a guess made; the language and the masking of outlier tokens write their own address;
    # bar and Compare show `model` again
    named = {key for key in unbound if not key.startswith(("guess_", "mask_outliers_"))}
    assert named <= {"camera_on", "lang", "animation_plays", "bar_model", "a_model"}
    shown = {k: v for k, v in app.values().items() if k not in unbound - AROUND.keys()}
    assert shown == AROUND | {key: value for key, (_, value) in given.items()}
    assert all(control.proto.query_param_key == key for key, control in app.controls.items() if key not in unbound)


@pytest.mark.parametrize(
    ("slug", "address", "key", "head"),
    [("attention", {"head": "2"}, "one_head", 1), ("attention", {"head": "0"}, "one_head", None),
     ("attention", {"head": "99"}, "one_head", None), ("attention", {"head": "x"}, "one_head", None),
     ("story", {"step": "7", "of_head": "3"}, "one_head", 2), ("story", {"step": "7", "of_head": "0"}, "one_head", 0)],
)  # fmt: skip
def test_a_link_from_when_heads_were_counted_from_1_shows_the_same_head(slug, address, key, head):
    assert App(slug, **address).fine().values()[key] == head


def test_a_model_is_in_the_address_by_its_name_and_by_its_title(kinds, offer):
    """Streamlit writes what the menu says into the address: two titles of the same words could not be told apart."""
    offer({HUB.name: replace(kinds["registers"], card=replace(kinds["registers"].card, name=HUB.name))})
    for address in (HUB.name, HUB.title):
        app = App("patches", model=address).fine()
        assert app.values()["model"] == HUB.name and app.component("split")["rows"] == 4
    assert len({card.title for card in MODEL_CARDS}) == len(MODEL_CARDS)


def test_settings_stay_from_page_to_page_and_how_the_rollout_is_drawn_is_one():
    app = App("rollout", style="paper").fine()
    assert app.component("gathered")["overlay"] is None
    heat = App("rollout").fine().component("gathered")
    assert heat["overlay"] and heat["detail"]
    assert heat["even"] == pytest.approx(100 / 257), "an even share, as on Look: of the class token and 256 patches"
    app.set(first=3, fusion="max", ask=True).set(patch=17)
    app.go("patches").set(gutter=5).go("overview").go("rollout").fine()
    assert {"first": 3, "fusion": "max", "ask": True, "patch": 17}.items() <= app.values().items()


def test_numbers_out_of_range_for_the_new_model(kinds, offer):
    offer(registers=kinds["registers"], hybrid=kinds["hybrid"])
    app = App("rollout", ask="true", query="250", first="9").fine()
    app.set(model="registers").fine()
    vit, values = kinds["registers"], app.values()
    assert 0 <= values["patch"] < vit.grid.patches and values["first"] < vit.blocks
    app.go("patches").fine().set(model=DEFAULT_MODEL).fine().set(patch=255).fine().set(model="hybrid").fine()
    assert 0 <= app.values()["patch"] < kinds["hybrid"].grid.patches
    app.go("positions").fine().set(model=DEFAULT_MODEL).fine().set(patch=255).set(model="registers").fine()
    app.go("filters").set(model=DEFAULT_MODEL).set(k=192, components=98).fine().set(model="registers").fine()
    assert app.values()["k"] <= 24 and app.values()["components"] <= 24

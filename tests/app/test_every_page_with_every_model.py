"""Every page shows every kind of model, and says so where a picture is not defined for it."""

import re

import pytest
from visitor import MAIN, SLUGS, App

from app import texts
from vitcore.models.model_cards import DEFAULT_MODEL

KINDS = ["registers", "no-class-token", "mean-of-patches", "no-positions", "no-head", "wide", "distilled", "hybrid", "axial"]
IN_PART = ["network", "windows"]  # no attention; attention in windows


def test_every_page_shows_the_model_that_ships():
    """In the dark theme they are visited by `test_address.py`."""
    app, controls, drawn = App("overview"), set(), set()
    for slug in SLUGS:
        app.go(slug).fine()
        assert app.pictures(), f"{slug} has no picture"
        assert {c["layout"]["meta"]["mode"] for c in app.charts()} <= {"light"}
        assert not app.at.warning and not app.at.error
        controls |= app.controls.keys()
        drawn |= {component.key for component in app.at.get("bidi_component")}
    assert len(drawn) > 10 and controls & drawn == set(), "what a visitor has set on one page is none of a picture's on another"


@pytest.mark.parametrize("kind", [*KINDS, *IN_PART])
def test_every_page_shows_every_kind_of_model_and_every_setting(kind, kinds, offer):
    vit = kinds[kind]
    offer({kind: vit})
    last = vit.grid.patches - 1
    settings = {} if kind in IN_PART else {
        "patches": [{"shuffle": True, "gutter": 8}, {"seed": 99, "patch": last}],
        "rollout": [{"ask": True, "style": "paper", "fusion": "min", "discard": 95, "residual": 0},
                    {"patch": 0, "first": vit.blocks - 1, "fusion": "max"}],
        "distance": [{"cls": "renormalise"}],
        "filters": [{"scale": "minmax", "components": 1} | ({} if vit.hybrid else {"k": 1})],
        "positions": [{"side": 4, "patch": last}] if kind != "no-positions" else [],
    }  # fmt: skip
    app = App("overview", model=kind)
    for slug in SLUGS:
        app.go(slug).fine()
        assert app.values()["model"] == kind
        assert not app.at.warning and not app.at.error, app.sentences("warning")
        assert app.pictures() or app.at.info, f"{slug} has neither a picture nor a word about why there is none"
        for given in settings.get(slug, ()):
            app.set(**given).fine()


# What isn't defined is said


def test_a_hybrid_says_it_has_no_patch_filters_and_not_that_patches_are_pixels(kinds, offer):
    offer(hybrid=kinds["hybrid"])
    app = App("filters", model="hybrid").fine()
    (said,) = app.sentences("info")
    assert "no RGB patch filters" in said and "first convolution" in said
    assert [c["alt"] for c in app.charts()] == [
        "The first 28 principal components", "Component 1 enlarged", "Variance explained by the first k components"
    ]  # fmt: skip
    assert "k" not in app.controls, "a photo can't be rebuilt from a root convolution"
    said = App("patches", model="hybrid", shuffle="true").fine().text("caption")
    assert "In a hybrid, a patch is a cell" in said and "does not restore the prediction" in said
    assert "Eq. 1" not in said and "the prediction is the same" not in said


@pytest.mark.parametrize("kind", IN_PART)
def test_what_is_not_defined_is_said_and_the_rest_is_shown(kind, kinds, offer):
    """One sentence a page for what needs attention over one grid; filters, answers and Grad-CAM are there."""
    offer({kind: kinds[kind]})
    app = App("attention", model=kind).fine()
    for slug in ("attention", "distance", "story", "report", "rollout"):
        (said,) = app.go(slug).fine().sentences("info")
        assert kind in said and ("no attention" in said) == (kind == "network"), slug
    app.set(compare=True).fine()
    assert app.component("gathered") and app.component("b_gathered") and "build_up" not in [c.key for c in app.pictures()]
    assert set(app.controls["method"].options) == {"Integrated gradients", "Grad-CAM"}
    app.set(method="Grad-CAM").fine()
    (said,) = app.go("filters").fine().sentences("info") or [""]
    assert ("first convolution" in said) == (kind == "network") and len(app.charts()) >= 2
    (said,) = app.go("patches").fine().sentences("info") or [""]
    assert ("does not cut" in said) == (kind == "network")
    look = app.go("overview").fine().component("look")
    assert look["answer"] and {name for name, why in look["undefined"].items() if why} >= {"positions", "distance", "rollout"}
    assert kind in look["undefined"]["rollout"] and look["maps"] == []


def test_axial_attention_is_explained(kinds, offer):
    offer(axial=kinds["axial"])
    for slug in ("attention", "distance", "rollout"):
        assert any(
            re.search("along rows,? (and )?then along columns", said)
            for said in App(slug, model="axial").fine().sentences("caption")
        )


def test_no_positions_is_said(kinds, offer):
    offer({"no-positions": kinds["no-positions"]})
    app = App("positions", model="no-positions").fine()
    (said,) = app.sentences("info")
    assert "no learned absolute position embeddings" in said
    assert not app.charts() and "patch" not in app.controls
    assert "no learned absolute position" in app.go("overview").fine().component("look")["undefined"]["positions"]
    app.go("patches").set(shuffle=True).fine()
    top_five = [c["alt"] for c in app.charts() if c["alt"].endswith("top 5")]
    assert top_five == ["Patches in order: top 5", "Patches shuffled, position embeddings stay: top 5"]


@pytest.mark.parametrize(("kind", "readout"), [("no-class-token", "attention pool"), ("mean-of-patches", "mean of patches")])
def test_no_class_token_is_said_and_nothing_of_one_that_is_there(kind, readout, kinds, offer):
    offer({kind: kinds[kind]})
    app = App("rollout", model=kind).fine()
    assert f"reads its output from the {readout}" in app.text("caption")
    assert f"Rollout of the {readout}" in app.text("markdown")
    assert "no class token" in app.go("distance").fine().text("caption")
    words = app.go("overview").fine().component("look")["words"]
    assert words["readout"] == f"the {readout}" and "class token" not in app.text("caption")
    for slug in ("rollout", "distance"):
        assert "no class token" not in App(slug).text("caption")


def test_a_model_without_a_head_shows_no_answer(kinds, offer):
    offer({"no-head": kinds["no-head"]})
    app = App("overview", model="no-head").fine()
    look = app.component("look")
    assert look["distance"] and look["answer"] == [] and "no classification head" in look["answer note"]
    look = app.set(model=DEFAULT_MODEL).fine().component("look")
    assert len(look["answer"]) == 5 and look["answer note"] == ""


def test_prose_has_every_word_a_page_asks_for():
    import re

    for slug in SLUGS:
        source = (MAIN.parent / "views" / slug / "page.py").read_text()
        asked = set(re.findall(r'text\["([^"]+)"\]', source)) | set(re.findall(r'text\["([^"]+)" if', source))
        assert asked <= texts.prose(slug).keys()

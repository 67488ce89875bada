"""Outlier tokens beside every map that they mislead in: said exactly where they hold much, marked, masked by one setting."""

import pytest
import torch
from visitor import App

import vitcore
from app.state import session
from vitcore.analysis.outliers import standing_out
from vitcore.forward.outliers import outliers_of, without_outliers
from vitcore.models import zoo

LOOKED = ", not what the model looks at."


@pytest.fixture(scope="session")
def cornered(make_module):
    """A small ViT three of whose corner patches are far longer than the others, and draw attention."""
    module = make_module(img_size=64)
    with torch.no_grad():
        module.pos_embed[0, [1 + 0, 1 + 7, 1 + 63]] *= 200
    return zoo.wrap(module, "cornered")


def recorded(vit, name: str, **how) -> vitcore.Recording:
    return vitcore.record(vit, session.SAMPLES / f"{name}.jpg", **how)


@pytest.fixture(scope="session")
def photos(shipped) -> tuple[str, str]:
    """Found by computing: a photo of the gallery whose rollout is misleading by the rule, and one whose is not."""
    told: dict[bool, str] = {}
    for row in session.samples():
        rec = recorded(shipped, row["id"])
        told.setdefault(bool(len(standing_out(rec.rollout(), outliers_of(rec).patches))), row["id"])
        if len(told) == 2:
            return told[True], told[False]
    raise AssertionError("the gallery has photos on both sides of the line")


def said(app: App) -> list[str]:
    return [one for one in app.sentences("markdown") if LOOKED in one or "masked here" in one]


def test_it_is_said_and_marked_exactly_where_they_hold_much(photos, shipped):
    for name in photos:
        rec = recorded(shipped, name)
        found = standing_out(rec.rollout(), outliers_of(rec).patches).tolist()
        app = App("rollout", photo=name, compare="false").fine()
        picture = app.component("gathered")
        assert picture["marks"] == found and bool(said(app)) == bool(found)
        assert picture["told"] == (said(app)[0] if found else "")
        steps = [standing_out(one, outliers_of(rec).patches).tolist() for one in rec.build_up()]
        played = app.component("build_up")
        assert played["marks"] == steps and played["grid"] == [rec.grid.rows, rec.grid.cols]
        assert [LOOKED in caption for caption in played["captions"]] == [bool(step) for step in steps]
        assert "mask_outliers_gathered" in app.controls, "the switch is there wherever there is something to mask"


def test_one_setting_in_the_address_of_every_page_and_from_page_to_page(cornered, offer):
    offer(cornered=cornered)
    app = App("rollout", model="cornered").fine()
    assert "mask_outliers" not in app.at.query_params
    app.set(mask_outliers_gathered=True).fine()
    masked = without_outliers(recorded(cornered, session.samples()[0]["id"]))
    for slug in (
        "rollout",
        "patches",
        "overview",
        "attention",
        "story",
        "compare",
        "quiz",
        "report",
        "distance",
        "rollout",
    ):
        app.go(slug).fine()
        assert app.at.query_params["mask_outliers"] in ("true", ["true"]), slug
    assert app.component("gathered")["values"] == pytest.approx((100 * masked.rollout()).ravel().tolist(), abs=1e-3)
    app.set(mask_outliers_gathered=False).fine()
    assert "mask_outliers" not in app.at.query_params and not app.component("gathered")["told"].endswith("masked here.")


@pytest.mark.parametrize(("given", "masks"), [
    ({"mask_outliers": "true"}, True), ({"b_mask_outliers": "true"}, True), ({"mask_outliers": "True"}, True),
    ({"mask_outliers": "false"}, False), ({"mask_outliers": "perhaps"}, False), ({}, False),
])  # fmt: skip
def test_old_addresses_work_and_nonsense_is_off(given, masks, cornered, offer):
    offer(cornered=cornered)
    app = App("rollout", model="cornered", **given).fine()
    assert (app.component("gathered")["values"][63] == 0) == masks
    assert ("mask_outliers" in app.at.query_params) == masks and "b_mask_outliers" not in app.at.query_params


def test_a_method_of_gradients_says_that_it_cannot_be_masked(cornered, offer):
    offer(cornered=cornered)
    plain, masked = (
        App("rollout", model="cornered", method="chefer", compare="false", **more).fine()
        for more in ({}, {"mask_outliers": "true"})
    )
    one, two = (app.component("gathered") for app in (plain, masked))
    assert one["values"] == two["values"] and one["marks"] == two["marks"]
    assert "mask_outliers_gathered" not in masked.controls
    assert any("no attention to mask" in line for line in masked.sentences("markdown")) == bool(one["marks"])


def test_nothing_is_said_of_a_model_without_them(kinds, offer):
    offer(registers=kinds["registers"])
    for slug in ("rollout", "overview", "compare", "story"):
        app = App(slug, model="registers", mask_outliers="true").fine()
        assert not said(app) and not [key for key in app.controls if key.startswith("mask_outliers")], slug

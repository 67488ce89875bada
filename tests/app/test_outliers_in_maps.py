"""Outlier tokens beside every map that they mislead in: said exactly where they hold much, marked, masked by one setting."""

import pytest
import torch
from visitor import App

import vitcore
from app import texts
from app.state.photos import sample_photos
from vitcore.analysis.outlier_tokens import outliers_in_map
from vitcore.forward.mask_outliers import mask_outlier_tokens, outliers_in_recording

LOOKED = ", not what the model looks at."


@pytest.fixture(scope="session")
def cornered(make_module):
    """A small ViT three of whose corner patches are far longer than the others, and draw attention."""
    module = make_module(img_size=64)
    with torch.no_grad():
        module.pos_embed[0, [1 + 0, 1 + 7, 1 + 63]] *= 200
    return vitcore.wrap(module, name="cornered")


def recorded(vit, name: str, **how) -> vitcore.Recording:
    return vitcore.record(vit, sample_photos.SAMPLES / f"{name}.jpg", **how)


@pytest.fixture(scope="session")
def photos(shipped) -> tuple[str, str]:
    """Found by computing: a photo of the gallery whose rollout is misleading by the rule, and one whose is not."""
    told: dict[bool, str] = {}
    for row in sample_photos.sample_photo_rows():
        rec = recorded(shipped, row["id"])
        told.setdefault(bool(len(outliers_in_map(rec.rollout(), outliers_in_recording(rec).patches))), row["id"])
        if len(told) == 2:
            return told[True], told[False]
    raise AssertionError("the gallery has photos on both sides of the line")


def said(app: App) -> list[str]:
    return [one for one in app.sentences("markdown") if LOOKED in one or "masked here" in one]


def test_it_is_said_and_marked_exactly_where_they_hold_much(photos, shipped):
    for name in photos:
        rec = recorded(shipped, name)
        found = outliers_in_map(rec.rollout(), outliers_in_recording(rec).patches).tolist()
        app = App("rollout", photo=name, compare="false").fine()
        picture = app.component("gathered")
        assert picture["marks"] == found and bool(said(app)) == bool(found)
        assert picture["told"] == (said(app)[0] if found else "")
        steps = [outliers_in_map(one, outliers_in_recording(rec).patches).tolist() for one in rec.rollout_per_layer()]
        played = app.component("build_up")
        assert played["marks"] == steps and (played["rows"], played["cols"]) == (rec.grid.rows, rec.grid.cols)
        assert [LOOKED in caption for caption in played["captions"]] == [bool(step) for step in steps]
        assert "mask_outliers_gathered" in app.controls, "the switch is there wherever there is something to mask"


def test_one_setting_in_the_address_of_every_page_and_from_page_to_page(cornered, offer):
    offer(cornered=cornered)
    app = App("rollout", model="cornered").fine()
    assert "mask_outliers" not in app.at.query_params
    app.set(mask_outliers_gathered=True).fine()
    masked = mask_outlier_tokens(recorded(cornered, sample_photos.sample_photo_rows()[0]["id"]))
    for slug in ("rollout", "patches", "overview", "attention", "story", "compare", "quiz", "report", "distance", "rollout"):
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
    assert (texts.prose("outliers", "en")["not maskable"] in masked.text("markdown")) == bool(one["marks"])


def test_nothing_is_said_of_a_model_without_them(kinds, offer):
    offer(registers=kinds["registers"])
    for slug in ("rollout", "overview", "compare", "story"):
        app = App(slug, model="registers", mask_outliers="true").fine()
        assert not said(app) and not [key for key in app.controls if key.startswith("mask_outliers")], slug


def test_the_look_page_is_told_of_them_and_masks_them(photos, shipped):
    """The browser finds which of them hold much of a map: `outlier_frames.js`."""
    for name in photos:
        rec = recorded(shipped, name)
        patches = outliers_in_recording(rec).patches.tolist()
        plain, masked = (App("overview", photo=name, **more).fine().component("look") for more in ({}, {"mask_outliers": "true"}))
        assert plain["outliers"]["patches"] == patches and plain["outliers"]["masked"] == ""
        assert masked["outliers"]["masked"] == f"{len(patches)} outlier tokens are masked here." and masked["state"]["mask"]
        assert plain["steps"] != masked["steps"], "of masked attention"


def test_compare_says_it_of_each_side_and_masks_both(cornered, offer):
    offer(cornered=cornered)
    name = sample_photos.sample_photo_rows()[0]["id"]
    rec = recorded(cornered, name, maps=range(cornered.blocks))
    for kind, plain, masked in (
        ("rollout", rec.rollout(), mask_outlier_tokens(rec).rollout()),
        ("attention", rec.grid.to_map(rec.pooling_weights @ rec.fused["mean"][-1]),
         rec.grid.to_map(rec.pooling_weights @ mask_outlier_tokens(rec).fused["mean"][-1])),
    ):  # fmt: skip
        app = App("compare", model="cornered", picture=kind).fine()
        found = outliers_in_map(plain, outliers_in_recording(rec).patches).tolist()
        assert app.component("a_map")["marks"] == found and (LOOKED in app.component("a_map")["told"]) == bool(found)
        assert app.component("differ")["marks"] == sorted({*found, *app.component("b_map")["marks"]})
        on = App("compare", model="cornered", picture=kind, mask_outliers="true").fine()
        assert on.component("a_map")["values"] == pytest.approx((100 * masked).ravel().tolist(), abs=0.05)
        assert on.component("a_map")["told"] == "3 outlier tokens are masked here."


def test_the_story_says_it_of_the_chosen_head_and_of_every_layer(cornered, offer):
    from app.views.story.story_stepper_and_steps import BLOCK_STEP

    offer(cornered=cornered)
    rec = recorded(cornered, sample_photos.sample_photo_rows()[0]["id"], maps=range(cornered.blocks))
    patches = outliers_in_recording(rec).patches
    for head in range(cornered.heads):
        app = App("story", model="cornered", step=str(BLOCK_STEP), layer="2", in_head=str(head), patch="30").fine()
        found = outliers_in_map(rec.head_maps(2, 1 + 30)[head], patches).tolist()
        assert app.component("story_attended")["marks"] == found and bool(said(app)) == bool(found)
    masked = App("story", model="cornered", step=str(BLOCK_STEP), layer="2", patch="30", mask_outliers="true").fine()
    values = masked.component("story_attended")["values"]
    expected = 100 * mask_outlier_tokens(rec).head_maps(2, 1 + 30)[0].ravel()
    assert [values[patch] for patch in patches] == [0, 0, 0] and values[9] == pytest.approx(expected[9], abs=0.1)
    tiles = App("story", model="cornered", step=str(BLOCK_STEP + 1)).fine().component("story_depth")["tiles"]
    for tile, fused in zip(tiles, rec.attention_per_layer(), strict=True):
        assert (LOOKED in tile["alt"]) == bool(len(outliers_in_map(rec.grid.to_map(rec.pooling_weights @ fused), patches)))


def test_the_quiz_and_its_link_carry_the_setting(cornered, offer):
    from app.state import reports

    offer(cornered=cornered)
    rec = recorded(
        cornered, sample_photos.sample_photo_rows()[0]["id"], maps=range(cornered.blocks), fusions=("mean", "max", "min")
    )
    plain, masked = (reports._quiz_material(cornered, rec, 3, masks) for masks in (False, True))
    whole = mask_outlier_tokens(rec)
    assert masked.rec.distance_renormalised_px == pytest.approx(whole.distance_renormalised_px, rel=1e-5)
    assert masked.rec.rollout() == pytest.approx(whole.rollout())
    assert not masked.photo.pooled_attention.flat[list(masked.photo.outliers)].any()
    assert plain.photo.pooled_attention.flat[list(plain.photo.outliers)].any()
    app = App("quiz", model="cornered", quiz_seed="3").fine()
    app.set(mask_outliers_quiz=True).fine()
    assert "--mask-outliers" in app.at.get_by_key("shell").proto.json
    assert app.at.query_params["mask_outliers"] in ("true", ["true"])


def test_the_report_and_its_animation_say_it_and_mask_it(cornered, offer):
    offer(cornered=cornered)
    rec = recorded(cornered, sample_photos.sample_photo_rows()[0]["id"])
    found = outliers_in_map(rec.rollout(), outliers_in_recording(rec).patches).tolist()
    app = App("report", model="cornered").fine()
    assert bool(said(app)) == bool(found)
    on = App("report", model="cornered", mask_outliers="true").fine()
    assert "3 outlier tokens are masked here." in said(on)
    assert "--mask-outliers" in on.at.get_by_key("shell").proto.json


def test_distances_are_masked_too_or_it_is_said_that_they_are_not(cornered, offer):
    offer(cornered=cornered)
    rec = recorded(cornered, sample_photos.sample_photo_rows()[0]["id"], maps=range(cornered.blocks))
    app = App("distance", model="cornered", mask_outliers="true").fine()
    table = app.at.dataframe[0].value.to_numpy()[:, 2:]
    assert table.astype(float) == pytest.approx(mask_outlier_tokens(rec).distance_px, abs=0.06)
    assert "3 outlier tokens are masked here." in app.sentences("caption")
    many = App("distance", model="cornered", mask_outliers="true", over="folder").fine()
    assert "are not masked in these distances" in many.text("caption")

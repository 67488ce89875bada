"""Cover and see: what is covered is in the address, and answer and maps are vitcore's of a pass without those patches."""

import numpy as np
import pytest
from visitor import App, numbers, photo

import vitcore
from app.state.photos import sample_photos
from app.state.recordings import covered_photos
from vitcore.analysis.outlier_tokens import outliers_in_map
from vitcore.faithfulness.covered_patches import logits_without_patches
from vitcore.faithfulness.covered_recording import record_covered
from vitcore.faithfulness.deletion import patch_order
from vitcore.forward.mask_outliers import mask_outlier_tokens
from vitcore.grid import Grid
from vitcore.probabilities import probabilities

GRID = Grid(16, 16, 8)


def code_of(*patches, grid=GRID):
    return covered_photos.encode_patches(np.isin(np.arange(grid.patches), patches), grid)


def test_a_set_of_patches_is_text_and_another_grid_s_is_translated():
    some = np.random.default_rng(0).random(256) < 0.3
    assert (covered_photos.decode_patches(covered_photos.encode_patches(some, GRID), GRID) == some).all()
    assert covered_photos.encode_patches(np.zeros(256, bool), GRID) == ""
    small = Grid(2, 2, 64)
    upper_left = covered_photos.decode_patches(code_of(0, grid=small), GRID).reshape(16, 16)
    assert upper_left[:8, :8].all() and upper_left.sum() == 64
    assert covered_photos.decode_patches(covered_photos.encode_patches(upper_left.ravel(), GRID), small).tolist() == [
        True,
        False,
        False,
        False,
    ]
    for nonsense in ("x", "16x16-", "16x16-zzz", "0x16-AA", "16x16-" + "é" * 43, "999x999-AAAA", "16x16-" + "A" * 42):
        assert not covered_photos.decode_patches(nonsense, GRID).any(), nonsense


@pytest.mark.parametrize("fill", ["mean", "neighbour", "removed"])
def test_the_page_shows_vitcores_pass_without_the_patches(fill, shipped):
    gone = [*range(100, 140), 7]
    app = App("cover", covered=code_of(*gone), fill=fill).fine()
    data, covered, whole = app.component("cover"), record_covered(shipped, photo(), gone, fill), vitcore.record(shipped, photo())
    assert all(one["scale"].endswith(" times an even share of all tokens") for one in data["maps"].values())
    for name, before, after in (
        ("rollout", whole.rollout(), covered.rollout()),
        ("class_attention", whole.pooled_attention(11), covered.class_attention()),
    ):
        shown = data["maps"][name]
        np.testing.assert_allclose(numbers(shown["before"]), before, atol=1e-6)
        np.testing.assert_allclose(numbers(shown["after"]), after, atol=1e-6)
        assert shown["outliers"]["after"] == outliers_in_map(after, covered.outlier_patches).tolist()
    framed = [one["outliers"] for one in data["maps"].values()]
    assert bool(data["outlying"]) == any(one["before"] or one["after"] for one in framed), "what is framed in either map is named"
    two = [probabilities(one.logits, "softmax") for one in (whole, covered)]
    for row in data["answer"]:
        place = shipped.labels.index(row["label"])
        np.testing.assert_allclose(row["shares"], [one[place] for one in two], atol=1e-4)
    assert {shipped.labels[i] for one in two for i in (-one).argsort()[:2]} == {row["label"] for row in data["answer"]}
    told = "41 of 256 patches are removed; the model reads 216 tokens." if fill == "removed" else "41 of 256 patches are covered."
    assert data["told"].startswith(told) and data["state"] == {"covered": code_of(*gone), "fill": fill}
    assert ("A Transformer can do this" in data["about"]) == (fill == "removed")


def test_the_button_covers_what_the_map_calls_strongest_weakest_or_draws(shipped):
    app, rec = App("cover", cover_count="20", cover_map="Grad-CAM").fine(), vitcore.record(shipped, photo())
    values = covered_photos.map_by_name(rec, "grad_cam", False, shipped)
    for order in ("strongest", "weakest"):
        app.set(cover_order=order).press("cover_them")
        assert app.component("cover")["state"]["covered"] == code_of(*patch_order(values, order)[:20])
    np.testing.assert_allclose(numbers(app.component("cover")["object"]), values, atol=1e-6)
    app.set(cover_order="chance", cover_map="rollout")
    drawn = [app.press("cover_them").component("cover")["state"]["covered"] for _ in range(2)]
    sets = [covered_photos.decode_patches(one, GRID) for one in drawn]
    assert drawn[0] != drawn[1] and [int(one.sum()) for one in sets] == [20, 20]
    app.set(photo="cat").fine()
    assert app.component("cover")["told"].startswith("Nothing is covered"), "another photo begins uncovered"


def test_masked_outlier_tokens_are_masked_in_both_maps(shipped):
    """The setting of all pages: each pass's own outlier tokens give nothing to its maps, and none is framed."""
    name = next(row["id"] for row in sample_photos.sample_photo_rows() if len(covered_outliers(shipped, row["id"])))
    gone = [5, 6, 7]
    app = App("cover", photo=name, covered=code_of(*gone), mask_outliers="true").fine()
    data, rec = app.component("cover"), vitcore.record(shipped, photo(name))
    masked = mask_outlier_tokens(rec)
    after = record_covered(shipped, photo(name), gone).with_outliers_masked()
    np.testing.assert_allclose(numbers(data["maps"]["rollout"]["before"]), masked.rollout(), atol=1e-6)
    np.testing.assert_allclose(numbers(data["maps"]["class_attention"]["after"]), after.class_attention(), atol=1e-6)
    np.testing.assert_allclose(numbers(data["object"]), masked.rollout(), atol=1e-6)
    assert np.abs(masked.rollout() - rec.rollout()).max() > 1e-4 and "masked" in data["outlying"]
    assert all(one["outliers"] == {"before": [], "after": []} for one in data["maps"].values())


def covered_outliers(vit, name):
    return record_covered(vit, photo(name), ()).outlier_patches


def test_predict_first_keeps_the_answer_until_it_is_guessed_and_names_chance(shipped):
    app = App("cover", cover_count="200", fill="removed").fine()
    rec = vitcore.record(shipped, photo())
    likeliest, gone = int(rec.logits.argmax()), patch_order(rec.rollout())[:200]
    after = probabilities(logits_without_patches(shipped, rec.model_input.pixels, [gone], "removed"), "softmax")[0]
    still = int(after.argmax()) == likeliest
    guess = next(key for key in app.controls if key.startswith("guess_cover"))
    assert "by chance" not in app.answer
    app.set(**{guess: 0 if still else 1}).fine()
    assert app.answer.startswith("**You are right") or "right" in app.answer.lower()
    assert f"{100 * after[likeliest]:.1f} %" in app.answer and "by chance, it is" in app.answer
    assert guess in app.press("cover_them").controls
    app.set(cover_count=20).press("cover_them")
    assert not [key for key in app.controls if key.startswith("guess_cover")], "its answer is in sight"


def test_what_can_t_be_done_is_said(kinds, offer):
    """No removal where the code keeps all patches; the last patch stays where the answer is read from patches; features."""
    offer({kind: kinds[kind] for kind in ("axial", "mean-of-patches", "no-head")})
    app = App("cover", model="axial", fill="removed").fine()
    data = app.component("cover")
    assert "removed" not in data["fills"] and "none can be removed" in data["about"] and data["state"]["fill"] == "mean"
    grid = kinds["mean-of-patches"].grid
    app = App("cover", model="mean-of-patches", fill="removed", covered=code_of(*range(grid.patches), grid=grid)).fine()
    data = app.component("cover")
    assert "one of them must stay" in data["told"] and data["maps"]["rollout"]["after"] is None and data["answer"] == []
    app = App("cover", model="no-head", covered=code_of(0, grid=kinds["no-head"].grid)).fine()
    assert "cosine similarity" in app.component("cover")["told"] and not [k for k in app.controls if k.startswith("guess_")]


def test_nonsense_and_another_grid_in_the_address(kinds, offer):
    offer(registers=kinds["registers"])
    assert App("cover", covered="16x16-zzz", cover_count="0").fine().component("cover")["state"]["covered"] == ""
    vit = kinds["registers"]
    app = App("cover", model="registers", covered=code_of(*range(256))).fine()
    assert app.component("cover")["state"]["covered"] == code_of(*range(vit.grid.patches), grid=vit.grid) == app.values()["covered"]

"""Two models beside each other on one photo: the same twice, models of other shapes, and the shell's verb."""

import json
import re

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import spearmanr

import vitcore
from tests.printed_figures import printed_blank
from vitcore.__main__ import main
from vitcore.analysis.outlier_tokens import outliers_in_map
from vitcore.forward.compare_models import (
    attention_map,
    common_photo,
    compare,
    maps_on_common_grid,
    outliers_in_common_map,
    record_tokens,
    tokens_of_recording,
)
from vitcore.forward.recording import record, to_model_input
from vitcore.models import load_model
from vitcore.report.comparison_handout import attention_distance_sentence, distance_figures, two_photos_sentence


@pytest.fixture(scope="module")
def other(make_vit) -> vitcore.Vit:
    """Of another depth, width and grid."""
    return make_vit(seed=1, depth=5, embed_dim=30, patch_size=4, reg_tokens=2)


def test_a_model_beside_itself_is_all_ones(tiny, photo):
    found = compare(record_tokens(tiny, photo), record_tokens(tiny, photo))
    assert found.rank_correlation == pytest.approx(1) and not found.difference.any() and not found.grid.resampled
    assert [(i, j) for i, j, _ in found.cka_per_layer] == [(0, 0), (1, 1), (2, 2)]
    np.testing.assert_allclose([value for *_, value in found.cka_per_layer], 1, atol=1e-6)
    answers = found.answers
    assert (answers.same_top1, answers.shared_top5, answers.divergence_bits) == (True, 5, 0)
    np.testing.assert_allclose(found.cka, found.cka.T, atol=1e-6)


def test_a_look_is_a_recording_and_the_models_own_tokens(tiny, photo):
    one, rec = record_tokens(tiny, photo, maps=(1,), exact=True), record(tiny, photo, exact=True)
    np.testing.assert_array_equal(one.rec.logits, rec.logits)
    np.testing.assert_array_equal(one.rec.fused["mean"], rec.fused["mean"])
    assert set(one.rec.maps) == {1}
    states: list[torch.Tensor] = []
    hooks = [block.register_forward_hook(lambda m, x, y: states.append(y)) for block in tiny.module.blocks]
    with torch.inference_mode():
        tiny.module(to_model_input(tiny, rec.model_input.pixels))
    for hook in hooks:
        hook.remove()
    np.testing.assert_array_equal(one.tokens, torch.cat(states)[:, tiny.grid.prefix :].numpy())


def test_a_look_at_a_recording_that_is_there(tiny, photo):
    one = record_tokens(tiny, photo)
    again = tokens_of_recording(tiny, one.rec)
    assert again.rec is one.rec and not again.tokens.flags.writeable
    np.testing.assert_allclose(again.tokens, one.tokens, atol=1e-4)  # the model's own kernel, the weights not watched


def test_the_attention_of_a_layer_on_one_grid(tiny, other, photo):
    a, b = record_tokens(tiny, photo, maps=range(3)), record_tokens(other, photo, maps=range(5))
    mean = np.mean([attention_map(a.rec, 1, head) for head in range(3)], 0)
    np.testing.assert_allclose(attention_map(a.rec, 1), mean, rtol=1e-2, atol=1e-4)  # heads are kept in half precision
    np.testing.assert_array_equal(attention_map(a.rec, 2, 1, 5), a.rec.head_maps(2, 5)[1])
    np.testing.assert_array_equal(attention_map(a.rec, 0, token=5), a.rec.grid.to_map(a.rec.fused["mean"][0][5]))
    maps = maps_on_common_grid(
        compare(a, b).grid, attention_map(a.rec, 1), attention_map(b.rec, 4, 0), (a.rec.grid.even_share, b.rec.grid.even_share)
    )
    assert [one.shape for one in maps.both] == [(4, 4)] * 2
    np.testing.assert_allclose(maps.times_even[0], attention_map(a.rec, 1) * a.rec.grid.tokens, err_msg="of all tokens")
    np.testing.assert_allclose(maps.difference, 100 * (maps.both[0] / maps.both[0].sum() - maps.both[1] / maps.both[1].sum()))


def test_models_of_other_shapes_are_compared_on_one_grid(tiny, other, photo):
    a, b = record_tokens(tiny, photo), record_tokens(other, photo)
    found = compare(a, b)
    assert found.cka.shape == (3, 5) and found.grid.resampled and (found.grid.rows, found.grid.cols) == (4, 4)
    assert [(i, j) for i, j, _ in found.cka_per_layer] == [(0, 0), (0, 1), (1, 2), (2, 3), (2, 4)]
    fine = b.rec.rollout().reshape(4, 2, 4, 2).sum((1, 3))  # each cell holds four patches
    np.testing.assert_allclose(found.rollouts[1], fine / fine.sum())
    assert found.rank_correlation == pytest.approx(spearmanr(a.rec.rollout().ravel(), fine.ravel()).statistic)
    np.testing.assert_allclose(found.difference, 100 * (found.rollouts[0] - found.rollouts[1]))
    back = compare(b, a)
    np.testing.assert_allclose(back.cka, found.cka.T, atol=1e-6)
    assert back.answers == found.answers
    assert [(j, i) for i, j, _ in back.cka_per_layer] == [(i, j) for i, j, _ in found.cka_per_layer]


def test_what_each_sees_of_the_photo_counts(make_module, noise):
    whole, middle = make_module(), make_module()
    whole.pretrained_cfg, middle.pretrained_cfg = {"crop_pct": 1.0}, {"crop_pct": 0.5}
    picture = noise(0, (64, 64))
    a, b = (record_tokens(vitcore.wrap(module, name="m"), picture) for module in (whole, middle))
    found = compare(a, b)
    assert found.grid.box == b.rec.model_input.box == (16, 16, 48, 48) and found.grid.resampled
    assert (found.grid.rows, found.grid.cols) == (2, 2)
    assert common_photo(found, 32).shape == (32, 32, 3)
    np.testing.assert_array_equal(common_photo(found, 32), np.asarray(picture)[16:48, 16:48])


@pytest.fixture(scope="module")
def outlying(make_module) -> vitcore.Vit:
    """A small ViT of a finer grid whose first and last patches are far longer than all others."""
    module = make_module(img_size=64)
    with torch.no_grad():
        module.pos_embed[0, [1, -1]] *= 200
    return vitcore.wrap(module, name="outlying")


def test_masking_compares_masked_attention_and_says_so(outlying, tiny, photo):
    from vitcore.forward.mask_outliers import mask_outlier_tokens, outliers_in_recording
    from vitcore.report.comparison_handout import outlier_sentences

    looks = record_tokens(outlying, photo), record_tokens(outlying, photo)
    plain, masked = compare(*looks), compare(*looks, mask_outliers=True)
    expected = mask_outlier_tokens(looks[0].rec).rollout()
    assert masked.rollouts[0] == pytest.approx(expected / expected.sum()) and masked.masked and not plain.masked
    patches = outliers_in_recording(looks[0].rec).patches
    assert patches.tolist() == [0, 63]
    found = outliers_in_map(plain.rollouts[0], patches)
    assert outliers_in_common_map(plain, 0, plain.rollouts[0]) == (found.tolist(), found.tolist())
    assert outlier_sentences(masked) == ["A: 2 outlier tokens are masked here.", "B: 2 outlier tokens are masked here."]
    assert compare(record_tokens(tiny, photo), record_tokens(tiny, photo), mask_outliers=True).rollouts[0] == pytest.approx(
        compare(record_tokens(tiny, photo), record_tokens(tiny, photo)).rollouts[0]
    ), "nothing to mask"


def test_outlier_tokens_are_found_in_the_cells_of_a_coarser_grid(outlying, tiny, photo):
    """64 patches and 16: on the common grid, an outlier in a corner is a part of that corner's cell."""
    comparison = compare(record_tokens(outlying, photo), record_tokens(tiny, photo))
    rows, cols = comparison.grid.rows, comparison.grid.cols
    assert comparison.grid.resampled and rows * cols < 64
    values, last = np.full((rows, cols), 1.0), rows * cols - 1
    assert outliers_in_common_map(comparison, 0, values) == ([], [])
    values[-1, -1] = 5
    assert outliers_in_common_map(comparison, 0, values) == ([last], [63])
    values[0, 0] = 5
    assert outliers_in_common_map(comparison, 0, values) == ([0, last], [0, 63])
    assert outliers_in_common_map(comparison, 1, values) == ([], []), "the other model has none"


def test_on_two_photos_nothing_is_compared_place_by_place(tiny, other, noise):
    wide, tall = noise(0, (64, 32)), noise(1, (32, 64))
    a, b = record_tokens(tiny, wide), record_tokens(other, tall)
    found = compare(a, b)
    assert not found.of_one_photo and (found.grid.rows, found.grid.cols) == (4, 4) and found.grid.resampled
    np.testing.assert_allclose(found.both[0], a.rec.rollout())
    np.testing.assert_allclose(found.both[1], b.rec.rollout().reshape(4, 2, 4, 2).mean((1, 3)))
    assert np.isnan([found.rank_correlation, found.mean_cka]).all() and np.isnan(found.difference).all()
    assert found.cka.shape == (3, 5) and np.isnan(found.cka).all()
    assert found.answers == compare(record_tokens(tiny, wide), record_tokens(other, tall)).answers
    for which, (photo, rec) in enumerate(((wide, a.rec), (tall, b.rec))):
        seen = photo.resize((32, 32), Image.Resampling.BICUBIC, box=rec.model_input.box)
        np.testing.assert_array_equal(common_photo(found, 32, which), np.asarray(seen))
    same = compare(a, record_tokens(tiny, tall))
    assert not same.grid.resampled and compare(a, a).of_one_photo


# The shell


@pytest.fixture
def two(monkeypatch, tiny, other, tmp_path, noise):
    """A photo, and models named "one" and "two"."""
    monkeypatch.setattr(load_model, "load", lambda name, **more: {"one": tiny, "two": other}[name])
    noise(0, (40, 40)).save(tmp_path / "photo.png")
    return str(tmp_path / "photo.png")


def test_the_table(two, capsys):
    assert main(["compare", "one", "two", two]) == 0
    said = capsys.readouterr().out
    assert "4×4 patches, 3 blocks" in said and "8×8 patches, 5 blocks" in said
    assert "averaged over the cells of a grid common to both" in said
    assert "rank correlation" in said and "of the likeliest 5 are shared" in said and "points more there" in said
    assert main(["compare", "one", "one", two]) == 0
    said = capsys.readouterr().out
    assert "rank correlation 1.000" in said and "the grids agree" in said and "farthest" not in said
    assert "likeliest class is the same; 5 of" in said


def test_two_photos(two, capsys, tmp_path, noise):
    noise(7, (40, 40)).save(tmp_path / "other.png")
    both = ["compare", "one", "two", two, str(tmp_path / "other.png")]
    assert main(both) == 0
    said = capsys.readouterr().out
    assert "photo.png" in said and "other.png" in said and two_photos_sentence() in said
    assert "rank correlation " not in said.replace(two_photos_sentence(), "") and "of the likeliest 5 are shared" in said
    with printed_blank():
        assert main([*both, "--json", "--out", str(tmp_path / "out")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [model["photo"] for model in found["models"]] == ["photo.png", "other.png"]
    assert found["rank_correlation"] is None and found["difference_points"] is None and {*np.ravel(found["cka"])} == {None}
    pictures = {"rollout-a", "rollout-b", "distance-a", "distance-b"}
    assert {file.stem for file in (tmp_path / "out").glob("*.png")} == pictures
    assert not {"cka", "difference"} & {*np.load(tmp_path / "out" / "compare.npz")}
    page = (tmp_path / "out" / "compare.html").read_text(encoding="utf-8")
    assert page.count(two_photos_sentence()) == 1 and "compare tiny tiny photo.png other.png" in page
    assert len(re.findall("The photo (?:photo|other).png; what", page)) == 2 and "<h3>linear CKA</h3>" not in page


def test_json_and_figures(two, capsys, tmp_path):
    with printed_blank():
        assert main(["compare", "one", "two", two, "--json", "--out", str(tmp_path / "out")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert np.shape(found["cka"]) == (3, 5) and found["resampled"] and np.shape(found["rollouts"]) == (2, 4, 4)
    assert np.allclose(np.sum(found["rollouts"], (1, 2)), 1) and 0 <= found["divergence_bits"] <= 1
    files = {file.name for file in (tmp_path / "out").iterdir()}
    pictures = {"rollout-a", "rollout-b", "distance-a", "distance-b", "difference", "cka"}
    assert files == {f"{name}.png" for name in pictures} | {"compare.npz", "compare.html"}
    numbers = np.load(tmp_path / "out" / "compare.npz")
    np.testing.assert_allclose(numbers["cka"], found["cka"])


def test_the_handout_needs_nothing_and_holds_the_numbers(tiny, other, photo):
    from vitcore.report.comparison_handout import comparison_handout

    found = compare(record_tokens(tiny, photo), record_tokens(other, photo))
    page = comparison_handout(found, (tiny, other), ("<one>", "two & more"), command="vitcore compare one two").decode()
    assert "<one>" not in page and "&lt;one&gt;" in page and "two &amp; more" in page
    assert re.findall(r"(?:src|srcset|href)=\"(?!data:)", page) == [] and "<script src" not in page
    assert page.count("data:image/svg+xml") == 12, "six figures, each for light and for dark pages"
    numbers = json.loads(re.search(r'<script type="application/json" id="numbers">(.*?)</script>', page, re.S)[1])
    assert np.shape(numbers["cka"]) == (3, 5) and numbers["rank_correlation"] == found.rank_correlation
    assert f"{found.rank_correlation:.2f}" in page and "Resampled" in page


def test_figures_share_their_scales(tiny, other, photo):
    from vitcore.report.comparison_handout import comparison_figures

    drawn = comparison_figures(compare(record_tokens(tiny, photo), record_tokens(other, photo)), (tiny, other))
    tops = [drawn[f"rollout-{x}"].colour_scale.high for x in "ab"]
    assert tops[0] == pytest.approx(tops[1]) and tops[0] > 0
    shares = [drawn[f"distance-{x}"].y.range[1] / vit.grid.image_px[1] for x, vit in zip("ab", (tiny, other), strict=True)]
    assert shares[0] == pytest.approx(shares[1])
    scale = drawn["difference"].colour_scale
    assert scale.low == -scale.high


@pytest.mark.parametrize(("one", "two", "said"), [
    ([1, 1, 5, 5], [2, 2, 2, 2], "A attends farther in layers 2–3, B in layers 0–1."),
    ([1, 5, 1, 5], [2, 2, 2, 2], "A attends farther in layers 1, 3, B in layers 0, 2."),
    ([3, 3], [2, 2], "A attends farther in layers 0–1, the other in none."),
    ([2, 2], [2, 3], "B attends farther in layer 1, the other in none."),
    ([2, 2], [2, 2], "both attend equally far in every layer."),
    (
        [1, 9],
        [2, 2, 2, 2],
        "(at the same depth, counted as the layers of B), A attends farther in layers 2–3, B in layers 0–1.",
    ),
])  # fmt: skip
def test_which_of_two_models_reaches_farther_in_which_layers(one, two, said, make_vit):
    """Worked out by hand; shares of the width, so that inputs of two sizes can be compared."""
    vits = tuple(make_vit(depth=len(px), img_size=side) for px, side in ((one, 32), (two, 64)))
    px = [np.array(one, float)[:, None] * [0.9, 1.1], np.array(two, float)[:, None] * [1.8, 2.2]]
    told = attention_distance_sentence(px, vits)
    assert told.endswith(said)


def test_heads_that_look_at_no_patches_are_hollow_in_both(make_vit):
    vits, px = (make_vit(), make_vit(seed=1)), [np.full((3, 3), 9.0)] * 2
    shares = [np.zeros((3, 3)), np.eye(3) * 0.6]
    hollow = [
        sum(np.isfinite(trace.y).sum() for trace in fig.marks if "open" in trace.symbol)
        for fig in distance_figures(px, vits, prefix_attention_shares=shares)
    ]
    assert hollow == [0, 3]

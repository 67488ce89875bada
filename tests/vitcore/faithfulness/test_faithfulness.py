"""Covering, deletion curves and the sanity check, on small models whose answers can be worked out by hand."""

import copy
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.conftest import NORMALISE, TINY, lively
from vitcore import record
from vitcore.attention_hooks import AttentionHookMode
from vitcore.faithfulness.covered_patches import FILLS, PIXEL_FILLS, answer_reads_patches, cover_patches, logits_without_patches
from vitcore.faithfulness.deletion import deletion_curves, random_maps, share_of_lower_values
from vitcore.faithfulness.method_maps import MAPS, map_title, method_maps
from vitcore.faithfulness.method_ranking import (
    best_method,
    compare_methods,
    photo_deletion,
    ranking_sentence,
    t_confidence_interval,
)
from vitcore.faithfulness.weight_randomisation import randomisation_test
from vitcore.forward.predict import predict
from vitcore.forward.recording import to_model_input
from vitcore.forward.relevance import relevance
from vitcore.models.model_cards import ModelError


def pixels_of(vit, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (*vit.grid.image_px, 3), np.uint8)


@pytest.mark.parametrize("fill", FILLS)
def test_covering_nothing_changes_nothing_and_a_batch_is_its_images(vit, fill):
    pixels, sets = pixels_of(vit), [(), (0,), (3, 1), (2,), (5, 4)]
    together = logits_without_patches(vit, pixels, sets, fill, seed=9)
    np.testing.assert_allclose(together[0], predict(vit, pixels), atol=1e-5)
    for one, answer in zip(sets, together, strict=True):
        np.testing.assert_allclose(logits_without_patches(vit, pixels, [one], fill, seed=9, batch=1)[0], answer, atol=1e-5)
    assert all(np.abs(answer - together[0]).max() > 1e-4 for answer in together[1:])


def test_removed_tokens_are_those_a_sequence_without_them_has(vit):
    """timm's own embedding, patches left out by hand, timm's own blocks."""
    pixels, gone = pixels_of(vit), [1, 7]
    own = vit.module
    with torch.inference_mode():
        tokens = own._pos_embed(own.patch_embed(to_model_input(vit, pixels)))
        kept = [t for t in range(vit.grid.tokens) if t - vit.grid.prefix not in gone]
        expected = own.forward_head(own.norm(own.blocks(own.norm_pre(tokens[:, kept]))))[0].numpy()
    np.testing.assert_allclose(logits_without_patches(vit, pixels, [gone], "removed")[0], expected, atol=1e-5)


SMALL = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 3, "num_classes": 5}
FAMILIES = (
    "deit_tiny_distilled_patch16_224", "deit3_small_patch16_224", "vit_small_patch14_reg4_dinov2", "vit_base_patch16_siglip_224",
    "eva_giant_patch14_224", "eva02_tiny_patch14_224", "vit_small_patch16_dinov3", "vit_small_patch16_rope_mixed_224",
    "vit_pe_core_tiny_patch16_384", "vit_medium_patch16_rope_reg1_gap_256",
)  # fmt: skip
KEEPING = ("beitv2_base_patch16_224", "vit_relpos_small_patch16_224", "cait_xxs24_224", "resnet10t")


def made_small(name, **options):
    import timm

    from vitcore import wrap

    return wrap(lively(timm.create_model(name, **options), 1), **NORMALISE)


@pytest.mark.parametrize("name", FAMILIES)
def test_removed_tokens_are_gone_in_every_family(name):
    """An attention event has as many tokens as are left; the answer is plain PyTorch's, with tokens (and their rotary angles)
    left out by hand after the position embedding."""
    vit = made_small(name, **SMALL)
    pixels, gone, own = pixels_of(vit), [1, 7, 15], vit.module
    shapes = set()
    with AttentionHookMode(lambda event: shapes.add(event.shape[-1])):
        answer = logits_without_patches(vit, pixels, [gone], "removed")[0]
    assert max(shapes) == vit.grid.tokens - 3
    patches = [i for i in range(vit.grid.patches) if i not in gone]
    with torch.inference_mode():
        x = own._pos_embed(own.patch_embed(to_model_input(vit, pixels)))
        x, angles = x if isinstance(x, tuple) else (x, None)
        x = own.norm_pre(x[:, [*range(vit.grid.prefix), *(vit.grid.prefix + i for i in patches)]])
        for layer, block in enumerate(own.blocks):
            mine = angles[layer] if angles is not None and own.rope_mixed else angles
            x = block(x) if mine is None else block(x, rope=mine[..., patches, :])
        expected = own.forward_head(own.norm(x))[0].numpy()
    np.testing.assert_allclose(answer, expected, atol=1e-5)
    whole, half = logits_without_patches(vit, pixels, [(), range(8)], "removed")
    np.testing.assert_allclose(whole, predict(vit, pixels), atol=1e-5)
    if own.__class__.__name__ == "Eva":
        moved = np.concatenate([pixels[16:], pixels[:16]])  # the lower half at the upper half's places
        assert np.abs(logits_without_patches(vit, moved, [range(8, 16)], "removed")[0] - half).max() > 1e-3


@pytest.mark.parametrize("name", KEEPING)
def test_models_that_keep_every_patch_say_so(name):
    options = {} if name == "resnet10t" else SMALL
    vit = made_small(name, **options)
    with pytest.raises(ModelError, match="keeps all patches"):
        logits_without_patches(vit, pixels_of(vit), [(0,)], "removed")


def test_positions_inside_blocks_and_code_that_ignores_the_swap_are_refused(make_vit):
    """The paper's ablations with positions at every block; a model whose forward pass never comes to where patches are dropped."""
    from vitcore import wrap
    from vitcore.architectures.position_ablations import AblatedViT

    shape = {**TINY, "depth": 2}
    for positions, place in (("1d", "blocks"), ("relative", "stem")):
        vit = wrap(lively(AblatedViT(positions, place, **shape)), **NORMALISE)
        with pytest.raises(ModelError, match="keeps all patches"):
            logits_without_patches(vit, pixels_of(vit), [(0,)], "removed")
    vit = make_vit()

    class Deaf(type(vit.module)):
        def forward_features(self, x, **masks):
            return self.norm(self.blocks(self.norm_pre(self._pos_embed(self.patch_embed(x)))))

    deaf = copy.copy(vit.module)
    deaf.__class__ = Deaf
    with pytest.raises(ModelError, match="keeps all patches"):
        logits_without_patches(replace(vit, module=deaf), pixels_of(vit), [(0,)], "removed")


def test_removing_all_is_one_answer_for_every_photo_or_is_refused(vit):
    every = [range(vit.grid.patches)]
    if answer_reads_patches(vit):
        with pytest.raises(ModelError, match="one of them must stay"):
            logits_without_patches(vit, pixels_of(vit), every, "removed")
        return
    floors = [logits_without_patches(vit, pixels_of(vit, seed), every, "removed")[0] for seed in (0, 1)]
    np.testing.assert_allclose(*floors, atol=1e-6)


def test_fills(make_vit):
    vit = make_vit()
    pixels, grid = pixels_of(vit), vit.grid
    for fill in PIXEL_FILLS:
        painted = grid.cut(cover_patches(pixels, grid, [5], fill, 3))
        same = (painted == grid.cut(pixels)).all((1, 2, 3))
        assert not same[5] and same.sum() == grid.patches - 1, fill
    assert (grid.cut(cover_patches(pixels, grid, [5]))[5] == np.rint(pixels.mean((0, 1)))).all()
    assert (grid.cut(cover_patches(pixels, grid, [5, 6], "neighbour"))[5] == grid.cut(pixels)[1]).all(), "first of the nearest"
    both, one = (cover_patches(pixels, grid, s, "noise", 3) for s in ([5, 6], [5]))
    assert (grid.cut(both)[5] == grid.cut(one)[5]).all(), "whichever others are covered"
    for wrong, match in (([16], "from 0 to 15"), ([-1], "from 0 to 15")):
        with pytest.raises(ValueError, match=match):
            cover_patches(pixels, grid, wrong)
    with pytest.raises(ValueError, match="fill is one of"):
        cover_patches(pixels, grid, [0], "red")


def test_a_model_that_answers_by_one_patch_falls_when_it_goes(make_vit):
    """A toy: the logit of class 1 is the red of patch 6. Deletion by the true map is exact, and no order beats it."""

    class RedOfPatchSix(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = torch.nn.Parameter(torch.tensor(8.0), requires_grad=False)

        def forward(self, x):
            red = x[:, 0, 8:16, 16:24].mean((1, 2))
            return torch.stack([torch.zeros_like(red), self.factor * red], 1)

    vit = replace(make_vit(), module=RedOfPatchSix(), labels=("no", "yes"), mean=(0.5,) * 3, std=(0.5,) * 3)
    pixels = np.full((32, 32, 3), 100, np.uint8)
    pixels[8:16, 16:24] = 255, 100, 100
    true = np.zeros((4, 4))
    true[1, 2] = 1
    curve = deletion_curves(vit, pixels, {"true": true}, target=1, fill="mean", steps=16, inputs="pixels")["true"]
    assert curve.strongest_first[0] > 0.99 and (curve.strongest_first[1:] < 0.5).all()
    assert (curve.weakest_first[:-1] > 0.99).all() and curve.weakest_first[-1] < 0.5
    upper, lower = curve.strongest_first[0], curve.strongest_first[-1]
    np.testing.assert_allclose(curve.deletion, lower + (upper - lower) / 32, atol=1e-6)
    np.testing.assert_allclose(curve.insertion, upper - (upper - lower) / 32, atol=1e-6)
    others = [
        one.gap for one in deletion_curves(vit, pixels, random_maps(vit), target=1, fill="mean", steps=16, inputs="pixels").values()
    ]
    assert (
        share_of_lower_values(curve.gap, others) >= 0.95
        and curve.gap == pytest.approx(max(*others, curve.gap))
        and abs(np.mean(others)) < 0.15
    )


def test_insertion_is_the_weakest_first_read_backwards(make_vit):
    vit = replace(make_vit(), labels=tuple("abcdefghij"))
    pixels, values = pixels_of(vit), np.arange(16.0).reshape(4, 4)
    curve = deletion_curves(vit, pixels, {"m": values}, steps=4, target=2, inputs="pixels")["m"]
    strongest = np.argsort(-values.ravel())
    for share, found in zip(curve.shares, curve.weakest_first, strict=True):
        there = strongest[: round(16 * (1 - share))]
        logits = logits_without_patches(vit, pixels, [set(range(16)) - set(there.tolist())], "removed")[0].astype(float)
        assert found == pytest.approx(np.exp(logits[2]) / np.exp(logits).sum(), abs=1e-5)


def test_curves_refuse_what_is_no_map_and_equal_values_are_drawn(make_vit):
    vit = replace(make_vit(), labels=tuple("abcdefghij"))
    pixels = pixels_of(vit)
    for wrong, match in ((np.zeros((3, 4)), "a map is"), (np.full((4, 4), np.nan), "no numbers")):
        with pytest.raises(ValueError, match=match):
            deletion_curves(vit, pixels, {"m": wrong})
    with pytest.raises(ValueError, match="a target is a class from 0 to 9, or its name, not 10"):
        deletion_curves(vit, pixels, {"m": np.eye(4)}, target=10)
    with pytest.raises(ModelError, match="No class has the name nosuch"):
        deletion_curves(vit, pixels, {"m": np.eye(4)}, target="nosuch")
    with pytest.raises(TypeError, match=r"maps are arrays by name, .*, not ndarray"):
        deletion_curves(vit, pixels, np.eye(4))
    by_name, by_index = (
        deletion_curves(vit, pixels, {"m": np.eye(4)}, steps=2, target=one, inputs="pixels")["m"] for one in ("c", np.int64(2))
    )
    assert by_name.target == by_index.target == 2 and (by_name.strongest_first == by_index.strongest_first).all()
    with pytest.raises(ModelError, match="no classification head"):
        deletion_curves(replace(vit, labels=()), pixels, {"m": np.eye(4)})
    flat = {
        seed: deletion_curves(vit, pixels, {"m": np.zeros((4, 4))}, seed=seed, inputs="pixels")["m"].strongest_first
        for seed in (0, 1)
    }
    assert np.abs(flat[0] - flat[1]).max() > 1e-4, "a flat map has no order of its own"


def test_method_maps_are_the_library_s(vit):
    rec = record(vit, pixels_image(vit))
    maps = method_maps(vit, rec)
    assert set(maps) == set(MAPS) and all(one.shape == (vit.grid.rows, vit.grid.cols) for one in maps.values())
    np.testing.assert_allclose(maps["rollout"], rec.rollout(), atol=1e-6)
    np.testing.assert_allclose(maps["chefer"], relevance(vit, rec.model_input, "chefer").maps, atol=1e-9)
    last = rec.grid.to_map(rec.pooling_weights @ rec.attention_per_layer()[-1])
    np.testing.assert_allclose(maps["last_layer_attention"], last, atol=1e-6)
    assert maps["middle"].argmax() in (5, 6, 9, 10) or vit.grid.rows != vit.grid.cols
    with pytest.raises(ValueError, match="a map is one of"):
        method_maps(vit, rec, ["saliency"])


def pixels_image(vit, seed=0):
    from PIL import Image

    return Image.fromarray(pixels_of(vit, seed))


def test_methods_are_ranked_over_photos(make_vit):
    vit = replace(make_vit(), labels=tuple("abcdefghij"))
    photos = [pixels_image(vit, seed) for seed in range(3)]
    scores = compare_methods(vit, photos, ["rollout", "chefer", "middle"], steps=4, random_orders=8)
    assert [s.gap for s in scores] == sorted((s.gap for s in scores), reverse=True)
    of_one = ranking_sentence(scores[:1], "mean")
    assert "every other" not in of_one and map_title(scores[0].name) in of_one
    for score in scores:
        low, high = score.interval
        assert low < score.gap < high and len(score.gaps) == 3 and ((0 <= score.places) & (score.places <= 1)).all()
        alone = photo_deletion(vit, record(vit, photos[1]), [score.name], steps=4, random_orders=8)
        assert alone.curves[score.name].gap == pytest.approx(score.gaps[1], abs=1e-6), "whichever other methods are asked"
        assert alone.curves["chance"].gap == pytest.approx(0, abs=1e-6) and alone.places[score.name] == score.places[1]
    best, tied = best_method(scores)
    assert best == next(s.name for s in scores if s.name != "middle") and tied in ("", *(s.name for s in scores if s.name != best))
    with pytest.raises(ValueError, match="no photo"):
        compare_methods(vit, [])


def test_interval_and_place_by_hand():
    low, high = t_confidence_interval(np.array([1.0, 2.0, 3.0]))
    assert (low, high) == pytest.approx((2 - 4.30265 / 3**0.5, 2 + 4.30265 / 3**0.5), abs=1e-4)
    assert share_of_lower_values(2, [1, 2, 3, 4]) == 0.375


def test_shuffled_weights_change_gradient_maps_and_not_what_reads_none(make_vit):
    vit = replace(make_vit(img_size=64), labels=tuple("abcdefghij"))
    pixels = pixels_of(vit)
    before = {name: tensor.clone() for name, tensor in vit.module.state_dict().items()}
    test = randomisation_test(vit, lambda model: relevance(model, pixels, "chefer", 3, inputs="pixels").maps)
    assert test.parts == ("head", "blocks.2", "blocks.1", "blocks.0", "embedding") and test.depends_on_weights
    assert abs(test.correlations[-1]) <= 0.35, "64 patches: by chance below 0.35 in 99.5 of 100"
    edges = np.abs(np.diff(vit.grid.to_map(vit.grid.cut(pixels).mean((1, 2, 3))), axis=0, append=0))
    assert not randomisation_test(vit, lambda model: edges).depends_on_weights
    assert all((tensor == before[name]).all() for name, tensor in vit.module.state_dict().items())


def test_the_shared_model_stays_as_it_is_while_threads_remove_tokens(make_vit):
    vit = replace(make_vit(), labels=tuple("abcdefghij"))
    before, pixels = copy.deepcopy(vit.module.state_dict()), pixels_of(vit)
    expected = [logits_without_patches(vit, pixels, [(i,)], "removed")[0] for i in range(8)]
    with ThreadPoolExecutor(8) as threads:
        found = [*threads.map(lambda i: logits_without_patches(vit, pixels, [(i,)], "removed")[0], range(8))]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert isinstance(vit.module.patch_drop, torch.nn.Identity) and not vit.module._forward_hooks
    assert all((tensor == before[name]).all() for name, tensor in vit.module.state_dict().items())


@pytest.mark.parametrize("kind", [np.int64, np.int8, bool])
def test_whole_numbers_that_are_no_bytes_are_refused(make_vit, kind):
    """They were taken for floats from 0 to 1, and what covers them was of that scale."""
    vit = make_vit()
    pixels = pixels_of(vit).astype(kind)
    with pytest.raises(TypeError, match=rf"bytes \(uint8\), or floats from 0 to 1, not {pixels.dtype}$"):
        cover_patches(pixels, vit.grid, [0])
    for fill in FILLS:
        with pytest.raises(TypeError, match="pixels are bytes"):
            logits_without_patches(vit, pixels, [(0,)], fill)

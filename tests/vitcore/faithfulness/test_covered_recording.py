"""A pass without some patches: its answer, its maps on the whole grid, and the order in which a map gives its patches up."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from tests.vitcore.faithfulness.conftest import noise_for
from vitcore import record
from vitcore.attention_hooks import AttentionHookMode
from vitcore.faithfulness.covered_patches import FILLS, answer_reads_patches, logits_without_patches
from vitcore.faithfulness.covered_recording import record_covered
from vitcore.faithfulness.deletion import patch_order
from vitcore.forward.mask_outliers import mask_outlier_tokens
from vitcore.forward.recording import to_model_input
from vitcore.forward.relevance import relevance
from vitcore.models.model_cards import ModelError


@pytest.mark.parametrize("fill", FILLS)
def test_a_covered_recording_is_a_recording_without_those_patches(vit, fill):
    photo, gone = noise_for(vit), [2, 5, 11]
    rec, plain = record(vit, photo), record_covered(vit, photo, (), fill)
    np.testing.assert_allclose(plain.logits, rec.logits, atol=1e-5)
    np.testing.assert_allclose(plain.rollout(), rec.rollout(), atol=1e-6)
    np.testing.assert_allclose(plain.class_attention(), rec.pooled_attention(vit.blocks - 1), atol=1e-6)
    covered = record_covered(vit, rec, gone, fill, seed=4)
    expected = logits_without_patches(vit, rec.model_input.pixels, [gone], fill, seed=4)[0]
    np.testing.assert_allclose(covered.logits, expected, atol=1e-5)
    maps = covered.rollout(), covered.class_attention()
    assert all(one.shape == (vit.grid.rows, vit.grid.cols) for one in maps) and covered.covered.nonzero()[0].tolist() == gone
    assert (maps[1].ravel()[gone] == 0).all() == (fill == "removed") and np.abs(maps[0] - rec.rollout()).max() > 1e-4
    if fill != "removed":
        again = relevance(vit, covered.recording.model_input, "rollout").maps
        np.testing.assert_allclose(maps[0], again, atol=1e-6)


def test_attention_without_tokens_is_plain_pytorchs(make_vit):
    """The last layer's softmax over the tokens that are left, of timm's own blocks, laid on the grid by hand."""
    vit, gone = make_vit(), [1, 7]
    photo, kept = noise_for(vit), [i for i in range(16) if i not in (1, 7)]
    rec, seen = record(vit, photo), []
    with torch.inference_mode(), AttentionHookMode(lambda event: seen.append(event.weights()[0].mean(0)[0])):
        tokens = vit.module._pos_embed(vit.module.patch_embed(to_model_input(vit, rec.model_input.pixels)))
        vit.module.blocks(tokens[:, [0, *(1 + i for i in kept)]])
    found = record_covered(vit, photo, gone, "removed").class_attention().ravel()
    np.testing.assert_allclose(found[kept], seen[-1][1:].numpy(), atol=1e-6)
    assert found[1] == found[7] == 0


def test_one_patch_left_is_read_alone(vit):
    """An attention pool has then as many queries as a block."""
    rec, left = record(vit, noise_for(vit)), 5
    gone = [patch for patch in range(vit.grid.patches) if patch != left]
    covered = record_covered(vit, rec, gone, "removed")
    np.testing.assert_allclose(covered.logits, logits_without_patches(vit, rec.model_input.pixels, [gone], "removed")[0], atol=1e-5)
    for drawn in (covered.rollout(), covered.class_attention()):
        assert drawn.ravel().nonzero()[0].tolist() == [left]
    if vit.pooling == "attention pool":
        assert covered.recording.pooling_weights == pytest.approx([1])


def test_nothing_left_is_the_floor_or_is_refused(vit):
    every = range(vit.grid.patches)
    if answer_reads_patches(vit):
        with pytest.raises(ModelError, match="one of them must stay"):
            record_covered(vit, noise_for(vit), every, "removed")
        return
    floor = [record_covered(vit, noise_for(vit, seed), every, "removed") for seed in (0, 1)]
    np.testing.assert_allclose(floor[0].logits, floor[1].logits, atol=1e-6)
    assert not floor[0].rollout().any() and floor[0].with_outliers_masked() is floor[0]


def test_outlier_tokens_of_the_pass_are_masked_by_their_own_patches(make_vit):
    """Where a token with a towering norm is left, its patch is named on the whole grid, and maps give it nothing."""
    vit = make_vit()
    with torch.no_grad():
        vit.module.pos_embed[0, 1 + 12] *= 60
    covered = record_covered(vit, noise_for(vit), [0, 3], "removed")
    assert covered.outlier_patches.tolist() == [12]
    masked = covered.with_outliers_masked()
    expected = mask_outlier_tokens(covered.recording).pooled_attention(vit.blocks - 1)
    assert masked.class_attention()[3, 0] == 0 < covered.class_attention()[3, 0]
    np.testing.assert_allclose(masked.class_attention().sum(), expected.sum(), atol=1e-6)


def test_threads_share_the_model(make_vit):
    vit = make_vit()
    photo = noise_for(vit)
    expected = [record_covered(vit, photo, [i], "removed").rollout() for i in range(6)]
    with ThreadPoolExecutor(6) as threads:
        found = [*threads.map(lambda i: record_covered(vit, photo, [i], "removed").rollout(), range(6))]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert not vit.module.blocks[0]._forward_pre_hooks and isinstance(vit.module.patch_drop, torch.nn.Identity)


def test_refusals(make_vit):
    vit = make_vit()
    with pytest.raises(ValueError, match="from 0 to 15"):
        record_covered(vit, noise_for(vit), [16], "removed")
    with pytest.raises(ValueError, match="fill is one of"):
        record_covered(vit, noise_for(vit), [1], "red")


def test_patch_order():
    values = np.array([[1.0, 5.0], [-7.0, 2.0]])
    assert patch_order(values).tolist() == [1, 3, 0, 2]
    assert patch_order(values, "weakest").tolist() == [2, 0, 3, 1], "of signed maps what lowers the answer is weakest"
    one, other = (patch_order(np.zeros((8, 8)), "chance", seed) for seed in (0, 1))
    assert sorted(one) == list(range(64)) and one.tolist() != other.tolist()
    flat = patch_order(np.zeros((8, 8)))
    assert flat.tolist() != list(range(64)) and flat.tolist() == patch_order(np.zeros((8, 8))).tolist()
    for wrong in (("middle", "first is one of"), ("strongest", "no numbers")):
        with pytest.raises(ValueError, match=wrong[1]):
            patch_order(np.full((2, 2), np.nan), wrong[0])

"""Outlier tokens of a recording: norms are the model's own, a planted outlier is found, and masked it gives nothing to anybody."""

import numpy as np
import pytest
import torch

import vitcore
from vitcore.analysis.attention_distance import mean_distance_px
from vitcore.forward.mask_outliers import mask_outlier_tokens, outliers_in_recording
from vitcore.forward.recording import record, to_model_input

FUSIONS = ("mean", "max", "min")


@pytest.fixture(scope="module")
def planted(make_module):
    """A small ViT one of whose patches, the 6th, is far longer than all others: its position is."""
    module = make_module(img_size=64)
    with torch.no_grad():
        module.pos_embed[0, 1 + 6] *= 200
    return vitcore.wrap(module, name="planted")


@pytest.fixture(scope="module")
def rec(planted, noise):
    return record(planted, noise(2, (64, 64)), maps=range(planted.blocks), fusions=FUSIONS)


@pytest.mark.parametrize("changes", [{}, {"reg_tokens": 4}, {"class_token": False, "global_pool": "avg"}], ids=str)
def test_norms_are_those_of_the_tokens_as_they_leave_each_block(make_vit, noise, changes):
    vit = make_vit(**changes)
    seen = record(vit, noise(1))
    with torch.inference_mode():
        left = vit.module.forward_intermediates(
            to_model_input(vit, seen.model_input.pixels), output_fmt="NLC", return_prefix_tokens=True, intermediates_only=True
        )
    tokens = [torch.cat([prefix[0], patches[0]]) for patches, prefix in left] if vit.grid.prefix else [p[0] for p in left]
    assert seen.norms == pytest.approx(torch.stack(tokens).norm(dim=-1).numpy(), rel=1e-5)
    assert mask_outlier_tokens(seen) is seen  # random weights have none


def test_a_planted_outlier_is_found_and_masked_in_everything_that_is_read(rec):
    seen = outliers_in_recording(rec)
    assert seen.patches.tolist() == [6] and seen.first[6] == 0 and seen.high[:, 6].all()
    masked = mask_outlier_tokens(rec)
    for before, after in [*zip(rec.maps.values(), masked.maps.values(), strict=True),
                          *((rec.fused[name], masked.fused[name]) for name in FUSIONS)]:  # fmt: skip
        assert before[..., 7].max() > 0 and (after[..., 7] == 0).all()
        assert after.astype(np.float32).sum(-1) == pytest.approx(before.astype(np.float32).sum(-1), abs=2e-3)
        assert not after.flags.writeable
    assert masked.distance_px[1] == pytest.approx(mean_distance_px(masked.maps[1], rec.grid), rel=1e-5)
    assert (masked.logits == rec.logits).all() and (masked.norms == rec.norms).all()
    rolled = masked.rollout()
    assert rolled.flat[6] == 0 < rec.rollout().flat[6]
    assert masked.rollout(start=1 + 6).flat[6] == pytest.approx(0.5**3)  # what it keeps of itself: the residual


def test_a_lean_recording_is_masked_alike(planted, rec):
    lean = mask_outlier_tokens(record(planted, rec.photo, store="query_key"))
    whole = mask_outlier_tokens(rec)
    assert lean.fused["mean"].astype(np.float32) == pytest.approx(whole.fused["mean"], abs=1e-3)
    assert not lean.query_key  # queries and keys would bring the unmasked heads back


def test_the_shipped_model_makes_registers_of_the_corners(shipped, photo):
    """As ViT-Ti/16, its teacher: three or four patches on every photo that ships, all of them corners, from block 7 on."""
    seen = outliers_in_recording(record(shipped, photo))
    assert seen.patches.tolist() == [0, 15, 240, 255] and set(seen.first[seen.patches]) == {7}
    assert 24 < seen.times[11, seen.patches].min() and np.delete(seen.times[11], seen.patches).max() < 1.5

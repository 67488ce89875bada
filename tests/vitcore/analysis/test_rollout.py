"""Attention rollout: closed forms, a product worked by hand, and rows that sum to 1 whatever is asked for."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vitcore.analysis.rollout import (
    HEAD_FUSIONS,
    discard_weakest_between_patches,
    fuse_heads,
    rollout,
    rollout_matrix,
    rollout_per_layer,
    transition_matrix,
)
from vitcore.analysis.rollout import token_rollout as module


def random_weights(blocks, heads, tokens, seed=0, sharpness=2.0):
    """(L, H, T, T) rows that sum to 1."""
    scores = sharpness * np.random.default_rng(seed).standard_normal((blocks, heads, tokens, tokens))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def random_fused(blocks=4, tokens=11, seed=0):
    return fuse_heads(random_weights(blocks, 3, tokens, seed))


# Closed forms


@pytest.mark.parametrize("blocks", [1, 2, 6, 12])
@pytest.mark.parametrize("tokens", [5, 197])
def test_uniform_attention(blocks, tokens):
    fused = np.full((blocks, tokens, tokens), 1 / tokens)
    row = rollout(fused)
    stays = 2.0**-blocks
    assert row[0] == pytest.approx((1 - stays) / tokens + stays, rel=1e-12)
    assert row[1:] == pytest.approx((1 - stays) / tokens, rel=1e-12)
    if (blocks, tokens) == (12, 197):  # the paper's base model
        assert row[0] == pytest.approx(0.0053190435, abs=5e-11)
        assert row[1:] == pytest.approx(0.0050749028, abs=5e-11)


@pytest.mark.parametrize("residual", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("ratio", [0.0, 0.5])
def test_attention_to_oneself_stays_with_oneself(residual, ratio):
    fused = np.stack([np.eye(9)] * 5)
    assert np.array_equal(rollout_matrix(fused, discard_ratio=ratio, residual=residual), np.eye(9))
    for token in (0, 4, 8):
        assert np.array_equal(rollout(fused, token, discard_ratio=ratio, residual=residual), np.eye(9)[token])


def test_two_blocks_by_hand():
    first, second = [[0.5, 0.5], [0, 1]], [[0, 1], [1, 0]]
    # (A+I)/2: first [[.75, .25], [0, 1]], second [[.5, .5], [.5, .5]]; the later block stands on the left.
    fused = np.array([first, second])
    assert np.array_equal(rollout_matrix(fused), [[0.375, 0.625], [0.375, 0.625]])
    assert np.array_equal(rollout(fused), [0.375, 0.625])
    assert np.array_equal(rollout_matrix(fused[::-1]), [[0.5, 0.5], [0.5, 0.5]])
    assert np.array_equal(rollout_matrix(fused, residual=0.0), [[0, 1], [0.5, 0.5]])


def test_information_flows_from_early_blocks_to_late_ones():
    """Block 0: token 1 reads token 2. Block 1: the class token reads token 1. So the class token knows of token 2."""
    fused = np.stack([np.eye(3), np.eye(3)])
    fused[0, 1], fused[1, 0] = [0, 0, 1], [0, 1, 0]
    assert rollout(fused, residual=0.0).tolist() == [0, 0, 1]
    assert rollout(fused[::-1], residual=0.0).tolist() == [0, 1, 0]
    assert rollout_per_layer(fused, residual=0.0).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert rollout_per_layer(fused).tolist() == [[1, 0, 0], [0.5, 0.25, 0.25]]


def test_it_is_the_product_of_halved_attention_and_identity():
    fused = random_fused()
    product = np.eye(11)
    for matrix in fused:
        product = (0.5 * matrix + 0.5 * np.eye(11)) @ product
    assert np.allclose(rollout_matrix(fused), product, rtol=1e-12)


# Every setting


SETTINGS = list(itertools.product(HEAD_FUSIONS, (0.0, 0.3, 0.9, 0.999), (0.0, 0.5, 1.0), (0, 2, 3), (0, 1, 5)))


def test_rows_sum_to_1_and_the_row_is_a_row_of_the_matrix():
    for fusion, ratio, residual, first, prefix in SETTINGS:
        fused = fuse_heads(random_weights(4, 3, 11, sharpness=6), fusion)
        chosen = {"prefix": prefix, "discard_ratio": ratio, "residual": residual, "first_block": first}
        matrix = rollout_matrix(fused, **chosen)
        assert np.allclose(matrix.sum(1), 1, rtol=0, atol=1e-12) and matrix.min() >= 0, (fusion, chosen)
        for token in (0, 3, 10):
            assert np.allclose(rollout(fused, token, **chosen), matrix[token], rtol=0, atol=1e-14), (fusion, chosen)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1), tokens=st.integers(2, 20), blocks=st.integers(1, 5), fusion=st.sampled_from(HEAD_FUSIONS),
    ratio=st.floats(0, 0.999), residual=st.floats(0, 1), sharpness=st.floats(0, 200), data=st.data(),
)  # fmt: skip
def test_rows_sum_to_1_for_any_attention(seed, tokens, blocks, fusion, ratio, residual, sharpness, data):
    prefix = data.draw(st.integers(0, min(5, tokens - 1)))
    first = data.draw(st.integers(0, blocks - 1))
    fused = fuse_heads(random_weights(blocks, 2, tokens, seed, sharpness), fusion).astype(np.float32)
    row = rollout(fused, prefix=prefix, discard_ratio=ratio, residual=residual, first_block=first)
    assert row.sum() == pytest.approx(1, abs=1e-6) and row.min() >= 0
    exact = rollout(fused.astype(np.float64), prefix=prefix, discard_ratio=ratio, residual=residual, first_block=first)
    assert exact.sum() == pytest.approx(1, abs=1e-9) and np.allclose(row, exact, rtol=1e-6, atol=1e-9)


def test_blocks_before_the_first_are_left_out_and_the_residual_weight_is_that_of_the_identity():
    fused = random_fused()
    assert np.array_equal(rollout(fused, first_block=2), rollout(fused[2:]))
    assert not np.allclose(rollout(fused, first_block=2), rollout(fused))
    assert np.array_equal(rollout_matrix(fused, residual=1.0), np.eye(11)), "a residual of 1 forgets attention"
    assert np.allclose(transition_matrix(fused[0], residual=0.2), 0.8 * fused[0] + 0.2 * np.eye(11), rtol=1e-12)


# Built up block by block


def test_row_l_is_the_rollout_of_a_model_that_stops_after_block_l():
    fused = fuse_heads(random_weights(4, 3, 11, sharpness=5))
    for start, first, residual, ratio in itertools.product((0, 4, "mean"), (0, 2, 3), (0.0, 0.5, 1.0), (0.0, 0.6)):
        begin = np.full(11, 1 / 11) if start == "mean" else start
        chosen = {"prefix": 2, "discard_ratio": ratio, "residual": residual, "first_block": first}
        rows = rollout_per_layer(fused, begin, **chosen)
        assert rows.shape == (4, 11) and np.allclose(rows.sum(1), 1, rtol=0, atol=1e-12), (start, chosen)
        for block in range(4):
            if block < first:
                assert np.array_equal(rows[block], np.eye(11)[begin] if start != "mean" else begin), (start, chosen)
            else:
                stopped = rollout(fused[: block + 1], begin, **chosen)
                assert np.allclose(rows[block], stopped, rtol=0, atol=1e-13), (start, chosen)


def test_weights_next_to_nothing_are_still_shares():
    """A row of float32's smallest numbers, which made to sum to 1 are more than it holds."""
    fused = random_fused().astype(np.float32)
    fused[1, 3] = 1e-44
    for begin in (3, 0):
        assert np.allclose(rollout(fused, begin), rollout(fused.astype(np.float64), begin), rtol=1e-6)


@pytest.mark.parametrize("rows", [1, 4, 11])
def test_strips_of_rows_make_the_same(monkeypatch, rows):
    fused, start = random_fused(), np.random.default_rng(1).dirichlet(np.ones(11))
    fused[1, 3] = 0  # a token that attends to nothing keeps what it has
    monkeypatch.setattr(module, "STRIP_BYTES", 8 * 11 * rows)
    assert np.allclose(rollout(fused, start, residual=0.3), start @ rollout_matrix(fused, residual=0.3), rtol=1e-12)
    assert np.allclose(rollout_per_layer(fused, start)[-1], start @ rollout_matrix(fused), rtol=1e-12)


# Fusing heads and discarding


def test_fusing_heads():
    weights = random_weights(2, 3, 5)
    assert np.allclose(fuse_heads(weights, "mean"), (weights[:, 0] + weights[:, 1] + weights[:, 2]) / 3)
    assert np.array_equal(fuse_heads(weights, "max"), np.maximum(np.maximum(weights[:, 0], weights[:, 1]), weights[:, 2]))
    assert np.array_equal(fuse_heads(weights, "min"), np.minimum(np.minimum(weights[:, 0], weights[:, 1]), weights[:, 2]))
    assert fuse_heads(weights[0]).shape == (5, 5)


@pytest.mark.parametrize("prefix", range(6))
def test_discarding_takes_the_smallest_patch_to_patch_weights(prefix):
    fused = random_fused(3, 12, seed=prefix)
    for ratio in (0.1, 0.5, 0.9):
        for before, after in zip(fused, discard_weakest_between_patches(fused, ratio, prefix), strict=True):
            assert np.array_equal(after[:prefix], before[:prefix]), "a prefix token's row changed"
            assert np.array_equal(after[:, :prefix], before[:, :prefix]), "a prefix token's column changed"
            inner, kept = before[prefix:, prefix:], after[prefix:, prefix:]
            gone = kept == 0
            assert gone.sum() == int(ratio * inner.size)
            assert inner[gone].max() < inner[~gone].min()
            assert np.array_equal(kept[~gone], inner[~gone])


def test_discarding_nothing_changes_nothing():
    fused = random_fused()
    kept = fused.copy()
    assert np.array_equal(discard_weakest_between_patches(fused, 0.0, 1), fused)
    discard_weakest_between_patches(fused, 0.5, 1)
    rollout(fused, discard_ratio=0.5)
    assert np.array_equal(fused, kept), "the recording's own array was written to"


# Refusals


@pytest.mark.parametrize("run", [rollout, rollout_matrix, rollout_per_layer])
@pytest.mark.parametrize(("setting", "values", "said"), [
    ("discard_ratio", (-0.1, 1.0, 2.0, np.nan), "discard ratio"), ("residual", (-0.1, 1.1, np.nan), "residual"),
    ("first_block", (-1, 4, 99), "first block"),
])  # fmt: skip
def test_settings_out_of_range_are_refused(run, setting, values, said):
    for value in values:
        with pytest.raises(ValueError, match=said):
            run(random_fused(), **{setting: value})
    with pytest.raises(ValueError, match="mean, max, min"):
        fuse_heads(random_weights(1, 2, 3), "median")

"""Mean attention distance: known answers to the micrometre, and the recording's streamed values."""

import numpy as np
import pytest
import torch

from vitcore.analysis.attention_distance import (
    farthest_head,
    heads_beyond_even_attention,
    local_heads,
    mean_distance_px,
    uniform_distance_px,
)
from vitcore.attention_hooks import AttentionHookMode
from vitcore.forward.recording import record, to_model_input
from vitcore.grid import Grid

# Independent numpy and scipy results: rows, patch px, uniform, uniform over all tokens, corner query, largest.
TABLE = [
    (14, 16, 116.492227, 115.900896, 161.0302, 294.1564), (7, 32, 115.502894, 113.192836, 150.6005, 271.5290),
    (24, 16, 200.047983, 199.701279, 283.4675, 520.4306), (12, 32, 199.505843, 198.129941, 273.0811, 497.8032),
    (28, 8, 116.721636, 116.572946, 166.2204, 305.4701), (16, 14, 116.565053, 116.111493, 162.3288, 296.9848),
]  # fmt: skip
SHAPES = [Grid(14, 14, 16), Grid(2, 3, 8, 0), Grid(5, 4, 8, 2), Grid(3, 6, 10, 5, patch_w_px=4)]


def softmaxed(*shape, seed=0):
    scores = 3 * np.random.default_rng(seed).standard_normal(shape)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def of_patches(weights, prefix):
    """(N, N) weights among patches as (T, T); prefix tokens attend to themselves and nobody to them."""
    tokens = prefix + len(weights)
    full = np.eye(tokens)
    full[prefix:, prefix:] = weights
    return full


@pytest.mark.parametrize("row", TABLE, ids=lambda r: f"{r[0]}@{r[1]}")
@pytest.mark.parametrize("prefix", [1, 2, 5])
def test_known_answers(row, prefix):
    side, patch_px, uniform, with_class_token, corner, largest = row
    grid = Grid(side, side, patch_px, prefix)
    assert uniform_distance_px(grid) == pytest.approx(uniform, abs=5e-7)
    assert mean_distance_px(of_patches(np.full((side**2, side**2), side**-2), prefix), grid) == pytest.approx(uniform, abs=5e-7)
    assert grid.distances_px()[0].mean() == pytest.approx(corner, abs=5e-5)
    assert grid.distances_px().max() == pytest.approx(largest, abs=5e-5)
    one = Grid(side, side, patch_px, 1)
    spread = np.full((one.tokens, one.tokens), 1 / one.tokens)
    assert mean_distance_px(spread, one) == pytest.approx(with_class_token, abs=5e-7)
    assert mean_distance_px(spread, one, "renormalise") == pytest.approx(uniform, abs=5e-7)


def neighbourhood(rows: int, cols: int) -> np.ndarray:
    """(196, 196) even weights on the patches at most so many rows and columns away, on a grid of 14×14."""
    row, col = np.divmod(np.arange(196), 14)
    near = (abs(row[:, None] - row) <= rows) & (abs(col[:, None] - col) <= cols)
    return near / near.sum(1, keepdims=True)


def next_door(step: int) -> np.ndarray:
    """(196, 196): all weight on the patch to the right (1) or below (14); at the edge, on the one before."""
    at = np.arange(196)
    there = np.where((at % 14 == 13) if step == 1 else (at >= 182), at - step, at + step)
    return np.eye(196)[there]


@pytest.mark.parametrize(
    ("weights", "px"), [(next_door(1), 16), (next_door(14), 16), (neighbourhood(0, 0), 0), (neighbourhood(1, 1), 16.698065)],
    ids=["right", "down", "itself", "3 by 3"],
)  # fmt: skip
def test_heads_that_look_near(weights, px):
    assert mean_distance_px(of_patches(weights, 1), Grid(14, 14, 16)) == pytest.approx(px, abs=5e-7)


@pytest.mark.parametrize(("rows", "cols", "step_px"), [(1, 2, 24), (2, 1, 8)])
def test_patches_that_are_not_square(rows, cols, step_px):
    grid = Grid(rows, cols, 8, prefix=0, patch_w_px=24)
    assert mean_distance_px(np.array([[0.25, 0.75], [0.5, 0.5]]), grid) == (0.75 + 0.5) * step_px / 2


def test_half_on_the_class_token_reads_half_the_distance():
    grid = Grid(14, 14, 16)
    weights = np.full((197, 197), 0.5 / 196)
    weights[:, 0] = 0.5
    assert mean_distance_px(weights, grid) == pytest.approx(116.492227 / 2, abs=5e-7)
    assert mean_distance_px(weights, grid, "renormalise") == pytest.approx(116.492227, abs=5e-7)


@pytest.mark.parametrize("grid", SHAPES, ids=str)
@pytest.mark.parametrize("cls", ["drop", "renormalise"])
def test_it_is_the_double_sum_of_the_definition(grid, cls):
    assert mean_distance_px(np.eye(grid.tokens), grid, cls) == 0, "a head that looks at itself looks 0 px far"
    weights = softmaxed(2, 3, grid.tokens, grid.tokens)
    px = mean_distance_px(weights, grid, cls)
    assert px.shape == (2, 3)
    w = weights[1, 2][grid.prefix :, grid.prefix :]
    (high, wide), total = grid.step_px, 0.0
    for q in range(grid.patches):
        (r, c), left = divmod(q, grid.cols), w[q].sum() if cls == "renormalise" else 1
        for k in range(grid.patches):
            total += w[q, k] / left * np.hypot((k // grid.cols - r) * high, (k % grid.cols - c) * wide)
    assert px[1, 2] == pytest.approx(total / grid.patches, rel=1e-12)


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="'drop'"):
        mean_distance_px(np.eye(5), Grid(2, 2, 8), "zero")


# Streamed


KINDS = [
    {}, {"reg_tokens": 4}, {"class_token": False, "global_pool": "avg"}, {"img_size": (32, 48)},
    {"img_size": (40, 48), "patch_size": (8, 16)}, {"class_token": False, "global_pool": "map", "reg_tokens": 3},
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("fused_kernel", [False, True], ids=["answering", "watching"])
def test_streamed_distances_equal_those_of_kept_maps(make_vit, noise, kind, fused_kernel):
    vit = make_vit(**kind)
    rec = record(vit, noise(), exact=fused_kernel)
    weights = kept(vit, rec)
    assert weights.shape == (3, 3, vit.grid.tokens, vit.grid.tokens)
    assert np.allclose(rec.distance_px, mean_distance_px(weights, vit.grid), rtol=0, atol=1e-4)
    whole = mean_distance_px(weights, vit.grid, "renormalise")
    assert np.allclose(rec.distance_renormalised_px, whole, rtol=0, atol=1e-4)
    if not vit.grid.prefix:
        assert np.allclose(rec.distance_px, rec.distance_renormalised_px)


def kept(vit, rec):
    """(L, H, T, T) weights of our own capture, with 32 bits."""
    seen = []
    with torch.inference_mode(), AttentionHookMode(lambda call: seen.append(call.weights()[0])):
        vit.module(to_model_input(vit, rec.model_input.pixels))
    return torch.stack(seen[: vit.blocks]).numpy()


def test_streamed_distances_of_the_shipped_model(shipped, rec):
    weights = kept(shipped, rec)
    assert np.allclose(rec.distance_px, mean_distance_px(weights, rec.grid), rtol=0, atol=1e-4)
    halves = np.stack([rec.maps[i] for i in range(shipped.blocks)])
    assert np.allclose(rec.distance_px, mean_distance_px(halves, rec.grid), rtol=2e-3)
    whole = mean_distance_px(halves, rec.grid, "renormalise")
    assert np.allclose(rec.distance_renormalised_px, whole, rtol=2e-3)


def test_near_heads_are_listed_by_block_the_nearest_of_a_block_last():
    px = np.array([[5.0, 3.0, 40.0], [40.0, 40.0, 40.0], [40.0, 10.0, 10.5]])
    assert local_heads(px, 10.0) == [(0, 0), (0, 1), (2, 1)]
    assert local_heads(px, 11.0)[-1] == (2, 1) and local_heads(px, 2.0) == []


def test_far_heads_read_more_than_even_attention_and_rounding_does_not_count():
    px = np.array([[5.0, 66.61, 40.0], [70.0, 66.7, 90.0]])
    assert heads_beyond_even_attention(px, 66.6) == [(1, 0), (1, 1), (1, 2)] and heads_beyond_even_attention(px, 90.0) == []
    assert farthest_head(px) == (1, 2)
    grid = Grid(5, 4, 8, 1)
    tokens = grid.tokens
    even, corners = np.full((tokens, tokens), 1 / tokens), np.zeros((tokens, tokens))
    corners[:, [1, -1]] = 0.5  # all attention on two opposite corners: as far as it goes
    table = np.array([[mean_distance_px(w, grid, "renormalise") for w in (even, corners, np.eye(tokens))]])
    assert heads_beyond_even_attention(table, uniform_distance_px(grid)) == [(0, 1)] and farthest_head(table) == (0, 1)

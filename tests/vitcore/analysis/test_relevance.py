"""The arithmetic of relevance: worked by hand, compared with matrices and with scipy, and nothing from nothing."""

import numpy as np
import pytest

from vitcore.analysis.relevance import (
    METHODS,
    absolute_shares,
    chefer_relevance,
    difference_points,
    gradient_rollout,
    positive_gradient_attention,
    rank_correlation,
    sum_per_patch,
)
from vitcore.analysis.rollout import rollout_matrix
from vitcore.grid import Grid


def random_positive(blocks=4, tokens=7, seed=0):
    return np.maximum(np.random.default_rng(seed).standard_normal((blocks, tokens, tokens)), 0)


# Recurrences


def test_what_speaks_for_a_class_by_hand():
    weights = np.array([[[0.5, 0.5], [1.0, 0.0]], [[0.2, 0.8], [0.3, 0.7]]])
    gradients = np.array([[[2.0, -4.0], [1.0, 9.0]], [[5.0, 1.0], [-1.0, 0.0]]])
    assert np.allclose(positive_gradient_attention(weights, gradients), [[(1 + 1) / 2, 0.8 / 2], [1 / 2, 0]])


def test_chefer_by_hand():
    """R = (I + Ā₂)(I + Ā₁), the class token's row, less the identity."""
    first, second = np.array([[0, 1.0], [0, 0]]), np.array([[0, 0], [2.0, 0]])
    assert chefer_relevance(np.stack([first, second])).tolist() == [0, 1]
    assert chefer_relevance(np.stack([first, second]), 1).tolist() == [2, 2]
    assert chefer_relevance(np.stack([second, first])).tolist() == [2, 1]


@pytest.mark.parametrize("start", [0, 3, 5, "mean"])
def test_chefer_is_a_row_of_the_matrix_that_grows_and_a_pool_the_mean_of_its_tokens(start):
    positive = random_positive()
    r = np.eye(7)
    for block in positive:
        r = r + block @ r
    pool = np.full(7, 1 / 7)
    begin, kept = (pool, pool.copy()) if start == "mean" else (start, start)
    expected = (r - np.eye(7)).mean(0) if start == "mean" else (r - np.eye(7))[start]
    assert np.allclose(chefer_relevance(positive, begin), expected, rtol=1e-12)
    rows = np.stack([gradient_rollout(positive, token, prefix=0) for token in range(7)])
    from_start = rows.mean(0) if start == "mean" else rows[start]
    assert np.allclose(gradient_rollout(positive, begin, prefix=0), from_start, atol=1e-14)
    for method in (chefer_relevance, gradient_rollout):
        assert not method(np.zeros((4, 7, 7)), begin).any(), "nothing comes from nothing"
    assert np.array_equal(begin, kept), "a start is not written to"


@pytest.mark.parametrize("residual, ratio, first", [(0.5, 0.0, 0), (0.2, 0.4, 1), (0.0, 0.0, 2), (1.0, 0.0, 0)])
@pytest.mark.parametrize("start", [0, 4])
def test_gradient_rollout_is_rollout_less_what_never_left(start, residual, ratio, first):
    positive = random_positive()
    positive[:, 2] = 0  # a token whom nothing speaks to
    chosen = {"prefix": 1, "discard_ratio": ratio, "residual": residual, "first_block": first}
    expected = rollout_matrix(positive, **chosen)[start]
    expected[start] -= residual ** (4 - first)
    assert np.allclose(gradient_rollout(positive, start, **chosen), expected, rtol=0, atol=1e-14)


# Maps


@pytest.mark.parametrize("grid", [Grid(2, 3, 4), Grid(3, 2, 4, 0, 5), Grid(1, 1, 8)], ids=str)
def test_pixels_are_summed_over_their_patch(grid):
    pixels = np.random.default_rng(0).standard_normal((2, *grid.image_px))
    found = sum_per_patch(pixels, grid)
    assert found.shape == (2, grid.rows, grid.cols)
    for patch in range(grid.patches):
        left, top, right, bottom = grid.box_px(patch)
        assert np.allclose(found[(slice(None), *grid.row_col(patch))], pixels[:, top:bottom, left:right].sum((1, 2)))
    with pytest.raises(ValueError, match="are not the model's"):
        sum_per_patch(pixels[:, 1:], grid)


def test_shares_of_a_map():
    assert absolute_shares(np.array([[1.0, -3.0]])).tolist() == [[0.25, -0.75]]
    assert absolute_shares(np.zeros((2, 2))).tolist() == [[0, 0], [0, 0]]
    assert difference_points(np.array([[1.0, -3.0]]), np.array([[2.0, 2.0]])).tolist() == [[-25, -125]]


def test_rank_correlation_is_spearmans_and_sees_order_only():
    """1 − 6·Σd²/(n(n² − 1)) without equal values: d is 1, 1, 0, 1, 1; with them, 4.5/√(5 · 4.5) of mean ranks."""
    assert rank_correlation(np.array([1, 2, 3, 4, 5]), np.array([20, 10, 30, 99, 40])) == pytest.approx(1 - 6 * 4 / 120)
    assert rank_correlation(np.array([[1, 2], [3, 4]]), np.array([[1, 1], [2, 3]])) == pytest.approx(4.5 / np.sqrt(5 * 4.5))
    assert np.isnan(rank_correlation(np.ones((2, 2)), np.arange(4).reshape(2, 2)))
    a = np.random.default_rng(0).random((4, 5))
    assert rank_correlation(a, np.exp(9 * a)) == pytest.approx(1)
    assert rank_correlation(a, -(a**3)) == pytest.approx(-1)


def test_every_method_has_a_source_and_rollout_alone_asks_no_class():
    assert list(METHODS) == ["rollout", "gradient_rollout", "chefer", "integrated_gradients", "grad_cam"]
    assert all("arXiv" in method.source and method.name == name for name, method in METHODS.items())
    assert [name for name, method in METHODS.items() if not method.asks_class] == ["rollout"]
    assert [name for name, method in METHODS.items() if method.signed] == ["integrated_gradients"]

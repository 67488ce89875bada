"""Two models as numbers: CKA and answers against known answers and references, maps on a grid that both have."""

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import ortho_group

from vitcore.analysis.model_similarity import common_grid, linear_cka_matrix, prediction_agreement, subspace_overlap
from vitcore.analysis.relevance import rank_correlation
from vitcore.grid import Grid

WHOLE = (0.0, 0.0, 64.0, 64.0)


@pytest.fixture(scope="module")
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# CKA


def feature_cka(x: np.ndarray, y: np.ndarray) -> float:
    """‖YᵀX‖² / (‖XᵀX‖·‖YᵀY‖) of centred features: the other way to write it (arXiv 1905.00414, Eq. 5), in float64."""
    x, y = (z.astype(np.float64) - z.astype(np.float64).mean(0) for z in (x, y))
    return float(np.linalg.norm(y.T @ x) ** 2 / (np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)))


def test_cka_is_that_of_the_features(rng):
    a, b = rng.normal(size=(3, 50, 8)) + 5, rng.normal(size=(2, 50, 12)) * 1e3
    b[1, :, :8] += 900 * a[1]
    found = linear_cka_matrix(a, b)
    assert found.shape == (3, 2)
    np.testing.assert_allclose(found, [[feature_cka(x, y) for y in b] for x in a], atol=1e-5)
    assert found[1, 1] > 2 * found[1, 0] and 0 < found.min() and found.max() < 1


def test_cka_of_itself_is_one_whatever_is_turned_moved_and_scaled(rng):
    a = rng.normal(size=(2, 40, 6)).astype(np.float32)
    turned = 1e4 * a @ ortho_group.rvs(6, random_state=0) + rng.normal(size=6)
    np.testing.assert_allclose(np.diag(linear_cka_matrix(a, a)), 1, atol=1e-6)
    np.testing.assert_allclose(np.diag(linear_cka_matrix(a, turned)), 1, atol=1e-5)
    stretched = a * np.array([1, 2, 4, 8, 16, 32])
    assert linear_cka_matrix(a, stretched)[0, 0] < 0.9, "another linear map is another representation"


def test_cka_of_what_has_nothing_in_common(rng):
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], np.float32)  # two columns that are orthogonal
    assert linear_cka_matrix(signs[None, :, :1], signs[None, :, 1:])[0, 0] == 0
    assert np.isnan(linear_cka_matrix(np.ones((1, 4, 3)), signs[None])[0, 0])


# Answers


NAMES = tuple("abcdef")


def test_answers_agree():
    logits = np.log(np.array([0.5, 0.2, 0.1, 0.1, 0.06, 0.04]))
    for order in ([0, 1, 2, 3, 4, 5], [5, 1, 3, 2, 4, 0]):  # of the classes
        found = prediction_agreement(logits, logits[order], (NAMES, tuple(NAMES[i] for i in order)))
        assert (found.same_top1, found.shared_top5, found.of) == (True, 5, 5)
        assert found.divergence_bits == pytest.approx(0, abs=1e-15)


def test_answers_differ():
    a, b = np.array([9.0, 5, 4, 3, 2, 1]), np.array([5.0, 9, 4, 3, 1, 2])
    found = prediction_agreement(a, b, (NAMES, NAMES))
    p, q = (np.exp(x) / np.exp(x).sum() for x in (a, b))
    middle = (p + q) / 2
    by_hand = (p * np.log2(p / middle) + q * np.log2(q / middle)).sum() / 2
    assert (found.same_top1, found.shared_top5) == (False, 4)
    assert found.divergence_bits == pytest.approx(by_hand) == pytest.approx(jensenshannon(p, q, base=2) ** 2)
    apart = prediction_agreement(np.array([800.0, 0]), np.array([0, 800.0]), (("x", "y"), ("x", "y")))
    assert apart.divergence_bits == pytest.approx(1) and apart.of == 2


@pytest.mark.parametrize("labels", [((), ()), (("a", "b"), ("a", "c")), (("a", "b"), ()), (("a", "a"), ("a", "b"))])
def test_answers_about_other_classes_are_not_compared(labels):
    logits = [np.zeros(len(names) or 3) for names in labels]
    assert prediction_agreement(*logits, labels) is None


# One grid


def test_grids_that_agree_are_left_alone(rng):
    grid = Grid(4, 4, 8)
    found = common_grid((grid, Grid(4, 4, 16)), (WHOLE, (0.0, 0.5, 64.0, 64.0)))
    values, tokens = rng.normal(size=(4, 4)), rng.normal(size=(2, 16, 3)).astype(np.float32)
    assert (found.rows, found.cols, found.resampled) == (4, 4, False)
    np.testing.assert_array_equal(found.cells(1, values), values)
    np.testing.assert_array_equal(found.tokens(0, tokens), tokens)


def test_a_finer_grid_is_averaged(rng):
    found = common_grid((Grid(4, 4, 16), Grid(8, 4, 8, 1, 16)), (WHOLE, WHOLE))
    fine = rng.normal(size=(8, 4))
    assert (found.rows, found.cols, found.resampled) == (4, 4, True)
    np.testing.assert_allclose(found.cells(1, fine), (fine[::2] + fine[1::2]) / 2)
    tokens = rng.normal(size=(3, 32, 5)).astype(np.float32)
    by_channel = [found.cells(1, tokens[:, :, d].reshape(3, 8, 4)).reshape(3, 16) for d in range(5)]
    np.testing.assert_allclose(found.tokens(1, tokens), np.stack(by_channel, -1), atol=1e-6)


def test_grids_that_do_not_divide_each_other_are_weighed_by_area():
    found = common_grid((Grid(3, 3, 8), Grid(2, 2, 8)), (WHOLE, WHOLE))
    np.testing.assert_allclose(found.down[0], [[2 / 3, 1 / 3, 0], [0, 1 / 3, 2 / 3]])
    np.testing.assert_allclose(found.cells(0, np.arange(9.0).reshape(3, 3)).mean(), 4)


def test_only_what_both_see_is_compared():
    left, right = (0.0, 0.0, 48.0, 64.0), (16.0, 0.0, 64.0, 64.0)
    found = common_grid((Grid(8, 6, 8), Grid(8, 6, 8)), (left, right))
    assert found.box == (16.0, 0.0, 48.0, 64.0) and (found.rows, found.cols, found.resampled) == (8, 4, True)
    columns = np.arange(6.0)[None].repeat(8, 0)
    np.testing.assert_allclose(found.cells(0, columns)[0], [2, 3, 4, 5])
    np.testing.assert_allclose(found.cells(1, columns)[0], [0, 1, 2, 3])
    with pytest.raises(ValueError, match="no part"):
        common_grid((Grid(2, 2, 8),) * 2, ((0, 0, 16, 16), (16, 0, 32, 16)))


def test_many_positions_are_made_fewer():
    found = common_grid((Grid(37, 37, 14),) * 2, (WHOLE, WHOLE), most=400)
    assert (found.rows, found.cols, found.resampled) == (20, 20, True)
    np.testing.assert_allclose(found.down[0].sum(1), 1)
    smooth = np.add.outer(np.arange(37.0), np.arange(37.0))
    assert rank_correlation(found.cells(0, smooth), np.add.outer(np.arange(20.0), np.arange(20.0))) > 0.99


# Spaces and places


def test_spaces_overlap_by_their_directions_and_not_by_their_bases():
    turned = ortho_group.rvs(3, random_state=0)
    axes = np.eye(8)
    assert subspace_overlap(axes[:3], turned @ axes[:3]) == pytest.approx(1)
    assert subspace_overlap(axes[:3], axes[3:6]) == 0
    assert subspace_overlap(axes[:2], axes[1:3]) == pytest.approx(0.5), "one direction of two"
    tilted = np.cos(0.3) * axes[:1] + np.sin(0.3) * axes[5:6]
    assert subspace_overlap(axes[:1].reshape(1, 2, 4), tilted) == pytest.approx(np.cos(0.3) ** 2)
    with pytest.raises(ValueError, match="can't be compared"):
        subspace_overlap(axes[:2], axes[:3])


def test_a_cell_is_the_patch_that_it_has_most_of():
    found = common_grid((Grid(4, 4, 16), Grid(8, 8, 8)), (WHOLE, WHOLE))
    assert (found.rows, found.cols) == (4, 4)
    assert [found.patch(0, cell) for cell in (0, 5, 15)] == [0, 5, 15]
    assert found.patch(1, 5) in (18, 19, 26, 27), "row 1, column 1 holds rows and columns 2 and 3"
    same = common_grid((Grid(4, 4, 16), Grid(4, 4, 8)), (WHOLE, WHOLE))
    assert [same.patch(1, cell) for cell in range(16)] == list(range(16))

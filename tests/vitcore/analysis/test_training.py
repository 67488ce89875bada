"""Curves of a log and masked patches, against numbers worked out by hand."""

import numpy as np
import pytest

from vitcore.analysis import training_curves_and_masks
from vitcore.analysis.attention_distance import uniform_distance_px
from vitcore.analysis.training_curves_and_masks import emerged_structure
from vitcore.grid import Grid

GRID = Grid(2, 2, 2, 1)
FATE = np.array(
    [
        training_curves_and_masks.UNTOUCHED,
        training_curves_and_masks.MASKED,
        training_curves_and_masks.REPLACED,
        training_curves_and_masks.KEPT,
    ]
)


def photo() -> np.ndarray:
    """Four patches of one colour each: 10, 20, 30, 40."""
    return np.repeat(np.repeat(np.array([[10, 20], [30, 40]], np.uint8), 2, 0), 2, 1)[..., None].repeat(3, -1)


def test_a_curve_is_what_was_measured():
    log = [{"step": 1, "loss": 2.0}, {"step": 2, "loss": float("nan")}, {"step": 3, "top1": 5}, {"step": 4, "loss": 1}]
    steps, values = training_curves_and_masks.curve_from_log(log, "loss")
    assert steps.tolist() == [1, 4] and values.tolist() == [2.0, 1.0]
    assert all(len(part) == 0 for part in training_curves_and_masks.curve_from_log(log, "val_loss"))


def test_bins_keep_the_mean_and_those_of_the_logarithm_are_narrow_at_first():
    steps = np.arange(1, 101)
    where, means = training_curves_and_masks.average_curve_in_bins(steps, steps * 2.0, 10)
    assert len(where) == 10 and np.allclose(means, 2 * where) and np.isclose(where[0], 5.5)
    assert training_curves_and_masks.average_curve_in_bins(steps, steps, 100)[0] is steps, "few enough as they are"
    where, _ = training_curves_and_masks.average_curve_in_bins(np.arange(1, 1001), np.ones(1000), 6, log_steps=True)
    ratios = where[1:] / where[:-1]
    assert len(where) == 6 and ratios.max() / ratios.min() < 1.6
    assert training_curves_and_masks.average_curve_in_bins(np.array([5, 5, 5]), np.ones(3), 2, True)[1].tolist() == [1.0]


def test_only_replaced_patches_show_another_and_only_corrupted_ones_are_painted_and_count():
    given = training_curves_and_masks.paint_corruption(photo(), FATE, np.array([0, 1, 0, 3]), GRID)
    assert given[::2, ::2, 0].tolist() == [[10, 20], [10, 40]]
    colours = np.full((4, 3), 99, np.uint8)
    assert training_curves_and_masks.paint_corrupted_patches(photo(), FATE, colours, GRID)[::2, ::2, 1].tolist() == [
        [10, 99],
        [99, 99],
    ]
    said, true = np.zeros((4, 3), np.uint8), np.full((4, 3), 30, np.uint8)
    true[0] = 255  # was not asked for
    assert training_curves_and_masks.colour_error(said, true, FATE) == 30
    assert training_curves_and_masks.colour_error(said, true, np.zeros(4)) == 0


def film_arrays(table, distance_px, kernel=None):
    arrays = {"positions": table[None], "distance_px": np.array([[distance_px]], np.float32)}
    return arrays if kernel is None else arrays | {"kernel": kernel[None]}


def test_what_has_appeared_is_what_there_is_and_noise_has_nothing():
    grid, rng = Grid(4, 4, 8, 1), np.random.default_rng(1)
    row, col = np.divmod(np.arange(16), 4)
    place = np.stack([np.cos(row), np.sin(row), np.cos(col), np.sin(col)], 1)
    even = uniform_distance_px(grid)
    flat = np.ones((2, 3, 8, 8)) + np.random.default_rng(0).normal(size=(2, 3, 8, 8)) * 0.1
    found = emerged_structure(film_arrays(place, [0.3 * even, 0.9 * even], flat), 0, grid)
    assert found.filters and found.positions and found.heads
    assert (found.near, found.far) == pytest.approx((0.3, 0.9))
    arrays = film_arrays(rng.normal(size=(16, 64)), [0.98 * even, 1.02 * even], rng.normal(size=(8, 3, 8, 8)))
    found = emerged_structure(arrays, 0, grid)
    assert not (found.filters or found.positions or found.heads)
    assert emerged_structure(film_arrays(np.zeros((16, 8)), [even]), 0, grid).correlation == 0  # nothing is like nothing
    table = rng.normal(size=(16, 8))
    with_class = np.concatenate([np.full((1, 8), 9.0), table])
    one, other = (emerged_structure(film_arrays(t, [1.0]), 0, grid).correlation for t in (table, with_class))
    assert one == other, "a class token in the table is left out"


def test_when_each_thing_was_first_there():
    grid, rng = Grid(4, 4, 8), np.random.default_rng(0)
    noise, smooth = rng.normal(size=(8, 3, 8, 8)), np.ones((8, 3, 8, 8))
    px = np.array([[[9.0, 9.0]], [[9.0, 9.0]], [[2.0, 9.0]]])  # frames, layers, heads: they part in the last
    arrays = {"kernel": np.stack([noise, smooth, smooth]), "distance_px": px}
    assert training_curves_and_masks.first_emergence_frames(arrays, grid) == {"filters": 1, "positions": None, "heads": 2}

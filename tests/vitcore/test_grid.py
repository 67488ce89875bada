"""The token grid: which pixels a token is, and how far apart two are."""

import numpy as np
import pytest

from vitcore.grid import Grid

GRIDS = [Grid(14, 14, 16), Grid(2, 3, 8), Grid(3, 2, 8, prefix=0), Grid(4, 5, 6, prefix=5, patch_w_px=10), Grid(1, 1, 32)]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_patches_are_in_reading_order_and_their_boxes_tile_the_input(grid):
    assert grid.patches == grid.rows * grid.cols and grid.tokens == grid.prefix + grid.patches
    assert grid.image_px == (grid.rows * grid.patch_px, grid.cols * (grid.patch_w_px or grid.patch_px))
    places = [(r, c) for r in range(grid.rows) for c in range(grid.cols)]
    assert [grid.row_col(i) for i in range(grid.patches)] == places
    assert [grid.patch(r, c) for r, c in places] == list(range(grid.patches))
    painted = np.zeros(grid.image_px, int)
    for i in range(grid.patches):
        left, top, right, bottom = grid.box_px(i)
        assert painted[top:bottom, left:right].size == grid.step_px[0] * grid.step_px[1]
        painted[top:bottom, left:right] += i + 1
    for i, (y, x) in enumerate(grid.centres_px()):
        assert painted[int(y), int(x)] == i + 1
    assert painted.min() == 1


def test_grids_by_hand():
    assert Grid(14, 14, 16).patches == 224 * 224 // 16**2 == 196, "the paper's sequence length"
    assert Grid(4, 5, 6, patch_w_px=10).box_px(7) == (20, 6, 30, 12)  # row 1, column 2
    for rows, cols, middle in ((14, 14, 105), (3, 5, 7), (1, 1, 0), (2, 3, 4)):
        assert Grid(rows, cols, 8).middle == middle


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_distances_are_those_of_centres_and_to_map_drops_prefix_tokens(grid):
    far = grid.distances_px()
    assert far.shape == (grid.patches, grid.patches)
    assert (np.diag(far) == 0).all() and (far == far.T).all()
    high, wide = grid.step_px
    corner = np.hypot((grid.rows - 1) * high, (grid.cols - 1) * wide)
    assert far[0, -1] == pytest.approx(corner) == far.max()
    assert grid.cols == 1 or far[0, 1] == wide
    assert grid.rows == 1 or far[0, grid.cols] == high
    tokens = np.arange(2 * grid.tokens).reshape(2, grid.tokens)
    expected = tokens[:, grid.prefix :].reshape(2, grid.rows, grid.cols)
    assert (grid.to_map(tokens) == expected).all() and (grid.to_map(tokens[:, grid.prefix :]) == expected).all()
    for count in {0, 1, 5, 8, 12} - {grid.patches, grid.tokens}:
        with pytest.raises(ValueError, match=f"{count} values"):
            grid.to_map(np.zeros((4, count)))


def test_corners_and_the_rim_are_counted():
    grid = Grid(3, 4, 16)
    assert grid.on_border([0, 3, 8, 11]) == (4, 4)
    assert grid.on_border([1, 5, 6, 7]) == (0, 2)
    assert grid.on_border(range(12)) == (4, 10)

"""Position similarities drawn: the right tile in the right place, minus one to one, counted from 1 as in the paper."""

import numpy as np
import pytest

from vitcore import figures
from vitcore.analysis.position_embeddings import position_similarity
from vitcore.figures.positions import similarity_mosaic
from vitcore.figures.theme_colours import DIVERGING, colour_table
from vitcore.grid import Grid

GRIDS = [Grid(4, 4, 8), Grid(3, 5, 8), Grid(5, 2, 8, 0)]
each_grid = pytest.mark.parametrize("grid", GRIDS, ids=str)


def cosines(grid):
    return position_similarity(np.random.default_rng(0).standard_normal((grid.patches, 6)))


@each_grid
def test_every_tile_is_in_its_place(grid):
    cosine = cosines(grid)
    drawn = similarity_mosaic(cosine, grid, gutter=False)
    zoom = drawn.shape[0] // grid.rows**2
    assert drawn.shape == (grid.rows**2 * zoom, grid.cols**2 * zoom, 4)
    places = drawn[::zoom, ::zoom, :3].reshape(grid.rows, grid.rows, grid.cols, grid.cols, 3)
    for one in range(grid.patches):
        for other in range(grid.patches):
            (r, c), (y, x) = grid.row_col(one), grid.row_col(other)
            expected = colour_table(DIVERGING)[round(255 * (cosine[one, other] + 1) / 2)]
            assert np.abs(places[r, y, c, x].astype(int) - expected).max() <= 2


@each_grid
def test_a_position_is_itself_most_of_all(grid):
    drawn = similarity_mosaic(np.eye(grid.patches), grid, gutter=False)
    full = (drawn[..., :3] == colour_table(DIVERGING)[255]).all(-1)
    assert full.mean() == pytest.approx(1 / grid.patches)


def scale_of(fig):
    return fig.colour_scale


@each_grid
def test_scales_go_from_minus_one_to_one(grid):
    for fig in (figures.position_similarity(cosines(grid), grid), figures.position_similarity_tile(cosines(grid), grid, 1)):
        bar = scale_of(fig)
        assert (bar.low, bar.high) == (-1, 1) and "cosine" in bar.unit.lower()


def test_axes_count_patches_from_0_as_the_app_does():
    fig = figures.position_similarity(cosines(GRIDS[1]), GRIDS[1])
    assert list(fig.x.tick_labels) == ["0", "1", "2", "3", "4"]
    assert list(fig.y.tick_labels) == ["0", "1", "2"]
    assert list(fig.x.ticks) == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert "column" in fig.x.title and "row" in fig.y.title
    assert fig.y.range[0] > fig.y.range[1], "row 0 is on top"


def test_one_tile_outlines_its_position_and_tells_its_numbers():
    grid = GRIDS[1]
    fig = figures.position_similarity_tile(cosines(grid), grid, 7)
    halo, box = fig.shapes
    assert all((shape.x, shape.y, shape.wide, shape.high) == (2, 1, 1, 1) for shape in (halo, box))
    assert halo.colour == "#fff" and halo.line_px > box.line_px, "seen on dark red, too"
    text = fig.marks[0].text
    assert text[1][2] == "row 1, column 2: +1.000"

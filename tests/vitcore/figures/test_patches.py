"""Patch splitting drawn: every patch where it belongs, apart by the gutter."""

import numpy as np
import pytest

from vitcore import figures
from vitcore.figures.patches import patch_mosaic
from vitcore.grid import Grid

GRIDS = [Grid(4, 4, 8), Grid(2, 5, 8, 0), Grid(3, 2, 6, 5, patch_w_px=10)]
each_grid = pytest.mark.parametrize("grid", GRIDS, ids=str)


def pixels_of(grid):
    return np.random.default_rng(0).integers(0, 256, (*grid.image_px, 3), np.uint8)


@each_grid
@pytest.mark.parametrize("gutter_px", [0, 1, 2.5])
def test_patches_stand_apart(grid, gutter_px):
    pixels, zoom = pixels_of(grid), 2
    drawn, gap = patch_mosaic(pixels, grid, gutter_px, zoom), round(gutter_px * zoom)
    high, wide = grid.step_px
    for i in range(grid.patches):
        (row, col), (left, top, right, bottom) = grid.row_col(i), grid.box_px(i)
        y, x = row * (high * zoom + gap), col * (wide * zoom + gap)
        block = drawn[y : y + high * zoom, x : x + wide * zoom]
        assert (block[::zoom, ::zoom, :3] == pixels[top:bottom, left:right]).all() and (block[..., 3] == 255).all()
    assert (drawn[..., 3] == 255).sum() == grid.patches * high * wide * zoom**2, "gutters are transparent"


def test_without_a_gutter_it_is_the_photo():
    pixels = pixels_of(GRIDS[0])
    assert np.array_equal(patch_mosaic(pixels, GRIDS[0], 0, 1)[..., :3], pixels)


@each_grid
def test_the_pointer_is_told_index_place_and_box(grid):
    fig = figures.patches(pixels_of(grid), grid)
    text = fig.marks[0].text
    assert (len(text), len(text[0])) == (grid.rows, grid.cols)
    last = grid.patches - 1
    left, top, right, bottom = grid.box_px(last)
    assert f"patch {last} " in text[-1][-1] and f"row {grid.rows - 1}, column {grid.cols - 1}" in text[-1][-1]
    assert f"x {left}–{right - 1} px, y {top}–{bottom - 1} px" in text[-1][-1]


@each_grid
def test_it_says_n(grid):
    fig = figures.patches(pixels_of(grid), grid)
    said = f"{fig.title} {fig.subtitle}"
    high, wide = grid.image_px
    assert f"{high}·{wide}" in said and f"{grid.rows}×{grid.cols}" in said and str(grid.patches) in said


@each_grid
def test_one_patch_and_its_place_in_the_sequence(grid):
    index = grid.patches - 1
    patch = pixels_of(grid)[-grid.step_px[0] :, -grid.step_px[1] :]
    fig = figures.patch_and_embedding(patch, np.linspace(-1, 1, 24, dtype=np.float32), grid, index)
    said = " ".join(note.text for note in fig.labels)
    assert f"{patch.size} numbers" in said and "24 numbers" in said
    assert f"in the sequence, 0 to {grid.tokens - 1}: {grid.prefix + index}; patches begin at {grid.prefix}" in said

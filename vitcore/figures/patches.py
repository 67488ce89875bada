"""Patch splitting drawn: the photo cut into its grid, with a gutter."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from vitcore.figures.theme import Mode, bare_axes, hover_cells, mosaic, picture, styled
from vitcore.grid import Grid


def split_picture(pixels: NDArray[np.uint8], grid: Grid, gutter_px: float = 1.0, zoom: int = 4) -> NDArray[np.uint8]:
    """(H, W, 3) pixels as an RGBA mosaic of patches, `gutter_px` model pixels apart, each pixel `zoom` wide."""
    high, wide = grid.step_px
    blocks = pixels.reshape(grid.rows, high, grid.cols, wide, 3).swapaxes(1, 2).reshape(-1, high, wide, 3)
    return mosaic(blocks, grid.cols, round(gutter_px * zoom), zoom=zoom)


def patches(pixels: NDArray[np.uint8], grid: Grid, gutter_px: float = 1.0, mode: Mode = "light") -> go.Figure:
    """The photo as the model's N patches (arXiv 2010.11929 §3.1); hover tells index, row, column and pixel box."""
    mixed = split_picture(pixels, grid, gutter_px)
    high, wide = grid.image_px
    fig = go.Figure([picture(mixed, (wide, high), smooth=False), hover_cells(_labels(grid), (wide, high))])
    title = f"{grid.patches} patches: N = {high}·{wide} / {_area(grid)} = {grid.rows}×{grid.cols}"
    return bare_axes(styled(fig, title, mode, 560), (wide, high))


def _area(grid: Grid) -> str:
    high, wide = grid.step_px
    return f"{high}²" if high == wide else f"({high}·{wide})"


def _labels(grid: Grid) -> list[list[str]]:
    def label(index: int) -> str:
        (row, col), (left, top, right, bottom) = grid.row_col(index), grid.box_px(index)
        return f"patch {index} · row {row}, column {col}<br>x {left}–{right} px, y {top}–{bottom} px"

    return [[label(grid.patch(r, c)) for c in range(grid.cols)] for r in range(grid.rows)]

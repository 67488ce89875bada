"""Outlier tokens outlined in a map, in figures and in pixels: a thin frame that is seen on every heat."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from vitcore.figures.drawing import Drawing, Outline, add_shapes
from vitcore.grid import Grid

FRAME_COLOUR = "#4FC3D9"  # around an outlier: seen on every colour of the scale
FRAME_EDGE_COLOUR = "#000000"  # around the mark: seen on light photos
FRAME_INSET = 0.08  # of a patch: the frame lies within it, beside that of a patch that was asked


def outlier_frames(
    patches: Iterable[int], grid: Grid, place: tuple[float, float] = (0, 0), side: float = 1, width: float = 1.5
) -> list[Outline]:
    """A frame around each patch of a map that begins at `place` in a figure, its patches `side` of the axes' units wide."""
    drawn = []
    for patch in patches:
        row, col = grid.row_col(int(patch))
        x, y, wide = (place[0] + side * (col + FRAME_INSET), place[1] + side * (row + FRAME_INSET), side * (1 - 2 * FRAME_INSET))
        drawn += [Outline(x, y, wide, wide, FRAME_EDGE_COLOUR, width + 2), Outline(x, y, wide, wide, FRAME_COLOUR, width)]
    return drawn


def frame_outliers(
    fig: Drawing, patches: Iterable[int], grid: Grid, place: tuple[float, float] = (0, 0), sentence: str = ""
) -> Drawing:
    """The figure with these patches framed, and below it, when it is printed, what is `sentence` of them; itself without any."""
    return add_shapes(fig, outlier_frames(patches, grid, place), sentence)


def frame_outliers_in_maps(fig: Drawing, outlier_patches: Sequence[Sequence[int]], grid: Grid, sentence: str) -> Drawing:
    """The small maps of `figures.heads`, with the patches of each framed."""
    columns = min(len(outlier_patches), 4 if len(outlier_patches) > 3 else 3)
    for head, patches in enumerate(outlier_patches):
        row, col = divmod(head, columns)
        fig = frame_outliers(fig, patches, grid, (col * (grid.cols + 1), row * (grid.rows + 1)), sentence)
    return fig


def frame_outliers_in_pixels(pixels: NDArray[np.uint8], patches: Iterable[int], grid: Grid) -> NDArray[np.uint8]:
    """(H, W, 3) pixels of a map on its photo with these patches framed; themselves where there are none."""
    some = [int(patch) for patch in patches]
    if not some:
        return pixels
    drawn = Image.fromarray(pixels)
    pen, wide, high = ImageDraw.Draw(drawn), drawn.width / grid.cols, drawn.height / grid.rows
    line = max(1, round(drawn.width / 400))
    for patch in some:
        row, col = grid.row_col(patch)
        left, top = round((col + FRAME_INSET) * wide), round((row + FRAME_INSET) * high)
        right, bottom = round((col + 1 - FRAME_INSET) * wide) - 1, round((row + 1 - FRAME_INSET) * high) - 1
        pen.rectangle((left - line, top - line, right + line, bottom + line), outline=FRAME_EDGE_COLOUR, width=3 * line)
        pen.rectangle((left, top, right, bottom), outline=FRAME_COLOUR, width=line)
    return np.asarray(drawn)

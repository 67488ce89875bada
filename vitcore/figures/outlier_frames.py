"""Outlier tokens outlined in a map, in figures and in pixels: a thin frame that is seen on every heat."""

from collections.abc import Iterable, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from vitcore.figures.theme import Part, outline
from vitcore.grid import Grid

MARK = "#4FC3D9"  # around an outlier: seen on every colour of the scale
CASING = "#000000"  # around the mark: seen on light photos
INSET = 0.08  # of a patch: the frame lies within it, beside that of a patch that was asked


def frames(
    patches: Iterable[int], grid: Grid, place: tuple[float, float] = (0, 0), side: float = 1, width: float = 1.5
) -> list[Part]:
    """A frame around each patch of a map that begins at `place` in a figure, its patches `side` of the axes' units wide."""
    drawn = []
    for patch in patches:
        row, col = grid.row_col(int(patch))
        x, y, wide = place[0] + side * (col + INSET), place[1] + side * (row + INSET), side * (1 - 2 * INSET)
        drawn += [outline(x, y, wide, wide, CASING, width + 2), outline(x, y, wide, wide, MARK, width)]
    return drawn


def outlined(
    fig: go.Figure, patches: Iterable[int], grid: Grid, place: tuple[float, float] = (0, 0), told: str = ""
) -> go.Figure:
    """The figure with these patches framed, and below it, when it is printed, what is `told` of them; itself without any."""
    marks = frames(patches, grid, place)
    if not marks:
        return fig
    spec = fig.to_dict()
    spec["layout"]["shapes"] = [*spec["layout"].get("shapes", ()), *marks]
    if told:
        spec["layout"]["meta"] = spec["layout"].get("meta", {}) | {"note": told}
    return go.Figure(spec, _validate=False)


def outlined_maps(
    fig: go.Figure, marks: Sequence[Sequence[int]], grid: Grid, across: int = 0, told: str = ""
) -> go.Figure:
    """The small maps of `figures.heads`, in rows of `across`, with the patches of each framed."""
    across = across or min(len(marks), 4 if len(marks) > 3 else 3)
    for head, patches in enumerate(marks):
        row, col = divmod(head, across)
        fig = outlined(fig, patches, grid, (col * (grid.cols + 1), row * (grid.rows + 1)), told)
    return fig


def on_pixels(pixels: NDArray[np.uint8], patches: Iterable[int], grid: Grid) -> NDArray[np.uint8]:
    """(H, W, 3) pixels of a map on its photo with these patches framed; themselves where there are none."""
    some = [int(patch) for patch in patches]
    if not some:
        return pixels
    drawn = Image.fromarray(pixels)
    pen, wide, high = ImageDraw.Draw(drawn), drawn.width / grid.cols, drawn.height / grid.rows
    line = max(1, round(drawn.width / 400))
    for patch in some:
        row, col = grid.row_col(patch)
        left, top = round((col + INSET) * wide), round((row + INSET) * high)
        right, bottom = round((col + 1 - INSET) * wide) - 1, round((row + 1 - INSET) * high) - 1
        pen.rectangle((left - line, top - line, right + line, bottom + line), outline=CASING, width=3 * line)
        pen.rectangle((left, top, right, bottom), outline=MARK, width=line)
    return np.asarray(drawn)

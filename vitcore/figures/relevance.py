"""Relevance drawn on the photo: one method's map, the difference of two, and rollout as it is built up block by block.

Amounts are drawn from 0, signed maps (integrated gradients, differences) in red and blue from a scale whose two ends are as
far from 0. Maps are (rows, cols).
"""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image

from vitcore.figures.attention import as_in_the_paper, fitted, heat_figure, label
from vitcore.figures.heat_overlay import fine_detail, on_photo, scale_on_photo, scale_top
from vitcore.figures.theme import Mode, Scale, bar_of, figure, mosaic, picture
from vitcore.grid import Grid
from vitcore.translation import say

Pixels = NDArray[np.uint8] | Image.Image
THUMB_PX = 192


def relevance(
    values: NDArray, pixels: Pixels, grid: Grid, title: str, unit: str, *, signed: bool = False, style: str = "heat",
    mode: Mode = "light", about: str = "", start: int | None = None, least: float = 0,
) -> go.Figure:  # fmt: skip
    """A map on the photo (any resolution) with its scale, `values` in `unit`; `start` outlines the patch that was asked.

    Style "paper" draws amounts as Fig. 6 does, without a scale; what is `signed` is always drawn as "heat", on a scale that
    reaches as far as `least`.
    """
    told = say("row {row}, column {col}: {value}")
    text = [
        [told.format(row=r, col=c, value=f"{values[r, c]:.3g}") for c in range(grid.cols)] for r in range(grid.rows)
    ]
    if style == "paper" and not signed:
        return as_in_the_paper(values, fitted(pixels), grid, title, mode, about, start, text)
    return heat_figure(values, pixels, grid, title, unit, top=limit(values, signed, least), signed=signed, mode=mode,
                       about=about, start=start, text=text)  # fmt: skip


def limit(values: NDArray, signed: bool, least: float = 0) -> float:
    """The top of the colour scale: as a rollout's (a few towering patches don't set it), of the size of signed numbers."""
    return max(scale_top(np.abs(values), 0), least) if signed else scale_top(values)


def build_up(
    maps: NDArray, pixels: Pixels, grid: Grid, title: str, *, mode: Mode = "light", about: str = ""
) -> go.Figure:
    """(L, rows, cols) rollout after each block as small pictures on one scale, named by their layer."""
    count, most = len(maps), build_up_top(maps)
    cols = 6 if count > 4 else count
    high, wide = grid.image_px
    photo = fitted(pixels).resize((round(THUMB_PX * wide / max(high, wide)), round(THUMB_PX * high / max(high, wide))))
    detail, gutter = fine_detail(photo, grid), 12
    sheet = mosaic(np.stack([on_photo(one, detail, most) for one in maps]), cols, gutter)
    size = (float(sheet.shape[1]), float(sheet.shape[0]))
    parts = [picture(sheet, size, smooth=False), bar_of(build_up_scale(maps))]
    places = [((i % cols) * (photo.width + gutter), (i // cols) * (photo.height + gutter)) for i in range(count)]
    said = [label(say("layer {layer}", layer=layer), *place) for layer, place in enumerate(places)]
    return figure(parts, title, mode, round(90 + 760 * size[1] / size[0]), about, size=size, annotations=said)


def build_up_top(maps: NDArray) -> float:
    """The top of the one scale of a build-up: that of its last frame, the whole rollout; earlier ones may tower above it."""
    return scale_top(maps[-1])


def build_up_scale(maps: NDArray) -> Scale:
    """That scale, in times an even share of the last frame; there may be more than its top, in the last frame or before it."""
    return scale_on_photo(
        100 * maps, 100 * build_up_top(maps), say("% of the total"), even=100 * float(maps[-1].mean())
    )

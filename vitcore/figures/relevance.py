"""Relevance drawn on the photo: one method's map, the difference of two, and rollout as it is built up block by block.

Amounts are heat on the photo; signed maps (integrated gradients, differences) are red and blue on the photo in grey, from
a scale whose two ends are as far from 0. Maps are (rows, cols).
"""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image

from vitcore.figures.attention import asked, fitted, heat, heat_size, label, paper_drawing, scale_top
from vitcore.figures.theme import (
    DIVERGING,
    SEQUENTIAL,
    Mode,
    colour,
    figure,
    hover_cells,
    mosaic,
    picture,
    scale_bar,
)
from vitcore.grid import Grid
from vitcore.translation import say

Pixels = NDArray[np.uint8] | Image.Image
THUMB_PX = 192
FRAME_PX = 8  # of a frame, a patch: the browser smooths further


def relevance(
    values: NDArray, pixels: Pixels, grid: Grid, title: str, unit: str, *, signed: bool = False, style: str = "heat",
    opacity: float = 0.6, mode: Mode = "light", about: str = "", start: int | None = None,
) -> go.Figure:  # fmt: skip
    """A map on the photo (any resolution) with its scale in `unit`; `start` outlines the patch that was asked.

    Style "paper" draws amounts as Fig. 6 does, without a scale; what is `signed` is always drawn as "heat".
    """
    size = (float(grid.cols), float(grid.rows))
    told = say("row {row}, column {col}: {value}")
    text = [
        [told.format(row=r, col=c, value=f"{values[r, c]:.3g}") for c in range(grid.cols)] for r in range(grid.rows)
    ]
    photo, most = fitted(pixels), limit(values, signed)
    if style == "paper" and not signed:
        parts = [picture(paper_drawing(values, photo, grid), size), hover_cells(text, size)]
    else:
        parts = [
            picture(np.asarray(grey(photo) if signed else photo), size),
            picture(drawn(values, grid, signed), size, opacity), hover_cells(text, size),
            scale_bar(DIVERGING if signed else SEQUENTIAL, -most if signed else 0, most, unit),
        ]  # fmt: skip
    return figure(parts, title, mode, 580, about, size=size, shapes=asked(start, grid))


def drawn(values: NDArray, grid: Grid, signed: bool) -> NDArray[np.uint8]:
    """A map in colours, smooth: what lies over the photo."""
    most = limit(values, signed)
    return signed_heat(values, heat_size(grid), most) if signed else heat(values, heat_size(grid), most)


def limit(values: NDArray, signed: bool) -> float:
    """The top of the colour scale: as a rollout's (a few towering patches don't set it), of the size of signed numbers."""
    return scale_top(np.abs(values) if signed else values)


def signed_heat(values: NDArray, size: tuple[int, int], most: float) -> NDArray[np.uint8]:
    """Signed amounts as colours from −`most` to `most`, bilinear to `size` (width, height)."""
    unit = Image.fromarray(np.clip(values / max(most, 1e-12), -1, 1).astype(np.float32))
    return colour(np.asarray(unit.resize(size, Image.Resampling.BILINEAR)), DIVERGING, -1, 1)


def grey(photo: Image.Image) -> Image.Image:
    """The photo without its colours, which would mix with those of a signed map."""
    return photo.convert("L").convert("RGB")


def frames(maps: NDArray, grid: Grid, most: float) -> NDArray[np.uint8]:
    """(L, rows, cols) maps as heat on one scale up to `most`, (L, height, width, 3): the build-up, one after the other."""
    size = FRAME_PX * grid.cols, FRAME_PX * grid.rows
    return np.stack([heat(one, size, most) for one in maps])


def build_up(
    maps: NDArray, pixels: Pixels, grid: Grid, title: str, unit: str, *, opacity: float = 0.6, mode: Mode = "light",
    about: str = "",
) -> go.Figure:  # fmt: skip
    """(L, rows, cols) rollout after each block as small pictures on one scale, named by their layer."""
    count, most = len(maps), build_up_top(maps)
    cols = 6 if count > 4 else count
    high, wide = grid.image_px
    photo = fitted(pixels).resize((round(THUMB_PX * wide / max(high, wide)), round(THUMB_PX * high / max(high, wide))))
    under = np.asarray(photo, np.float32)
    tiles = [(1 - opacity) * under + opacity * heat(one, photo.size, most) for one in maps]
    gutter = 12
    sheet = mosaic(np.round(np.stack(tiles)).astype(np.uint8), cols, gutter)
    size = (float(sheet.shape[1]), float(sheet.shape[0]))
    parts = [picture(sheet, size, smooth=False), scale_bar(SEQUENTIAL, 0, 100 * most, unit)]
    places = [((i % cols) * (photo.width + gutter), (i // cols) * (photo.height + gutter)) for i in range(count)]
    said = [label(say("layer {layer}", layer=layer), *place) for layer, place in enumerate(places)]
    return figure(parts, title, mode, round(90 + 760 * size[1] / size[0]), about, size=size, annotations=said)


def build_up_top(maps: NDArray) -> float:
    """The top of the one scale of a build-up: that of its last frame, the whole rollout; earlier ones may tower above it."""
    return scale_top(maps[-1])


def build_up_unit(maps: NDArray) -> str:
    """What that scale measures: there may be more than its top, in the last frame or before it."""
    more = build_up_top(maps) < maps.max()
    return say("rollout, % of the total, or more") if more else say("rollout, % of the total")

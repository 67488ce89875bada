"""Relevance drawn on the photo: one method's map, the difference of two, and rollout as it is built up block by block.

Amounts are drawn from 0, signed maps (integrated gradients, differences) in red and blue from a scale whose two ends are as
far from 0. Maps are (rows, cols).
"""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.figures.attention import heat_figure, largest_value_words, resize_for_figure
from vitcore.figures.attention_explorer import map_name_label
from vitcore.figures.drawing import Drawing, RasterLayer, picture_axes
from vitcore.figures.heat_overlay import fine_detail, heat_colour_scale, heat_on_photo, scale_top
from vitcore.figures.theme_colours import ColourScale, Mode, tile_mosaic
from vitcore.grid import Grid
from vitcore.translation import say

Pixels = NDArray[np.uint8] | Image.Image
THUMBNAIL_PX = 192


def relevance(
    values: NDArray, pixels: Pixels, grid: Grid, title: str, unit: str, *, signed: bool = False, style: str = "heat",
    mode: Mode = "light", subtitle: str = "", query_patch: int | None = None, min_top: float = 0, even_share: float | None = None,
) -> Drawing:  # fmt: skip
    """A map on the photo (any resolution) with its scale, `values` in `unit`; `query_patch` outlines the patch that was asked.

    Style "paper" draws amounts as Fig. 6 does, without a scale; what is `signed` is always drawn as "heat", on a scale that
    reaches as far as `min_top`. Amounts are counted in times an `even_share` of all tokens (default: the map's mean).
    """
    return heat_figure(
        values, pixels, grid, title, lambda value: f"{value:.3g}", style="heat" if signed else style,
        top=relevance_scale_top(values, signed, min_top, even_share), signed_unit=unit if signed else None, even_share=even_share,
        mode=mode, subtitle=largest_value_words(values, unit, signed, even_share, after=subtitle), query_patch=query_patch,
    )  # fmt: skip


def relevance_scale_top(values: NDArray, signed: bool, min_top: float = 0, even_share: float | None = None) -> float:
    """The top of the colour scale: as a rollout's (a few towering patches don't set it), of the size of signed numbers."""
    return max(scale_top(np.abs(values), 0), min_top) if signed else scale_top(values, even_share)


def rollout_per_layer(
    maps: NDArray, pixels: Pixels, grid: Grid, title: str, *, mode: Mode = "light", subtitle: str = ""
) -> Drawing:
    """(L, rows, cols) rollout after each block as small pictures on one scale, named by their layer."""
    count, most = len(maps), rollout_per_layer_top(maps, grid)
    cols = 6 if count > 4 else count
    high, wide = grid.image_px
    photo = resize_for_figure(pixels).resize(
        (round(THUMBNAIL_PX * wide / max(high, wide)), round(THUMBNAIL_PX * high / max(high, wide)))
    )
    detail, gutter = fine_detail(photo, grid), 12
    sheet = tile_mosaic(np.stack([heat_on_photo(one, detail, most) for one in maps]), cols, gutter)
    size = (float(sheet.shape[1]), float(sheet.shape[0]))
    places = [((i % cols) * (photo.width + gutter), (i // cols) * (photo.height + gutter)) for i in range(count)]
    said = [map_name_label(say("layer {layer}", layer=layer), *place) for layer, place in enumerate(places)]
    return Drawing(
        title=title, subtitle=subtitle, mode=mode, height_px=round(90 + 760 * size[1] / size[0]),
        rasters=[RasterLayer(sheet, size)], labels=said, colour_scale=rollout_per_layer_scale(maps, grid), **picture_axes(size),
    )  # fmt: skip


def rollout_per_layer_top(maps: NDArray, grid: Grid) -> float:
    """The top of the one scale of a build-up or a film: that of its last frame alone; earlier ones may tower above it."""
    return scale_top(maps[-1], grid.even_share)


def rollout_per_layer_scale(maps: NDArray, grid: Grid) -> ColourScale:
    """The colour scale of a build-up, in times an even share; there may be more than its top."""
    return heat_colour_scale(maps, rollout_per_layer_top(maps, grid), grid.even_share)

"""Patch splitting drawn: the photo cut into its grid, with a gutter."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.figures.drawing import Drawing, HoverGrid, Label, RasterLayer, picture_axes
from vitcore.figures.heat_overlay import colours_on_photo, fine_detail
from vitcore.figures.theme_colours import (
    CATEGORICAL,
    PINNED_PATCH_COLOUR,
    Mode,
    apply_colour_scale,
    diverging_palette,
    hex_to_rgb,
    tile_mosaic,
)
from vitcore.grid import Grid
from vitcore.translation import say

PHOTO_GAP = 0.08  # between photos, in photos
PHOTO_SIDE_PX = 256  # of a photo among others, as drawn


def patch_mosaic(pixels: NDArray[np.uint8], grid: Grid, gutter_px: float = 1.0, zoom: int = 4) -> NDArray[np.uint8]:
    """(H, W, 3) pixels as an RGBA mosaic of patches, `gutter_px` model pixels apart, each pixel `zoom` wide."""
    return tile_mosaic(grid.cut(pixels), grid.cols, round(gutter_px * zoom), zoom=zoom)


def patches(pixels: NDArray[np.uint8], grid: Grid, gutter_px: float = 1.0, mode: Mode = "light") -> Drawing:
    """The photo as the model's N patches (arXiv 2010.11929 §3.1); hover tells index, row, column and pixel box."""
    high, wide = grid.image_px
    about = f"N = HW/P² = {high}·{wide} / {patch_area_text(grid)} = {grid.rows}×{grid.cols} = {grid.patches}"
    return Drawing(
        title=say("The photo as patches"), subtitle=about, mode=mode, height_px=580, **picture_axes((wide, high)),
        rasters=[RasterLayer(patch_mosaic(pixels, grid, gutter_px), (wide, high))], marks=[HoverGrid(_labels(grid), (wide, high))],
    )  # fmt: skip


def photos_in_patches(
    photos: NDArray[np.uint8], grid: Grid, hover_names: Sequence[str], columns: int = 4, mode: Mode = "light"
) -> Drawing:
    """(K, H, W, 3) photos, each cut into its patches, in rows of `columns`; hover tells each photo's name."""
    high, wide = grid.image_px
    rows = -(-len(photos) // columns)
    places = [(i % columns * (1 + PHOTO_GAP), i // columns * (1 + PHOTO_GAP)) for i in range(len(photos))]
    size = (columns * (1 + PHOTO_GAP) - PHOTO_GAP, max(rows, 1) * (1 + PHOTO_GAP) - PHOTO_GAP)
    zoom = -(-PHOTO_SIDE_PX // max(high, wide))
    return Drawing(
        title=say("Photos cut into patches"), mode=mode, height_px=round(150 * size[1]) + 60, **picture_axes(size),
        subtitle=say("{high} × {wide} px, {rows}×{cols} patches of {side} px each", high=high, wide=wide, rows=grid.rows,
                     cols=grid.cols, side=grid.patch_px),
        rasters=[RasterLayer(patch_mosaic(one, grid, 4 / zoom, zoom), (1, 1), at) for one, at in zip(photos, places, strict=True)],
        marks=[HoverGrid([[name]], (1, 1), at) for name, at in zip(hover_names, places, strict=True) if name],
    )  # fmt: skip


def token_colours(
    colours: NDArray[np.uint8], photos: Sequence[Image.Image], grid: Grid, names: Sequence[str], title: str, mode: Mode = "light"
) -> Drawing:
    """(K, N, 3) colours of patch tokens, such as `TokenPca.colours`, on the detail of K photos side by side."""
    places = [(i * (1 + PHOTO_GAP), 0.0) for i in range(len(photos))]
    size = (len(photos) * (1 + PHOTO_GAP) - PHOTO_GAP, grid.image_px[0] / grid.image_px[1])
    one = (1.0, size[1])
    drawn = [
        colours_on_photo(each.reshape(grid.rows, grid.cols, 3), fine_detail(photo, grid))
        for each, photo in zip(colours, photos, strict=True)
    ]
    return Drawing(
        title=title, subtitle=" · ".join(names), mode=mode, height_px=580, **picture_axes(size),
        rasters=[RasterLayer(pixels, one, at) for pixels, at in zip(drawn, places, strict=True)],
        marks=[HoverGrid(_labels(grid), one, at) for at in places],
    )  # fmt: skip


def patch_area_text(grid: Grid) -> str:
    """P² of "N = HW/P²", in pixels as a person writes it: 16², (8·16)."""
    high, wide = grid.step_px
    return f"{high}²" if high == wide else f"({high}·{wide})"


def _labels(grid: Grid) -> list[list[str]]:
    told = say("patch {patch} · row {row}, column {col}") + "<br>x {left}–{right} px, y {top}–{bottom} px"

    def label(index: int) -> str:
        (row, col), (left, top, right, bottom) = grid.row_col(index), grid.box_px(index)
        return told.format(patch=index, row=row, col=col, left=left, top=top, right=right - 1, bottom=bottom - 1)

    return [[label(grid.patch(r, c)) for c in range(grid.cols)] for r in range(grid.rows)]


def patch_and_embedding(patch: NDArray[np.uint8], embedding: NDArray, grid: Grid, slot: int, mode: Mode = "light") -> Drawing:
    """One patch (P, P, 3) enlarged; below it its P·P·3 numbers and its embedding (D,) as strips; and its place in line.

    `slot` is where it stands among the patches: its number, unless they were shuffled.
    """
    wide = 24.0
    high = wide * patch.shape[0] / patch.shape[1] * 0.62
    enlarged = RasterLayer(patch, (high * patch.shape[1] / patch.shape[0], high))
    numbers = _strip(apply_colour_scale(patch.reshape(1, -1), "Greys_r", 0, 255), wide, high + 2.6)
    limit = float(np.abs(embedding).max()) or 1.0
    strip = _strip(apply_colour_scale(embedding.reshape(1, -1), diverging_palette(mode), -limit, limit), wide, high + 6.0)
    place = grid.prefix + slot
    labels = (
        (high + 2.3, say("x_p: its {count} numbers, flattened", count=patch.size)),
        (high + 5.7, say("x_p·E: its embedding, {count} numbers, ±{limit:.2g}", count=embedding.size, limit=limit)),
        (high + 9.1, say("its place in the sequence, 0 to {last}: {place}; patches begin at {prefix}",
                         place=place, last=grid.tokens - 1, prefix=grid.prefix)),
    )  # fmt: skip
    said = [Label(text, 0, y, y_anchor="bottom") for y, text in labels]
    said.append(Label("▴", (place + 0.5) * wide / grid.tokens, high + 11.0, 16, PINNED_PATCH_COLOUR, "center", "top"))
    return Drawing(
        title=say("{high}×{wide}×3 pixels become one token", high=patch.shape[0], wide=patch.shape[1]), mode=mode, height_px=490,
        rasters=[enlarged, numbers, strip, _sequence(grid, place, wide, high + 9.4)], labels=said,
        **picture_axes((wide, high + 12.4)),
    )  # fmt: skip


def _strip(row: NDArray[np.uint8], wide: float, top: float) -> RasterLayer:
    return RasterLayer(row.repeat(8, 0), (wide, 1.6), (0, top))


def _sequence(grid: Grid, place: int, wide: float, top: float) -> RasterLayer:
    """All tokens as a row of cells: prefix tokens first, the chosen one marked."""
    row = np.full((1, grid.tokens, 3), 205, np.uint8)
    row[:, : grid.prefix] = hex_to_rgb(CATEGORICAL[0])
    row[:, place] = hex_to_rgb(PINNED_PATCH_COLOUR)
    return _strip(row, wide, top)

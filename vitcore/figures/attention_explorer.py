"""Heads of a block as small maps: alone, or beside the photo lit by a head (or more), as the attention explorer shows them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.figures.attention import resize_for_figure
from vitcore.figures.drawing import Drawing, HoverGrid, Label, Outline, RasterLayer, picture_axes
from vitcore.figures.heat_overlay import MIN_TOP_IN_EVEN_SHARES, fine_detail, heat_on_photo
from vitcore.figures.outlier_frames import outlier_frames
from vitcore.figures.theme_colours import SEQUENTIAL, ColourScale, Mode, apply_colour_scale, tile_mosaic
from vitcore.grid import Grid
from vitcore.translation import percent_in_two_digits, say

MAX_HOVER_CELLS = 4000  # above this, hover text would weigh more than the picture
LOG_DECADES = 3  # of the logarithmic scale
PNG_WIDTH_PX = 2400  # of a PNG, at least
QUERY_PATCH_COLOURS = ("#ffffff", "#4fc3d9")  # of the asked patch and of the one it is compared with
Pixels = NDArray[np.uint8] | Image.Image


def attention_heads(
    maps: NDArray, grid: Grid, title: str, mode: Mode = "light", shared_scale: bool = False, names: Sequence[str] = (),
    columns: int = 0,
) -> Drawing:  # fmt: skip
    """(H, rows, cols) attention of one token, one small map a head; `shared_scale` gives all heads one scale.

    A scale ends at MIN_TOP_IN_EVEN_SHARES even shares at least. `names` (default: head 0, head 1, …) are written on the maps,
    which stand in rows of `columns` (default: three or four).
    """
    count = len(maps)
    cols = columns or min(count, 4 if count > 3 else 3)
    names = names or [say("head {head}", head=head) for head in range(count)]
    zoom = max(2, round(320 / grid.rows))
    tops = head_scale_tops(maps, grid, shared_scale)
    top = max(tops)
    tiles = np.stack([apply_colour_scale(m, SEQUENTIAL, 0, end) for m, end in zip(maps.astype(np.float64), tops, strict=True)])
    drawn = tile_mosaic(tiles, cols, gutter=zoom, zoom=zoom)
    size = (drawn.shape[1] / zoom, drawn.shape[0] / zoom)
    unit = say("attention weight") if shared_scale else separate_scales_unit()
    hovers = [HoverGrid(_head_text(maps, names, cols, size), size)] if count * grid.patches <= MAX_HOVER_CELLS else []
    places = [((head % cols) * (grid.cols + 1), (head // cols) * (grid.rows + 1)) for head in range(count)]
    said = [map_name_label(name, *place) for name, place in zip(names, places, strict=True)]
    about = say("the heads' largest weights: {least:.2g} to {most:.2g}", most=maps.max(), least=maps.max((1, 2)).min())
    return Drawing(
        title=title, subtitle=about, mode=mode, height_px=100 + max(230, round(760 / cols)) * -(-count // cols),
        rasters=[RasterLayer(drawn, size)], marks=hovers, labels=said, **picture_axes(size),
        colour_scale=ColourScale(colours=SEQUENTIAL, low=0, high=top if shared_scale else 1, unit=unit),
    )  # fmt: skip


def head_scale_tops(maps: NDArray, grid: Grid, shared_scale: bool = False) -> list[float]:
    """Where the scale of each of (H, rows, cols) attention maps ends: at its largest weight, or at that of all if `shared_scale`.

    A nearly even map is nearly flat: no scale ends below MIN_TOP_IN_EVEN_SHARES times an even share of all tokens.
    """
    least = MIN_TOP_IN_EVEN_SHARES * grid.even_share
    tops = [max(float(one.max()), least) for one in maps]
    return [max(tops)] * len(tops) if shared_scale else tops


def separate_scales_unit() -> str:
    """What the scale of maps measures that each have their own."""
    return say("0 to each map's largest, at least {least} times an even share", least=f"{MIN_TOP_IN_EVEN_SHARES:g}")


def map_name_label(name: str, x: float, y: float) -> Label:
    """A small picture's name, on its top left corner."""
    return Label(name, x, y, 11, "#fff", y_anchor="top", on_dark=True)


def _head_text(maps: NDArray, names: Sequence[str], cols: int, size: tuple[float, float]) -> list[list[str]]:
    """What the pointer is told, one cell of the mosaic each; gutters say nothing."""
    _, high, wide = maps.shape
    text = [["" for _ in range(round(size[0]))] for _ in range(round(size[1]))]
    told = say("row {row}, column {col}: {value}")
    for head, row, col in np.ndindex(maps.shape):
        place = text[(head // cols) * (high + 1) + row]
        where = told.format(row=row, col=col, value=f"{maps[head, row, col]:.2g}")
        place[(head % cols) * (wide + 1) + col] = f"{names[head]} · {where}"
    return text


def attention_explorer(
    photo_weights: NDArray, maps: NDArray, photo: Pixels, grid: Grid, title: str, unit: str, mode: Mode = "light", *, top: float,
    subtitle: str = "", style: str = "heat", log_scale: bool = False, shared_scale: bool = False,
    query_patches: tuple[int, ...] = (), outlier_patches: Sequence[Sequence[int]] = (),
) -> Drawing:  # fmt: skip
    """(rows, cols) weights on the photo up to `top`, (H, rows, cols) maps beside it, each on its own scale unless `shared_scale`.

    Above each stands the largest weight in it; the bar is of the maps. Style "heat" colours the photo, "light" darkens what has
    little weight; `query_patches` are the patches that are outlined. `outlier_patches` are outlier tokens in the lit photo and in
    each map, framed.
    """
    count, rows = len(maps), grid.rows
    across = min(count, 4 if count > 3 else 3)
    above = max(1.4, across * (grid.cols + 1) / 30)  # for a line of words, in patches of the small maps
    high = -(-count // across) * (rows + above)
    side = max(high - above, 2 * rows) / rows  # the photo's patches, over those of the small maps
    left, beside = grid.cols * side + 2, across * (grid.cols + 1) - 1
    size = (left + beside, max(high, side * rows + above))
    maps, tops = maps.astype(float), head_scale_tops(maps, grid, shared_scale)
    tiles = np.stack(
        [apply_colour_scale(_share_of_scale(m, end, log_scale), SEQUENTIAL, 0, 1) for m, end in zip(maps, tops, strict=True)]
    )
    zoom = max(2, round(320 / rows))
    places = [(left + head % across * (grid.cols + 1), above + head // across * (rows + above)) for head in range(count)]
    lit = _photo_under_weights(_share_of_scale(photo_weights, top, log_scale), resize_for_figure(photo), style, grid)
    drawn = [RasterLayer(lit, (grid.cols * side, rows * side), (0, above), smooth=True)]
    for first in range(0, count, across):
        strip = tile_mosaic(tiles[first : first + across], across, gutter=zoom, zoom=zoom)
        drawn.append(RasterLayer(strip, (beside, rows), (left, places[first][1])))
    shapes: list[Outline] = []
    for patch, ink in zip(query_patches, QUERY_PATCH_COLOURS, strict=False):
        row, col = grid.row_col(patch)
        shapes.append(Outline(col * side, above + row * side, side, side, ink, 3))
        shapes += [Outline(x + col, y + row, 1, 1, ink, 1) for x, y in places]
    for patches, place, wide in zip(outlier_patches, [(0, above), *places], [side, *count * [1.0]], strict=bool(outlier_patches)):
        shapes += outlier_frames(patches, grid, place, wide, 1.5 if wide == side else 0.8)
    largest = [
        say("head {head}, up to {most}", head=head, most=percent_in_two_digits(float(m.max()))) for head, m in enumerate(maps)
    ]
    words = [(say("up to {most}", most=percent_in_two_digits(top)), (0, above)), *zip(largest, places, strict=True)]
    names = [Label(name, x, y - 0.1, 11, y_anchor="bottom") for name, (x, y) in words]
    end, unit = (tops[0], unit) if shared_scale else (1.0, separate_scales_unit())
    return Drawing(
        title=title, subtitle=subtitle, mode=mode, height_px=round(110 + 820 * size[1] / size[0]), print_width_px=PNG_WIDTH_PX,
        rasters=drawn, shapes=shapes, labels=names, **picture_axes(size),
        colour_scale=ColourScale(colours=SEQUENTIAL, low=end / 10**LOG_DECADES if log_scale else 0, high=end, unit=unit),
    )  # fmt: skip


def _share_of_scale(values: NDArray, top: float, log: bool) -> NDArray:
    """Weights as 0 to 1 of a scale that ends at `top`: even, or of three powers of ten."""
    share = np.clip(np.asarray(values, float) / max(top, 1e-12), 0, 1)
    return np.clip(1 + np.log10(np.maximum(share, 1e-12)) / LOG_DECADES, 0, 1) if log else share


def _photo_under_weights(share: NDArray, photo: Image.Image, style: str, grid: Grid) -> NDArray[np.uint8]:
    """The photo under its weights, one colour a patch, as the browser mixes them."""
    if style == "heat":
        return heat_on_photo(share, fine_detail(photo, grid), 1)
    amount = np.asarray(Image.fromarray(np.uint8(np.round(255 * share))).resize(photo.size, Image.Resampling.NEAREST), float)[
        ..., None
    ]
    return np.round(np.asarray(photo.convert("RGB"), float) * (1 - (222 - 222 * amount / 255) / 255)).astype(np.uint8)

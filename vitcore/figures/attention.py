"""Attention drawn: heads of a block as small maps, rollout on the photo as heat or as the paper draws it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from vitcore.figures.drawing import Drawing, HoverGrid, Label, Outline, RasterLayer, picture_axes
from vitcore.figures.heat_overlay import MIN_TOP_IN_EVEN_SHARES, fine_detail, heat_colour_scale, heat_on_photo, scale_top
from vitcore.figures.theme import SEQUENTIAL, ColourScale, Mode, apply_colour_scale, mosaic
from vitcore.grid import Grid
from vitcore.translation import percent, say

MAX_HOVER_CELLS = 4000  # above this, hover text would weigh more than the picture
LONGER_SIDE_PX = 768  # the drawing's longer side, before the browser scales it


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
    drawn = mosaic(tiles, cols, gutter=zoom, zoom=zoom)
    size = (drawn.shape[1] / zoom, drawn.shape[0] / zoom)
    unit = say("attention weight") if shared_scale else own_scale_unit()
    hovers = [HoverGrid(_head_text(maps, names, cols, size), size)] if count * grid.patches <= MAX_HOVER_CELLS else []
    places = [((head % cols) * (grid.cols + 1), (head // cols) * (grid.rows + 1)) for head in range(count)]
    said = [map_label(name, *place) for name, place in zip(names, places, strict=True)]
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


def own_scale_unit() -> str:
    """What the scale of maps measures that each have their own."""
    return say("0 to each map's largest, at least {least} times an even share", least=f"{MIN_TOP_IN_EVEN_SHARES:g}")


def map_label(name: str, x: float, y: float) -> Label:
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


def rollout(
    rollout_map: NDArray, pixels: NDArray[np.uint8] | Image.Image, grid: Grid, style: str = "heat", mode: Mode = "light",
    subtitle: str | None = None, query_patch: int | None = None,
) -> Drawing:  # fmt: skip
    """(rows, cols) rollout on the photo (any resolution): style "heat" (colours, scale bar) or "paper" (Fig. 6)."""
    if style not in ("heat", "paper"):
        raise ValueError(f"style is 'heat' or 'paper', not {style!r}")
    subtitle = say("rollout of the class token") if subtitle is None else subtitle
    told = say("row {row}, column {col}: {value}")
    text = [[told.format(row=r, col=c, value=percent(rollout_map[r, c], 3)) for c in range(grid.cols)] for r in range(grid.rows)]
    if style == "paper":
        return paper_style_figure(
            rollout_map, resize_for_figure(pixels), grid, say("Attention rollout"), mode, subtitle, query_patch, text
        )
    return heat_figure(
        100 * rollout_map, pixels, grid, say("Attention rollout"), say("% of the total"), even_share=100 * grid.even_share,
        mode=mode, subtitle=subtitle, query_patch=query_patch, hover_text=text,
    )  # fmt: skip


def heat_figure(
    values: NDArray, pixels: NDArray[np.uint8] | Image.Image, grid: Grid, title: str, unit: str, *, top: float | None = None,
    even_share: float | None = None, signed: bool = False, mode: Mode = "light", subtitle: str = "", query_patch: int | None = None,
    hover_text: list[list[str]], height_px: int = 580,
) -> Drawing:  # fmt: skip
    """(rows, cols) values on the photo with their colour bar up to `top` (default: `scale_top`); `hover_text` for the pointer."""
    photo, size = resize_for_figure(pixels), (float(grid.cols), float(grid.rows))
    top = scale_top(values, even_share) if top is None else top
    drawn = heat_on_photo(values, fine_detail(photo, grid), top, signed, mode)
    return Drawing(
        title=title, subtitle=subtitle, mode=mode, height_px=height_px, rasters=[RasterLayer(drawn, size, smooth=True)],
        marks=[HoverGrid(hover_text, size)], shapes=patch_outline(query_patch, grid),
        colour_scale=heat_colour_scale(values, top, unit, signed, even_share, mode), **picture_axes(size),
    )  # fmt: skip


def paper_style_figure(
    rollout_map: NDArray, photo: Image.Image, grid: Grid, title: str, mode: Mode, subtitle: str, query_patch: int | None,
    hover_text: list[list[str]]
) -> Drawing:  # fmt: skip
    """As Figure 6 shows it: the photo, and beside it the photo as bright as it was attended to, which is no scale."""
    one, apart = (float(grid.cols), float(grid.rows)), grid.cols * 1.04
    size = (apart + one[0], one[1])
    silent = [[""] * grid.cols + row for row in hover_text]  # the photo says nothing
    lit = RasterLayer(paper_style_photo(rollout_map, photo, grid), one, (apart, 0), smooth=True)
    return Drawing(
        title=title, subtitle=" · ".join(filter(None, (subtitle, paper_style_note()))), mode=mode, height_px=420,
        rasters=[RasterLayer(np.asarray(photo), one, smooth=True), lit], marks=[HoverGrid(silent, size)],
        shapes=[replace(box, x=box.x + apart) for box in patch_outline(query_patch, grid)], **picture_axes(size),
    )  # fmt: skip


def paper_style_note() -> str:
    """What is said of the paper's way of drawing."""
    return say("as in the paper's Figure 6: the photo's brightness is part of the picture, so brightness is no scale")


def patch_outline(patch: int | None, grid: Grid, ink: str = "#fff", width: float = 3) -> list[Outline]:
    """An outline of the patch that was asked, if one was; white unless said otherwise."""
    row, col = grid.row_col(patch or 0)
    return [] if patch is None else [Outline(col, row, 1, 1, ink, width)]


def resize_for_figure(pixels: NDArray[np.uint8] | Image.Image) -> Image.Image:
    """The picture with its longer side at SIDE_PX."""
    image = Image.fromarray(np.asarray(pixels))
    scale = LONGER_SIDE_PX / max(image.size)
    if scale == 1:
        return image
    return image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BICUBIC)


def paper_style_photo(rollout_map: NDArray, photo: Image.Image, grid: Grid) -> NDArray[np.uint8]:
    """The photo over black, as visible as it was attended to (Fig. 6)."""
    return (np.asarray(photo) * (paper_alpha(rollout_map, photo.size, grid)[..., None] / 255)).astype(np.uint8)


def paper_alpha(rollout_map: NDArray, size: tuple[int, int], grid: Grid) -> NDArray[np.uint8]:
    """The authors' drawing (google-research/vision_transformer#27): Lanczos, a blur of one patch, min to max, as alpha.

    Where a few patches tower over all others it begins at `scale_top`, as the heat does, or all else would be black.
    """
    small = Image.fromarray(np.uint8(255 * np.minimum(rollout_map / max(scale_top(rollout_map, 0), 1e-12), 1)))
    radius = grid.step_px[0] * size[1] / grid.image_px[0]
    large = np.asarray(small.resize(size, Image.Resampling.LANCZOS).filter(ImageFilter.GaussianBlur(radius)), np.float64)
    large = large - large.min()
    return np.round(255 * large / max(float(large.max()), 1e-12)).astype(np.uint8)

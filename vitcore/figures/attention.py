"""Attention on the photo: rollout as heat or as the paper draws it, and any map as heat."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from vitcore.figures.drawing import Drawing, HoverGrid, Outline, RasterLayer, picture_axes
from vitcore.figures.heat_overlay import fine_detail, heat_colour_scale, heat_on_photo, scale_top
from vitcore.figures.theme_colours import Mode
from vitcore.grid import Grid
from vitcore.translation import percent, say, two_digits

LONGER_SIDE_PX = 768  # the drawing's longer side, before the browser scales it


def rollout(
    rollout_map: NDArray, pixels: NDArray[np.uint8] | Image.Image, grid: Grid, style: str = "heat", mode: Mode = "light",
    subtitle: str | None = None, query_patch: int | None = None,
) -> Drawing:  # fmt: skip
    """(rows, cols) rollout on the photo (any resolution): style "heat" (colours, scale bar) or "paper" (Fig. 6).

    `subtitle` says whose rollout it is, and stands as the title; "" for none.
    """
    if style not in ("heat", "paper"):
        raise ValueError(f"style is 'heat' or 'paper', not {style!r}")
    about = say("rollout of the class token") if subtitle is None else subtitle
    title = about[:1].upper() + about[1:] or say("Attention rollout")
    largest = largest_value_words(100 * rollout_map, say("% of the total"), even_share=100 * grid.even_share)
    return heat_figure(
        rollout_map, pixels, grid, title, lambda share: percent(share, 3), style=style, even_share=grid.even_share, mode=mode,
        subtitle=largest, query_patch=query_patch,
    )  # fmt: skip


def heat_figure(
    values: NDArray, pixels: NDArray[np.uint8] | Image.Image, grid: Grid, title: str, write: Callable[[float], str], *,
    style: str = "heat", top: float | None = None, even_share: float | None = None, signed_unit: str | None = None,
    mode: Mode = "light", subtitle: str = "", query_patch: int | None = None, height_px: int = 580,
) -> Drawing:  # fmt: skip
    """(rows, cols) values on the photo, their colour bar up to `top` (default: `scale_top`), and what `write` makes of each for the
    pointer. Values with signs have a `signed_unit`. Style "paper": as `paper_style_figure`."""
    told = say("row {row}, column {col}: {value}")
    text = [[told.format(row=r, col=c, value=write(value)) for c, value in enumerate(row)] for r, row in enumerate(values)]
    photo, size = resize_for_figure(pixels), (float(grid.cols), float(grid.rows))
    if style == "paper":
        from vitcore.figures.paper_style import paper_style_figure

        return paper_style_figure(values, photo, grid, title, mode, subtitle, query_patch, text)
    top = scale_top(values, even_share) if top is None else top
    drawn = heat_on_photo(values, fine_detail(photo, grid), top, signed_unit is not None, mode)
    return Drawing(
        title=title, subtitle=subtitle, mode=mode, height_px=height_px, rasters=[RasterLayer(drawn, size, smooth=True)],
        marks=[HoverGrid(text, size)], shapes=patch_outline(query_patch, grid),
        colour_scale=heat_colour_scale(values, top, even_share, signed_unit, mode, tell_largest=False), **picture_axes(size),
    )  # fmt: skip


def largest_value_words(values: NDArray, unit: str, signed: bool = False, even_share: float | None = None, after: str = "") -> str:
    """The largest of a map's `values` in words, in `unit` and in times an `even_share`, if any; `after` a subtitle."""
    most = values.flat[int(np.abs(values).argmax())] if signed else values.max()
    facts = {"value": f"{most:.3g}".replace("-", "−"), "unit": unit}
    told = say("Farthest from 0: {value} {unit}", **facts) if signed else say("Largest: {value} {unit}", **facts)
    if even_share and not signed:
        told = say("Largest: {value} {unit}, {times}× an even share", **facts, times=two_digits(most / even_share))
    return " · ".join(filter(None, (after, told)))


def patch_outline(patch: int | None, grid: Grid, ink: str = "#fff", width: float = 3) -> list[Outline]:
    """An outline of the patch that was asked, if one was; white unless said otherwise."""
    return [] if patch is None else [Outline(patch % grid.cols, patch // grid.cols, 1, 1, ink, width)]


def resize_for_figure(pixels: NDArray[np.uint8] | Image.Image) -> Image.Image:
    """The picture with its longer side at LONGER_SIDE_PX."""
    return ImageOps.contain(Image.fromarray(np.asarray(pixels)), (LONGER_SIDE_PX, LONGER_SIDE_PX))

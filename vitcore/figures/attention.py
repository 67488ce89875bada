"""Attention drawn on the photo: heads of a block as small maps, rollout as heat or as the paper draws it."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from vitcore.figures.theme import (
    SEQUENTIAL,
    Mode,
    Part,
    colour,
    figure,
    hover_cells,
    mosaic,
    note,
    outline,
    picture,
    scale_bar,
)
from vitcore.grid import Grid
from vitcore.translation import percent, say

MOST_CELLS = 4000  # above this, hover text would weigh more than the picture
TOWERS = 5.0  # times the 95th percentile: far beyond what a smooth map reaches
SIDE_PX = 768  # the drawing's longer side, before the browser scales it


def heads(
    maps: NDArray, grid: Grid, title: str, mode: Mode = "light", shared: bool = False, names: Sequence[str] = (), across: int = 0,
) -> go.Figure:  # fmt: skip
    """(H, rows, cols) attention of one token, one small map a head; `shared` gives all heads one scale.

    `names` (default: head 0, head 1, …) are written on the maps, which stand in rows of `across` (default: three or four).
    """
    count = len(maps)
    cols = across or min(count, 4 if count > 3 else 3)
    names = names or [say("head {head}", head=head) for head in range(count)]
    zoom = max(2, round(320 / grid.rows))
    top = float(maps.max())
    tiles = np.stack([colour(m, SEQUENTIAL, 0, top if shared else float(m.max())) for m in maps.astype(np.float64)])
    drawn = mosaic(tiles, cols, gutter=zoom, zoom=zoom)
    size = (drawn.shape[1] / zoom, drawn.shape[0] / zoom)
    unit = say("attention weight") if shared else say("share of the head's maximum")
    parts = [picture(drawn, size, smooth=False), scale_bar(SEQUENTIAL, 0, top if shared else 1, unit)]
    if count * grid.patches <= MOST_CELLS:
        parts.insert(1, hover_cells(_head_text(maps, names, cols, size), size))
    places = [((head % cols) * (grid.cols + 1), (head // cols) * (grid.rows + 1)) for head in range(count)]
    said = [label(name, *place) for name, place in zip(names, places, strict=True)]
    about = say("the heads' largest weights: {least:.2g} to {most:.2g}", most=top, least=maps.max((1, 2)).min())
    high = 100 + max(230, round(760 / cols)) * -(-count // cols)
    return figure(parts, title, mode, high, about, size=size, annotations=said)


def label(name: str, x: float, y: float) -> Part:
    """A small picture's name, on its top left corner."""
    return note(name, x, y, 11, color="#fff", yanchor="top", bgcolor="rgba(0,0,0,.6)")


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
    mask: NDArray, pixels: NDArray[np.uint8] | Image.Image, grid: Grid, style: str = "heat", opacity: float = 0.6,
    mode: Mode = "light", about: str | None = None, start: int | None = None,
) -> go.Figure:  # fmt: skip
    """(rows, cols) rollout on the photo (any resolution): style "heat" (colours, scale bar) or "paper" (Fig. 6)."""
    size = (float(grid.cols), float(grid.rows))
    about = say("what the class token gathered") if about is None else about
    told = say("row {row}, column {col}: {value}")
    text = [
        [told.format(row=r, col=c, value=percent(mask[r, c], 3)) for c in range(grid.cols)] for r in range(grid.rows)
    ]
    photo = fitted(pixels)
    if style == "paper":
        parts = [picture(paper_drawing(mask, photo, grid), size), hover_cells(text, size)]
    elif style == "heat":
        parts = [
            picture(np.asarray(photo), size), picture(heat(mask, heat_size(grid), scale_top(mask)), size, opacity),
            hover_cells(text, size), scale_bar(SEQUENTIAL, 0, 100 * scale_top(mask), rollout_unit(mask)),
        ]  # fmt: skip
    else:
        raise ValueError(f"style is 'heat' or 'paper', not {style!r}")
    return figure(parts, say("Attention rollout"), mode, 580, about, size=size, shapes=asked(start, grid))


def asked(patch: int | None, grid: Grid, ink: str = "#fff", width: float = 3) -> list[Part]:
    """An outline of the patch that was asked, if one was; white unless said otherwise."""
    row, col = grid.row_col(patch or 0)
    return [] if patch is None else [outline(col, row, 1, 1, ink, width)]


def scale_top(mask: NDArray) -> float:
    """The top of a rollout's colour scale: its maximum, unless a few patches tower over all others and would hide them.

    Such patches, which everyone looks at (arXiv 2309.16588), are drawn in the brightest colour, and the scale says "or more".
    """
    most, usual = float(mask.max()), float(np.quantile(mask, 0.95))
    return float(np.quantile(mask, 0.98)) if mask.size >= 100 and most > TOWERS * usual else most


def rollout_unit(mask: NDArray) -> str:
    """What the colour scale of a rollout measures."""
    return say("rollout, % of the total, or more") if scale_top(mask) < mask.max() else say("rollout, % of the total")


def fitted(pixels: NDArray[np.uint8] | Image.Image) -> Image.Image:
    """The picture with its longer side at SIDE_PX."""
    image = Image.fromarray(np.asarray(pixels))
    scale = SIDE_PX / max(image.size)
    if scale == 1:
        return image
    return image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BICUBIC)


def heat(mask: NDArray, size: tuple[int, int], most: float | None = None) -> NDArray[np.uint8]:
    """(rows, cols) amounts as colours from 0 to `most` (default: their maximum), bilinear to `size` (width, height)."""
    unit = Image.fromarray(np.minimum(mask / (most or max(float(mask.max()), 1e-12)), 1).astype(np.float32))
    return colour(np.asarray(unit.resize(size, Image.Resampling.BILINEAR)), SEQUENTIAL, 0, 1)


def heat_size(grid: Grid) -> tuple[int, int]:
    """Width and height that are enough for a smooth heat map: its own grid, sixteenfold."""
    return 16 * grid.cols, 16 * grid.rows


def paper_drawing(mask: NDArray, photo: Image.Image, grid: Grid) -> NDArray[np.uint8]:
    """The photo over black, as visible as it was attended to (Fig. 6)."""
    return (np.asarray(photo) * (paper_alpha(mask, photo.size, grid)[..., None] / 255)).astype(np.uint8)


def paper_alpha(mask: NDArray, size: tuple[int, int], grid: Grid) -> NDArray[np.uint8]:
    """The authors' drawing (google-research/vision_transformer#27): Lanczos, a blur of one patch, min to max, as alpha.

    Where a few patches tower over all others it begins at `scale_top`, as the heat does, or all else would be black.
    """
    small = Image.fromarray(np.uint8(255 * np.minimum(mask / max(scale_top(mask), 1e-12), 1)))
    radius = grid.step_px[0] * size[1] / grid.image_px[0]
    large = np.asarray(
        small.resize(size, Image.Resampling.LANCZOS).filter(ImageFilter.GaussianBlur(radius)), np.float64
    )
    large = large - large.min()
    return np.round(255 * large / max(float(large.max()), 1e-12)).astype(np.uint8)

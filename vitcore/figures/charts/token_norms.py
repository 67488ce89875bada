"""Norms of tokens drawn (arXiv 2309.16588 Fig. 3 and 4): on the photo, as a histogram with its cut, over depth, layer by layer.

Axes of norms are logarithmic: they are drawn as powers of ten on an even axis, for bars cannot be printed on any other.
Shapes: L blocks, T tokens = prefix + N patches.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.figures.attention import resize_for_figure
from vitcore.figures.attention_explorer import MAX_HOVER_CELLS, map_name_label
from vitcore.figures.drawing import (
    Axis,
    Bars,
    Drawing,
    HoverGrid,
    Label,
    Margin,
    Outline,
    Points,
    RasterLayer,
    StraightLine,
    picture_axes,
)
from vitcore.figures.heat_overlay import fine_detail, heat_colours, heat_on_photo
from vitcore.figures.outlier_frames import FRAME_COLOUR
from vitcore.figures.theme_colours import CATEGORICAL, HEAT, PINNED_PATCH_COLOUR, ColourScale, Mode, round_tick_values, tile_mosaic
from vitcore.grid import Grid
from vitcore.translation import say

BINS = 48
MAX_MARKS = 2000  # outlines that are drawn
MAX_LINES = 40  # outliers that have a line of their own, those with the highest norms
STRIP_PX = 150  # of a small map, its longer side, at least
OTHERS = {"class": 2, "distillation": 4}  # colours of tokens that are not patches; registers have the third


class OutlierTokenNorms(Protocol):
    """What is drawn: see `analysis.outlier_tokens.OutlierTokens`."""

    @property
    def norms(self) -> NDArray: ...
    @property
    def prefix(self) -> int: ...
    @property
    def thresholds(self) -> NDArray: ...
    @property
    def medians(self) -> NDArray: ...
    @property
    def high(self) -> NDArray: ...
    @property
    def patches(self) -> NDArray: ...
    @property
    def times(self) -> NDArray: ...


def norm_map(
    outliers: OutlierTokenNorms, block: int, pixels: NDArray[np.uint8] | Image.Image, grid: Grid, mode: Mode = "light"
) -> Drawing:
    """The patches' norms after a block on the photo, as multiples of their median; outliers are outlined."""
    size, times = (float(grid.cols), float(grid.rows)), grid.to_map(outliers.times[block])
    top = max(float(outliers.thresholds[block] / outliers.medians[block]), float(times.max()))
    drawn = heat_on_photo(times, fine_detail(resize_for_figure(pixels), grid), top)
    high = np.flatnonzero(outliers.high[block])
    about = say("layer {layer}: {count} of {all} above {cut}", layer=block, count=len(high), all=grid.patches,
                cut=f"{outliers.thresholds[block]:.3g}")  # fmt: skip
    return Drawing(
        title=say("Norms of patch tokens"), subtitle=about, mode=mode, height_px=580,
        rasters=[RasterLayer(drawn, size, smooth=True)], shapes=[_around(int(patch), grid) for patch in high],
        marks=[HoverGrid(_told(outliers, block, grid), size)] if grid.patches <= MAX_HOVER_CELLS else [],
        colour_scale=_times_scale(top), **picture_axes(size),
    )  # fmt: skip


def _times_scale(top: float) -> ColourScale:
    return ColourScale(colours=HEAT, low=0, high=top, unit=say("norm, × median"))


def _around(patch: int, grid: Grid, place: tuple[float, float] = (0, 0), width: float = 3) -> Outline:
    row, col = grid.row_col(patch)
    return Outline(place[0] + col, place[1] + row, 1, 1, FRAME_COLOUR, width)


def _told(outliers: OutlierTokenNorms, block: int, grid: Grid) -> list[list[str]]:
    """What pointing at a patch says."""
    plain = say("patch {patch} (row {row}, column {col}): norm {norm}, {times} times the median")
    above = plain + " · " + say("outlier")
    norms, times = outliers.norms[block, outliers.prefix :], outliers.times[block]
    said = [
        (above if outliers.high[block, patch] else plain).format(
            patch=patch, row=patch // grid.cols, col=patch % grid.cols, norm=f"{norms[patch]:.3g}", times=f"{times[patch]:.3g}"
        )
        for patch in range(grid.patches)
    ]
    return [said[row * grid.cols : (row + 1) * grid.cols] for row in range(grid.rows)]


def norm_histogram(outliers: OutlierTokenNorms, block: int, names: Sequence[str] = (), mode: Mode = "light") -> Drawing:
    """How many patches have which norm after a block, and the cut; `names` are of the tokens before them, drawn as marks."""
    norms = outliers.norms[block].astype(np.float64)
    patches, cut = norms[outliers.prefix :], float(outliers.thresholds[block])
    low, high = _span(norms, cut)
    edges = np.linspace(np.log10(low), np.log10(high), BINS + 1)
    middles, width = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0])
    bars = []
    for above, ink_of, name in ((False, CATEGORICAL[0], say("patches")), (True, PINNED_PATCH_COLOUR, say("outlier tokens"))):
        counts, _ = np.histogram(np.log10(patches[(patches > cut) == above].clip(1e-30)), edges)
        some = counts > 0
        told = [
            say("{count} {count:patch|patches} with norms from {low} to {high}", count=int(c),
                low=f"{10**a:.3g}", high=f"{10**b:.3g}")
            for c, a, b in zip(counts[some], edges[:-1][some], edges[1:][some], strict=True)
        ]  # fmt: skip
        bars.append(Bars(x=counts[some].tolist(), y=middles[some].tolist(), thick=width, colour=ink_of, name=name, histogram=True,
                         hover="%{hovertext}", hover_texts=told))  # fmt: skip
    most = max(1, *(max(some.x, default=0) for some in bars))
    said = [Label(str(c), x + most / 60, y, 13, PINNED_PATCH_COLOUR) for c, x, y in _joined_counts(bars[1], width)]
    said_at_cut = say("threshold: {cut}", cut=f"{cut:.3g}")
    at_cut = Label(said_at_cut, 1, float(np.log10(cut)), 13, "text", "right", "bottom", x_of_plot=True)
    return Drawing(
        title=say("Patches by norm"), mode=mode, height_px=580,
        subtitle=say("layer {layer}: median {median}, {count} {count:outlier|outliers}", layer=block,
                     median=f"{outliers.medians[block]:.3g}", count=int((patches > cut).sum())),
        marks=[*bars, *(_mark(name, norm, 0.93 * most) for name, norm in zip(names, norms, strict=False))],
        x=Axis(title=say("patches"), range=(0, 1.06 * most)), y=_axis(low, high), labels=[at_cut, *said],
        shapes=[StraightLine(y=float(np.log10(cut)), colour="soft")], legend="below" if len(names) else "",
        margin=Margin(left=62, right=16, below=104 if len(names) else 52),
    )  # fmt: skip


def _joined_counts(bars: Bars, width: float) -> list[tuple[int, float, float]]:
    """Counts to be written beside bars: (count, x, y), one of all bars that touch, as labels beside each would overlap."""
    places = np.asarray(bars.y)
    groups = np.split(np.arange(len(places)), np.flatnonzero(np.diff(places) > 1.5 * width) + 1)
    counts = np.asarray(bars.x)
    return [(int(counts[one].sum()), float(counts[one].max()), float(places[one].mean())) for one in groups if len(one)]


def norms_by_depth(outliers: OutlierTokenNorms, names: Sequence[str] = (), mode: Mode = "light", at: int | None = None) -> Drawing:
    """The norm with which outliers, the other patches and the tokens before them leave each block, with the cut."""
    norms, layers = outliers.norms.astype(np.float64), list(range(len(outliers.norms)))
    patches, chosen = norms[:, outliers.prefix :], outliers.patches
    others = np.delete(patches, chosen, axis=1)
    low, high = _span(norms, outliers.thresholds)

    def line(values: NDArray, said: str, colour: str, width: float = 2, **more: Any) -> Points:
        told = say("layer {layer}: {name}, norm {norm}", layer="%{x}", name=said, norm="%{hovertext}")
        return Points(
            x=layers, y=np.log10(values.clip(1e-30)).tolist(), colour=colour, line_px=width, hover=told,
            hover_texts=[f"{value:.3g}" for value in values], **{"name": said} | more,
        )  # fmt: skip

    lines = [
        line(np.median(others, 1), say("other patches, median"), CATEGORICAL[0], 3),
        line(others.max(1), say("other patches, largest"), CATEGORICAL[0], 1.2),
        line(outliers.thresholds, say("threshold"), "soft", 1.5, dash="dash"),
    ]
    if len(chosen):
        largest = chosen[np.argsort(-patches[:, chosen].max(0))][:MAX_LINES]
        lines.append(_together(patches[:, largest], largest.tolist()))
    for name, values in zip(names, norms.T, strict=False):
        colour, symbol = _looks(name)
        lines.append(line(values, _called(name), colour, symbol=symbol, marker_px=8, **_grouped(name)))
    return Drawing(
        title=say("Norms over depth"),
        subtitle=say("as the tokens leave each layer; logarithmic"),
        mode=mode,
        height_px=460,
        x=Axis(title=say("network depth (layer)"), step=1 if len(layers) <= 12 else 2, range=(-0.4, len(layers) - 0.6)),
        y=_axis(low, high),
        shapes=[] if at is None else [StraightLine(x=at, colour="accent", line_px=2.5)],
        marks=lines,
        legend="below",
        margin=Margin(left=62, right=16, below=104),
    )


def _together(norms: NDArray, patches: list[int]) -> Points:
    """The lines (L, K) of some patches as one trace, with gaps between them."""
    told = say("layer {layer}: patch {patch}, norm {norm}")
    gap = np.full((1, norms.shape[1]), np.nan)
    y = np.concatenate([np.log10(norms.clip(1e-30)), gap]).T.ravel()
    said = [told.format(layer=layer, patch=patch, norm=f"{norms[layer, k]:.3g}") if layer < len(norms) else ""
            for k, patch in enumerate(patches) for layer in range(len(norms) + 1)]  # fmt: skip
    return Points(x=np.tile(np.arange(len(norms) + 1.0), len(patches)), y=y, name=say("outlier tokens"), line_px=2,
                  colour=PINNED_PATCH_COLOUR, hover="%{hovertext}", hover_texts=said)  # fmt: skip


def norm_heat_maps(outliers: OutlierTokenNorms, grid: Grid) -> NDArray[np.uint8]:
    """The patches' norms after each block as heat colours of one scale, (L, rows, cols, 3)."""
    return heat_colours(outliers.times.reshape(len(outliers.norms), grid.rows, grid.cols), norm_strip_scale_top(outliers))


def norm_strip_scale_top(outliers: OutlierTokenNorms) -> float:
    """The top of the one scale of all layers, as a multiple of the median: the largest, or the lowest cut."""
    return max(float((outliers.thresholds / outliers.medians).min()), float(outliers.times.max()))


def norm_strip(outliers: OutlierTokenNorms, pixels: NDArray[np.uint8] | Image.Image, grid: Grid, mode: Mode = "light") -> Drawing:
    """The norms of the patches after every block on small photos, on one scale, outliers outlined."""
    times = outliers.times.reshape(len(outliers.norms), grid.rows, grid.cols)
    cols, zoom = min(6, len(times)), max(2, -(-STRIP_PX // max(grid.rows, grid.cols)))
    top = norm_strip_scale_top(outliers)
    detail = fine_detail(resize_for_figure(pixels).resize((grid.cols * zoom, grid.rows * zoom)), grid)
    tiles = np.stack([heat_on_photo(one, detail, top) for one in times])
    drawn = tile_mosaic(tiles, cols, gutter=zoom)
    size = (drawn.shape[1] / zoom, drawn.shape[0] / zoom)
    places = [((i % cols) * (grid.cols + 1), (i // cols) * (grid.rows + 1)) for i in range(len(times))]
    said = [  # in the middle: outliers are often in corners
        replace(
            map_name_label(say("layer {layer}: {count}", layer=layer, count=int(outliers.high[layer].sum())), x + grid.cols / 2, y),
            x_anchor="center",
        )
        for layer, (x, y) in enumerate(places)
    ]
    marks = [_around(int(p), grid, places[layer], 1.5) for layer, p in np.argwhere(outliers.high)[:MAX_MARKS]]
    return Drawing(
        title=say("Norms layer by layer"), subtitle=say("with the number of outliers"), mode=mode,
        height_px=round(90 + 860 * size[1] / size[0]), rasters=[RasterLayer(drawn, size)], labels=said, shapes=marks,
        colour_scale=_times_scale(top), **picture_axes(size),
    )  # fmt: skip


def _span(norms: NDArray, cut: Any) -> tuple[float, float]:
    """Where an axis of norms begins and ends."""
    some = norms[norms > 0]
    return float(some.min(initial=np.min(cut))) / 1.25, float(max(some.max(initial=0), np.max(cut))) * 1.25


def _axis(low: float, high: float) -> Axis:
    """An axis of norms: powers of ten on an even axis, with 1, 2, 5, 10, 20 … written on it."""
    ticks = round_tick_values(low, high)
    return Axis(title=say("norm"), range=(math.log10(low), math.log10(high)), ticks=np.log10(ticks).tolist(),
                tick_labels=[f"{tick:g}" for tick in ticks])  # fmt: skip


def _mark(name: str, norm: float, x: float) -> Points:
    colour, symbol = _looks(name)
    return Points(
        x=[x], y=[float(np.log10(max(norm, 1e-30)))], colour=colour, symbol=symbol, marker_px=12, hover_texts=[f"{norm:.3g}"],
        hover=_called(name) + ": %{hovertext}", **_grouped(name),
    )  # fmt: skip


def _kind(name: str) -> str:
    return name.partition(" ")[0]


def _called(name: str) -> str:
    """A token that is no patch, by its name in `forward.block_activations.prefix_token_names`, in the reader's language."""
    if _kind(name) == "register":
        return say("register {number}", number=name.partition(" ")[2])
    return say("distillation token") if name == "distillation" else say("class token")


def _grouped(name: str) -> dict[str, Any]:
    """How the legend names it: all registers at once."""
    several = _kind(name) == "register"
    return {"name": say("registers") if several else _called(name), "legend_group": _kind(name),
            "in_legend": not several or name == "register 0"}  # fmt: skip


def _looks(name: str) -> tuple[str, str]:
    """Colour and symbol of a token that is no patch."""
    return CATEGORICAL[OTHERS.get(_kind(name), 3)], "square" if _kind(name) == "register" else "diamond"

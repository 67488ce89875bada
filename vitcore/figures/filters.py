"""Principal components of the embedding filters drawn (arXiv 2010.11929 Fig. 7 left), what each looks like, and their scree."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitcore.figures.drawing import Axis, Drawing, HoverGrid, Margin, Points, RasterLayer, picture_axes
from vitcore.figures.theme_colours import Mode, tile_mosaic
from vitcore.translation import percent, say

COLUMNS = 7  # the paper's 28 components in rows of seven


def filters(
    tiles: NDArray[np.uint8], variance: NDArray, mode: Mode = "light", subject: str | None = None, touch: bool = False,
    pattern_words: Sequence[str] = (),
) -> Drawing:  # fmt: skip
    """Components (K, P, P, 3) as bytes, in rows of seven; hover tells the share of variance each explains, and its `pattern_words`.

    With `touch` each is a point whose custom data is its number, counted from 1.
    """
    count, high, _, _ = tiles.shape
    rows = -(-count // COLUMNS)
    drawn = tile_mosaic(tiles, COLUMNS, gutter=4, zoom=max(1, 48 // high))
    size = (float(drawn.shape[1]), float(drawn.shape[0]))
    text = [["" for _ in range(COLUMNS)] for _ in range(rows)]
    for i in range(count):
        text[i // COLUMNS][i % COLUMNS] = say(
            "component {number}<br>{share} of variance", number=i + 1, share=percent(float(variance[i]))
        ) + "".join(f"<br>{told}" for told in pattern_words[i : i + 1])
    about = say(
        "first {count} principal {count:component|components}, {share} of the filters' variance",
        count=count,
        share=percent(variance[:count].sum()),
    )
    return Drawing(
        title=subject or say("RGB embedding filters"), subtitle=about, mode=mode, height_px=110 * rows + 80, **picture_axes(size),
        rasters=[RasterLayer(drawn, size)], marks=[_points(text, count, size) if touch else HoverGrid(text, size)],
    )  # fmt: skip


def filter_pattern_words(pattern: str, colours: tuple[str, str] | None, cycles: float | None, **_: Any) -> str:
    """What a filter looks like, in words: the fields of an `analysis.filter_patterns.FilterPattern`."""
    if colours is None:
        return say("no simple pattern")
    one, other = map(_colour, sorted(colours, key="dark".__eq__) if pattern in UNORDERED else colours)
    words = {
        "even": say("{one} against {other}, even throughout", one=one, other=other),
        "left right": say("{one} at the left, {other} at the right", one=one, other=other),
        "top bottom": say("{one} at the top, {other} at the bottom", one=one, other=other),
        "upper left": say("{one} at the upper left, {other} at the lower right", one=one, other=other),
        "lower left": say("{one} at the lower left, {other} at the upper right", one=one, other=other),
        "spot": say("a spot in the middle, {one} (or {other})", one=one, other=other),
        "spot and rim": say("{one} in the middle, {other} around it", one=one, other=other),
        "none": say("{one} against {other}, no simple pattern", one=one, other=other),
    }
    return words[pattern] if pattern in words else _waves(pattern, one, other, f"{round(2 * (cycles or 0)) / 2:g}")


UNORDERED = {
    "even",
    "none",
    "checks",
    *(f"{lie} {kind}" for lie in ("upright", "level", "slanted") for kind in ("stripes", "bands")),
}


def _waves(pattern: str, one: str, other: str, cycles: str) -> str:
    kinds = {
        "upright stripes": say("upright stripes"), "level stripes": say("level stripes"), "slanted stripes": say("slanted stripes"),
        "upright bands": say("upright bands"), "level bands": say("level bands"), "slanted bands": say("slanted bands"),
        "checks": say("checks"),
    }  # fmt: skip
    return say(
        "{kind}, {one} and {other}, about {cycles} cycles from side to side",
        kind=kinds[pattern], one=one, other=other, cycles=cycles,
    )  # fmt: skip


def _colour(name: str) -> str:
    return {
        "light": say("light"), "dark": say("dark"), "red": say("red"), "orange": say("orange"), "yellow": say("yellow"),
        "green": say("green"), "turquoise": say("turquoise"), "blue": say("blue"), "violet": say("violet"), "pink": say("pink"),
    }[name]  # fmt: skip


def _points(text: list[list[str]], count: int, size: tuple[float, float]) -> Points:
    """Points nobody sees, one over each component: unlike cells they can be touched."""
    wide, high = size[0] / COLUMNS, size[1] / len(text)
    places = [divmod(i, COLUMNS) for i in range(count)]
    return Points(
        x=[(col + 0.5) * wide for _, col in places], y=[(row + 0.5) * high for row, _ in places], colour="line", symbol="square",
        marker_px=60, marker_opacity=0, hover="%{hovertext}", hover_texts=[text[r][c] for r, c in places],
        custom_data=list(range(1, count + 1)),
    )  # fmt: skip


def filter_component(tile: NDArray[np.uint8], number: int, mode: Mode = "light") -> Drawing:
    """One component (P, P, 3), as bytes, enlarged; `number` counts from 1."""
    size = (float(tile.shape[1]), float(tile.shape[0]))
    title = say("Component {number}", number=number)
    return Drawing(title=title, mode=mode, height_px=330, rasters=[RasterLayer(tile, size)], **picture_axes(size))


def scree_plot(variance: NDArray, shown: int, mode: Mode = "light") -> Drawing:
    """How much of the filters' variance the first k components explain, in %."""
    total = 100 * np.cumsum(variance)
    hover = say("first {k} {k:component|components}: {share} %", k="%{x}", share="%{y:.1f}")
    line = Points(x=np.arange(1, len(total) + 1), y=total.astype(np.float32), colour="accent", line_px=2.5, hover=hover)
    dot = Points(x=[shown], y=[float(total[shown - 1])], colour="accent", marker_px=10, written=True,
                 texts=[f"{shown}: {total[shown - 1]:.0f} %"])  # fmt: skip
    return Drawing(
        title=say("Variance explained by the first k components"), mode=mode, height_px=300, marks=[line, dot],
        x=Axis(title=say("k, number of components"), range=(0, len(total) + 1)),
        y=Axis(title=say("variance explained (%)"), range=(0, 104)), margin=Margin(left=60, below=50),
    )  # fmt: skip

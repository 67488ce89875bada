"""Principal components of the embedding filters drawn (arXiv 2010.11929 Fig. 7 left), what each looks like, and their scree."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from vitcore.figures.theme import INK_COLOURS, FigurePart, Mode, figure, hover_trace, image_trace, mosaic
from vitcore.translation import percent, say

COLUMNS = 7  # the paper's 28 components in rows of seven


def filters(
    tiles: NDArray[np.uint8], variance: NDArray, mode: Mode = "light", subject: str | None = None, touch: bool = False,
    pattern_words: Sequence[str] = (),
) -> go.Figure:  # fmt: skip
    """Components (K, P, P, 3) as bytes, in rows of seven; hover tells the share of variance each explains, and its `pattern_words`.

    With `touch` each is a point whose custom data is its number, counted from 1.
    """
    count, high, _, _ = tiles.shape
    rows = -(-count // COLUMNS)
    drawn = mosaic(tiles, COLUMNS, gutter=4, zoom=max(1, 48 // high))
    size = (float(drawn.shape[1]), float(drawn.shape[0]))
    text = [["" for _ in range(COLUMNS)] for _ in range(rows)]
    for i in range(count):
        text[i // COLUMNS][i % COLUMNS] = say(
            "component {number}<br>{share} of variance", number=i + 1, share=percent(float(variance[i]))
        ) + "".join(f"<br>{told}" for told in pattern_words[i : i + 1])
    about = say(
        "first {count} principal {count:component|components}, {share} of variance",
        count=count,
        share=percent(variance[:count].sum()),
    )
    parts = [image_trace(drawn, size, smooth=False), _points(text, count, size) if touch else hover_trace(text, size)]
    return figure(parts, subject or say("RGB embedding filters"), mode, 110 * rows + 80, about, size=size)


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


def _points(text: list[list[str]], count: int, size: tuple[float, float]) -> FigurePart:
    """Points nobody sees, one over each component: unlike cells they can be touched."""
    wide, high = size[0] / COLUMNS, size[1] / len(text)
    places = [divmod(i, COLUMNS) for i in range(count)]
    return {
        "type": "scatter", "x": [(col + 0.5) * wide for _, col in places], "y": [(row + 0.5) * high for row, _ in places],
        "mode": "markers", "marker": {"size": 60, "symbol": "square", "opacity": 0}, "hovertext": [text[r][c] for r, c in places],
        "hovertemplate": "%{hovertext}<extra></extra>", "customdata": list(range(1, count + 1)),
    }  # fmt: skip


def filter_component(tile: NDArray[np.uint8], number: int, mode: Mode = "light") -> go.Figure:
    """One component (P, P, 3), as bytes, enlarged; `number` counts from 1."""
    size = (float(tile.shape[1]), float(tile.shape[0]))
    return figure([image_trace(tile, size, smooth=False)], say("Component {number}", number=number), mode, 330, size=size)


def scree_plot(variance: NDArray, shown: int, mode: Mode = "light") -> go.Figure:
    """How much of the filters' variance the first k components explain, in %."""
    total = 100 * np.cumsum(variance)
    k = np.arange(1, len(total) + 1)
    ink = INK_COLOURS[mode]
    hover = say("first {k} {k:component|components}: {share} %", k="%{x}", share="%{y:.1f}")
    line = {"type": "scatter", "x": k, "y": total.astype(np.float32), "mode": "lines", "hovertemplate": hover + "<extra></extra>",
            "line": {"color": ink["accent"], "width": 2.5}}  # fmt: skip
    dot = {"type": "scatter", "x": [shown], "y": [float(total[shown - 1])], "mode": "markers+text", "hoverinfo": "skip",
           "text": [f"{shown}: {total[shown - 1]:.0f} %"], "textposition": "bottom right",
           "marker": {"size": 10, "color": ink["accent"]}}  # fmt: skip
    return figure(
        [line, dot], say("Variance explained by the first k components"), mode, 300, margin={"l": 60, "b": 50},
        x={"title": {"text": say("k, number of components")}, "range": [0, len(total) + 1]},
        y={"title": {"text": say("variance explained (%)")}, "range": [0, 104]},
    )  # fmt: skip

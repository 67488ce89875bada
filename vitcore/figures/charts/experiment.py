"""An experiment drawn: a curve through the means over seeds with their intervals, and each seed's run as a dot of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from vitcore.figures.theme import CATEGORICAL, FigurePart, Mode, figure, round_numbers
from vitcore.translation import say

SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "star")
ASIDE = 0.12  # curves stand beside each other by this share of a place, or of a decade, so that no bar hides another


class RunDot(NamedTuple):
    """One run: where it is, what it reached, its seed and its name."""

    x: float
    y: float
    seed: int
    run: str


class ExperimentCurve(NamedTuple):
    """A curve of K places: where they are, mean and interval there, the runs behind it, and names of places that are no curve."""

    name: str
    x: list[float]
    mean: list[float]
    low: list[float]
    high: list[float]
    dots: list[RunDot]
    names: Sequence[str] = ()


def experiment_chart(
    curves: Sequence[ExperimentCurve], title: str, x_title: str, y_title: str, seeds: int, interval_percent: int,
    places: Sequence[str] = (),
    log_x: bool = False, mode: Mode = "light",
) -> go.Figure:  # fmt: skip
    """Means over seeds with bars that hold `interval_percent` %, and a dot a run.

    `places` are the names of x = 0, 1, … where it is no number; `log_x`: x is drawn by ratio. A curve whose places have names
    is drawn as signs without a line, and none is moved aside. A dot's custom data is its run.
    """
    traces: list[FigurePart] = []
    for i, curve in enumerate(curves):
        colour = CATEGORICAL[i % len(CATEGORICAL)]
        off = 0.0 if curve.names else ASIDE * (i - (len(curves) - 1) / 2)
        beside = lambda x, off=off: x * 10 ** (off / 6) if log_x else x + off  # noqa: E731
        bars = {"type": "data", "symmetric": False, "array": [h - m for h, m in zip(curve.high, curve.mean, strict=True)],
                "arrayminus": [m - low for low, m in zip(curve.low, curve.mean, strict=True)], "thickness": 1.6, "width": 5,
                "color": colour} if seeds > 1 else None  # fmt: skip
        told = say("{name}, {x}: {value} on average", name=curve.name, x="%{text}", value="%{y:.2f}")
        traces.append({
            "type": "scatter", "x": [beside(x) for x in curve.x], "y": curve.mean, "name": curve.name,
            "mode": "markers" if places or curve.names else "lines+markers",
            "line": {"color": colour, "width": 2.2}, "error_y": bars, "hovertemplate": told + "<extra></extra>",
            "text": list(curve.names) or [places[round(x)] if places else f"{x:g}" for x in curve.x],
            "marker": {"color": colour, "size": 10, "symbol": SYMBOLS[i % len(SYMBOLS)]}, "unselected": {"marker": {"opacity": 1}},
        })  # fmt: skip
        told = say("{name}, seed {seed}: {value}", name=curve.name, seed="%{text}", value="%{y:.2f}")
        traces.append({
            "type": "scatter", "x": [beside(dot.x) for dot in curve.dots], "y": [dot.y for dot in curve.dots], "mode": "markers",
            "showlegend": False, "hovertemplate": told + "<extra></extra>", "text": [dot.seed for dot in curve.dots],
            "customdata": [dot.run for dot in curve.dots], "unselected": {"marker": {"opacity": 0.45}},
            "selected": {"marker": {"size": 13}},
            "marker": {"color": colour, "size": 8, "symbol": SYMBOLS[i % len(SYMBOLS)] + "-open", "opacity": 0.75},
        })  # fmt: skip
    numbers = sorted({x for curve in curves for x in curve.x})
    axis = {"tickvals": list(range(len(places))), "ticktext": list(places), "range": [-0.5, len(places) - 0.5]} if places else {}
    if log_x:
        ticks = numbers if len(numbers) < 8 else round_numbers(numbers[0], numbers[-1])
        axis = {"type": "log", "tickvals": ticks, "ticktext": [f"{x:g}" for x in ticks]}
    return figure(
        traces, title, mode, 460,
        say("mean of {seeds} {seeds:seed|seeds}; bars hold {inner} %; open signs: single runs", seeds=seeds,
        inner=interval_percent),
        x={"title": {"text": x_title}} | axis, y={"title": {"text": y_title}},
        margin={"l": 62, "b": 104, "t": 72, "r": 16}, showlegend=True,
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "xref": "container", "x": 0.02,
                "font": {"size": 13}},
    )  # fmt: skip

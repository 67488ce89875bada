"""An experiment drawn: a curve through the means over seeds with their intervals, and each seed's run as a dot of its own."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vitcore.figures.drawing import Axis, Drawing, ErrorBars, Margin, Points
from vitcore.figures.theme_colours import CATEGORICAL, Mode, round_tick_values
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
) -> Drawing:  # fmt: skip
    """Means over seeds with bars that hold `interval_percent` %, and a dot a run.

    `places` are the names of x = 0, 1, … where it is no number; `log_x`: x is drawn by ratio. A curve whose places have names
    is drawn as signs without a line, and none is moved aside. A dot's custom data is its run.
    """
    marks = []
    for i, curve in enumerate(curves):
        colour = CATEGORICAL[i % len(CATEGORICAL)]
        off = 0.0 if curve.names else ASIDE * (i - (len(curves) - 1) / 2)
        beside = lambda x, off=off: x * 10 ** (off / 6) if log_x else x + off  # noqa: E731
        symbol = SYMBOLS[i % len(SYMBOLS)]
        up, down = np.subtract(curve.high, curve.mean).tolist(), np.subtract(curve.mean, curve.low).tolist()
        marks.append(Points(
            x=[beside(x) for x in curve.x], y=curve.mean, name=curve.name, colour=colour, symbol=symbol, marker_px=10,
            line_px=0 if places or curve.names else 2.2, unselected_opacity=1,
            errors=ErrorBars(up=up, down=down, line_px=1.6, cap_px=5) if seeds > 1 else None,
            hover=say("{name}, {x}: {value} on average", name=curve.name, x="%{text}", value="%{y:.2f}"),
            texts=list(curve.names) or [places[round(x)] if places else f"{x:g}" for x in curve.x],
        ))  # fmt: skip
        marks.append(Points(
            x=[beside(dot.x) for dot in curve.dots], y=[dot.y for dot in curve.dots], colour=colour, symbol=f"{symbol}-open",
            marker_px=8, marker_opacity=0.75, in_legend=False, unselected_opacity=0.45, selected_px=13,
            hover=say("{name}, seed {seed}: {value}", name=curve.name, seed="%{text}", value="%{y:.2f}"),
            texts=[dot.seed for dot in curve.dots], custom_data=[dot.run for dot in curve.dots],
        ))  # fmt: skip
    x = Axis(title=x_title)
    if places:
        x = Axis(title=x_title, ticks=range(len(places)), tick_labels=places, range=(-0.5, len(places) - 0.5))
    if log_x:
        numbers = sorted({x for curve in curves for x in curve.x})
        ticks = numbers if len(numbers) < 8 else round_tick_values(numbers[0], numbers[-1])
        x = Axis(title=x_title, log=True, ticks=ticks, tick_labels=[f"{x:g}" for x in ticks])
    return Drawing(
        title=title, mode=mode, height_px=460, marks=marks, x=x, y=Axis(title=y_title), legend="below",
        subtitle=say("mean of {seeds} {seeds:seed|seeds}; bars hold {inner} %; open signs: single runs", seeds=seeds,
                     inner=interval_percent),
        margin=Margin(left=62, below=104, right=16),
    )  # fmt: skip

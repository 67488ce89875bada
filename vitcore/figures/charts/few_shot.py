"""Few-shot accuracy drawn: accuracy over the number of photos a class, and which class is taken for which."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vitcore.figures.drawing import Axis, Drawing, ErrorBars, HeatCells, Label, Margin, Points, StraightLine
from vitcore.figures.theme_colours import CATEGORICAL, SEQUENTIAL, ColourScale, Mode
from vitcore.translation import percent, say


class FewShotCurve(NamedTuple):
    """Accuracies (K,) over (K,) numbers of photos a class, with the ends of their intervals."""

    name: str
    shots: list[int]
    mean: list[float]
    low: list[float]
    high: list[float]


def few_shot_accuracy(
    curves: list[FewShotCurve], chance: float, draws: int, interval_percent: int, mode: Mode = "light"
) -> Drawing:
    """Accuracy in % over photos a class; bars hold `interval_percent` % of the draws, the dashed line is guessing."""
    lines = []
    for i, curve in enumerate(curves):
        up, down = (100 * np.abs(np.subtract(end, curve.mean)) for end in (curve.high, curve.low))
        lines.append(Points(
            x=curve.shots, y=[100 * value for value in curve.mean], name=curve.name, colour=CATEGORICAL[i],
            line_px=2.4, marker_px=9, errors=ErrorBars(up=up.tolist(), down=down.tolist(), line_px=1.4, cap_px=4),
            hover=say("{name}, {shots} per class: {value} %", name=curve.name, shots="%{x}", value="%{y:.1f}"),
        ))  # fmt: skip
    shots = sorted({count for curve in curves for count in curve.shots})
    guessing = say("guessing: {percent} %", percent=f"{100 * chance:.0f}")
    return Drawing(
        title=say("Few-shot accuracy on photos that it has not learned from"), mode=mode, height_px=560, marks=lines,
        legend="below",
        subtitle=say("mean of {draws} draws; bars hold {inner} % of them", draws=draws, inner=interval_percent),
        x=Axis(title=say("photos per class to learn from"), ticks=shots, log=len(shots) > 1),
        y=Axis(title=say("accuracy (%)"), range=(0, 104)), shapes=[StraightLine(y=100 * chance, colour="soft")],
        labels=[Label(guessing, 1, 100 * chance, x_anchor="right", y_anchor="bottom", x_of_plot=True)],
        margin=Margin(left=62, below=104, above=12),
    )  # fmt: skip


def confusion_matrix(table: NDArray[np.float64], names: list[str], mode: Mode = "light") -> Drawing:
    """(C, C) shares of the photos of a class (row) that are answered as each class (column), 0 to 100 %."""
    count = len(names)
    told = say("{row} is predicted as {column}: {value}")
    text = [[told.format(row=names[r], column=names[c], value=percent(table[r, c], 0)) for c in range(count)] for r in range(count)]
    scale = ColourScale(colours=SEQUENTIAL, low=0, high=100, unit=say("% of the class"))
    size = 12 if count <= 6 else 9  # "100" fits a cell; the unit is on the colour bar
    numbers = [
        Label(f"{100 * table[r, c]:.0f}", c, r, size, "#FFFFFF" if table[r, c] < 0.6 else "#000000", "center")
        for r in range(count) for c in range(count) if table[r, c] >= 0.005
    ]  # fmt: skip
    return Drawing(
        title=say("Confusion matrix of true and predicted classes"), mode=mode, height_px=250 + 44 * count,
        subtitle=say("rows: true class; columns: predicted class"), labels=numbers, colour_scale=scale,
        marks=[HeatCells(values=100 * table, text=text, scale=scale)], margin=Margin(left=110, below=60),
        x=Axis(ticks=range(count), tick_labels=names, range=(-0.5, count - 0.5)),
        y=Axis(ticks=range(count), tick_labels=names, range=(count - 0.5, -0.5)),
    )  # fmt: skip

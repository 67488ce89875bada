"""Few-shot accuracy drawn: accuracy over the number of photos a class, and which class is taken for which."""

from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from vitcore.figures.theme import (
    CATEGORICAL,
    INK_COLOURS,
    SEQUENTIAL,
    Mode,
    colour_bar_trace,
    figure,
    plotly_colour_scale,
    text_annotation,
)
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
) -> go.Figure:
    """Accuracy in % over photos a class; bars hold `interval_percent` % of the draws, the dashed line is guessing."""
    lines = []
    for i, curve in enumerate(curves):
        up, down = (100 * np.abs(np.subtract(end, curve.mean)) for end in (curve.high, curve.low))
        lines.append({
            "type": "scatter", "x": curve.shots, "y": [100 * value for value in curve.mean], "name": curve.name,
            "mode": "lines+markers", "line": {"color": CATEGORICAL[i], "width": 2.4},
            "marker": {"size": 9, "color": CATEGORICAL[i]},
            "error_y": {"type": "data", "array": up.tolist(), "arrayminus": down.tolist(), "symmetric": False, "thickness": 1.4,
                        "width": 4, "color": CATEGORICAL[i]},
            "hovertemplate": say("{name}, {shots} a class: {value} %", name=curve.name, shots="%{x}", value="%{y:.1f}")
            + "<extra></extra>",
        })  # fmt: skip
    shots = sorted({count for curve in curves for count in curve.shots})
    soft = INK_COLOURS[mode]["soft"]
    return figure(
        lines, say("Few-shot accuracy: photos it has not learned from"), mode, 420,
        say("mean of {draws} draws; bars hold {inner} % of them", draws=draws, inner=interval_percent),
        x={"title": {"text": say("photos a class to learn from")}, "tickvals": shots,
           "type": "log" if len(shots) > 1 else "linear"},
        y={"title": {"text": say("accuracy (%)")}, "range": [0, 104]},
        shapes=[{"type": "line", "x0": 0, "x1": 1, "xref": "x domain", "y0": 100 * chance, "y1": 100 * chance, "yref": "y",
                 "line": {"dash": "dash", "color": soft, "width": 1.5}}],
        annotations=[text_annotation("╌ " + say("guessing: {percent} %", percent=f"{100 * chance:.0f}"), 1, 100 * chance,
        xref="paper",
                          xanchor="right", yref="y", yanchor="bottom")],
        margin={"l": 62, "b": 104, "t": 84}, showlegend=True,
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "xref": "container", "x": 0.02,
                "font": {"size": 13}},
    )  # fmt: skip


def confusion_matrix(table: NDArray[np.float64], names: list[str], mode: Mode = "light") -> go.Figure:
    """(C, C) shares of the photos of a class (row) that are answered as each class (column), 0 to 100 %."""
    count = len(names)
    told = say("{row} is answered {column}: {value}")
    text = [[told.format(row=names[r], column=names[c], value=percent(table[r, c], 0)) for c in range(count)] for r in range(count)]
    cells = {
        "type": "heatmap", "z": (100 * table).tolist(), "zmin": 0, "zmax": 100, "showscale": False, "xgap": 2, "ygap": 2,
        "colorscale": plotly_colour_scale(SEQUENTIAL), "text": text, "hoverinfo": "text",
    }  # fmt: skip
    size = 12 if count <= 6 else 9  # "100" fits a cell; the unit is on the colour bar
    numbers = [
        text_annotation(f"{100 * table[r, c]:.0f}", c, r, size, color="#FFFFFF" if table[r, c] < 0.6 else "#000000",
        xanchor="center")
        for r in range(count) for c in range(count) if table[r, c] >= 0.005
    ]  # fmt: skip
    ticks = {"tickvals": list(range(count)), "ticktext": names}
    return figure(
        [cells, colour_bar_trace(SEQUENTIAL, 0, 100, say("% of the class"))],
        say("Confusion matrix: which class is taken for which"),
        mode, 190 + 44 * count,
        say("rows: what it is; columns: what is answered"), annotations=numbers,
        x=ticks | {"side": "bottom", "range": [-0.5, count - 0.5]}, y=ticks | {"range": [count - 0.5, -0.5]},
        margin={"l": 110, "b": 60, "t": 72, "r": 8},
    )  # fmt: skip

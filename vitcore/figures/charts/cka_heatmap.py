"""Two models compared, drawn: how alike their tokens are, every layer of one beside every layer of the other."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from vitcore.figures.theme import SEQUENTIAL, Mode, apply_colour_scale, colour_bar_trace, figure, hover_trace, image_trace
from vitcore.translation import say

TICKS = 12  # at most, on an axis


def cka_heatmap(values: NDArray, names: tuple[str, str], mode: Mode = "light", subtitle: str = "") -> go.Figure:
    """(L, L') linear CKA, 0 to 1: the first model's layers are rows, the second's columns, both from 0."""
    rows, cols = values.shape
    size = (float(cols), float(rows))
    told = say("layer {row} of {first}, layer {col} of {second}: {value}")
    facts = {"first": names[0], "second": names[1]}
    text = [[told.format(row=r, col=c, value=f"{values[r, c]:.3f}", **facts) for c in range(cols)] for r in range(rows)]
    parts = [
        image_trace(apply_colour_scale(np.nan_to_num(values), SEQUENTIAL, 0, 1), size, smooth=False), hover_trace(text, size),
        colour_bar_trace(SEQUENTIAL, 0, 1, say("linear CKA"), [0, 0.5, 1]),
    ]  # fmt: skip
    x, y = _layers(cols, names[1]), _layers(rows, names[0])
    return figure(parts, say("How alike the tokens are"), mode, 520, subtitle, size=size, x=x, y=y, margin={"l": 62, "b": 52})


def _layers(count: int, name: str) -> dict[str, Any]:
    """An axis of layers, numbered from 0."""
    some = range(0, count, -(-count // TICKS))
    return {
        "visible": True, "showgrid": False, "title": {"text": say("layer of {name}", name=name)},
        "tickvals": [i + 0.5 for i in some], "ticktext": [str(i) for i in some],
    }  # fmt: skip

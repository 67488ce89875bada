"""Speed drawn as in the paper's Figure 12: images a second over batch sizes, each model beside the limit of the device."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from vitcore.figures.theme import CATEGORICAL, FigurePart, Mode, figure
from vitcore.translation import say


class ThroughputCurve(NamedTuple):
    """A model: images a second (K,) at (K,) batch sizes, and what the device's matrix products would allow."""

    name: str
    batches: Sequence[int]
    images_per_s: Sequence[float]
    limit_images_per_s: float


def throughput(lines: Sequence[ThroughputCurve], device: str, training: bool = False, mode: Mode = "light") -> go.Figure:
    """Images a second over the batch size, both on logarithmic axes; dashed lines are the limits."""
    traces: list[FigurePart] = []
    batches = sorted({batch for line in lines for batch in line.batches})
    for i, line in enumerate(lines):
        colour = CATEGORICAL[i % len(CATEGORICAL)]
        told = say("{name}, batch of {batch}: {rate} images/s", name=line.name, batch="%{x}", rate="%{y:.3g}")
        traces.append({
            "type": "scatter", "x": list(line.batches), "y": list(line.images_per_s), "name": line.name, "mode": "lines+markers",
            "line": {"color": colour, "width": 2.4}, "marker": {"size": 9, "color": colour},
            "hovertemplate": told + "<extra></extra>",
        })  # fmt: skip
        most = say("{name}: limit {rate} images/s", name=line.name, rate=f"{line.limit_images_per_s:.3g}")
        traces.append({
            "type": "scatter", "x": [batches[0], batches[-1]], "y": [line.limit_images_per_s] * 2, "mode": "lines",
            "showlegend": False, "line": {"color": colour, "width": 1.5, "dash": "dash"}, "hovertemplate": most + "<extra></extra>",
        })  # fmt: skip
    return figure(
        traces, say("Training speed") if training else say("Inference speed"), mode, 440, device,
        x={"title": {"text": say("images in a batch")}, "type": "log", "tickvals": batches, "ticktext": [str(b) for b in batches],
           "range": _log_range(batches)},
        y={"title": {"text": say("images a second")}, "type": "log",
           "range": _log_range([rate for line in lines for rate in (*line.images_per_s, line.limit_images_per_s)])},
        margin={"l": 70, "b": 104, "t": 84}, showlegend=True,
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "xref": "container", "x": 0.02,
                "font": {"size": 13}},
    )  # fmt: skip


def _log_range(values: Sequence[float]) -> list[float]:
    """The range of a logarithmic axis that holds all values, with some room at both ends."""
    return [math.log10(min(values) / 1.3), math.log10(max(values) * 1.3)]

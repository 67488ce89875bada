"""The answer drawn: the likeliest classes and their probabilities."""

from typing import Any

import plotly.graph_objects as go

from vitcore.figures.theme import INK_COLOURS, FigurePart, Mode, figure, text_annotation
from vitcore.translation import percent, say


def predictions(top: list[tuple[str, float]], mode: Mode = "light", title: str | None = None) -> go.Figure:
    """(label, probability) pairs as bars, 0 to 100 %, the likeliest on top."""
    said = [
        text_annotation(f"{name} <b>{percent(p)}</b>", 0, i - 0.34, 14, color=INK_COLOURS[mode]["text"])
        for i, (name, p) in enumerate(top)
    ]
    bars = percentage_bars([100 * p for _, p in top], 0.28, "%{x:.2f} %", mode)
    title = title or say("Top {count} of the model's classes", count=len(top))
    return figure([bars], title, mode, 60 + 46 * len(top), annotations=said, **percentage_axes(len(top)))


def percentage_bars(values: list[float], thick: float, hover: str, mode: Mode) -> FigurePart:
    """Percentages as bars, one below another."""
    return {"type": "bar", "x": values, "y": list(range(len(values))), "orientation": "h", "width": thick,
            "marker": {"color": INK_COLOURS[mode]["accent"]}, "hovertemplate": hover + "<extra></extra>"}  # fmt: skip


def percentage_axes(count: int) -> dict[str, Any]:
    """The axes of so many shares: 0 to 100 %, the first on top."""
    still = {"visible": False, "fixedrange": True}
    return {"x": still | {"range": [0, 100]}, "y": still | {"range": [count - 0.5, -0.7]}}

"""The answer drawn: the likeliest classes and their probabilities."""

from typing import Any

from vitcore.figures.drawing import Axis, Bars, Drawing, Label
from vitcore.figures.theme_colours import Mode
from vitcore.translation import percent, say


def predictions(top: list[tuple[str, float]], mode: Mode = "light", title: str | None = None, digits: int = 1) -> Drawing:
    """(label, probability) pairs as bars, 0 to 100 %, the likeliest on top; `digits` after the point of each percentage."""
    return Drawing(
        title=title or say("Top {count} of the model's classes", count=len(top)), mode=mode, height_px=60 + 46 * len(top),
        marks=[percentage_bars([100 * p for _, p in top], 0.28, "%{x:.2f} %")], **percentage_axes(len(top)),
        labels=[Label(f"{name} <b>{percent(p, digits)}</b>", 0, i - 0.34, 14, "text") for i, (name, p) in enumerate(top)],
    )  # fmt: skip


def percentage_bars(values: list[float], thick: float, hover: str) -> Bars:
    """Percentages as bars, one below another."""
    return Bars(x=values, y=list(range(len(values))), thick=thick, colour="accent", hover=hover)


def percentage_axes(count: int) -> dict[str, Any]:
    """The axes of so many shares: 0 to 100 %, the first on top."""
    return {"x": Axis(visible=False, range=(0, 100)), "y": Axis(visible=False, range=(count - 0.5, -0.7))}

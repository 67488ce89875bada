"""The drawing of a model: its parts from the pixels down to the answer, as they ran; beside them what a repeated block holds.

Parts come from `architectures.model_summary.module_parts`; what is drawn is read from them, nothing is known
of any architecture here.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import plotly.graph_objects as go

from vitcore.figures.theme import CATEGORICAL, INK_COLOURS, FigurePart, Mode, figure, rectangle_outline, text_annotation
from vitcore.translation import say

ROW_PX = 58
WIDE, BESIDE, TALL = 5.6, 3.6, 0.72  # of a box, of a box inside a block, and how much of its row a box takes
LONGEST = 34  # letters of a name
COLUMN_GAP = 0.8  # between the column and what a block holds


class DrawnPart(Protocol):
    """What is drawn of a part: see `architectures.model_summary.ModulePart`."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def input_shape(self) -> tuple[int, ...]: ...
    @property
    def output_shape(self) -> tuple[int, ...]: ...
    @property
    def params(self) -> int: ...
    @property
    def repeats(self) -> int: ...
    @property
    def inner_parts(self) -> tuple[Any, ...]: ...


def architecture(parts: Sequence[DrawnPart], title: str, mode: Mode = "light", subtitle: str = "") -> go.Figure:
    """Boxes in the order they run, the shape that each hands on between them; the block that holds most weights is opened."""
    ink = INK_COLOURS[mode]
    shapes: list[FigurePart] = []
    notes: list[FigurePart] = []
    traces: list[FigurePart] = []
    opened = max((part for part in parts if part.inner_parts), key=lambda part: part.params * part.repeats, default=None)
    inside = list(opened.inner_parts) if opened else []
    rows = max(len(parts), 1)
    for row, part in enumerate(parts):
        _box(shapes, notes, part, 0, row, WIDE, mode)
        notes.append(
            text_annotation(_shape(part.output_shape), WIDE / 2, row + TALL + (1 - TALL) / 2, 12, ink["soft"], xanchor="center")
        )
    if opened is not None:
        at, left = list(parts).index(opened), WIDE + COLUMN_GAP
        first = min(max(0.0, at + TALL / 2 - len(inside) / 2), max(0.0, rows - len(inside)))
        for i, part in enumerate(inside):
            _box(shapes, notes, part, left, first + i, BESIDE, mode)
        end = first + len(inside) - 1 + TALL
        lines = {"x": [WIDE, left, None, WIDE, left], "y": [at, first, None, at + TALL, end]}
        traces.append({"type": "scatter", "mode": "lines", "hoverinfo": "skip",
                       "line": {"color": ink["line"], "width": 1.5}} | lines)  # fmt: skip
        rows = max(rows, len(inside))
    still = {"visible": False, "fixedrange": True}
    wide = WIDE + (COLUMN_GAP + BESIDE if inside else 0)
    return figure(
        traces, title, mode, 70 + ROW_PX * rows, subtitle, x=still | {"range": [-0.05, wide + 0.05]},
        y=still | {"range": [rows, -0.1]}, shapes=shapes, annotations=notes,
    )  # fmt: skip


def _box(shapes: list[FigurePart], notes: list[FigurePart], part: DrawnPart, x: float, y: float, wide: float, mode: Mode) -> None:
    """A part: its name and what it is, how often it follows, and its weights."""
    ink = INK_COLOURS[mode]
    shapes.append(rectangle_outline(x, y, wide, TALL, CATEGORICAL[_colour(part)], 2))
    times = f" <b>× {part.repeats}</b>" if part.repeats > 1 else ""
    name = part.name if len(part.name) <= LONGEST else "…" + part.name[-LONGEST:]
    notes.append(text_annotation(f"<b>{name}</b>{times}", x + 0.1, y + TALL * 0.3, 13, ink["text"], hovertext=_told(part)))
    notes.append(text_annotation(part.kind, x + 0.1, y + TALL * 0.72, 12, ink["soft"]))
    if part.params:
        notes.append(
            text_annotation(_count(part.params * part.repeats), x + wide - 0.1, y + TALL * 0.72, 12, ink["soft"], xanchor="right")
        )


def _colour(part: DrawnPart) -> int:
    """Blocks that attend, other blocks, layers with weights, what the module holds itself, and what has no weights."""
    if part.kind == "Parameter":
        return 4
    if part.inner_parts:
        return 1 if any("attn" in one.name or "Attention" in one.kind for one in part.inner_parts) else 2
    return 0 if part.params else 6


def _shape(shape: tuple[int, ...]) -> str:
    return "↓ " + " × ".join(map(str, shape)) if shape else ""


def _told(part: DrawnPart) -> str:
    return say("{name}: {before} becomes {after}, {params} parameters", name=part.name,
               before=" × ".join(map(str, part.input_shape)), after=" × ".join(map(str, part.output_shape)),
               params=f"{part.params * part.repeats:,}")  # fmt: skip


def _count(params: int) -> str:
    """12.3 M, 4.5 k: three digits."""
    for letter, size in (("M", 1e6), ("k", 1e3)):
        if params >= size:
            return f"{params / size:.3g} {letter}"
    return str(params)

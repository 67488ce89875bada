"""The drawing of a model: its parts from the pixels down to the answer, as they ran; beside them what a repeated block holds.

Parts come from `architectures.model_summary.module_parts_with_repeats`; what is drawn is read from them, nothing is known
of any architecture here.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from vitcore.figures.drawing import Axis, Drawing, Label, Outline, Points
from vitcore.figures.theme_colours import CATEGORICAL, Mode
from vitcore.translation import say

ROW_PX = 80
WIDE, BESIDE, TALL = 5.6, 3.6, 0.72  # of a box, of a box inside a block, and how much of its row a box takes
LONGEST = 34  # letters of a name
COLUMN_GAP = 0.8  # between the column and what a block holds


class DrawnModelPart(Protocol):
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


def architecture(parts: Sequence[DrawnModelPart], title: str, mode: Mode = "light", subtitle: str = "") -> Drawing:
    """Boxes in the order they run, the shape that each hands on between them; the block that holds most weights is opened."""
    shapes: list[Outline] = []
    labels: list[Label] = []
    marks: list[Points] = []
    opened = max((part for part in parts if part.inner_parts), key=lambda part: part.params * part.repeats, default=None)
    inside = list(opened.inner_parts) if opened else []
    rows = max(len(parts), 1)
    for row, part in enumerate(parts):
        shapes.append(_box(part, 0, row, WIDE))
        labels += [*_words(part, 0, row, WIDE),
                   Label(_shape(part.output_shape), WIDE / 2, row + TALL + (1 - TALL) / 2, 12, "soft", "center")]  # fmt: skip
    if opened is not None:
        at, left = list(parts).index(opened), WIDE + COLUMN_GAP
        first = min(max(0.0, at + TALL / 2 - len(inside) / 2), max(0.0, rows - len(inside)))
        for i, part in enumerate(inside):
            shapes.append(_box(part, left, first + i, BESIDE))
            labels += _words(part, left, first + i, BESIDE)
        end = first + len(inside) - 1 + TALL
        x, y = [WIDE, left, None, WIDE, left], [at, first, None, at + TALL, end]
        marks.append(Points(x=x, y=y, colour="line", line_px=1.5))
        rows = max(rows, len(inside))
    wide = WIDE + (COLUMN_GAP + BESIDE if inside else 0)
    return Drawing(
        title=title, subtitle=subtitle, mode=mode, height_px=70 + ROW_PX * rows, marks=marks, shapes=shapes, labels=labels,
        x=Axis(visible=False, range=(-0.05, wide + 0.05)), y=Axis(visible=False, range=(rows, -0.1)),
    )  # fmt: skip


def _box(part: DrawnModelPart, x: float, y: float, wide: float) -> Outline:
    return Outline(x, y, wide, TALL, CATEGORICAL[_colour(part)], 2)


def _words(part: DrawnModelPart, x: float, y: float, wide: float) -> list[Label]:
    """Of a part its name and what it is, how often it follows, and its weights."""
    times = f" <b>× {part.repeats}</b>" if part.repeats > 1 else ""
    name = part.name if len(part.name) <= LONGEST else "…" + part.name[-LONGEST:]
    labels = [Label(f"<b>{name}</b>{times}", x + 0.1, y + TALL * 0.3, 13, "text", hover=_told(part)),
              Label(part.kind, x + 0.1, y + TALL * 0.72, 12, "soft")]  # fmt: skip
    if part.params:
        labels.append(Label(_count(part.params * part.repeats), x + wide - 0.1, y + TALL * 0.72, 12, "soft", "right"))
    return labels


def _colour(part: DrawnModelPart) -> int:
    """Blocks that attend, other blocks, layers with weights, what the module holds itself, and what has no weights."""
    if part.kind == "Parameter":
        return 4
    if part.inner_parts:
        return 1 if any("attn" in one.name or "Attention" in one.kind for one in part.inner_parts) else 2
    return 0 if part.params else 6


def _shape(shape: tuple[int, ...]) -> str:
    return "↓ " + " × ".join(map(str, shape)) if shape else ""


def _told(part: DrawnModelPart) -> str:
    return say("{name}: {before} becomes {after}, {params} parameters", name=part.name,
               before=" × ".join(map(str, part.input_shape)), after=" × ".join(map(str, part.output_shape)),
               params=f"{part.params * part.repeats:,}")  # fmt: skip


def _count(params: int) -> str:
    """12.3 M, 4.5 k: three digits."""
    for letter, size in (("M", 1e6), ("k", 1e3)):
        if params >= size:
            return f"{params / size:.3g} {letter}"
    return str(params)

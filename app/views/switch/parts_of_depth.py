"""Parts of a model's depth, to guess among: a third of its layers each."""

from itertools import pairwise
from typing import NamedTuple

from app.texts import Prose

PARTS = 3


class PartOfDepth(NamedTuple):
    """Layers first … last of a model, and what they are called."""

    first: int
    last: int
    title: str


def parts_of_depth(layers: int, text: Prose) -> list[PartOfDepth]:
    """All layers in at most three parts of about one size."""
    count = min(PARTS, layers)
    ends = pairwise(layers * part // count for part in range(count + 1))
    rows = [(first, end - 1) for first, end in ends]
    return [
        PartOfDepth(*row, text["one layer" if row[0] == row[1] else "layers"].format(first=row[0], last=row[1])) for row in rows
    ]


def part_of(layer: int | None, parts: list[PartOfDepth]) -> int:
    """Which part a layer is of; the last, where there is none."""
    return next((i for i, part in enumerate(parts) if layer is not None and part.first <= layer <= part.last), len(parts) - 1)

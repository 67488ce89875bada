"""Some of the pictures that code draws, to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.state.memory import budget

if TYPE_CHECKING:
    from PIL import Image


@budget.kept
def examples(data: str) -> tuple[list[Image.Image], list[str]]:
    """The first picture of each class of a drawn set, at most ten, and what the classes are called."""
    from vitcore.train.data.sources import open_photos

    photos = open_photos(data)[0]
    first = range(min(len(photos.classes), 10))
    return [photos.open(i) for i in first], [photos.classes[i] for i in first]

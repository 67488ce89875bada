"""The sample photos that a film of a training shows where nobody chose any."""

from functools import lru_cache
from pathlib import Path

from vitcore.assets import SAMPLES
from vitcore.images import Photo, open_photo

FILMED_SAMPLES = ("red-panda", "cat", "german-shepherd", "macaw", "espresso", "castle", "biplane", "citrus")


def default_film_photos() -> list[Photo]:
    """The photos a film shows unless it is told others, of those that ship."""
    return list(_opened(tuple(file for name in FILMED_SAMPLES if (file := SAMPLES / f"{name}.jpg").exists())))


@lru_cache(maxsize=1)  # every frame of a training asks for them
def _opened(files: tuple[Path, ...]) -> tuple[Photo, ...]:
    return tuple(map(open_photo, files))

"""Drawn pictures: a data set made by code from a seed, whose classes are arrangements of parts."""

from __future__ import annotations

import functools
import hashlib
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitcore.train.data.photos import DataError, Photos
from vitcore.train.data.synthetic_pixels import draw_synthetic_pixels, random_numbers_per_picture
from vitcore.translation import say

SOURCE_NAME = "drawn"
TRAIN, VALIDATION = 0, 1
SEED_STREAM = 31  # so that no other use of a seed draws the same numbers
BLOCK_PIXELS = 2**18  # drawn together
CACHED_BLOCKS = 400  # kept: 300 MB
MIN_PX, MAX_PX, MAX_CLASSES, MAX_PHOTOS = 16, 256, 100, 1_000_000
CLASS_NAME = "near {near}°, far {far}°"


@dataclass(frozen=True, slots=True)
class SyntheticDataset:
    """What decides a drawn set, besides the seed; the fields are the options of its name.

    Every picture holds the same four parts on a cloudy background: two discs near each other, alike but for the direction of
    their stripes, and two bars far apart, alike but for lying and standing. Its class is the way from disc to disc together
    with the way from bar to bar. Each part is lighter or darker than what is behind it by chance, in a tint of its own. So
    neither pixels nor colours nor what is there tells the class; texture and form tell the parts, places the class, one half of
    it within a patch or two, the other across the picture: something for convolutions and something for attention. A mirror
    image is of the same class. All classes are equally frequent: chance is 1 / classes.

    `difficulty`, 0 to 1, lowers contrast, adds noise and spots, moves, turns and shrinks (`synthetic_pixels.EASY`, `HARD`).
    How well a simple look at edges in their places does falls with it: `python -m tests.benchmarks.drawn` measures that, and what
    raw pixels, colours and edges without places tell.
    """

    classes: int = 10
    px: int = 32
    difficulty: float = 0.5
    photos: int = 10_000
    validation: int = 1000

    @property
    def direction_counts(self) -> tuple[int, int]:
        """How many directions the near and the far pair have: together one a class, or a few more."""
        near = math.isqrt(self.classes)
        return near, math.ceil(self.classes / near)

    def direction_indices(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of each pair's direction, near and far, of some classes: (…, 2)."""
        near, _ = self.direction_counts
        return np.stack([labels % near, labels // near], -1)

    @property
    def class_angles(self) -> tuple[float, float]:
        """Radians between the directions of two classes, of the near and the far pair."""
        near, far = (math.pi / max(ways - 1, 1) for ways in self.direction_counts)
        return near, far


OPTIONS = ",".join(f"{field.name}={field.default}" for field in fields(SyntheticDataset))  # all, as they are if none is named


def draw_synthetic_pictures(dataset: SyntheticDataset, seed: int, split: int, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Pictures `indices` of a split, (N, px, px, 3). Each has random numbers of its own, by seed, split and number alone."""
    rows = np.empty((len(indices), random_numbers_per_picture(dataset.px)), np.float32)
    for row, i in zip(rows, indices.tolist(), strict=True):
        np.random.default_rng((SEED_STREAM, seed, split, i)).random(out=row, dtype=np.float32)
    angles = dataset.direction_indices(indices % dataset.classes) * np.array(dataset.class_angles)
    return draw_synthetic_pixels(rows, angles, dataset.class_angles, dataset.px, dataset.difficulty)


class SyntheticPictures(Sequence[NDArray[np.uint8]]):
    """Pictures `which` of a split, drawn when they are first looked at, some hundreds at a time; the last are kept."""

    def __init__(self, drawing: SyntheticDataset, seed: int, split: int, which: NDArray[np.int64]) -> None:
        self._drawing, self._seed, self._split, self._which = drawing, seed, split, which

    @property
    def px(self) -> int:
        """Side of each."""
        return self._drawing.px

    def __len__(self) -> int:
        return len(self._which)

    def __getitem__(self, i: Any) -> Any:
        number, many = int(self._which[i]), max(BLOCK_PIXELS // self.px**2, 1)
        if len(self) > CACHED_BLOCKS * many:  # in any order: a block would be drawn for each
            return draw_synthetic_pictures(self._drawing, self._seed, self._split, np.array([number]))[0]
        with _one_at_a_time:
            block = _block(self._drawing, self._seed, self._split, number // many, many)
        return block[number % many]

    def select(self, indices: NDArray[np.int64]) -> SyntheticPictures:
        """The pictures at `indices`, in that order; none is drawn."""
        return SyntheticPictures(self._drawing, self._seed, self._split, self._which[indices])


_one_at_a_time = threading.Lock()  # else several threads draw the same block


@functools.lru_cache(maxsize=CACHED_BLOCKS)
def _block(drawing: SyntheticDataset, seed: int, split: int, block: int, many: int) -> NDArray[np.uint8]:
    made = draw_synthetic_pictures(drawing, seed, split, np.arange(block * many, (block + 1) * many))
    made.flags.writeable = False
    return made


def open_synthetic_dataset(source: str, seed: int) -> tuple[Photos, Photos]:
    """(train, validation) of `drawn` or `drawn:classes=10,px=32,…`: a seed's own. Raises: DataError."""
    drawing = parse_synthetic_options(source)

    def photos(split: int, count: int) -> Photos:
        which = np.arange(count)
        pictures = SyntheticPictures(drawing, seed, split, which)
        return Photos(source, pictures, which % drawing.classes, _synthetic_class_names(drawing))

    return photos(TRAIN, drawing.photos), photos(VALIDATION, drawing.validation)


def _synthetic_class_names(dataset: SyntheticDataset) -> tuple[str, ...]:
    """The classes by the ways of their pairs, degrees from straight up: in English, as files hold them."""
    return tuple(CLASS_NAME.format(near=near, far=far) for near, far in _class_degrees(dataset))


def synthetic_class_titles(dataset: SyntheticDataset) -> tuple[str, ...]:
    """The class names of a drawn set, in the reader's language."""
    return tuple(say("near {near}°, far {far}°", near=near, far=far) for near, far in _class_degrees(dataset))


def _class_degrees(drawing: SyntheticDataset) -> list[tuple[str, str]]:
    near, far = (math.degrees(apart) for apart in drawing.class_angles)
    return [(f"{n * near:.0f}", f"{f * far:.0f}") for n, f in drawing.direction_indices(np.arange(drawing.classes)).tolist()]


def synthetic_drawing_version(where: str) -> str:
    """By what results remember the pictures they come from: others are drawn once the code that draws them has changed."""
    return hashlib.sha256(draw_synthetic_pictures(parse_synthetic_options(where), 0, TRAIN, np.arange(10)).tobytes()).hexdigest()[
        :16
    ]


def parse_synthetic_options(where: str) -> SyntheticDataset:
    """The options in a name, `drawn:NAME=NUMBER,…`; what is not named is as in `SyntheticDataset`. Raises: DataError."""
    known: dict[str, Callable[[str], Any]] = {field.name: type(field.default) for field in fields(SyntheticDataset)}
    given: dict[str, Any] = {}
    for part in filter(None, where.partition(":")[2].split(",")):
        name, _, value = (word.strip() for word in part.partition("="))
        if name not in known:
            raise DataError("{where} has no option {name!r}: {options}.", where=SOURCE_NAME, name=name, options=", ".join(known))
        try:
            given[name] = known[name](value)
        except ValueError:
            raise DataError("{name} of {where} is a number, not {value!r}.", name=name, where=SOURCE_NAME, value=value) from None
    drawing = SyntheticDataset(**given)
    _require(drawing)
    return drawing


def _require(drawing: SyntheticDataset) -> None:
    ranges = {"classes": (2, MAX_CLASSES), "px": (MIN_PX, MAX_PX), "difficulty": (0, 1),
              "photos": (drawing.classes, MAX_PHOTOS), "validation": (drawing.classes, MAX_PHOTOS)}  # fmt: skip
    for name, (least, most) in ranges.items():
        value = getattr(drawing, name)
        if not least <= value <= most:
            raise DataError("{name} of {where} is {least} to {most}, not {value}.",
                            name=name, where=SOURCE_NAME, least=least, most=most, value=value)  # fmt: skip

"""Photographs for training: Parquet files of encoded bytes, decoded to RGB arrays, and seeded random crops."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from PIL import Image

Box = tuple[int, int, int, int]  # left, top, right, bottom


def rows(files: Sequence[Path], split: str = "train") -> list[tuple[bytes, str]]:
    """(encoded photo, label) of every row of the split; files without a `split` column count whole."""
    found: list[tuple[bytes, str]] = []
    for file in files:
        table = pq.read_table(file).to_pydict()
        splits = table.get("split", [split] * len(table["image"]))
        found += [(i, str(y)) for i, y, s in zip(table["image"], table["label"], splits, strict=True) if s == split]
    return found


def decode(photos: Iterable[bytes]) -> Iterable[Image.Image]:
    """RGB images of encoded photos."""
    return (Image.open(io.BytesIO(photo)).convert("RGB") for photo in photos)


def random_box(size: tuple[int, int], rng: np.random.Generator, area: tuple[float, float] = (0.3, 1.0)) -> Box:
    """An inception crop (left, top, right, bottom): a share `area` of the picture, aspect ratio in [3/4, 4/3]."""
    width, height = size
    for _ in range(10):
        target = rng.uniform(*area) * width * height
        ratio = np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
        w, h = round((target * ratio) ** 0.5), round((target / ratio) ** 0.5)
        if 0 < w <= width and 0 < h <= height:
            left, top = rng.integers(width - w + 1), rng.integers(height - h + 1)
            return int(left), int(top), int(left) + w, int(top) + h
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, (width + side) // 2, (height + side) // 2


def crop(image: Image.Image, box: Box, side_px: int) -> NDArray[np.uint8]:
    """The box resized to a (side, side, 3) array, bicubic."""
    return np.asarray(image.resize((side_px, side_px), Image.Resampling.BICUBIC, box=box))

"""Sample photos of the gallery: their list, files and thumbnails; and any photo, opened once and cached by its digest."""

import hashlib
import io
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from PIL import Image, ImageOps

from app.state.memory import memory_cache
from vitcore.assets import SAMPLES as SAMPLES
from vitcore.assets import sample_photo_rows as sample_photo_rows
from vitcore.images import Photo, open_photo

THUMBNAIL_PX = 112


@lru_cache(maxsize=64)
def sample_thumbnail(sample: str) -> bytes:
    """A small square of a sample photo, WebP."""
    file = io.BytesIO()
    ImageOps.fit(Image.open(SAMPLES / f"{sample}.jpg"), (THUMBNAIL_PX, THUMBNAIL_PX)).save(file, "WEBP", quality=72)
    return file.getvalue()


@lru_cache(maxsize=64)
def sample_digest(name: str) -> str:
    return photo_digest((SAMPLES / f"{name}.jpg").read_bytes())


@memory_cache.cached
def open_photo_cached(
    digest: str, name: str, lang: str, owner: str, _data: bytes | Path, bands: int = 3, picture_bands: tuple[int, ...] = ()
) -> Photo:
    """The photo for a model of so many bands, of which those `picture_bands` are the picture. Raises: PhotoError."""
    return replace(open_photo(_data, name, bands, picture_bands or None), whose=owner)


def open_sample(name: str, lang: str, bands: int = 3) -> Photo:
    """A photo of the gallery by its name. Raises: PhotoError, for a model of other than three bands."""
    return open_photo_cached(sample_digest(name), f"{name}.jpg", lang, "", SAMPLES / f"{name}.jpg", bands)


def photo_credit(name: str) -> dict[str, str]:
    """The gallery's row of a photo; nothing for one that a visitor brought."""
    return next((row for row in sample_photo_rows() if row["id"] == name), {})


def sample_files() -> list[tuple[str, bytes]]:
    """The gallery's photos: (name, bytes)."""
    return [(f"{row['id']}.jpg", (SAMPLES / f"{row['id']}.jpg").read_bytes()) for row in sample_photo_rows()]


def photo_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]

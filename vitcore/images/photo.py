"""A photograph: opened safely and upright, in sRGB.

Nothing here trusts a file: size, pixel count and decoding are bounded, and whatever is wrong is one sentence in a
`PhotoError`. What was changed on the way in (first frame, 16 bits, CMYK, …) is told in `Photo.notes`.
"""

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from vitcore.images.colour_conversion import read_lower_bytes, to_srgb, unread_colours
from vitcore.images.photo_formats_and_limits import (
    FORMATS,
    MAX_BYTES,
    MAX_JPEG_PIXELS,
    MAX_PIXELS,
    PILLOW_FORMATS,
    PhotoError,
    check_photo_dimensions,
    register_heif_reader,
    without_pillow_warnings,
)
from vitcore.images.photo_refusals import decoding_error, reading_error
from vitcore.images.tiff_bands import read_tiff_picture
from vitcore.translation import say


@dataclass(frozen=True, eq=False)
class Photo:
    """An upright sRGB picture, what was changed to get it, and a hash of the file."""

    image: Image.Image
    name: str
    digest: str
    notes: tuple[str, ...] = ()
    bands: NDArray[np.float32] | None = None  #: (H, W, C): what a model of other than three bands is given in place of the picture
    whose: str = ""  #: whoever brought it, on a server that several people share; empty: it may be shown to anybody

    @property
    def key(self) -> str:
        """What caches know it by: the same file that two people brought, or one under two names, is two photos."""
        return f"{self.digest} {self.name} {self.whose}" if self.whose else self.digest


# What is taken as a photo; Any is a tensor of torch's, which this room does not import.
PhotoSource = Photo | Image.Image | str | Path | bytes | BinaryIO | NDArray[np.generic] | Any


def open_photo(source: "PhotoSource", name: str | None = None, bands: int = 3, shown: Sequence[int] | None = None) -> Photo:
    """A photo from a path, bytes, a file object, a PIL image, or an array or tensor (see `photo_arrays`); a `Photo` as it is.

    bands: how many numbers a pixel has, if not three (see `bands`), of which the three that are `shown` are the picture (default:
    the first three, of two the first in grey).
    Raises: PhotoError, with one sentence that says what is wrong; TypeError, for what is no photo.
    """
    if bands != 3:
        from vitcore.images.bands import open_bands

        return open_bands(source, name, bands, shown)
    if isinstance(source, Photo):
        return source
    if isinstance(source, Image.Image | np.ndarray) or (hasattr(source, "detach") and hasattr(source, "numpy")):
        from vitcore.images.photo_arrays import photo_from_memory

        return photo_from_memory(source, name)
    data, name = read_photo_file(source, name)
    try:
        with without_pillow_warnings():  # the limits are ours, and damage is told once
            image, notes = _decode(data, name)
    except Exception as error:  # decoders raise whatever they like on damaged files
        raise decoding_error(error, data, name) from None
    return Photo(image, name, hashlib.sha256(data).hexdigest()[:16], tuple(notes))


def read_photo_file(source: Any, name: str | None) -> tuple[bytes, str]:
    """The bytes of a path, bytes or a file, no more than MAX_BYTES, and what it is called. Raises: PhotoError; TypeError."""
    if isinstance(source, str | Path):
        own_name = printable_name(Path(source).name)
        try:
            with Path(source).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            raise reading_error(error, source, own_name) from None
    else:
        data, own_name = _read_bytes_or_file(source)
    name = printable_name(name) if name else own_name
    if len(data) > MAX_BYTES:
        raise PhotoError("{name} is larger than {most} MB.", name=name, most=MAX_BYTES // 2**20)
    return data, name


def _read_bytes_or_file(source: Any) -> tuple[bytes, str]:
    if isinstance(source, bytes):
        return source, say("The photo")
    if not hasattr(source, "read"):
        raise TypeError(f"a photo is a path, bytes, a file, a PIL image or an array, not {type(source).__name__}")
    whole_path = getattr(source, "name", say("The photo"))  # where a file on disk was opened
    return source.read(MAX_BYTES + 1), printable_name(Path(str.__str__(str(whole_path))).name)


def printable_name(name: str) -> str:
    """A file name that is safe to show: no control characters, not endless."""
    return "".join(c if c.isprintable() else "?" for c in str(name))[:80] or say("The photo")


def _decode(data: bytes, name: str) -> tuple[Image.Image, list[str]]:
    """The upright picture in sRGB, and what was changed to get it."""
    notes: list[str] = []
    image: Image.Image | None = read_tiff_picture(data, name, notes) if data[:2] in (b"II", b"MM") else None
    if image is None:
        if is_heif := data[4:8] == b"ftyp":
            register_heif_reader()
        image = Image.open(io.BytesIO(data), formats=FORMATS if is_heif else PILLOW_FORMATS)
        if image.width * image.height > MAX_PIXELS:
            _read_jpeg_smaller(image, notes)
        check_photo_dimensions(*image.size, name)
        if (frames := getattr(image, "n_frames", 1)) > 1 and not image.tell() and image.format != "MPO":
            notes.append(say("{frames} frames: the first one is shown.", frames=frames))
    tiles = list(getattr(image, "tile", ()))  # how it is stored, asked before loading
    turned = image.getexif().get(0x0112) in range(2, 9)  # so is this: Pillow turns TIFFs while it loads them
    if is_odd := image.format != "JPEG":  # has 16 bits, or says otherwise than by a profile what its colours are
        read_lower_bytes(image, tiles, data, name, notes)
    image = ImageOps.exif_transpose(image)
    if turned:
        notes.append(say("The photo was turned upright, as its EXIF orientation says."))
    if is_odd and "icc_profile" not in image.info and (kind := unread_colours(data, image.info)):
        notes.append(say("Its colours are of another kind ({kind}), which is not converted: they are shown as sRGB.", kind=kind))
    if image.mode != "RGB" or image.info.keys() & {"icc_profile", "transparency"}:
        image = to_srgb(image, name, notes)
    return image, notes


def _read_jpeg_smaller(image: Image.Image, notes: list[str]) -> None:
    """Let a JPEG too large for us be read at a half, a quarter or an eighth of its sides; `notes` says so.

    Its blocks are then decoded at that size, so memory stays within bounds; all of a progressive one would be kept at first.
    """
    wide, high = image.size
    if wide * high > MAX_JPEG_PIXELS or image.format != "JPEG" or "progressive" in image.info:
        return
    part = next(part for part in (2, 4, 8) if wide * high <= MAX_PIXELS * part**2)
    image.draft(None, (wide // part, high // part))
    if image.width * image.height <= MAX_PIXELS:
        facts = {"megapixels": wide * high / 1e6, "wide": image.width, "high": image.height}
        notes.append(say("It has {megapixels:.0f} megapixels and was read at {wide}×{high} px.", **facts))

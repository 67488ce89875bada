"""A photograph: opened safely and upright, in sRGB.

Nothing here trusts a file: size, pixel count and decoding are bounded, and whatever is wrong is one sentence in a
`PhotoError`. What was changed on the way in (first frame, 16 bits, CMYK, …) is told in `Photo.notes`.
"""

import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from vitcore.errors import refusal_reason
from vitcore.images.bands import Bands, as_model_numbers, bands_from_bytes, bands_last, picture_of_bands
from vitcore.images.photo_arrays import image_from_array, is_array
from vitcore.images.photo_formats import (
    FORMATS,
    MAX_BYTES,
    MAX_JPEG_PIXELS,
    MAX_PIXELS,
    PhotoError,
    read_jpeg_smaller,
    to_srgb,
    without_pillow_warnings,
)
from vitcore.images.tiff_bands import read_bands
from vitcore.translation import say

MIN_SIDE_PX = 8
MAX_ASPECT = 50


@dataclass(frozen=True, eq=False)
class Photo:
    """An upright sRGB picture, what was changed to get it, and a hash of the file."""

    image: Image.Image
    name: str
    digest: str
    notes: tuple[str, ...] = ()
    bands: Bands | None = None  #: (H, W, C): what a model of other than three bands is given in place of the picture
    whose: str = ""  #: whoever brought it, on a server that several people share; empty: it may be shown to anybody

    @property
    def key(self) -> str:
        """What caches know it by: the same file that two people brought, or one under two names, is two photos."""
        return f"{self.digest} {self.name} {self.whose}" if self.whose else self.digest


# What is taken as a photo; Any is a tensor of torch's, which this room does not import.
PhotoSource = Photo | Image.Image | str | Path | bytes | BinaryIO | NDArray[np.generic] | Any


def open_photo(source: "PhotoSource", name: str | None = None, bands: int = 3, shown: Sequence[int] | None = None) -> Photo:
    """A photo from a path, bytes, a file object, a PIL image, or an array or tensor; a `Photo` as it is.

    Arrays are (H, W, 3) or (3, H, W), of uint8 or of floats from 0 to 1 (see `photo_arrays`).
    bands: how many numbers a pixel has, if not three (see `bands`), of which the three that are `shown` are the picture (default:
    the first three, of two the first in grey).
    Raises: PhotoError, with one sentence that says what is wrong; TypeError, for what is no photo.
    """
    if bands != 3:
        return _open_bands(source, name, bands, shown)
    if isinstance(source, Photo):
        return source
    if isinstance(source, Image.Image):
        return photo_from_image(source, name or "picture")
    if is_array(source):
        return photo_from_image(image_from_array(source, name or say("The photo"), MIN_SIDE_PX), name or "picture")
    if not isinstance(source, str | Path | bytes) and not hasattr(source, "read"):
        kind = type(source).__name__
        raise TypeError(f"a photo is a path, bytes, a file, a PIL image or an array, not {kind}")
    data, name = _read(source, name)
    if not data:
        raise PhotoError("{name} is empty.", name=name)
    if data.lstrip()[:5].lower() in (b"<?xml", b"<svg ", b"<!doc"):
        raise PhotoError("{name} is an SVG or HTML drawing, not a photograph: export it as PNG first.", name=name)
    try:
        with without_pillow_warnings():  # the limits are ours, and damage is told once
            image, notes = _decode(data, name)
    except PhotoError:
        raise
    except UnidentifiedImageError:
        formats = ", ".join(FORMATS)
        raise PhotoError("{name} is not a picture in a supported format ({formats}).", name=name, formats=formats) from None
    except Image.DecompressionBombError:
        raise PhotoError("{name} has more than {found} megapixels: photos may have {most}, and most JPEGs {jpeg}.",
                         name=name, found=170, most=MAX_PIXELS // 10**6, jpeg=MAX_JPEG_PIXELS // 10**6) from None  # fmt: skip
    except Exception as error:  # decoders raise whatever they like on damaged files
        reason = refusal_reason(error, 120)
        raise PhotoError("{name} is damaged and can't be decoded ({reason}).", name=name, reason=reason) from None
    return Photo(image, name, hashlib.sha256(data).hexdigest()[:16], tuple(notes))


def _open_bands(source: "PhotoSource", name: str | None, count: int, shown: Sequence[int] | None) -> Photo:
    if isinstance(source, Photo) and source.bands is not None and source.bands.shape[-1] == count:
        return source
    if isinstance(source, Photo | Image.Image):
        called = source.name if isinstance(source, Photo) else name or say("The photo")
        values = bands_last(np.empty((0, 0, 3)), count, called)
    elif is_array(source):
        called = name or say("The photo")
        values = bands_last(source, count, called)
    else:
        data, called = _read(source, name)
        try:
            values = bands_from_bytes(data, count, called)
        except PhotoError:
            raise
        except Exception as error:  # a damaged file
            reason = refusal_reason(error, 120)
            raise PhotoError("{name} is damaged and can't be decoded ({reason}).", name=called, reason=reason) from None
    high, wide = values.shape[:2]
    size = {"name": called, "width": wide, "height": high}
    if min(wide, high) < MIN_SIDE_PX:
        raise PhotoError("{name} is {width}×{height} px; both sides need at least {least} px.", **size, least=MIN_SIDE_PX)
    if max(wide, high) > MAX_ASPECT * min(wide, high):
        raise PhotoError("{name} is {width}×{height} px, more than {most} times longer than wide.", **size, most=MAX_ASPECT)
    notes: list[str] = []
    image = Image.fromarray(picture_of_bands(values, shown or ((0, 1, 2) if count > 2 else (0,)), called, notes))
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]
    return Photo(image, called, digest, tuple(notes), as_model_numbers(values))


def photo_from_image(image: Image.Image, name: str = "picture") -> Photo:
    """A picture that is open already, made upright and sRGB as a file would be."""
    notes: list[str] = []
    shown = to_srgb(ImageOps.exif_transpose(image), name, notes)
    return Photo(shown, name, hashlib.sha256(shown.tobytes()).hexdigest()[:16], tuple(notes))


def _read(source: Any, name: str | None) -> tuple[bytes, str]:
    """The bytes of a path, bytes or a file, no more than MAX_BYTES, and what it is called."""
    if isinstance(source, bytes):
        data, own_name = source, say("The photo")
    elif isinstance(source, str | Path):
        if re.match(r"(https?|ftp|s3|gs):/", str(source), re.IGNORECASE):
            raise PhotoError("{name} is an address, and photos are read from files: save the photo first.",
                             name=printable_name(str(source)))  # fmt: skip
        own_name = printable_name(Path(source).name)
        try:
            with Path(source).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise PhotoError("{name} can't be read: {reason}.", name=own_name, reason=reason) from None
    else:
        whole_path = getattr(source, "name", say("The photo"))  # where a file on disk was opened
        data, own_name = source.read(MAX_BYTES + 1), printable_name(Path(str.__str__(str(whole_path))).name)
    name = printable_name(name) if name else own_name
    if len(data) > MAX_BYTES:
        raise PhotoError("{name} is larger than {most} MB.", name=name, most=MAX_BYTES // 2**20)
    return data, name


def printable_name(name: str) -> str:
    """A file name that is safe to show: no control characters, not endless."""
    return "".join(c if c.isprintable() else "?" for c in str(name))[:80] or say("The photo")


def _decode(data: bytes, name: str) -> tuple[Image.Image, list[str]]:
    """The upright picture in sRGB, and what was changed to get it."""
    if "HEIF" not in Image.OPEN:
        import pillow_heif

        pillow_heif.register_heif_opener()
    notes: list[str] = []
    if (bands := read_bands(data, name, notes)) is not None:
        return bands, notes
    image = Image.open(io.BytesIO(data), formats=FORMATS)
    megapixels = image.width * image.height / 1e6
    if image.width * image.height > MAX_PIXELS and read_jpeg_smaller(image):
        facts = {"megapixels": megapixels, "wide": image.width, "high": image.height}
        notes.append(say("It has {megapixels:.0f} megapixels and was read at {wide}×{high} px.", **facts))
    width, height = image.size
    size = {"name": name, "width": width, "height": height}
    if width * height > MAX_PIXELS:
        most = MAX_PIXELS // 10**6
        raise PhotoError("{name} has {megapixels:.0f} megapixels; the limit is {most}.",
                         name=name, megapixels=megapixels, most=most)  # fmt: skip
    if min(width, height) < MIN_SIDE_PX:
        raise PhotoError("{name} is {width}×{height} px; both sides need at least {least} px.", **size, least=MIN_SIDE_PX)
    if max(width, height) > MAX_ASPECT * min(width, height):
        raise PhotoError("{name} is {width}×{height} px, more than {most} times longer than wide.", **size, most=MAX_ASPECT)
    frames = getattr(image, "n_frames", 1)
    if frames > 1 and image.format in ("GIF", "WEBP", "PNG", "TIFF"):
        notes.append(say("{frames} frames: the first one is shown.", frames=frames))
    turned = image.getexif().get(0x0112) in range(2, 9)  # asked before loading: Pillow turns TIFFs while it loads them
    image.load()
    upright = ImageOps.exif_transpose(image)
    if turned:
        notes.append(say("The photo was turned upright, as its EXIF orientation says."))
    return to_srgb(upright, name, notes), notes

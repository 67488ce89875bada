"""Why a file can't be read, or its bytes are no photo, in one sentence."""

import io
import re
from pathlib import Path

from PIL import Image, TiffImagePlugin, UnidentifiedImageError

from vitcore.errors import refusal_reason
from vitcore.images.file_formats import OTHER_FORMATS, PICTURES, UNREAD_PICTURES, first_words, format_by_first_bytes
from vitcore.images.photo_formats_and_limits import FORMATS, MAX_JPEG_PIXELS, MAX_PIXELS, PhotoError
from vitcore.images.tiff_bands import COMPRESSION, read_tiff_tags

WITHOUT_DECODER = ("decoder error -2", "broken data stream")  # what Pillow says where there is none, and of damage
LIBTIFF_ALWAYS_READS = (1, 2, 3, 4, 5, 8, 32773, 32946)  # compressions; others it reads where it was built with them


def reading_error(error: Exception, source: str | Path, name: str) -> PhotoError:
    """Why a path can't be read, of the error that was raised."""
    if re.match(r"(https?|ftp|s3|gs):/", str(source), re.IGNORECASE):
        return PhotoError("{name} is an address, and photos are read from files: save the photo first.", name=str(source)[:80])
    return PhotoError("{name} can't be read: {reason}.", name=name, reason=getattr(error, "strerror", None) or error)


def decoding_error(error: Exception, data: bytes, name: str) -> PhotoError:
    """Why bytes are no photo, in one sentence, of the error that their decoder raised."""
    if isinstance(error, PhotoError):
        return error
    if not data:
        return PhotoError("{name} is empty.", name=name)
    if b"<svg" in data[:1000].lower():
        return PhotoError("{name} is an SVG or HTML drawing, not a photograph: export it as PNG first.", name=name)
    kind = format_by_first_bytes(data, PICTURES)
    if kind in ("JPEG", "TIFF"):
        if _is_unread_form(error, data):
            return PhotoError("{name} is a {kind} in a form that is not read here: save it as PNG, of 8 or 16 bits.",
                              name=name, kind=kind)  # fmt: skip
        if isinstance(error, UnidentifiedImageError):  # which says no more
            return PhotoError("{name} is damaged and can't be decoded ({reason}).", name=name, reason=kind)
    if isinstance(error, UnidentifiedImageError):
        if kind := format_by_first_bytes(data, UNREAD_PICTURES, OTHER_FORMATS):
            return PhotoError("{name} is in {kind} format, which is not read here: save it as PNG or JPEG.", name=name, kind=kind)
        if start := first_words(data):
            return PhotoError("{name} is not a picture, but text that begins with {start}.", name=name, start=repr(start))
        formats = ", ".join(FORMATS)
        return PhotoError("{name} is not a picture in a supported format ({formats}).", name=name, formats=formats)
    if isinstance(error, Image.DecompressionBombError):
        return PhotoError("{name} has more than {found} megapixels: photos may have {most}, and most JPEGs {jpeg}.",
                          name=name, found=170, most=MAX_PIXELS // 10**6, jpeg=MAX_JPEG_PIXELS // 10**6)  # fmt: skip
    reason = refusal_reason(error, 120)
    return PhotoError("{name} is damaged and can't be decoded ({reason}).", name=name, reason=reason)


def _is_unread_form(error: Exception, data: bytes) -> bool:
    """Whether a JPEG or TIFF says that it is of a kind that has no decoder here; the error alone may also come of damage."""
    if not isinstance(error, UnidentifiedImageError) and not str(error).startswith(WITHOUT_DECODER):
        return False
    if data[:1] == b"\xff":
        return _has_unread_jpeg_frame(data)
    if data[:4] == b"MM\0+":  # BigTIFF, its high bytes first
        return True
    tags = read_tiff_tags(data)
    if tags is None or isinstance(error, UnidentifiedImageError):
        return tags is not None
    compression = int(tags.get(COMPRESSION, 1))
    return compression not in LIBTIFF_ALWAYS_READS and not _has_libtiff_codec(compression)


def _has_unread_jpeg_frame(data: bytes) -> bool:
    """Whether the frame header of a JPEG is there and says that it is neither sequential nor progressive, or not of 8 bits."""
    at = 2
    while (segment := data[at : at + 10])[:1] == b"\xff" and len(segment) == 10:
        if 0xC0 <= segment[1] <= 0xCF and segment[1] not in (0xC4, 0xC8, 0xCC):  # these say tables
            return segment[1] not in (0xC0, 0xC1, 0xC2, 0xC9, 0xCA) or segment[4] != 8 or segment[9] not in (1, 3, 4)
        at += 2 + int.from_bytes(segment[2:4])
    return False


def _has_libtiff_codec(compression: int) -> bool:
    """Whether the libtiff that is here was built with this compression: it writes a picture of one pixel with it."""
    try:
        Image.new("RGB", (1, 1)).save(io.BytesIO(), "TIFF", compression=TiffImagePlugin.COMPRESSION_INFO[compression])
    except Exception:
        return False
    return True

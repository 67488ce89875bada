"""Why a file can't be read, or its bytes are no photo, in one sentence."""

import re
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from vitcore.errors import refusal_reason
from vitcore.images.photo_formats_and_limits import FORMATS, MAX_JPEG_PIXELS, MAX_PIXELS, PhotoError


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
    if data.lstrip()[:5].lower() in (b"<?xml", b"<svg ", b"<!doc"):
        return PhotoError("{name} is an SVG or HTML drawing, not a photograph: export it as PNG first.", name=name)
    if isinstance(error, UnidentifiedImageError):
        formats = ", ".join(FORMATS)
        return PhotoError("{name} is not a picture in a supported format ({formats}).", name=name, formats=formats)
    if isinstance(error, Image.DecompressionBombError):
        return PhotoError("{name} has more than {found} megapixels: photos may have {most}, and most JPEGs {jpeg}.",
                          name=name, found=170, most=MAX_PIXELS // 10**6, jpeg=MAX_JPEG_PIXELS // 10**6)  # fmt: skip
    reason = refusal_reason(error, 120)
    return PhotoError("{name} is damaged and can't be decoded ({reason}).", name=name, reason=reason)

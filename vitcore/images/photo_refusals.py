"""Why bytes are no photo, in one sentence."""

from PIL import Image, UnidentifiedImageError

from vitcore.errors import refusal_reason
from vitcore.images.photo_formats import FORMATS, MAX_JPEG_PIXELS, MAX_PIXELS, PhotoError


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

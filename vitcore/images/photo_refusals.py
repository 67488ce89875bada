"""Why a file can't be read, or its bytes are no photo, in one sentence."""

import re
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from vitcore.errors import first_words, refusal_reason
from vitcore.images.photo_formats_and_limits import FORMATS, MAX_JPEG_PIXELS, MAX_PIXELS, PhotoError

OTHER_FORMATS = {  # by bytes, and where they stand
    (0, b"\xff\x0a"): "JPEG XL", (4, b"JXL "): "JPEG XL", (4, b"jP  "): "JPEG 2000", (0, b"\xff\x4f\xff\x51"): "JPEG 2000",
    (0, b"8BPS"): "PSD", (0, b"v/1\1"): "OpenEXR", (0, b"%PDF"): "PDF", (0, b"qoif"): "QOI", (0, b"\x93NUMPY"): "NumPy (.npy)",
    (0, b"SIMPLE  ="): "FITS", (128, b"DICM"): "DICOM", (0, b"IIRO"): "raw (ORF)", (0, b"IIU\0"): "raw (RW2)",
    (0, b"FUJIFILMCCD-RAW"): "raw (RAF)", (8, b"crx "): "raw (CR3)", (8, b"qt  "): "film (QuickTime)", (8, b"mp4"): "film (MP4)",
    (8, b"isom"): "film (MP4)",
}  # fmt: skip
READ_IN_PART = {b"\xff\xd8\xff": "JPEG", b"II*\0": "TIFF", b"MM\0*": "TIFF", b"II+\0": "TIFF", b"MM\0+": "TIFF"}  # not all kinds


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
    part = next((kind for start, kind in READ_IN_PART.items() if data.startswith(start)), None)
    if part and (isinstance(error, UnidentifiedImageError) or str(error) == "decoder error -2"):  # of a codec that is not here
        return PhotoError("{name} is a {kind} in a form that is not read here: save it as PNG, of 8 or 16 bits.",
                          name=name, kind=part)  # fmt: skip
    if isinstance(error, UnidentifiedImageError):
        if kind := next((kind for (at, magic), kind in OTHER_FORMATS.items() if data.startswith(magic, at)), None):
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

"""Which files are photos, and what some of them need: very large JPEGs, 16 bits, CMYK inks, transparency, colour profiles."""

import io
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms, UnidentifiedImageError

from vitcore.errors import RefusalError, refusal_reason
from vitcore.translation import say

MAX_BYTES = 25 * 2**20
MAX_PIXELS = 50_000_000
MAX_JPEG_PIXELS = 170_000_000  # of a JPEG that can be read smaller than it is; Pillow refuses 179 million
MIN_SIDE_PX = 8
MAX_ASPECT = 50
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "HEIF", "AVIF")  # Pillow reads MPO as JPEG
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".tif", ".tiff", ".bmp", ".heic", ".heif", ".avif")  # of their files


_opening = threading.Lock()
_passing_over: list[tuple[object, ...]] = []  # the filter of Pillow's warnings, once for each photo that is being opened
PILLOW = r"PIL\.|pillow_heif"


class PhotoError(RefusalError):
    """A photo that can't be shown; the message is one sentence for the person who chose it."""


@contextmanager
def without_pillow_warnings() -> Iterator[None]:
    """Pass over Pillow's warnings, and over no others, while one or more threads open photos.

    `warnings.catch_warnings` is not for threads: the last to leave may put back the filters of another, for good.
    """
    with _opening:
        warnings.filterwarnings("ignore", module=PILLOW)  # as often as it is asked for, it is one filter
        _passing_over.append(warnings.filters[0])
    try:
        yield
    finally:
        with _opening:
            ours = _passing_over.pop()
            if not _passing_over:
                with suppress(ValueError):  # a test or a notebook has put its own filters in place
                    warnings.filters.remove(ours)  # type: ignore[attr-defined]


def register_heif() -> None:
    """Let Pillow read HEIF and AVIF, too."""
    if "HEIF" not in Image.OPEN:
        import pillow_heif

        pillow_heif.register_heif_opener()


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


def check_size(wide: int, high: int, name: str) -> None:
    """Raises: PhotoError, for a picture that is too large, too small or too narrow."""
    if wide * high > MAX_PIXELS:
        raise PhotoError("{name} has {megapixels:.0f} megapixels; the limit is {most}.",
                         name=name, megapixels=wide * high / 1e6, most=MAX_PIXELS // 10**6)  # fmt: skip
    size = {"name": name, "width": wide, "height": high}
    if min(wide, high) < MIN_SIDE_PX:
        raise PhotoError("{name} is {width}×{height} px; both sides need at least {least} px.", **size, least=MIN_SIDE_PX)
    if max(wide, high) > MAX_ASPECT * min(wide, high):
        raise PhotoError("{name} is {width}×{height} px, more than {most} times longer than wide.", **size, most=MAX_ASPECT)


def read_jpeg_smaller(image: Image.Image, notes: list[str]) -> None:
    """Let a JPEG too large for us be read at a half, a quarter or an eighth of its sides; `notes` says so.

    Its blocks are then decoded at that size, so memory stays within bounds; all of a progressive one would be kept at first.
    """
    wide, high = image.size
    if wide * high <= MAX_PIXELS or wide * high > MAX_JPEG_PIXELS or image.format != "JPEG" or "progressive" in image.info:
        return
    part = next(part for part in (2, 4, 8) if wide * high <= MAX_PIXELS * part**2)
    image.draft(None, (wide // part, high // part))
    if image.width * image.height <= MAX_PIXELS:
        facts = {"megapixels": wide * high / 1e6, "wide": image.width, "high": image.height}
        notes.append(say("It has {megapixels:.0f} megapixels and was read at {wide}×{high} px.", **facts))


def to_srgb(image: Image.Image, name: str, notes: list[str]) -> Image.Image:
    """A picture of any mode and profile as 8-bit sRGB; what was changed is added to `notes`.

    Raises: PhotoError, for pixels that are not numbers.
    """
    profile = image.info.get("icc_profile")
    if image.mode in ("F", "I") or image.mode.startswith("I;"):
        image = Image.fromarray(to_8_bits(np.asarray(image), name, notes))
    if image.mode in ("LA", "PA", "La") or "transparency" in image.info:
        image = image.convert("RGBA")
    if image.mode in ("RGBA", "RGBa"):
        image = image.convert("RGBA")
        notes.append(say("Transparent parts are shown on white."))
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    if image.mode == "CMYK":
        notes.append(say("CMYK inks were converted to RGB."))
    if profile and image.mode in ("RGB", "RGBA", "CMYK"):
        image = _from_profile(image.convert("RGB") if image.mode == "RGBA" else image, profile)
    return image if image.mode == "RGB" else image.convert("RGB")


def to_8_bits(values: NDArray, name: str, notes: list[str]) -> NDArray[np.uint8]:
    """Numbers of any kind as bytes; what was changed is added to `notes`.

    Integers that are not negative are scaled by the bits that the largest needs (8, 10, 12, 14 or 16: cameras and scanners put 10
    or 12 bits into 16), floats from 0 to 1 by 255, all others by their own range.
    Raises: PhotoError, for pixels that are not numbers.
    """
    if values.dtype == np.uint8:
        return values
    is_float, values = values.dtype.kind == "f", values.astype(np.float64)
    if not np.isfinite(values).all():
        raise PhotoError("{name} has pixels that are not numbers (NaN or infinite).", name=name)
    low, high = float(values.min()), float(values.max())
    if not is_float and low >= 0 and high <= 65535:
        bits = max(8, -(-int(high).bit_length() // 2) * 2)
        low, high = 0.0, 2.0**bits - 1
        notes.append(say("16-bit values are shown with 8 bits.") if bits in (8, 16) else
                     say("Its 16-bit values use {bits} bits: {most} is shown as white.", bits=bits, most=int(high)))  # fmt: skip
    elif is_float and low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    else:
        notes.append(say("Values were scaled from their own range to 8 bits."))
    return np.round(255 * (values - low) / max(high - low, 1e-12)).astype(np.uint8)


def _from_profile(image: Image.Image, profile: bytes) -> Image.Image:
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        return ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB") or image
    except (ImageCms.PyCMSError, OSError, ValueError):
        return image

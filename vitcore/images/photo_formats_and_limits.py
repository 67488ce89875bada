"""Which files are photos: their formats, their limits, and how Pillow is made ready for them."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image

from vitcore.errors import RefusalError

MAX_BYTES = 25 * 2**20
MAX_PIXELS = 50_000_000
MAX_JPEG_PIXELS = 170_000_000  # of a JPEG that can be read smaller than it is; Pillow refuses 179 million
MIN_SIDE_PX = 8
MAX_ASPECT = 50
PILLOW_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP")  # Pillow reads MPO as JPEG
FORMATS = (*PILLOW_FORMATS, "HEIF", "AVIF")
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
            if not _passing_over and ours in warnings.filters:  # a test or a notebook may have put its own in place
                warnings.filters.remove(ours)  # type: ignore[attr-defined]


def register_heif_reader() -> None:
    """Let Pillow read HEIF, too."""
    if "HEIF" not in Image.OPEN:
        import pillow_heif

        pillow_heif.register_heif_opener()


def check_photo_dimensions(wide: int, high: int, name: str) -> None:
    """Raises: PhotoError, for a picture that is too large, too small or too narrow."""
    if wide * high > MAX_PIXELS or min(wide, high) < MIN_SIDE_PX or max(wide, high) > MAX_ASPECT * min(wide, high):
        raise _dimensions_error(wide, high, name)


def _dimensions_error(wide: int, high: int, name: str) -> PhotoError:
    if wide * high > MAX_PIXELS:
        return PhotoError("{name} has {megapixels:.0f} megapixels; the limit is {most}.",
                          name=name, megapixels=wide * high / 1e6, most=MAX_PIXELS // 10**6)  # fmt: skip
    size = {"name": name, "width": wide, "height": high}
    if min(wide, high) < MIN_SIDE_PX:
        return PhotoError("{name} is {width}×{height} px; both sides need at least {least} px.", **size, least=MIN_SIDE_PX)
    return PhotoError("{name} is {width}×{height} px, more than {most} times longer than wide.", **size, most=MAX_ASPECT)

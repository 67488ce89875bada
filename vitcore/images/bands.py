"""Pictures of other than three bands, as satellites and scanners make them: their numbers, and a picture of them to look at.

They are read from TIFFs, from `.npy`, and from `.npz` with one such array; an array in memory has the bands last or first. The
model is given floats as they are, and of integers the share of the largest that their kind can hold: a byte over 255.
"""

import hashlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.images.colour_conversion import to_8_bits
from vitcore.images.photo import Photo, PhotoSource, read_photo_file
from vitcore.images.photo_arrays import as_numpy, is_numpy_or_torch, not_finite_error
from vitcore.images.photo_formats_and_limits import MAX_PIXELS, PhotoError, check_photo_dimensions
from vitcore.images.photo_refusals import decoding_error
from vitcore.images.tiff_bands import read_tiff_bands
from vitcore.translation import say

Bands = NDArray[np.float32]


def open_bands(source: PhotoSource, name: str | None, count: int, shown: Sequence[int] | None) -> Photo:
    """A photo of `count` bands, of which those `shown` are the picture: see `photo.open_photo`. Raises: PhotoError; TypeError."""
    if isinstance(source, Photo) and source.bands is not None and source.bands.shape[-1] == count:
        return source
    if isinstance(source, Photo | Image.Image):
        called = source.name if isinstance(source, Photo) else name or say("The photo")
        raise _count_error(called, count)
    if is_numpy_or_torch(source):
        called = name or say("The photo")
        values = _to_bands_last(source, count, called)
    else:
        data, called = read_photo_file(source, name)
        try:
            values = _bands_from_bytes(data, count, called)
        except Exception as error:
            raise decoding_error(error, data, called) from None
    high, wide = values.shape[:2]
    check_photo_dimensions(wide, high, called)
    notes: list[str] = []
    usual = (0, 1, 2) if count > 2 else (0,)
    shown = tuple(shown or usual)
    image = Image.fromarray(_picture_of_bands(values, shown, called, notes))
    other = b"" if shown == usual else repr(shown).encode()  # caches hold the picture, too
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes() + other).hexdigest()[:16]
    return Photo(image, called, digest, tuple(notes), _bands_as_floats(values))


def _bands_from_bytes(data: bytes, count: int, name: str) -> NDArray:
    """The numbers (H, W, `count`) in a file's bytes. Raises: PhotoError; whatever numpy raises, for a damaged file."""
    values: NDArray | None
    if data[:6] == b"\x93NUMPY":
        values = np.load(io.BytesIO(data), allow_pickle=False)
    elif data[:4] == b"PK\3\4":
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            fitting = [array for key in arrays.files[:64] if count in (array := arrays[key]).shape and array.ndim == 3]
        values = fitting[0] if len(fitting) == 1 else None
    else:
        values = read_tiff_bands(data, name, count)
    if values is None:
        raise _count_error(name, count)
    return _to_bands_last(values, count, name)


def _to_bands_last(source: Any, count: int, name: str) -> NDArray:
    """An array or tensor as (H, W, `count`). Raises: PhotoError, for other shapes and numbers that are none."""
    values = as_numpy(source)
    if values.ndim != 3 or values.dtype.kind not in "fiu" or (values.shape[0] == count) == (values.shape[-1] == count):
        raise _count_error(name, count)
    values = values if values.shape[-1] == count else np.moveaxis(values, 0, -1)
    if not 0 < values.shape[0] * values.shape[1] <= MAX_PIXELS:
        raise _count_error(name, count)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise not_finite_error(name)
    return values


def _bands_as_floats(values: NDArray) -> Bands:
    """What the model is given, read-only: floats as they are, integers over the largest of their kind."""
    most = np.iinfo(values.dtype).max if values.dtype.kind in "iu" else 1
    numbers = (values / np.float32(most)).astype(np.float32)
    numbers.flags.writeable = False
    return numbers


def _picture_of_bands(values: NDArray, shown: Sequence[int], name: str, notes: list[str]) -> NDArray[np.uint8]:
    """Three bands as red, green and blue (H, W, 3), or one as grey; what was done is told in `notes`. Raises: PhotoError."""
    count = values.shape[-1]
    if len(shown) not in (1, 3) or not all(0 <= band < count for band in shown):
        raise PhotoError("{name} has bands from 0 to {last}: three of them are shown, or one in grey.", name=name, last=count - 1)
    listed = ", ".join(map(str, shown))
    notes.append(
        say("It has {bands} bands: {shown} are shown as red, green and blue.", bands=count, shown=listed) if len(shown) == 3
        else say("It has {bands} bands: {shown} is shown in grey.", bands=count, shown=listed)
    )  # fmt: skip
    pixels = to_8_bits(np.ascontiguousarray(values[..., list(shown)]), name, notes)
    return pixels if len(shown) == 3 else pixels.repeat(3, -1)


def _count_error(name: str, count: int) -> PhotoError:
    return PhotoError(
        "{name} has not the {count} bands that the model reads: give it a TIFF of {count} bands, or an array of (height, width, "
        "{count}) as .npy or .npz.",
        name=name,
        count=count,
    )

"""Photos that are no files: pictures of Pillow's, arrays and tensors.

Arrays are of bytes, or of floats from 0 to 1, with colours last (H, W, 3) or first (3, H, W). A photo's sides have at least
`MIN_SIDE_PX`, so the axis of one, three or four numbers is that of the colours. Whatever could be read in two ways is refused:
values outside 0 to 1, other kinds of numbers, batches.
"""

import hashlib
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from vitcore.images.colour_conversion import to_srgb
from vitcore.images.photo import Photo
from vitcore.images.photo_formats_and_limits import MIN_SIDE_PX, PhotoError
from vitcore.translation import say

COLOURS = (1, 3, 4)  # grey, RGB, RGB with transparency
InputKind = Literal["photos", "pixels", "normalised"]  # how arrays are read: see `recordings.model_inputs`


def photo_from_memory(source: Any, name: str | None) -> Photo:
    """A picture of Pillow's, an array or a tensor as a photo. Raises: PhotoError."""
    image = source if isinstance(source, Image.Image) else _image_from_array(source, name or say("The photo"))
    return photo_from_image(image, name or "picture")


def photo_from_image(image: Image.Image, name: str = "picture") -> Photo:
    """A picture that is open already, made upright and sRGB as a file would be."""
    notes: list[str] = []
    shown = to_srgb(ImageOps.exif_transpose(image), name, notes)
    return Photo(shown, name, hashlib.sha256(shown.tobytes()).hexdigest()[:16], tuple(notes))


def is_numpy_or_torch(source: Any) -> bool:
    """Whether it is an array of numpy's, or a tensor of torch's."""
    return isinstance(source, np.ndarray) or (hasattr(source, "detach") and hasattr(source, "numpy"))


def as_numpy(source: Any) -> NDArray:
    """An array, or a tensor on any device and of any kind of number, as an array."""
    if isinstance(source, np.ndarray):
        return source
    values = source.detach().cpu()
    return np.asarray(values.float() if values.is_floating_point() else values)


def _image_from_array(source: Any, name: str) -> Image.Image:
    """The picture in an array or tensor. Raises: PhotoError, for what is no photo or could be read in two ways."""
    values = as_numpy(source)
    if values.ndim == 4:
        raise several_photos_error(values, name)
    if values.ndim == 2:
        values = values[..., None]
    last, first = (values.ndim == 3 and values.shape[axis] in COLOURS for axis in (-1, 0))
    if last == first or min(values.shape[:2] if last else values.shape[1:]) < MIN_SIDE_PX:
        raise PhotoError("{name} is an array of shape {shape}: a photo is (height, width, 3) or (3, height, width), both sides at "
                         "least {least} px.", name=name, shape=as_numpy(source).shape, least=MIN_SIDE_PX)  # fmt: skip
    values = values if last else np.moveaxis(values, 0, -1)
    pixels = np.ascontiguousarray(values if values.dtype == np.uint8 else _bytes(values, name))
    return Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)


def several_photos_error(source: Any, name: str) -> PhotoError:
    """The refusal of several photos where one is wanted."""
    return PhotoError("{name} is an array of shape {shape}, a batch: record_many takes batches, and here one photo is wanted.",
                      name=name, shape=tuple(source.shape))  # fmt: skip


def not_finite_error(name: str) -> PhotoError:
    """The refusal of pixels that are NaN or infinite."""
    return PhotoError("{name} has pixels that are not numbers (NaN or infinite).", name=name)


def _bytes(values: NDArray, name: str) -> NDArray[np.uint8]:
    """Floats from 0 to 1 as bytes. Raises: PhotoError."""
    if values.dtype.kind != "f":
        raise PhotoError(
            "{name} is an array of {kind}: a photo is of uint8, or of floats from 0 to 1.", name=name, kind=values.dtype
        )
    check_float_range(values, name)
    return nearest_bytes(values.astype(np.float64))


def check_float_range(values: NDArray, name: str, input_shape: tuple[int, ...] | None = None) -> None:
    """Raises: PhotoError, for floats that are not from 0 to 1; where normalised ones are taken, too, it names their shape."""
    if values.dtype.kind != "f" or not values.size or (values.min() >= 0 and values.max() <= 1):  # NaN is neither
        return
    facts = {"name": name, "low": float(values.min()), "high": float(values.max())}
    if input_shape in (None, values.shape):
        raise PhotoError(
            "{name} has values from {low:.3g} to {high:.3g}: floats of a photo are from 0 to 1, not normalised.", **facts
        )
    raise PhotoError("{name} has values from {low:.3g} to {high:.3g}: floats of a photo are from 0 to 1, and normalised ones of "
                     "shape {wanted}, not {given}.", **facts, wanted=input_shape, given=values.shape)  # fmt: skip


def nearest_bytes(values: NDArray) -> NDArray[np.uint8]:
    """Floats from 0 to 1 as bytes; what lies outside as the nearest byte."""
    return np.round(255 * values.clip(0, 1)).astype(np.uint8)

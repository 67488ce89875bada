"""Which arrays and tensors are photos, and which are inputs of the model, normalised already: one rule for every function.

Floats with the bands first, of exactly the size that the model reads, (C, H, W) or a batch (B, C, H, W), are model inputs and
taken as they are, as what the model's own transform makes, or a DataLoader of it. All else is a photo, which is resized and
cropped as the model's transform says: files, pictures, bytes, arrays (H, W, C), other sizes, and also arrays of the model's size
(with a warning, where that changes them). A `Crop`, a recording's `model_input`, is what the model sees. Values prove one case of
floats to be the other: a photo's bytes over 255, as torchvision's `ToTensor` makes them, which are no bytes once the model's mean
and deviation are taken away. What lies within 0 to 1 and proves nothing is taken as model inputs, with a warning; such bytes are
warned of where the model's mean and deviation are assumed.

`inputs` says which they are: "photos", resized, cropped and normalised; "pixels" of exactly the model's input size, bytes or floats
from 0 to 1, normalised alone; "normalised", floats (C, H, W) of that size, taken as they are.

The first such array or tensor that a call is given decides for all of them, so that a batch is never read in two ways.
Shapes: B images, C bands, H height, W width.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from vitcore.architectures.grey_input import input_channels
from vitcore.errors import check_choice, warn_caller
from vitcore.forward.recording import note_pass, to_model_input
from vitcore.images import (
    Crop,
    InputKind,
    Photo,
    PhotoError,
    crop_box,
    crop_for_model,
    open_photo,
    photo_from_image,
    photos_in_folder,
)
from vitcore.images.photo_arrays import (
    as_numpy,
    check_float_range,
    is_numpy_or_torch,
    nearest_bytes,
    not_finite_error,
    several_photos_error,
)
from vitcore.models.vit import Vit, check_bands
from vitcore.translation import say

WHOLE_BYTE = 0.01  # of 255: how near a float that was made of bytes is to them again
PROVING_BYTES = 16  # different bytes: fewer may be bytes by chance, as those of a drawing or of zeros


class UnclearInputsWarning(UserWarning):
    """Arrays of the model's own input size may be photos, pixels or normalised, and nobody said which; `inputs` does."""


def _has_model_input_shape(vit: Vit, source: Any) -> bool:
    """Whether it is floats of the shape that the model reads, one image (C, H, W) or a batch (B, C, H, W)."""
    if not is_numpy_or_torch(source) or source.ndim not in (3, 4) or tuple(source.shape[-2:]) != vit.grid.image_px:
        return False
    is_float = source.is_floating_point() if isinstance(source, Tensor) else source.dtype.kind == "f"
    return bool(is_float and source.shape[-3] in (vit.bands, input_channels(vit.module)))  # of a grey model: 3 and 1


def _input_kind(vit: Vit, source: Any, inputs: InputKind | None = None) -> InputKind:
    """How to read such an array, a batch or not: what `inputs` says, else the rule above.

    Warns: UnclearInputsWarning. Raises: ValueError, for another name, and for "normalised" of another shape.
    """
    if inputs is not None:
        check_choice("inputs", inputs, get_args(InputKind))
        if inputs == "normalised" and not _has_model_input_shape(vit, source):
            given = f"{source.dtype} {tuple(source.shape)}" if is_numpy_or_torch(source) else type(source).__name__
            raise ValueError(
                f"normalised inputs are floats (B, {vit.bands}, {', '.join(map(str, vit.grid.image_px))}), not {given}"
            )
        return inputs
    if not _has_model_input_shape(vit, source):
        _warn_of_crop(vit, source)
        return "photos"
    pictures = as_numpy(source) if source.ndim == 4 else as_numpy(source)[None]  # read one by one: there may be many
    if not (len(pictures) and all(one.min() >= 0 and one.max() <= 1 for one in pictures)):  # NaN is neither
        return "normalised"
    as_photo = [_different_bytes(255 * one) for one in pictures]
    as_input = all(_different_bytes(255 * _without_colours(vit, one)) for one in pictures)
    proven = all(as_photo) and len(set[int]().union(*as_photo)) >= PROVING_BYTES
    if proven and not as_input:
        if "normalise" in vit.assumed:  # a model may have learned of such floats as they are
            _warn(vit, say("{name} was given bytes over 255, which are taken as photos and normalised as is assumed. "
                           "inputs=\"photos\" or inputs=\"normalised\" says what they are."))  # fmt: skip
        _warn_of_crop(vit, source)
        return "photos"
    same = not any(vit.mean) and all(one == 1 for one in vit.std)  # a normalisation that changes nothing
    if not same and (not as_input or (all(as_photo) and not proven)):
        _warn(vit, say("{name} was given floats from 0 to 1 of its own input size, which are taken as normalised. "
                       "inputs=\"photos\" or inputs=\"normalised\" says what they are."))  # fmt: skip
    return "normalised"


def _warn_of_crop(vit: Vit, source: Any) -> None:
    """Warns: UnclearInputsWarning, for arrays of exactly the model's input size, where resizing and cropping changes them."""
    size = vit.grid.image_px
    if not is_numpy_or_torch(source) or source.ndim < 2 or size not in (tuple(source.shape[-3:-1]), tuple(source.shape[-2:])):
        return
    if crop_box(size[::-1], vit.transform) != (0, 0, *size[::-1]):
        _warn(vit, say("{name} was given pixels of its own input size, which are taken as photos, resized and cropped. "
                       "inputs=\"pixels\" leaves them as they are, and inputs=\"photos\" says that they are photos."))  # fmt: skip


def _warn(vit: Vit, told: str) -> None:
    warn_caller(told.format(name=vit.display_name), UnclearInputsWarning)


def open_for_model(vit: Vit, source: Any, inputs: InputKind | None, name: str | None = None) -> tuple[Photo, Crop]:
    """A photo and its crop; of what the model sees already both are its picture.

    Raises: PhotoError; ValueError; TypeError; ModelError, for a crop of another number of bands.
    """
    called = name or say("The photo")
    if is_numpy_or_torch(source) and source.ndim > 3:
        raise several_photos_error(source, called)
    if isinstance(source, list | tuple):
        raise TypeError("a photo is one path, picture or array, not several: record_many takes several")
    kind = _input_kind(vit, source, inputs)
    if isinstance(source, Crop):
        check_bands(vit, source.numbers.shape[-1])
        box = _whole_box(vit, source.pixels.shape[1::-1], called)
        if source.bands is not None:
            return _photo_from_floats(vit, source.bands.transpose(2, 0, 1), name or "picture")
        photo = photo_from_image(Image.fromarray(source.pixels), name or "picture")
        return photo, replace(source, box=box)  # of this photo, not of the one it was cut from
    if kind == "normalised":
        return _photo_from_floats(vit, _without_colours(vit, as_numpy(source)), name or "picture")
    if is_numpy_or_torch(source) and source.ndim == vit.bands == 3:
        check_float_range(as_numpy(source), called, (3, *vit.grid.image_px))
    photo = open_photo(source, name, vit.bands)
    if kind == "photos":
        return photo, crop_for_model(photo.image, vit.transform, photo.bands)
    box = _whole_box(vit, photo.image.size, photo.name)
    values = as_numpy(source) if is_numpy_or_torch(source) else np.zeros(0)
    if values.dtype.kind == "f" and values.ndim == vit.bands == 3 and 3 in (values.shape[0], values.shape[-1]):
        return _photo_from_floats(vit, values if values.shape[0] == 3 else values.transpose(2, 0, 1), photo.name)
    return photo, Crop(np.asarray(photo.image), box, photo.bands)


def _whole_box(vit: Vit, size: tuple[int, ...], name: str) -> tuple[float, float, float, float]:
    """The box of all of a picture of (width, height), if that is the model's input. Raises: PhotoError."""
    if size != vit.grid.image_px[::-1]:
        raise PhotoError("{name} is {wide}×{high} px, and the model's input is {input_wide}×{input_high} px.", name=name,
                         wide=size[0], high=size[1], input_wide=vit.grid.image_px[1], input_high=vit.grid.image_px[0])  # fmt: skip
    return 0.0, 0.0, float(size[0]), float(size[1])


def _photo_from_floats(vit: Vit, values: NDArray, name: str) -> tuple[Photo, Crop]:
    """Pixels (C, H, W) of the model's input size as a photo and its crop: bytes; where they are none, floats beside them.

    Raises: PhotoError, for numbers that are none.
    """
    values = values.astype(np.float32)
    if not np.isfinite(values).all():
        raise not_finite_error(name)
    values = np.ascontiguousarray(np.broadcast_to(values, (vit.bands, *values.shape[1:])).transpose(1, 2, 0))
    high, wide = values.shape[:2]
    box = (0.0, 0.0, float(wide), float(high))
    if vit.bands != 3:
        photo = open_photo(values, name, vit.bands)
        return photo, Crop(np.asarray(photo.image), box, photo.bands)
    pixels = _whole_bytes(255 * values)
    if pixels is not None:
        return photo_from_image(Image.fromarray(pixels), name), Crop(pixels, box)
    values.flags.writeable = False
    pixels = nearest_bytes(values)
    digest = hashlib.sha256(values.tobytes()).hexdigest()[:16]
    return replace(photo_from_image(Image.fromarray(pixels), name), digest=digest, bands=values), Crop(pixels, box, values)


def _without_colours(vit: Vit, values: NDArray) -> NDArray:
    """A model input (…, C, H, W) before the model's mean and deviation were taken."""
    count = values.shape[-3]
    mean, std = (np.reshape(numbers[:count], (count, 1, 1)) for numbers in (vit.mean, vit.std))
    return values * std + mean


def _whole_bytes(values: NDArray) -> NDArray[np.uint8] | None:
    whole = np.round(values)
    near = bool((np.abs(values - whole) < WHOLE_BYTE).all())  # not where there is NaN
    return whole.astype(np.uint8) if near and whole.min() >= 0 and whole.max() <= 255 else None


def _different_bytes(values: NDArray) -> set[int]:
    """The bytes that these numbers are; none where they are no bytes."""
    whole = _whole_bytes(values)
    return set() if whole is None else set(np.unique(whole).tolist())


def as_photo_list(photos: Any) -> Any:
    """A folder's photos, a single photo or batch in a dict as an iterable of one, and all else as it is.

    Raises: PhotoError, for a folder without photos.
    """
    if isinstance(photos, str | Path) and Path(photos).is_dir():
        return photos_in_folder(photos)
    if isinstance(photos, Mapping):
        return iter([photos])  # how many photos it holds is not told by its length
    alone = isinstance(photos, str | Path | bytes | Photo | Crop | Image.Image) or hasattr(photos, "read")
    return [photos] if alone or (is_numpy_or_torch(photos) and photos.ndim < 4) else photos


def split_batches(vit: Vit, photos: Any, inputs: InputKind | None) -> Iterator[tuple[Any, InputKind | None, Any]]:
    """Single photos of what an iterable gives, each with how it is to be read, and its label (None: there is none).

    It gives photos, batches (B, …), either with its labels, or transformers' dicts.
    Raises: ValueError; TypeError, for a dict without `pixel_values`. Warns: UnclearInputsWarning.
    """
    kind: InputKind | None = None
    for item in [photos] if is_numpy_or_torch(photos) else photos:
        first, said, labels = _pictures_of_item(item, inputs)
        of_floats = _has_model_input_shape(vit, first)
        if said is not None or kind is None or not of_floats:
            read = _input_kind(vit, first, said)
            kind = read if of_floats else kind
        if not (is_numpy_or_torch(first) and first.ndim == 4):
            first, labels = (first,), (labels,)
        for one, label in zip(first, repeat(None) if labels is None else labels, strict=False):
            yield one, said or (kind if of_floats else "photos"), _own_label(label)


def _pictures_of_item(item: Any, inputs: InputKind | None) -> tuple[Any, InputKind | None, Any]:
    """The photo or batch that an item holds, what is said of it (`pixel_values` are normalised), and its labels.

    Raises: TypeError, for a dict without `pixel_values`.
    """
    if not isinstance(item, Mapping):
        first, *beside = item if isinstance(item, tuple | list) and len(item) else (item,)
        return first, inputs, _labels_of(first, beside[0] if beside else None)
    if "pixel_values" not in item:
        raise TypeError(f"a dict of photos has them as 'pixel_values', and this one has {', '.join(map(repr, item)) or 'nothing'}")
    values = item["pixel_values"]
    values = values if is_numpy_or_torch(values) else np.stack([as_numpy(one) for one in values])
    return values, inputs or "normalised", _labels_of(values, item.get("labels", item.get("label")))


def _own_label(label: Any) -> Any:
    """A single number as Python's; an array or tensor as a copy, else one photo's row would hold its whole batch."""
    if getattr(label, "ndim", 1) == 0:
        return label.item()
    return label.clone() if isinstance(label, Tensor) else label.copy() if isinstance(label, np.ndarray) else label


def _labels_of(pictures: Any, labels: Any) -> Any:
    """The labels beside a photo, or beside a batch, if there is one for each picture; else None."""
    if not (is_numpy_or_torch(pictures) and pictures.ndim == 4):
        return labels
    many = hasattr(labels, "__len__") and (not is_numpy_or_torch(labels) or labels.ndim)
    return labels if many and len(labels) == len(pictures) else None


def iterate_model_inputs(vit: Vit, photos: Any, inputs: InputKind | None = None) -> tuple[int, Iterator[Tensor]]:
    """How many photos or model inputs there are, and each as a model input (1, C, H, W), opened when it is asked for.

    They are a photo (as of `record`), several, a folder, or model inputs (B, C, H, W): cast to the model's device and dtype.
    Raises: ValueError, for none; PhotoError; TypeError.
    """
    listed = as_photo_list(photos)
    many = list(split_batches(vit, listed if hasattr(listed, "__iter__") else [listed], inputs))
    if not many:
        raise ValueError("there is no photo among the photos")
    return len(many), (_model_input(vit, one, kind) for one, kind, _ in many)


def to_model_inputs(vit: Vit, photos: Any, inputs: InputKind | None = None) -> Tensor:
    """Photos or model inputs as `iterate_model_inputs` takes them, together: (B, C, H, W). Raises: ValueError; PhotoError;
    TypeError."""
    return torch.cat(list(iterate_model_inputs(vit, photos, inputs)[1]))


def _model_input(vit: Vit, source: Any, kind: InputKind | None) -> Tensor:
    if kind != "normalised":
        _, crop = open_for_model(vit, source, kind)
        return to_model_input(vit, crop.numbers)
    note_pass(vit)
    x = torch.as_tensor(source).detach()[None].to(vit.weight)
    if not bool(x.isfinite().all()):
        raise not_finite_error(say("The photo"))
    return x if x.shape[1] == vit.bands else x.expand(-1, vit.bands, -1, -1)

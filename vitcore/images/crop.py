"""The part of a photo that a model sees: cut as timm's own transform cuts it, and where it lies in the photo."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image


@dataclass(frozen=True, eq=False)
class Crop:
    """What the model sees: `pixels` (H, W, 3) bytes, cut from `box` (left, top, right, bottom) of the original."""

    pixels: NDArray[np.uint8]
    box: tuple[float, float, float, float]
    bands: NDArray[np.float32] | None = None  # (H, W, C): floats that the model sees instead, of other than three bands or no bytes

    @property
    def numbers(self) -> NDArray[np.uint8] | NDArray[np.float32]:
        """What the model is given, before it is normalised: the bands where there are some, else the pixels."""
        return self.pixels if self.bands is None else self.bands

    def __repr__(self) -> str:
        high, wide = self.pixels.shape[:2]
        return f"<Crop: {high}×{wide} px of {tuple(round(side, 1) for side in self.box)}>"


def crop_for_model(image: Image.Image, transform: Callable, bands: NDArray[np.float32] | None = None) -> Crop:
    """Resize and crop with the geometric part of timm's own transform (everything before its tensor step).

    bands: those of a photo that has others than three (`Photo.bands`); each is cut as the picture is.
    """
    cut = None if bands is None else _cut_bands(bands, transform)
    return Crop(np.asarray(resize_and_crop(image, transform)), crop_box(image.size, transform), cut)


def resize_and_crop(image: Image.Image, transform: Callable) -> Image.Image:
    """The transform's resize and crop, as a picture."""
    steps = transform.transforms  # type: ignore[attr-defined]
    for step in steps[: steps.index(_sized_steps(transform)[-1]) + 1]:
        image = step(image)
    if not isinstance(image, Image.Image):
        raise TypeError("the transform turned the picture into a tensor before it was cropped")
    return image


def _cut_bands(bands: NDArray[np.float32], transform: Callable) -> NDArray[np.float32]:
    """Each band resized and cropped as the picture is, read-only."""
    each = (resize_and_crop(Image.fromarray(np.ascontiguousarray(band)), transform) for band in np.moveaxis(bands, -1, 0))
    cut = np.stack([np.asarray(band) for band in each], -1)
    cut.flags.writeable = False
    return cut


def crop_box(size: tuple[int, int], transform: Callable) -> tuple[float, float, float, float]:
    """The part of a (width, height) photo that survives: left, top, right, bottom in its own pixels."""
    (wide, high), steps = size, _sized_steps(transform)
    if len(steps) == 1 and "Crop" not in type(steps[0]).__name__:  # squashed
        return 0.0, 0.0, float(wide), float(high)
    crop_h, crop_w = np.broadcast_to(steps[-1].size, 2).tolist()
    scale_h, scale_w = _scales(steps[0], wide, high) if len(steps) > 1 else (1.0, 1.0)
    half_w, half_h = min(crop_w / scale_w, wide) / 2, min(crop_h / scale_h, high) / 2
    return wide / 2 - half_w, high / 2 - half_h, wide / 2 + half_w, high / 2 + half_h


def _sized_steps(transform: Callable) -> list[Any]:
    """The steps of a torchvision transform that resize or crop."""
    return [step for step in transform.transforms if getattr(step, "size", None) is not None]  # type: ignore[attr-defined]


def _scales(resize: Any, wide: int, high: int) -> tuple[float, float]:
    """What height and width are multiplied by in the first resize of torchvision's or timm's transform."""
    target = np.ravel(resize.size).tolist()
    if len(target) == 1:
        return (target[0] / min(wide, high),) * 2
    each = target[0] / high, target[1] / wide
    if type(resize).__name__ == "ResizeKeepRatio":  # timm's, for targets that are not square
        return (max(each) if not getattr(resize, "longest", 0) else min(each),) * 2
    return each

"""How differently two pictures look to a person: distance in CIELAB (CIE 15:2004), cell by cell of a coarse version."""

from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms

CELLS_PER_SIDE = 4  # a side: finer texture is not told apart at a glance
# CIELAB units from which two pictures are easily told apart; about 2.3 is just noticed, black and white are 100 apart
MIN_COLOUR_DIFFERENCE = 15.0


def colour_difference(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> float:
    """Mean distance in CIELAB between the same cells of two pictures (h, w, 3): 0 for the same, 100 for black and white."""
    return float(np.linalg.norm(_lab(first) - _lab(second), axis=-1).mean())


def _lab(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """L*, a*, b* (white point D50) of the cells of a picture of sRGB: equal steps look about equally large, in the dark, too."""
    coarse = Image.fromarray(pixels).resize((CELLS_PER_SIDE, CELLS_PER_SIDE), Image.Resampling.BOX)
    lightness, a, b = (np.asarray(band, float) for band in ImageCms.applyTransform(coarse, _to_lab()).split())  # type: ignore[union-attr]
    return np.stack([lightness / 2.55, a - 128, b - 128], -1)


@cache
def _to_lab() -> ImageCms.ImageCmsTransform:
    srgb, lab = (ImageCms.createProfile(space) for space in ("sRGB", "LAB"))
    return ImageCms.buildTransform(srgb, lab, "RGB", "LAB")

"""How differently two pictures look to a person: distance in CIELAB (CIE 15:2004), cell by cell of a coarse version."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

CELLS = 4  # a side: finer texture is not told apart at a glance
APART = 15.0  # CIELAB units from which two pictures are easily told apart; about 2.3 is just noticed, black and white are 100 apart
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def apart(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    """Mean distance in CIELAB between the same cells of two pictures (h, w, 3): 0 for the same, 100 for black and white."""
    return float(np.linalg.norm(_lab(_coarse(one)) - _lab(_coarse(other)), axis=-1).mean())


def _coarse(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    return np.asarray(Image.fromarray(pixels).resize((CELLS, CELLS), Image.Resampling.BOX), np.float64)


def _lab(srgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """L*, a*, b* of sRGB bytes, white point D65: equal steps look about equally large, in the dark, too."""
    c = srgb / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    xyz = linear @ XYZ.T / XYZ.sum(1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = np.moveaxis(f, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], -1)

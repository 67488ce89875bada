"""Heat on a photo: the map alone gives each patch its colour and brightness, of the photo only its fine detail is added.

The detail of a photo is a grey picture that has the same mean in every patch, and is narrow enough never to be cut off. So
a patch's mean brightness is that of its value's colour on the bar, whatever the photo shows there. A browser adds the same
two pictures: `app/components/heat_overlay.js`.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from vitcore.figures.theme_colours import (
    DETAIL,
    HEAT,
    ON_PHOTO,
    PHOTO_SHARE,
    SEQUENTIAL,
    ColourScale,
    Mode,
    colour_table,
    diverging_palette,
)
from vitcore.grid import Grid
from vitcore.translation import say, two_digits

LUMA = np.array([0.2126, 0.7152, 0.0722], np.float32)  # Rec. 709: how bright red, green and blue are
BLUR = 0.4  # of a patch's side: what is coarser is left to the heat
GOLDEN_RATIO = 0.618034  # its multiples fall evenly between whole numbers
MIN_TOP_IN_EVEN_SHARES = 2.5  # times an even share: a scale goes on at least so far, so that a nearly even map is nearly flat
FEW = 40  # patches: fewer are all seen
TOWERS = 5.0  # times the 95th percentile: far beyond what a smooth map reaches


def heat_on_photo(
    values: NDArray, detail: NDArray[np.uint8], top: float, signed: bool = False, mode: Mode = "light"
) -> NDArray[np.uint8]:
    """(rows, cols) values in colours up to `top`, or from −`top` where they are `signed`, on `fine_detail` (H, W): (H, W, 3)."""
    return _enlarged(heat_colours(values, top, signed, mode), detail.shape) + detail[..., None]


def colours_on_photo(colours: NDArray[np.uint8], detail: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(rows, cols, 3) colours of patches, darkened as heat is, on `fine_detail` (H, W): (H, W, 3)."""
    return _enlarged(np.round(PHOTO_SHARE * colours).astype(np.uint8), detail.shape) + detail[..., None]


def heat_colours(values: NDArray, top: float, signed: bool = False, mode: Mode = "light") -> NDArray[np.uint8]:
    """Values as heat colours, a pixel a patch: (…, 3), at most 255 − 2 · DETAIL. A browser adds the photo's detail."""
    share = np.asarray(values, np.float64) / max(top, 1e-12)
    place = 255 * ((share + 1) / 2 if signed else share)
    return darkened_colour_table(diverging_palette(mode) if signed else SEQUENTIAL)[np.uint8(np.clip(np.round(place), 0, 255))]


@lru_cache(maxsize=8)
def darkened_colour_table(scale: str) -> NDArray[np.uint8]:
    """(256, 3) colours of a scale, darkened so that the detail fits above them."""
    return np.round(PHOTO_SHARE * colour_table(scale)).astype(np.uint8)


def fine_detail(photo: Image.Image, grid: tuple[int, int] | Grid) -> NDArray[np.uint8]:
    """A photo's detail (H, W), 0 to 2 · DETAIL, with the mean DETAIL in each of `grid` (rows, columns): made once a photo.

    Brightness less itself blurred, softly limited; then each patch's own mean is taken off, and what is still too far from
    it is scaled. Rounding hands on what it cut off, or stripes would all be rounded the same way.
    """
    shape = (grid.rows, grid.cols) if isinstance(grid, Grid) else grid
    bright = np.asarray(photo.convert("RGB"), np.float32) @ LUMA
    soft, side_px = Image.fromarray(np.uint8(np.round(bright))), min(np.divide(bright.shape, shape))
    for _ in range(3):  # three boxes are nearly a Gaussian
        soft = soft.filter(ImageFilter.BoxBlur(round(BLUR * side_px)))
    fine = DETAIL * np.tanh((bright - np.asarray(soft, np.float32)) / DETAIL).astype(np.float64)
    fine -= _enlarged(_each(fine, shape, np.add) / _each(np.ones_like(fine), shape, np.add), fine.shape)
    fine *= _enlarged(DETAIL / np.maximum(_each(np.abs(fine), shape, np.maximum), DETAIL), fine.shape)
    start = np.arange(len(fine))[:, None] * GOLDEN_RATIO % 1  # of what is handed on along a row: another in each
    steps = np.diff(np.floor(np.cumsum(fine, 1) + start), axis=1, prepend=0)
    return (DETAIL + steps.clip(-DETAIL, DETAIL)).astype(np.uint8)


def _starts(size: int, count: int) -> NDArray[np.intp]:
    """Where each of `count` patches begins among `size` pixels."""
    return np.arange(count) * size // count


def _each(pixels: NDArray, shape: tuple[int, ...], how: np.ufunc) -> NDArray:
    """(rows, cols): the pixels (H, W) of each patch taken together."""
    rows, cols = (_starts(size, count) for size, count in zip(pixels.shape, shape, strict=True))
    return how.reduceat(how.reduceat(pixels, rows, 0), cols, 1)


def _enlarged(patches: NDArray, size: tuple[int, ...]) -> NDArray:
    """(rows, cols, …) as (H, W, …): the pixels of a patch are all alike."""
    high, wide = (np.diff(_starts(side, count), append=side) for side, count in zip(size, patches.shape, strict=False))
    return patches.repeat(high, 0).repeat(wide, 1)


def scale_top(values: NDArray, even_share: float | None = None) -> float:
    """The top of the scale of amounts: their maximum, at least MIN_TOP_IN_EVEN_SHARES times `even_share` (default: their mean).

    A few patches that tower over all others (arXiv 2309.16588) would hide them: the scale then ends below, and says "or more".
    """
    most, usual = float(values.max()), float(np.quantile(values, 0.95))
    if values.size >= FEW and most > TOWERS * usual > 0:
        most = min(float(np.quantile(values, 0.98)), TOWERS * usual)
    return max(most, MIN_TOP_IN_EVEN_SHARES * float(values.mean() if even_share is None else even_share))


def heat_colour_scale(
    values: NDArray, top: float, even_share: float | None = None, signed_unit: str | None = None, mode: Mode = "light",
    tell_largest: bool = True,
) -> ColourScale:  # fmt: skip
    """The colour bar of a map on a photo: amounts in times an `even_share` of all tokens, or the map's mean; signed from −`top`.

    Where it ends above the largest value, it says that value, unless not `tell_largest`.
    """
    one = float(values.mean()) if even_share is None else even_share
    unit = say("times the map's mean") if even_share is None else say("times an even share of all tokens")
    bar = ColourScale(colours=HEAT, low=0, high=top / one if one else MIN_TOP_IN_EVEN_SHARES, unit=unit)
    if signed_unit is not None:
        one, bar = 1.0, ColourScale(colours=diverging_palette(mode) + ON_PHOTO, low=-top, high=top, unit=signed_unit)
    largest = float(np.abs(values).max())
    if top < largest:
        return replace(bar, unit=say("{unit}, or more", unit=bar.unit))
    shown = two_digits(largest / (one or 1))
    if not tell_largest or shown == two_digits(bar.high):
        return bar
    return replace(bar, unit=say("{unit} (largest: {most})", unit=bar.unit, most=shown))

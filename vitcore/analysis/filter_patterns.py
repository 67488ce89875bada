"""What an embedding filter looks like, in plain words' terms: two opposite colours laid out in one simple pattern.

A filter's strongest colour direction is laid out as one of few patterns, each fitted by least squares; what explains no more
than half of the filter's energy is no description. A pattern with more freedom has to explain more to be preferred, and what
the same freedom would explain of noise does not count.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CLEAR = 0.5  # of a filter's energy, beyond what as many free numbers explain of noise
GREY = np.full(3, 3**-0.5)
HUES = ((15, "red"), (45, "orange"), (75, "yellow"), (165, "green"), (195, "turquoise"), (255, "blue"), (285, "violet"),
        (345, "pink"), (360, "red"))  # up to which angle of the colour wheel a hue has its name  # fmt: skip
WINDOWS = (None, 0.3, 0.2)  # a pattern fills the patch, or fades from the middle: the spread, in sides of the patch
SPOTS = (0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
SLOWEST, STRIPES, CHECKS = 1.25, 2.0, 3.0  # cycles across a patch: slower than stripes are bands, then slopes and spots
LEAST_PX = 6  # in fewer, some wave fits anything
PEAKS = 6  # of a spectrum, each tried exactly
FREEDOM = 0.02  # of the energy, what a pattern has to explain more for each number that it is free to choose
PixelMap = NDArray[np.float64]


@dataclass(frozen=True)
class FilterPattern:
    """Two opposite colours in one pattern, the `share` of the filter's energy that this is.

    `colours` are in the pattern's order (left and right, the middle and around it); None where no colour leads. `cycles`, of
    stripes and checks, are counted over one side of the patch. `pattern` is "none" where nothing simple is clear.
    """

    pattern: str
    colours: tuple[str, str] | None
    cycles: float | None
    share: float


class FitScore(NamedTuple):
    """Of a fit: the energy explained, the same less its price, and how many numbers were chosen."""

    explained: float
    worth: float
    free: int


class FittedPattern(NamedTuple):
    """A pattern fitted to a map, and whether what it names first is where the map is positive."""

    size: FitScore
    pattern: str
    plus: bool
    cycles: float | None = None


def describe_filter(vector: NDArray) -> FilterPattern:
    """What a filter (P, P, 3) looks like."""
    pixels = vector.reshape(-1, 3).astype(np.float64)
    energy = max(float((pixels**2).sum()), 1e-300)
    colour = np.linalg.svd(pixels, full_matrices=False)[2][0]
    flat = (pixels @ colour).reshape(vector.shape[:2])
    waves = [*_stripes(flat), *_checks(flat)] if min(flat.shape) >= LEAST_PX else []
    best = max([*_slow(flat), *waves], key=lambda fit: fit.size.worth)
    share, one, other = best.size.explained / energy, _name(colour), _name(-colour)
    chance = min(best.size.free / flat.size, 0.99)
    if (share - chance) / (1 - chance) > CLEAR:
        return FilterPattern(best.pattern, (one, other) if best.plus else (other, one), best.cycles, share)
    leads = float((flat**2).sum()) > CLEAR * energy
    return FilterPattern("none", (one, other) if leads else None, None, share)


def _name(colour: NDArray) -> str:
    """What a direction from mid-grey is called: by its hue, unless more than half of it is light or dark."""
    grey = float(colour @ GREY)
    if grey**2 > 0.5:
        return "light" if grey > 0 else "dark"
    red, green, blue = colour
    angle = float(np.degrees(np.arctan2(3**0.5 * (green - blue), 2 * red - green - blue))) % 360
    return next(name for up_to, name in HUES if angle <= up_to)


@lru_cache(maxsize=8)
def _places(shape: tuple[int, ...]) -> tuple[PixelMap, PixelMap]:
    """x and y of each pixel, in sides of the patch from its middle."""
    high, wide = shape
    return np.meshgrid((np.arange(wide) + 0.5) / wide - 0.5, (np.arange(high) + 0.5) / high - 0.5)


@lru_cache(maxsize=64)
def _window(shape: tuple[int, ...], spread: float | None) -> PixelMap:
    x, y = _places(shape)
    return np.ones_like(x) if spread is None else np.exp(-(x**2 + y**2) / (2 * spread**2))


def _fitted(flat: PixelMap, *parts: PixelMap, tried: int = 6) -> tuple[PixelMap, FitScore]:
    """The least-squares fit of parts (P, P) to a map, and its size; `tried`: numbers behind the parts themselves."""
    basis = np.stack([part.ravel() for part in parts], 1)
    left, sizes, _ = np.linalg.svd(basis, full_matrices=False)
    left = left[:, sizes > 1e-6 * sizes.max()]  # at the highest frequency a sine is nothing
    fit = left @ (left.T @ flat.ravel())
    explained = float(fit @ fit)
    free = len(parts) + tried
    return fit.reshape(flat.shape), FitScore(explained, explained - FREEDOM * free * float((flat**2).sum()), free)


def _slow(flat: PixelMap) -> Iterator[FittedPattern]:
    """Even, a slope from one side to the other, a spot in the middle (with or without a rim of the other colour)."""
    x, y = _places(flat.shape)
    ones = np.ones_like(x)
    fit, size = _fitted(flat, ones, tried=0)
    yield FittedPattern(size, "even", bool(fit[0, 0] > 0))
    for spread in WINDOWS:
        window = _window(flat.shape, spread)
        fit, size = _fitted(flat, x * window, y * window, tried=1)
        across, down = float((fit * x).sum()), float((fit * y).sum())
        yield FittedPattern(size, *_direction(across, down))
    for spread in SPOTS:
        for parts in ([_window(flat.shape, spread)], [_window(flat.shape, spread), _window(flat.shape, 2 * spread)]):
            fit, size = _fitted(flat, ones, *parts, tried=1)
            middle = float(fit[np.hypot(x, y) <= np.hypot(x, y).min() + 1e-9].mean())
            around = -float((fit * np.sign(middle)).min())
            if abs(middle) >= 0.9 * float(abs(fit).max()):  # else it is a ring
                yield FittedPattern(size, "spot and rim" if around > 0.2 * abs(middle) else "spot", middle > 0)


def _direction(across: float, down: float) -> tuple[str, bool]:
    """A slope's name, and whether what is named first is where it is positive."""
    if abs(down) < np.tan(np.pi / 8) * abs(across):
        return "left right", across < 0
    if abs(across) < np.tan(np.pi / 8) * abs(down):
        return "top bottom", down < 0
    return ("upper left" if across * down > 0 else "lower left"), across < 0


def _stripes(flat: PixelMap) -> Iterator[FittedPattern]:
    """Waves in any direction: the strongest of a spectrum in steps of half a cycle, each fitted exactly."""
    x, y = _places(flat.shape)
    high, wide = flat.shape
    fy, fx = np.meshgrid(np.fft.fftfreq(2 * high, 1 / high), np.fft.rfftfreq(2 * wide, 1 / wide), indexing="ij")
    for spread in WINDOWS:
        window = _window(flat.shape, spread)
        power = abs(np.fft.rfft2(flat * window, (2 * high, 2 * wide))) * (np.hypot(fx, fy) >= SLOWEST)
        for place in np.argsort(power, axis=None)[-PEAKS:]:
            right, down = float(fx.flat[place]), float(fy.flat[place])
            wave = 2 * np.pi * (right * x + down * y)
            _, size = _fitted(flat, window * np.cos(wave), window * np.sin(wave))
            if abs(right) == wide / 2 and abs(down) == high / 2:
                yield FittedPattern(size, "checks", True, right)
            else:
                yield FittedPattern(size, _lie(right, down), True, float(np.hypot(right, down)))


def _lie(right: float, down: float) -> str:
    """What a wave looks like: its crests are across its direction."""
    kind = "stripes" if np.hypot(right, down) >= STRIPES else "bands"
    if abs(down) < np.tan(np.pi / 8) * abs(right):
        return f"upright {kind}"
    return f"level {kind}" if abs(right) < np.tan(np.pi / 8) * abs(down) else f"slanted {kind}"


def _checks(flat: PixelMap) -> Iterator[FittedPattern]:
    """As many cycles across as down."""
    x, y = _places(flat.shape)
    for cycles in np.arange(CHECKS, min(flat.shape) / 2 + 0.1, 0.5):
        across, down = ([trig(2 * np.pi * cycles * place) for trig in (np.cos, np.sin)] for place in (x, y))
        for spread in WINDOWS[:2]:
            window: Any = _window(flat.shape, spread)
            _, size = _fitted(flat, *(window * a * d for a in across for d in down))
            yield FittedPattern(size, "checks", True, float(cycles))

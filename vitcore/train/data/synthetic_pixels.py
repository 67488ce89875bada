"""The pixels of drawn pictures: background, clutter, a far and a near pair of parts, and noise, from rows of random numbers.

On pixels only sums, products, roots and rounding are used, which every machine does alike: the same bytes everywhere.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

OCTAVES = ((1.7, 1.0), (3.3, 0.55), (6.1, 0.3), (11.3, 0.16))  # cells across and amplitude, about 1 / cells as in photos
CELLS = tuple(math.ceil(cells) + 2 for cells, _ in OCTAVES)
LEVEL, UPRIGHT, LYING, STANDING = range(4)  # discs with stripes, the near pair; bars, the far one
MAX_CLUTTER = 8  # spots at most
OF_ALL, OF_ONE = 16, 8  # random numbers of a picture as a whole, and of each of its parts and spots
LAID_OUT = OF_ALL + OF_ONE * (4 + MAX_CLUTTER)
BACKGROUND = 3 * sum(side * side for side in CELLS)
PAIR_DISTANCES = (0.28, 0.7)  # centres of the near and the far pair, share of the picture's side
RADIUS, SPOT = 0.12, (0.05, 0.1)  # of a part, of a spot: share of the side
STRIPES = 0.75  # a radius: a stripe and a gap are more than two pixels wide in pictures of 16


class DifficultyAmounts(NamedTuple):
    """What difficulty changes. Grey values of 255; shares of the side for what is moved; of the usual size for `shrunk`."""

    contrast: float  # of a part with what is behind it
    noise: float  # full range of each pixel's own
    clutter: float  # spots
    turned: float  # a pair's direction, at most, of half the way to the next class
    tilted: float  # a part, at most, in radians
    near_moved: float  # the near pair, at most
    far_moved: float
    shrunk: float  # a part or a pair, at most


EASY = DifficultyAmounts(110, 20, 0, 0.0, 0.0, 0.04, 0.04, 0.0)
HARD = DifficultyAmounts(40, 110, MAX_CLUTTER, 0.6, 0.3, 0.1, 0.1, 0.35)


def _difficulty_amounts(difficulty: float) -> DifficultyAmounts:
    """Each amount in proportion between `EASY` (0) and `HARD` (1)."""
    return DifficultyAmounts(*(easy + (hard - easy) * difficulty for easy, hard in zip(EASY, HARD, strict=True)))


def random_numbers_per_picture(px: int) -> int:
    """How many random numbers a picture takes."""
    return LAID_OUT + BACKGROUND + px * px


def draw_synthetic_pixels(
    rows: Floats, relations: NDArray[np.float64], apart: tuple[float, float], px: int, difficulty: float
) -> NDArray:
    """N pictures (N, px, px, 3) uint8 from `rows` (N, numbers(px)), uniform in [0, 1).

    `relations` (N, 2): the directions of the near and the far pair, radians from straight up; `apart`: those of two
    neighbouring classes. Whether a direction leads to the left or to the right is drawn.
    """
    much = _difficulty_amounts(difficulty)
    layout, rest = rows[:, :LAID_OUT], rows[:, LAID_OUT:]
    whole, own = layout[:, :OF_ALL], layout[:, OF_ALL:].reshape(len(rows), -1, OF_ONE)
    margin = math.ceil(2 * RADIUS * px) + 4  # a part's window; what hangs over the edge is cut off
    canvas = np.zeros((len(rows), px + 2 * margin, px + 2 * margin, 3), np.float32)
    inside = np.s_[:, margin : margin + px, margin : margin + px]
    canvas[inside] = _background(whole, rest[:, :BACKGROUND], px)
    for spot in own[:, 4 : 4 + round(much.clutter)].swapaxes(0, 1):
        radius = (SPOT[0] + (SPOT[1] - SPOT[0]) * spot[:, 0]) * px
        _paint(canvas, margin, _Part(-1, spot[:, 6:8] * px, radius, 0 * radius, 0.8 * much.contrast, spot))
    places = _places(whole[:, 3:], relations, apart, much)
    for kind in (LYING, STANDING, LEVEL, UPRIGHT):
        mine = own[:, kind]
        radius = RADIUS * px * (1 - much.shrunk * mine[:, 0])
        tilt = much.tilted * (2 * mine[:, 1] - 1)
        _paint(canvas, margin, _Part(kind, places[kind] * px, radius, tilt, much.contrast, mine))
    picture = canvas[inside] + np.float32(much.noise) * (rest[:, BACKGROUND:].reshape(-1, px, px, 1) - np.float32(0.5))
    return np.clip(np.floor(picture + np.float32(0.5)), 0, 255).astype(np.uint8)


def _places(drawn: Floats, relations: NDArray[np.float64], apart: tuple[float, float], much: DifficultyAmounts) -> list[Floats]:
    """The centres (N, 2), x and y as shares of the side, of the four parts."""
    places: list[Floats] = []
    for pair, (distance, moved) in enumerate(zip(PAIR_DISTANCES, (much.near_moved, much.far_moved), strict=True)):
        turn, side, size, *shift = drawn[:, 5 * pair : 5 * pair + 5].T.astype(np.float64)
        angle = relations[:, pair] + (turn - 0.5) * much.turned * apart[pair]
        way = np.stack([np.where(side < 0.5, -1, 1) * np.sin(angle), -np.cos(angle)], -1)
        half = way * (distance / 2 * (1 - much.shrunk * size / 2))[:, None]
        middle = 0.5 + (2 * np.stack(shift, -1) - 1) * moved
        places += [(middle - half).astype(np.float32), (middle + half).astype(np.float32)]
    return places


def _background(whole: Floats, drawn: Floats, px: int) -> Floats:
    """Smooth clouds of light and of two colours around a colour of the picture's own, (N, px, px, 3)."""
    planes, at = [], 0
    for _ in range(3):
        plane: Any = np.float32(0)
        for (cells, amplitude), side in zip(OCTAVES, CELLS, strict=True):
            grid = drawn[:, at : at + side * side].reshape(-1, side, side) - np.float32(0.5)
            plane = plane + np.float32(amplitude) * _enlarged(grid, cells, px)
            at += side * side
        planes.append(plane)
    light, red, blue = np.float32(90) * planes[0], np.float32(40) * planes[1], np.float32(40) * planes[2]
    tone = np.float32(128) + np.float32(70) * (whole[:, :3] - np.float32(0.5))
    return np.stack([light + red, light - (red + blue) / 2, light + blue], -1) + tone[:, None, None]


def _enlarged(grid: Floats, cells: float, px: int) -> Floats:
    """(N, side, side) values as (N, px, px), bilinear, `cells` of them across."""
    at = (np.arange(px, dtype=np.float32) + np.float32(0.5)) * np.float32(cells / px)
    low = np.floor(at).astype(np.int64)
    share = at - low.astype(np.float32)
    wide = grid[:, :, low] * (1 - share) + grid[:, :, low + 1] * share
    return wide[:, low] * (1 - share)[:, None] + wide[:, low + 1] * share[:, None]


class _Part(NamedTuple):
    """One part of each of N pictures: its kind, centre (N, 2) and radius (N,) in px, tilt (N,), contrast, numbers of its own."""

    kind: int
    centre: Floats
    radius: Floats
    tilt: Floats
    contrast: float
    own: Floats


def _paint(canvas: Floats, margin: int, part: _Part) -> None:
    """Add a part to each picture, within a window around it; lighter or darker than what is behind it by chance."""
    window = np.arange(2 * (margin - 4) + 3) - (margin - 4) - 1
    middle = np.floor(part.centre).astype(np.int64)  # always inside
    x, y = (middle[:, axis, None] + window for axis in (0, 1))
    half = np.float32(0.5)
    dx = ((x + half - part.centre[:, :1]) / part.radius[:, None]).astype(np.float32)[:, None, :]
    dy = ((y + half - part.centre[:, 1:]) / part.radius[:, None]).astype(np.float32)[:, :, None]
    cos, sin = (turn(part.tilt.astype(np.float64)).astype(np.float32)[:, None, None] for turn in (np.cos, np.sin))
    outside, light = _form(part.kind, dx * cos + dy * sin, dy * cos - dx * sin, part.own[:, 2, None, None])
    cover = np.clip(half - outside * part.radius[:, None, None], 0, 1) * light
    sign = np.where(part.own[:, 4] < half, np.float32(-1), np.float32(1))
    bright = sign * np.float32(part.contrast) * (np.float32(0.8) + np.float32(0.4) * part.own[:, 3])
    tint = np.float32(0.65) + np.float32(0.7) * np.stack([part.own[:, 5], 1 - part.own[:, 5], part.own[:, 3]], -1)
    rows = np.arange(len(canvas))[:, None, None], (y + margin)[:, :, None], (x + margin)[:, None, :]
    canvas[rows] += cover[..., None] * (bright[:, None] * tint)[:, None, None]


def _form(kind: int, u: Floats, v: Floats, phase: Floats) -> tuple[Floats, Floats | np.float32]:
    """How far outside a part each place is, in radii, and how light it is there, of the contrast; `u`, `v` are in radii."""
    a, b = np.abs(u), np.abs(v)
    if kind in (LEVEL, UPRIGHT):
        wave = np.float32(STRIPES) * (v if kind == LEVEL else u) + phase
        light = np.clip(8 * np.abs(wave - np.floor(wave + np.float32(0.5))) - 2, -1, 1)
        return np.sqrt(u * u + v * v) - 1, light
    if kind in (LYING, STANDING):
        along, across = (a, b) if kind == LYING else (b, a)
        return np.maximum(along - np.float32(1.1), across - np.float32(0.42)), np.float32(1.3)
    return np.sqrt(u * u + v * v) - 1, np.float32(1)

"""Mean attention distance (arXiv 2010.11929 App. D.7, Fig. 7 right): how far a head looks, in pixels.

The authors' figure code (google-research/vision_transformer#162) drops the class token's row and column and does not
renormalise, so a head that spends half its attention on the class token reads half the distance: mode "drop". Mode
"renormalise" divides by what is left. Values above the uniform line are legitimate: such a head prefers far patches.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vitcore.grid import SINK_SHARE, Grid

Mode = Literal["drop", "renormalise"]
MODES: tuple[Mode, ...] = ("drop", "renormalise")
TENTH_PX = 0.1  # what pages tell apart: in half precision even attention is not even to the last digit
CONFIDENCE = 0.95


def mean_distance_px(weights: NDArray, grid: Grid, cls: Mode = "drop") -> NDArray[np.float64]:
    """Mean over query patches of Σ_k w[q, k]·D[q, k]: (…, T, T) attention weights to (…) pixels."""
    if cls not in MODES:
        raise ValueError(f"cls is 'drop' (as the paper) or 'renormalise', not {cls!r}")
    w = np.asarray(weights, np.float64)[..., grid.prefix :, grid.prefix :]
    per_query = (w * grid.distances_px()).sum(-1)
    if cls == "renormalise":
        per_query = per_query / w.sum(-1).clip(1e-12)
    return per_query.mean(-1)


@functools.lru_cache(maxsize=16)  # asked for at every touch of a page
def uniform_distance_px(grid: Grid) -> float:
    """What a head reads that attends to every patch alike (116.492227 px for a 14×14 grid of patches of 16 px)."""
    return float(grid.distances_px().mean())


@dataclass(frozen=True, eq=False)
class MeanWithInterval:
    """The mean of `count` samples, its 95 % confidence interval by Student's t, and their standard deviation (n − 1).

    All have a sample's shape; `low`, `high` and `spread` are NaN where there are fewer than two samples.
    """

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    spread: NDArray[np.float64]
    count: int


def mean_interval(samples: Iterable[NDArray]) -> MeanWithInterval:
    """The mean over samples of one shape, with its interval; they are added up as they come (Welford 1962) and not kept.

    Raises: ValueError, where there are none.
    """
    from scipy.special import stdtrit

    count, mean, squares = 0, np.zeros(()), np.zeros(())
    for count, sample in enumerate(samples, start=1):
        away = np.asarray(sample, np.float64) - mean
        mean = mean + away / count
        squares = squares + away * (sample - mean)
    if not count:
        raise ValueError("there are no samples to take a mean of")
    spread = np.sqrt(squares / (count - 1)) if count > 1 else np.full_like(mean, np.nan)
    half = stdtrit(max(count - 1, 1), (1 + CONFIDENCE) / 2) * spread / np.sqrt(count)
    return MeanWithInterval(mean, mean - half, mean + half, spread, count)


@dataclass(frozen=True, slots=True)
class NearestAndFarthestHead:
    """Which heads of a block read least and most; renormalised, a sink is not "near"."""

    near: int
    far: int
    near_px: float
    far_px: float


def nearest_and_farthest_head(px: NDArray, block: int = 0) -> NearestAndFarthestHead:
    """The nearest and the farthest head of a block, from (L, H) distances."""
    near, far = int(px[block].argmin()), int(px[block].argmax())
    return NearestAndFarthestHead(near, far, float(px[block, near]), float(px[block, far]))


def local_heads(renormalised_px: NDArray, max_px: float) -> list[tuple[int, int]]:
    """(block, head) of every head of (L, H) that looks at most so far among the patches, by block, the nearest of a block last."""
    table = np.asarray(renormalised_px, np.float64)
    places = [(int(block), int(head)) for block, head in np.argwhere(table <= max_px)]
    return sorted(places, key=lambda place: (place[0], -float(table[place])))


def heads_beyond_even_attention(px: NDArray, even_px: float) -> list[tuple[int, int]]:
    """(block, head) of every head of (L, H) that reads more than even attention, by more than is seen where tenths are told."""
    return [(int(block), int(head)) for block, head in np.argwhere(np.asarray(px, np.float64) > even_px + TENTH_PX / 2)]


def farthest_head(px: NDArray) -> tuple[int, int]:
    """(block, head) of the head of (L, H) that reads most."""
    block, head = np.unravel_index(np.argmax(px), np.shape(px))
    return int(block), int(head)


def sink_heads(share: NDArray) -> list[tuple[int, int]]:
    """(block, head) of every head whose (L, H) `share` on prefix tokens is at least `SINK`, the largest first."""
    places = [(int(block), int(head)) for block, head in np.argwhere(np.asarray(share) >= SINK_SHARE)]
    return sorted(places, key=lambda place: -float(share[place]))


def most_changed_head(before_px: NDArray, after_px: NDArray) -> tuple[int, int]:
    """(block, head) whose distance differs most between two (L, H) tables."""
    block, head = np.unravel_index(np.abs(np.asarray(after_px, np.float64) - before_px).argmax(), np.shape(before_px))
    return int(block), int(head)

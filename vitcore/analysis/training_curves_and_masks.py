"""What a training leaves to look at: its log as curves, and masked patches painted into the photo they were taken from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitcore.analysis.attention_distance import uniform_distance_px
from vitcore.analysis.filters import low_frequency_share
from vitcore.analysis.patches import join_patches, split_patches
from vitcore.analysis.position_embeddings import correlation_with_distance, position_similarity
from vitcore.grid import Grid

UNTOUCHED, MASKED, REPLACED, KEPT = 0, 1, 2, 3  # what happened to a patch (arXiv 2010.11929 App. B.1.2)


def curve_from_log(log: Sequence[dict[str, Any]], name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(steps, values) of the records that have a finite `name`."""
    points = [(r["step"], r[name]) for r in log if isinstance(r.get(name), int | float) and np.isfinite(r[name])]
    return np.array([step for step, _ in points], np.int64), np.array([value for _, value in points], np.float64)


def average_curve_in_bins(steps: NDArray, values: NDArray, max_bins: int, log_steps: bool = False) -> tuple[NDArray, NDArray]:
    """A curve as the means of at most `max_bins` bins, equally wide in steps or in their logarithm."""
    if len(steps) <= max_bins:
        return steps, values
    place = np.log(np.maximum(steps, 1)) if log_steps else steps.astype(np.float64)
    span = max(float(place[-1] - place[0]), 1e-12)
    which = np.minimum((max_bins * (place - place[0]) / span).astype(np.int64), max_bins - 1)
    count = np.bincount(which, minlength=max_bins)
    held = count > 0
    means = [np.bincount(which, v, minlength=max_bins)[held] / count[held] for v in (steps, values)]
    return means[0], means[1]


@dataclass(frozen=True)
class EmergedStructure:
    """What is there at a moment of a training, each None where the model has no such thing.

    `smooth`: share of the filters' energy in the lowest quarter of spatial frequencies (white noise: 0.25);
    `correlation`: of positions' cosine with distance; `near`, `far`: reach of block 0's heads, even attention being 1.
    """

    smooth: float | None
    correlation: float | None
    near: float
    far: float

    @property
    def filters(self) -> bool:
        """Whether filters are mostly smooth patterns."""
        return self.smooth is not None and self.smooth > 0.5

    @property
    def positions(self) -> bool:
        """Whether near positions are alike."""
        return self.correlation is not None and self.correlation <= -0.4

    @property
    def heads(self) -> bool:
        """Whether the heads of the first block part: the farthest reaches more than twice as far as the nearest."""
        return self.far > 2 * self.near


def emerged_structure(arrays: Mapping[str, NDArray], frame: int, grid: Grid) -> EmergedStructure:
    """What is there in one frame of a film's `arrays`: kernel (S, D, 3, P, P), positions (S, N, D), distance_px (S, L, H)."""
    kernel, table = arrays.get("kernel"), arrays.get("positions")
    correlation = None
    if table is not None:
        patches = table[frame].astype(np.float64)[-grid.patches :]
        correlation = correlation_with_distance(position_similarity(patches), grid) if np.ptp(patches) else 0.0
    reach = arrays["distance_px"][frame][0].astype(np.float64) / uniform_distance_px(grid)
    smooth = None if kernel is None else low_frequency_share(kernel[frame])
    return EmergedStructure(smooth, correlation, float(reach.min()), float(reach.max()))


def first_emergence_frames(arrays: Mapping[str, NDArray], grid: Grid) -> dict[str, int | None]:
    """The first frame of a film in which each thing is there: "filters", "positions", "heads"; None where it never is."""
    frames = [emerged_structure(arrays, frame, grid) for frame in range(len(arrays["distance_px"]))]
    names = ("filters", "positions", "heads")
    return {name: next((i for i, one in enumerate(frames) if getattr(one, name)), None) for name in names}


def paint_corruption(
    pixels: NDArray[np.uint8], corruption_codes: NDArray, replacement_patches: NDArray, grid: Grid
) -> NDArray[np.uint8]:
    """What the model was given: replaced patches show the patch that stands there; masked ones are left for drawing."""
    patches = split_patches(pixels, grid)
    return join_patches(np.where((corruption_codes == REPLACED)[:, None, None, None], patches[replacement_patches], patches), grid)


def paint_corrupted_patches(
    pixels: NDArray[np.uint8], corruption_codes: NDArray, colour_per_patch: NDArray[np.uint8], grid: Grid
) -> NDArray[np.uint8]:
    """The photo with one colour (N, 3) over each patch that was corrupted."""
    patches = split_patches(pixels, grid)
    flat = np.broadcast_to(colour_per_patch[:, None, None], patches.shape)
    return join_patches(np.where((corruption_codes != UNTOUCHED)[:, None, None, None], flat, patches), grid)


def colour_error(colours: NDArray[np.uint8], truth: NDArray[np.uint8], corruption_codes: NDArray) -> float:
    """Mean absolute difference of predicted from true mean colours over the corrupted patches, in pixel values 0–255."""
    asked = corruption_codes != UNTOUCHED
    return float(np.abs(colours[asked].astype(np.float64) - truth[asked]).mean()) if asked.any() else 0.0

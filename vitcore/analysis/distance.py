"""Mean attention distance (arXiv 2010.11929 App. D.7, Fig. 7 right): how far a head looks, in pixels.

The authors' figure code (google-research/vision_transformer#162) drops the class token's row and column and does not
renormalise, so a head that spends half its attention on the class token reads half the distance: mode "drop". Mode
"renormalise" divides by what is left. Values above the uniform line are legitimate: such a head looks far on purpose.
"""

import functools
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vitcore.grid import Grid

Mode = Literal["drop", "renormalise"]
MODES: tuple[Mode, ...] = ("drop", "renormalise")


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

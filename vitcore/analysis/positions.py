"""Position-embedding similarity (arXiv 2010.11929 Fig. 7 centre, Fig. 10): the cosine of every pair of positions."""

import numpy as np
from numpy.typing import NDArray

from vitcore.grid import Grid


def similarity(positions: NDArray) -> NDArray[np.float64]:
    """Cosine similarity (N, N) of position embeddings (N, D), the class token's left out by the caller."""
    unit = np.asarray(positions, np.float64)
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True).clip(1e-12)
    return np.clip(unit @ unit.T, -1, 1)


def tiles(cosine: NDArray, grid: Grid) -> NDArray:
    """(N, N) similarities as (rows, cols, rows, cols): tile [r, c] is one position against all others."""
    return cosine.reshape(grid.rows, grid.cols, grid.rows, grid.cols)


def correlation_with_distance(cosine: NDArray, grid: Grid) -> float:
    """Pearson correlation of cosine with 2-D distance over all pairs of different positions."""
    pair = np.triu_indices(grid.patches, 1)
    return float(np.corrcoef(cosine[pair], grid.distances_px()[pair])[0, 1])

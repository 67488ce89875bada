"""TokenCut (Wang et al., arXiv 2202.11539): the object of a photo by a normalised cut of the graph of its patches."""

import numpy as np
from numpy.typing import NDArray

from vitcore.tokens.foreground import foreground_side
from vitcore.tokens.one_blas_thread import one_blas_thread

LEAST_EDGE = 1e-5  # of the graph, where two patches are not alike (arXiv 2202.11539 §3.2)
TAU = 0.2  # the cosine above which two patches are alike (arXiv 2202.11539 §4.1)


def token_cut(unit: NDArray[np.float32], rim: NDArray[np.bool_], tau: float | None) -> NDArray[np.int64]:
    """1 (object) or 0 of some tokens (N, D) of length 1; `rim` (N,) says which lie at the rim. All 0 where all are alike."""
    from scipy.linalg import eigh

    alike = (unit @ unit.T).astype(np.float64)
    limit = max(TAU, float(np.median(alike))) if tau is None else tau
    edges = np.where(alike > limit, 1.0, LEAST_EDGE)
    if edges.min() == edges.max():
        return np.zeros(len(unit), np.int64)
    root = np.sqrt(edges.sum(1))
    place = len(unit) - 2  # the second largest eigenvalue of D^-1/2 W D^-1/2 is the second smallest of (D - W) y = λ D y
    with one_blas_thread():
        _, vectors = eigh(edges / np.outer(root, root), subset_by_index=[place, place])
    second = vectors[:, 0] / root
    side = second > second.mean()
    return foreground_side(side, rim).astype(np.int64)

"""Position-embedding similarity (arXiv 2010.11929 Fig. 7 centre, Fig. 10): the cosine of every pair of positions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitcore.grid import Grid

MIRROR = 0.2  # by which a position is more like its mirror image than others as far away are, where we speak of a mirror


def position_similarity(positions: NDArray) -> NDArray[np.float64]:
    """Cosine similarity (N, N) of position embeddings (N, D), the class token's left out by the caller."""
    unit = np.asarray(positions, np.float64)
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True).clip(1e-12)
    return np.clip(unit @ unit.T, -1, 1)


def most_similar_position(cosine: NDArray, position: int) -> tuple[int, float]:
    """The other position that is most similar to this one, and their cosine."""
    others = np.array(cosine[position], np.float64)
    others[position] = -2
    most = int(others.argmax())
    return most, float(others[most])


def most_similar_pair(cosine: NDArray) -> tuple[int, int, float]:
    """The two positions that are most similar of all, the lower number first, and their cosine; `cosine` (N, N), N ≥ 2."""
    one, other = np.triu_indices(len(cosine), 1)
    most = int(cosine[one, other].argmax())
    return int(one[most]), int(other[most]), float(cosine[one[most], other[most]])


def neighbour_cosines(cosine: NDArray, position: int, grid: Grid) -> dict[str, float]:
    """The cosine with each of the `neighbours`."""
    return {way: float(cosine[position, there]) for way, there in neighbours(position, grid).items()}


def neighbours(position: int, grid: Grid) -> dict[str, int]:
    """The positions "above", "below", "left" and "right" of one, as far as the grid has them."""
    row, col = grid.row_col(position)
    there = {"above": (row - 1, col), "below": (row + 1, col), "left": (row, col - 1), "right": (row, col + 1)}
    return {way: r * grid.cols + c for way, (r, c) in there.items() if 0 <= r < grid.rows and 0 <= c < grid.cols}


@dataclass(frozen=True, slots=True)
class MirrorSymmetry:
    """How like its mirror image a position is on average, beside all pairs of positions as far apart."""

    way: str  # "sides": left and right change places; "ends": top and bottom; "both"
    cosine: float
    elsewhere: float


def corner_cosines(cosine: NDArray, grid: Grid) -> tuple[float, float, float]:
    """The cosines of top left with bottom right and of top right with bottom left, and the mean over all pairs of positions."""
    n, last = len(cosine), grid.cols - 1
    return float(cosine[0, -1]), float(cosine[last, n - 1 - last]), float((cosine.sum() - n) / (n * (n - 1)))


def mirror_symmetries(cosine: NDArray, grid: Grid) -> list[MirrorSymmetry]:
    """The mirror patterns there are, of positions at least half the picture from their image: the clearest first."""
    row, col = np.divmod(np.arange(grid.patches), grid.cols)
    images = {
        "sides": row * grid.cols + grid.cols - 1 - col, "ends": (grid.rows - 1 - row) * grid.cols + col,
        "both": (grid.rows - 1 - row) * grid.cols + grid.cols - 1 - col,
    }  # fmt: skip
    far = grid.distances_px()
    ring = np.round(far / min(grid.step_px)).astype(np.int64)
    mean = np.bincount(ring.ravel(), np.asarray(cosine, np.float64).ravel()) / np.bincount(ring.ravel()).clip(1)
    pairs = []
    for way, image in images.items():
        here = np.flatnonzero(far[np.arange(grid.patches), image] >= max(grid.image_px) / 2)
        if len(here):
            alike = float(cosine[here, image[here]].mean())
            pairs.append(MirrorSymmetry(way, alike, float(mean[ring[here, image[here]]].mean())))
    clear = [one for one in pairs if one.cosine - one.elsewhere >= MIRROR]
    return sorted(clear, key=lambda one: one.elsewhere - one.cosine)


def random_position_embeddings(positions: int, width: int, seed: int = 0) -> NDArray[np.float64]:
    """Position embeddings (N, D) as training begins with them: independent normal numbers."""
    return np.random.default_rng(seed).normal(0, 0.02, (positions, width))


def correlation_with_distance(cosine: NDArray, grid: Grid) -> float:
    """Pearson correlation of cosine with 2-D distance over all pairs of different positions."""
    pair = np.triu_indices(grid.patches, 1)
    return float(np.corrcoef(cosine[pair], grid.distances_px()[pair])[0, 1])


def same_line_and_elsewhere_cosines(cosine: NDArray, grid: Grid) -> tuple[float, float]:
    """The mean cosine of positions in one row or column, and of others as far apart: means over rings a step wide.

    NaN, where no ring has both.
    """
    row, col = np.divmod(np.arange(grid.patches), grid.cols)
    same = (row[:, None] == row) | (col[:, None] == col)
    ring = np.round(grid.distances_px() / min(grid.step_px)).astype(np.int64)
    rings = [ring == r for r in range(1, ring.max() + 1) if (same & (ring == r)).any() and (~same & (ring == r)).any()]
    if not rings:
        return float("nan"), float("nan")
    in_line, others = (float(np.mean([cosine[here & pairs].mean() for here in rings])) for pairs in (same, ~same))
    return in_line, others


def cosines_some_patches_apart(cosine: NDArray, grid: Grid, steps: int) -> tuple[float, float]:
    """The mean cosine of positions exactly so many patches apart in one row or column, and of others (5: 3 and 4 aslant).

    NaN, where there are not both.
    """
    row, col = np.divmod(np.arange(grid.patches), grid.cols)
    down, along = abs(row[:, None] - row), abs(col[:, None] - col)
    same, others = ((down**2 + along**2 == steps**2) & pairs for pairs in (down * along == 0, down * along > 0))
    if not same.any() or not others.any():
        return float("nan"), float("nan")
    return float(cosine[same].mean()), float(cosine[others].mean())


def same_line_excess_cosine(cosine: NDArray, grid: Grid) -> float:
    """How much more alike positions of one row or column are than others as far apart: the difference of both cosines."""
    same, others = same_line_and_elsewhere_cosines(cosine, grid)
    return same - others


def matching_patch(patch: int, grid: Grid, other: Grid) -> int:
    """The patch of another grid that holds the centre of this one's, where both cut the same picture."""
    row, col = grid.row_col(patch)
    return other.patch((2 * row + 1) * other.rows // (2 * grid.rows), (2 * col + 1) * other.cols // (2 * grid.cols))

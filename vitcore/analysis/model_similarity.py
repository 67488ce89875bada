"""Two models on one photo, as numbers: one grid for both, linear CKA of their tokens, agreement of their answers.

Rank correlation and difference of maps are in `analysis/relevance.py`. Shapes: L blocks, N positions, D width, C classes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from vitcore.grid import Grid
from vitcore.probabilities import Output, probabilities

Product = Callable[[NDArray, NDArray], NDArray]  # of matrices, or of stacks of them
Box = tuple[float, float, float, float]  # left, top, right, bottom, in pixels of the photo
ALIKE = 0.1  # of a patch: grids whose edges differ by less are one
TILE = 128  # positions: tiles of Gram matrices that stay in a processor's cache
MAX_POSITIONS = 400  # that tokens are compared at: the cost grows with their square


@dataclass(frozen=True, eq=False)
class CommonGrid:
    """One grid for two models: `rows` × `cols` cells over `box`, the part of the photo that both see.

    `across` and `down` of a model are (cols, its cols) and (rows, its rows): how much each of its columns and rows weighs
    in a cell; every row of them sums to 1. `resampled` is False where each cell is one patch of both models.
    """

    rows: int
    cols: int
    box: Box
    across: tuple[NDArray[np.float64], NDArray[np.float64]]
    down: tuple[NDArray[np.float64], NDArray[np.float64]]
    resampled: bool

    def cells(self, which: int, values: NDArray) -> NDArray[np.float64]:
        """(…, rows, cols) values on the grid of model 0 or 1, on this one: means over the area of each cell."""
        return self.down[which] @ np.asarray(values, np.float64) @ self.across[which].T

    def tokens(self, which: int, states: NDArray) -> NDArray[np.float32]:
        """(L, N, D) tokens of the patches of model 0 or 1 as (L, rows · cols, D): means over the area of each cell."""
        if not self.resampled:
            return np.asarray(states, np.float32)
        down, across = (side[which].astype(np.float32) for side in (self.down, self.across))
        on_grid = states.reshape(len(states), down.shape[1], across.shape[1], -1)
        lower = np.einsum("rh,lhwd->lrwd", down, on_grid, optimize=True)
        cells = np.einsum("cw,lrwd->lrcd", across, lower, optimize=True)
        return cells.reshape(len(states), self.rows * self.cols, -1)

    def patch(self, which: int, cell: int) -> int:
        """The patch of model 0 or 1 that a cell, counted in reading order, has most of."""
        row, col = divmod(cell, self.cols)
        return int(self.down[which][row].argmax()) * self.across[which].shape[1] + int(self.across[which][col].argmax())


def common_grid(grids: tuple[Grid, Grid], boxes: tuple[Box, Box], most: int = 0) -> CommonGrid:
    """The finest grid whose cells are no smaller than either model's patches, over what both see of the photo.

    With `most`, of at most so many cells. Raises: ValueError, when the models see no part of the photo in common.
    """
    shapes = [(grid.rows, grid.cols) for grid in grids]
    sizes = [np.array([box[3] - box[1], box[2] - box[0]]) / shape for box, shape in zip(boxes, shapes, strict=True)]
    same = shapes[0] == shapes[1] and (np.abs(np.subtract(*boxes)) < ALIKE * np.tile(sizes[0][::-1], 2)).all()
    if same and not (most and grids[0].patches > most):
        one = tuple(np.eye(count) for count in shapes[0])
        return CommonGrid(*shapes[0], boxes[0], (one[1], one[1]), (one[0], one[0]), False)
    (l0, t0, r0, b0), (l1, t1, r1, b1) = boxes
    box = max(l0, l1), max(t0, t1), min(r0, r1), min(b0, b1)
    if box[0] >= box[2] or box[1] >= box[3]:
        raise ValueError("the two models see no part of the photo in common")
    counts = np.array([box[3] - box[1], box[2] - box[0]]) / np.maximum(*sizes)
    if most and counts.prod() > most:
        counts *= np.sqrt(most / counts.prod())
    rows, cols = (int(n) for n in np.maximum(np.floor(counts + 1e-6), 1))
    down = tuple(_overlap((b[1], b[3]), n, (box[1], box[3]), rows) for b, (n, _) in zip(boxes, shapes, strict=True))
    across = tuple(_overlap((b[0], b[2]), n, (box[0], box[2]), cols) for b, (_, n) in zip(boxes, shapes, strict=True))
    return CommonGrid(rows, cols, box, across, down, True)  # type: ignore[arg-type]


def _overlap(span: tuple[float, float], count: int, wanted: tuple[float, float], cells: int) -> NDArray[np.float64]:
    """(cells, count): the share of each of `cells` equal parts of `wanted` that each of `count` parts of `span` covers."""
    theirs, ours = np.linspace(*span, count + 1), np.linspace(*wanted, cells + 1)
    low = np.maximum(ours[:-1, None], theirs[None, :-1])
    high = np.minimum(ours[1:, None], theirs[None, 1:])
    covered = np.clip(high - low, 0, None)
    return covered / covered.sum(1, keepdims=True)


def linear_cka_matrix(a: NDArray, b: NDArray, product: Product = np.matmul) -> NDArray[np.float64]:
    """Linear CKA (L_a, L_b) of every block of one model, tokens (L_a, N, D_a), with every block of another, (L_b, N, D_b).

    Centred kernel alignment of XXᵀ and YYᵀ over the N positions of one photo (Kornblith et al. 2019, arXiv 1905.00414,
    Eq. 3 and §3): ⟨K, L⟩ / (‖K‖·‖L‖) of the centred Gram matrices, 0 to 1; 1 for tokens that differ by a rotation and a
    scale. With fewer positions than dimensions even unrelated tokens are above 0. NaN where all tokens are alike.
    `product` multiplies matrices.
    """
    x, y = (_centred(tokens) for tokens in (a, b))
    together = np.zeros((len(x), len(y)))
    squares = np.zeros(len(x)), np.zeros(len(y))
    for rows, columns in combinations_with_replacement(range(0, x.shape[1], TILE), 2):
        times = 1 if rows == columns else 2  # the matrices are symmetric
        k = _part(x, rows, columns, product)
        m = k if a is b else _part(y, rows, columns, product)
        together += times * product(k, m.T)
        for square, part in zip(squares, (k, m), strict=True):
            square += times * np.einsum("ln,ln->l", part, part)
    with np.errstate(invalid="ignore"):  # 0 / 0 where all tokens are alike
        return np.clip(together / np.sqrt(np.outer(*squares)), 0, 1)


def _centred(tokens: NDArray) -> NDArray[np.float32]:
    """Tokens (L, N, D) less their mean over N. In 32 bits: two models are to be compared in a tenth of the time they take."""
    x = np.asarray(tokens, np.float32)
    return x - x.mean(1, keepdims=True)


def _part(x: NDArray[np.float32], rows: int, columns: int, product: Product) -> NDArray[np.float32]:
    """(L, TILE·TILE) of each block's Gram matrix: the tile that begins in this row and column."""
    some: NDArray[np.float32] = product(x[:, rows : rows + TILE], x[:, columns : columns + TILE].transpose(0, 2, 1))
    return some.reshape(len(x), -1)


def subspace_overlap(a: NDArray, b: NDArray) -> float:
    """How much the spaces that orthonormal rows a (K, D) and b (K, D) span have in common, 0 to 1: ‖A·Bᵀ‖² / K.

    The mean squared cosine of the principal angles between them; two spaces drawn at random have about K / D.
    """
    a, b = (np.asarray(one, np.float64).reshape(len(one), -1) for one in (a, b))
    if a.shape != b.shape:
        raise ValueError(f"spaces of {a.shape} and {b.shape} can't be compared")
    return float(((a @ b.T) ** 2).sum() / len(a))


@dataclass(frozen=True)
class PredictionAgreement:
    """Whether two answers agree: the likeliest class is the same, how many of the likeliest five are, and how far the
    distributions are apart: Jensen-Shannon divergence in bits, 0 (the same) to 1; its mean over classes with a sigmoid each."""

    same_top1: bool
    shared_top5: int
    of: int  # five, or how many classes there are
    divergence_bits: float


def prediction_agreement(
    a: NDArray, b: NDArray, labels: tuple[tuple[str, ...], tuple[str, ...]], outputs: tuple[Output, Output] = ("softmax", "softmax")
) -> PredictionAgreement | None:
    """How two models' logits (C,) agree; None where they don't tell the same classes apart, or mean other things by them.

    The order of the classes may differ.
    """
    from scipy.spatial.distance import jensenshannon

    if outputs[0] != outputs[1] or "features" in outputs or not labels[0] or len(a) != len(labels[0]) or len(b) != len(labels[1]):
        return None
    if labels[0] != labels[1]:
        place = {name: i for i, name in enumerate(labels[1])}
        if len(place) != len(labels[1]) or len(labels[0]) != len(labels[1]) or set(labels[0]) != set(place):
            return None
        b = b[[place[name] for name in labels[0]]]
    p, q = (probabilities(one, outputs[0]) for one in (a, b))
    five = min(5, len(p))
    tops = [np.argsort(-one, kind="stable")[:five] for one in (p, q)]
    shared = len(set(tops[0].tolist()) & set(tops[1].tolist()))
    apart = [p, q] if outputs[0] == "softmax" else [np.stack([one, 1 - one]) for one in (p, q)]  # each class by itself
    bits = float(np.mean(jensenshannon(*apart, base=2, axis=0) ** 2))
    return PredictionAgreement(bool(tops[0][0] == tops[1][0]), shared, five, bits)

"""Attention rollout (Abnar & Zuidema, arXiv 2005.00928; arXiv 2010.11929 App. D.8): attention carried through blocks.

Heads are fused, the residual connection is a share of the identity, rows are normalised, and the blocks' matrices are
multiplied with later blocks on the left. One token's rollout is a row vector times L matrices, from the last block down.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

STRIP_BYTES = 2**20  # rows of a matrix, as many at a time as a core's cache holds
LARGEST = 1e30  # of float32's numbers, with room for their sums

Convention = Literal["row-stochastic", "vit-explain"]
CONVENTIONS: tuple[Convention, ...] = ("row-stochastic", "vit-explain")

HeadFusion = Literal["mean", "max", "min"]
HEAD_FUSIONS: tuple[HeadFusion, ...] = ("mean", "max", "min")


def fuse_heads(weights: NDArray, fusion: HeadFusion = "mean") -> NDArray:
    """(…, H, T, T) attention weights of heads as one (…, T, T) matrix."""
    if fusion not in HEAD_FUSIONS:
        raise ValueError(f"fusion is one of {', '.join(HEAD_FUSIONS)}, not {fusion!r}")
    return getattr(np, fusion)(weights, axis=-3)


def discard_weakest(fused: NDArray, ratio: float, prefix: int) -> NDArray:
    """Set the smallest `ratio` of the patch-to-patch weights of each (…, T, T) matrix to 0; prefix tokens are kept."""
    _check_ratio(ratio)
    block = fused[..., prefix:, prefix:]
    drop = int(ratio * block.shape[-1] ** 2)
    if drop == 0:
        return fused
    flat = block.reshape(*block.shape[:-2], -1)
    limit = np.partition(flat, drop, axis=-1)[..., drop, None, None]
    out = fused.copy()
    out[..., prefix:, prefix:] = np.where(block < limit, 0, block)
    return out


def transition_matrix(fused: NDArray, prefix: int = 1, discard_ratio: float = 0.0, residual: float = 0.5) -> NDArray[np.float64]:
    """(L, T, T) fused attention as matrices whose rows sum to 1: (1−residual)·A + residual·I, rows normalised."""
    _check_residual(residual)
    a = np.array(discard_weakest(fused, discard_ratio, prefix), np.float64)
    sums = a.sum(-1, keepdims=True)
    a /= np.where(sums > 0, sums, 1)
    a *= 1 - residual
    diagonal = np.arange(a.shape[-1])
    a[..., diagonal, diagonal] += np.where(sums[..., 0] > 0, residual, 1)
    return a


def rollout_step(row: NDArray, fused: NDArray, prefix: int, discard_ratio: float, residual: float) -> NDArray[np.float64]:
    """One block back: row @ transition(fused), without building the matrix; `row` is (T,) or several, (…, T).

    The product is taken in the precision of `fused`, in float32 of half precision, so that nothing is copied.
    """
    _check_residual(residual)
    weights, tokens = discard_weakest(fused, discard_ratio, prefix), fused.shape[-1]
    weights = weights.astype(np.result_type(weights, np.float32), copy=False)
    moved, stays = np.zeros(np.shape(row)), np.empty(tokens)
    few = max(1, STRIP_BYTES // weights[0].nbytes)
    for first in range(0, tokens, few):
        rows = slice(first, first + few)
        part = weights[rows]
        sums = part.sum(-1)
        some = sums > 0
        shares = row[..., rows] / np.where(some, sums, 1)
        fits = shares.max(initial=0) < LARGEST  # not where a row's weights are all next to nothing
        moved += (shares.astype(part.dtype) if fits else shares) @ part
        stays[rows] = np.where(some, residual, 1)
    return (1 - residual) * moved + stays * row


def rollout(
    fused: NDArray, start: int | NDArray = 0, *, prefix: int = 1, discard_ratio: float = 0.0,
    residual: float = 0.5, first_block: int = 0, convention: Convention = "row-stochastic",
) -> NDArray[np.float64]:  # fmt: skip
    """Rollout (T,) of one token over all tokens; sums to 1.

    `fused` is (L, T, T). `start` is a token's index (0: the class token) or a distribution over tokens (T,), for models
    that read their answer from a pool of tokens. Blocks before `first_block` are left out.
    convention: "row-stochastic", after arXiv 2005.00928: the weakest weights between patches are discarded, those of the prefix
    are kept, rows are made to sum to 1, then the identity is added. "vit-explain": as `vit_explain_rollout`.
    """
    if is_vit_explain(convention):
        return vit_explain_rollout(
            fused, start, prefix=prefix, discard_ratio=discard_ratio, residual=residual, first_block=first_block
        )
    _check_first(first_block, len(fused))
    row = start_row(start, fused.shape[-1])
    for matrix in fused[: first_block - 1 if first_block else None : -1]:
        row = rollout_step(row, matrix, prefix, discard_ratio, residual)
    return row


def vit_explain_rollout(
    fused: NDArray, start: int | NDArray = 0, *, prefix: int = 1, discard_ratio: float = 0.0, residual: float = 0.5,
    first_block: int = 0, keep_first: bool = True,
) -> NDArray[np.float64]:  # fmt: skip
    """Rollout (T,) as the code of github.com/jacobgil/vit-explain has it, so that the largest of the patches is 1.

    The smallest `discard_ratio` of all weights of a block (L, T, T) is discarded, the prefix's too; with `keep_first` not the
    class token's weight of itself (`vit_rollout.py`; `vit_grad_rollout.py` discards that, too). The identity is added to what is
    left, which need not sum to 1; then column j, not row j, is divided by the sum of row j.
    """
    _check_first(first_block, len(fused))
    _check_residual(residual)
    row = start_row(start, fused.shape[-1])
    for matrix in fused[: first_block - 1 if first_block else None : -1]:
        weights = _discard_weakest_of_all(matrix, discard_ratio, keep_first)
        sums = (1 - residual) * weights.sum(-1) + residual
        row = ((1 - residual) * row @ weights + residual * row) / np.where(sums > 0, sums, 1)
    most = float(row[prefix:].max(initial=0))
    return row / most if most > 0 else row


def _discard_weakest_of_all(matrix: NDArray, ratio: float, keep_first: bool) -> NDArray[np.float64]:
    _check_ratio(ratio)
    weights = np.array(matrix, np.float64)
    flat = weights.reshape(-1)
    if drop := int(ratio * flat.size):
        first = flat[0]
        flat[np.argpartition(flat, drop - 1)[:drop]] = 0
        flat[0] = first if keep_first else flat[0]
    return weights


def rollout_per_layer(
    fused: NDArray, start: int | NDArray = 0, *, prefix: int = 1, discard_ratio: float = 0.0, residual: float = 0.5,
    first_block: int = 0,
) -> NDArray[np.float64]:  # fmt: skip
    """Rollout (L, T) as it is built up: row l is what the token has gathered when it leaves block l.

    Row l is start @ Ã_l ⋯ Ã_first: the rollout of the model that stops after block l. The last row is `rollout`; rows
    before `first_block` are the token itself, which has gathered nothing yet. Every row sums to 1. A start that is a
    distribution (a pool's weights) is the same for every row: the one the whole model reads with.
    """
    _check_first(first_block, len(fused))
    rows = np.tile(start_row(start, fused.shape[-1]), (len(fused), 1))
    for block in range(len(fused) - 1, first_block - 1, -1):  # every row that has this block in it takes it at once
        rows[block:] = rollout_step(rows[block:], fused[block], prefix, discard_ratio, residual)
    return rows


def rollout_matrix(
    fused: NDArray, *, prefix: int = 1, discard_ratio: float = 0.0, residual: float = 0.5, first_block: int = 0
) -> NDArray[np.float64]:
    """Rollout (T, T) of every token at once: the whole matrix product."""
    _check_first(first_block, len(fused))
    product = np.eye(fused.shape[-1])
    for matrix in fused[first_block:]:
        product = transition_matrix(matrix, prefix, discard_ratio, residual) @ product
    return product


def start_row(start: int | NDArray, tokens: int) -> NDArray[np.float64]:
    """A token's index as a distribution over tokens; a distribution as it is."""
    if not isinstance(start, int | np.integer):
        return np.asarray(start, np.float64)
    row = np.zeros(tokens)
    row[start] = 1
    return row


def _check_first(first_block: int, blocks: int) -> None:
    if not 0 <= first_block < blocks:
        raise ValueError(f"the first block is from 0 to {blocks - 1}, not {first_block}")


def is_vit_explain(convention: str) -> bool:
    """Whether this convention is vit-explain's. Raises: ValueError, for what is none."""
    if convention not in CONVENTIONS:
        raise ValueError(f"convention is one of {', '.join(CONVENTIONS)}, not {convention!r}")
    return convention == "vit-explain"


def _check_ratio(ratio: float) -> None:
    if not 0 <= ratio < 1:
        raise ValueError(f"the discard ratio is from 0 to below 1, not {ratio}")


def _check_residual(residual: float) -> None:
    if not 0 <= residual <= 1:
        raise ValueError(f"the residual weight is from 0 to 1, not {residual}")


def map_overlap(one: NDArray, two: NDArray) -> float:
    """The share two maps have in common, each taken as shares of its own total: 1 for the same map, 0 for disjoint ones."""
    first, second = (np.asarray(m, np.float64) / max(float(np.sum(m)), 1e-30) for m in (one, two))
    return float(np.minimum(first, second).sum())

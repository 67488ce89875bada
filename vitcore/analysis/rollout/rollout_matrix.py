"""Rollout of every token at once, as a matrix, and of one token layer by layer; heads fused, and two maps compared.

Shapes: L blocks, H heads, T tokens = prefix + N patches.
"""

import numpy as np
from numpy.typing import NDArray

from vitcore.analysis.rollout.discarded_weights import discard_weakest_between_patches
from vitcore.analysis.rollout.token_rollout import check_rollout, rollout_step, start_distribution
from vitcore.analysis.rollout_options import HEAD_FUSIONS, HeadFusion


def fuse_heads(weights: NDArray, fusion: HeadFusion = "mean") -> NDArray:
    """(…, H, T, T) attention weights of heads as one (…, T, T) matrix."""
    if fusion not in HEAD_FUSIONS:
        raise ValueError(f"fusion is one of {', '.join(HEAD_FUSIONS)}, not {fusion!r}")
    return getattr(np, fusion)(weights, axis=-3)


def transition_matrix(fused: NDArray, prefix: int = 1, discard_ratio: float = 0.0, residual: float = 0.5) -> NDArray[np.float64]:
    """(L, T, T) fused attention as matrices whose rows sum to 1: (1−residual)·A + residual·I, rows normalised."""
    check_rollout(residual=residual)
    a = np.array(discard_weakest_between_patches(fused, discard_ratio, prefix), np.float64)
    sums = a.sum(-1, keepdims=True)
    a /= np.where(sums > 0, sums, 1)
    a *= 1 - residual
    diagonal = np.arange(a.shape[-1])
    a[..., diagonal, diagonal] += np.where(sums[..., 0] > 0, residual, 1)
    return a


def rollout_matrix(
    fused: NDArray, *, prefix: int = 1, discard_ratio: float = 0.0, residual: float = 0.5, first_block: int = 0
) -> NDArray[np.float64]:
    """Rollout (T, T) of every token at once: the whole matrix product."""
    check_rollout(first_block, len(fused))
    product = np.eye(fused.shape[-1])
    for matrix in fused[first_block:]:
        product = transition_matrix(matrix, prefix, discard_ratio, residual) @ product
    return product


def rollout_per_layer(
    fused: NDArray, start: int | NDArray = 0, *, prefix: int = 1, discard_ratio: float = 0.0, residual: float = 0.5,
    first_block: int = 0,
) -> NDArray[np.float64]:  # fmt: skip
    """Rollout (L, T) as it is built up: row l is what the token has gathered when it leaves block l.

    Row l is start @ Ã_l ⋯ Ã_first: the rollout of the model that stops after block l. The last row is `rollout`; rows
    before `first_block` are the token itself, which has gathered nothing yet. Every row sums to 1. A start that is a
    distribution (a pool's weights) is the same for every row: the one the whole model reads with.
    """
    check_rollout(first_block, len(fused))
    rows = np.tile(start_distribution(start, fused.shape[-1]), (len(fused), 1))
    for block in range(len(fused) - 1, first_block - 1, -1):  # every row that has this block in it takes it at once
        rows[block:] = rollout_step(rows[block:], fused[block], prefix, discard_ratio, residual)
    return rows


def map_overlap(first_map: NDArray, second_map: NDArray) -> float:
    """The share two maps have in common, each taken as shares of its own total: 1 for the same map, 0 for disjoint ones."""
    first, second = (np.asarray(m, np.float64) / max(float(np.sum(m)), 1e-30) for m in (first_map, second_map))
    return float(np.minimum(first, second).sum())

"""Attention rollout (Abnar & Zuidema, arXiv 2005.00928; arXiv 2010.11929 App. D.8): attention carried through blocks.

Heads are fused, the residual connection is a share of the identity, rows are normalised, and the blocks' matrices are
multiplied with later blocks on the left. One token's rollout is a row vector times L matrices, from the last block down.
"""

import numpy as np
from numpy.typing import NDArray

from vitcore.analysis.rollout.discarded_weights import discard_weakest_between_patches
from vitcore.analysis.rollout_options import Convention

STRIP_BYTES = 2**20  # rows of a matrix, as many at a time as a core's cache holds
LARGEST = 1e30  # of float32's numbers, with room for their sums


def rollout_step(row: NDArray, fused: NDArray, prefix: int, discard_ratio: float, residual: float) -> NDArray[np.float64]:
    """One block back: row @ transition(fused), without building the matrix; `row` is (T,) or several, (…, T).

    The product is taken in the precision of `fused`, in float32 of half precision, so that nothing is copied.
    """
    check_rollout(residual=residual)
    weights, tokens = discard_weakest_between_patches(fused, discard_ratio, prefix) if discard_ratio else fused, fused.shape[-1]
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
    if convention != "row-stochastic":
        from vitcore.analysis.rollout.vit_explain import is_vit_explain, vit_explain_rollout

        if is_vit_explain(convention):
            return vit_explain_rollout(fused, start, prefix=prefix, discard_ratio=discard_ratio, residual=residual,
                                       first_block=first_block)  # fmt: skip
    check_rollout(first_block, len(fused))
    row = start_distribution(start, fused.shape[-1])
    for matrix in fused[first_block:][::-1]:
        row = rollout_step(row, matrix, prefix, discard_ratio, residual)
    return row


def start_distribution(start: int | NDArray, tokens: int) -> NDArray[np.float64]:
    """A token's index as a distribution over tokens; a distribution as it is. Raises: IndexError, for a token that there is not."""
    if not isinstance(start, int | np.integer):
        return np.asarray(start, np.float64)
    if not 0 <= start < tokens:
        raise IndexError(f"a token is from 0 to {tokens - 1}, not {start}")
    return np.eye(1, tokens, start)[0]


def check_rollout(first_block: int = 0, blocks: int = 1, residual: float = 0.5) -> None:
    """Raises: ValueError, for a block that there is not, and for what is no weight of the identity."""
    if not 0 <= first_block < blocks:
        raise ValueError(f"the first block is from 0 to {blocks - 1}, not {first_block}")
    if not 0 <= residual <= 1:
        raise ValueError(f"the residual weight is from 0 to 1, not {residual}")

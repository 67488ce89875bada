"""The weakest weights of attention set to 0: between patches, or of all as vit-explain's code has it."""

import numpy as np
from numpy.typing import NDArray


def discard_weakest_between_patches(fused: NDArray, ratio: float, prefix: int) -> NDArray:
    """Set the smallest `ratio` of the patch-to-patch weights of each (…, T, T) matrix to 0; prefix tokens are kept."""
    _check_discard_ratio(ratio)
    block = fused[..., prefix:, prefix:]
    drop = int(ratio * block.shape[-1] ** 2)
    if drop == 0:
        return fused
    flat = block.reshape(*block.shape[:-2], -1)
    limit = np.partition(flat, drop, axis=-1)[..., drop, None, None]
    out = fused.copy()
    out[..., prefix:, prefix:] = np.where(block < limit, 0, block)
    return out


def discard_weakest_of_all(matrix: NDArray, ratio: float, keep_first: bool) -> NDArray[np.float64]:
    """Set the smallest `ratio` of all weights of a (T, T) matrix to 0, a copy; with `keep_first` not the first token's own."""
    _check_discard_ratio(ratio)
    weights = np.array(matrix, np.float64)
    flat = weights.reshape(-1)
    if drop := int(ratio * flat.size):
        first = flat[0]
        flat[np.argpartition(flat, drop - 1)[:drop]] = 0
        flat[0] = first if keep_first else flat[0]
    return weights


def _check_discard_ratio(ratio: float) -> None:
    """Raises: ValueError, for what is no discard ratio."""
    if not 0 <= ratio < 1:
        raise ValueError(f"the discard ratio is from 0 to below 1, not {ratio}")

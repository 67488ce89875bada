"""Rollout by the convention of vit-explain's code, which is another than the papers'."""

import numpy as np
from numpy.typing import NDArray

from vitcore.analysis.rollout.discarded_weights import discard_weakest_of_all
from vitcore.analysis.rollout.token_rollout import check_rollout, start_distribution
from vitcore.analysis.rollout_options import CONVENTIONS, Convention


def is_vit_explain(convention: Convention) -> bool:
    """Whether this convention is vit-explain's. Raises: ValueError, for what is none."""
    if convention not in CONVENTIONS:
        raise ValueError(f"convention is one of {', '.join(CONVENTIONS)}, not {convention!r}")
    return convention == "vit-explain"


def vit_explain_rollout(
    fused: NDArray, start: int | NDArray = 0, *, prefix: int = 1, discard_ratio: float = 0.0, residual: float = 0.5,
    first_block: int = 0, keep_first: bool = True,
) -> NDArray[np.float64]:  # fmt: skip
    """Rollout (T,) as the code of github.com/jacobgil/vit-explain has it, so that the largest of the patches is 1.

    The smallest `discard_ratio` of all weights of a block (L, T, T) is discarded, the prefix's too; with `keep_first` not the
    class token's weight of itself (`vit_rollout.py`; `vit_grad_rollout.py` discards that, too). The identity is added to what is
    left, which need not sum to 1; then column j, not row j, is divided by the sum of row j.
    """
    check_rollout(first_block, len(fused), residual)
    row = start_distribution(start, fused.shape[-1])
    for matrix in fused[first_block:][::-1]:
        weights = discard_weakest_of_all(matrix, discard_ratio, keep_first)
        sums = (1 - residual) * weights.sum(-1) + residual
        row = ((1 - residual) * row @ weights + residual * row) / np.where(sums > 0, sums, 1)
    most = float(row[prefix:].max(initial=0))
    return row / most if most > 0 else row

"""Outlier tokens: the few patches whose norm towers over all others', which a model uses as registers of its own.

Darcet et al., "Vision Transformers Need Registers" (arXiv 2309.16588, §2), see them in large models as a second heap in the
histogram of the norms with which patches leave a block, "roughly 10x" as high, and cut by hand, at 150 for DINOv2-g. A number
of one model says nothing of another, so here the cut is made from the norms themselves: see `cuts`.
Shapes: L blocks, T tokens = prefix + N patches.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

SCORE = 3.5  # of Iglewicz & Hoaglin: beyond it a value is a potential outlier
NORMAL = 0.6745  # quartile of the normal distribution: a MAD divided by it is a standard deviation
TIMES = 5.0  # the median, at least: half of arXiv 2309.16588's "roughly 10x"
ONE_IN = 20  # patches: whoever is brighter than all but one in twenty is among what the eye takes for a map's bright spots


def outlier_thresholds(norms: NDArray) -> NDArray[np.float64]:
    """The norm above which a patch is an outlier, (…) for the norms (…, N) of all patches of a photo after a block.

    It is the larger of two: the modified z-score of 3.5 on the logarithms of the norms, median · exp(3.5 · MAD / 0.6745)
    (B. Iglewicz & D. Hoaglin, How to Detect and Handle Outliers, 1993), so that norms that merely spread widely have none;
    and 5 times the median, so that norms that are nearly all alike have none. Both scale with the norms. Measured on the 18
    photos that ship, after blocks 7 to 11 of the shipped model and of ViT-Ti/16 at 224 px: of 40,680 norms 710 are above 5 times
    the median, 659 of them above 20 times, and 5 between 2 and 5 times. DeiT-Ti's reach 2.6 times (224 px), DINOv2-S's 4.0 (224 px)
    and 4.2 (518 px): they have none. `python tests/benchmarks/outliers.py NAME … [--px 224]` measures it again.
    """
    logs = np.log(np.maximum(np.asarray(norms, np.float64), 1e-30))
    middle = np.median(logs, -1)
    spread = np.median(np.abs(logs - middle[..., None]), -1)
    return np.exp(middle + np.maximum(SCORE / NORMAL * spread, np.log(TIMES)))


@dataclass(frozen=True, eq=False)
class OutlierTokens:
    """The outlier tokens of one photo: `norms` (L, T) of all tokens after each block, `cuts` (L,), `medians` (L,) of patches,
    and `high` (L, N), whether a patch is above the cut."""

    norms: NDArray[np.float32]
    prefix: int
    thresholds: NDArray[np.float64]
    medians: NDArray[np.float64]
    high: NDArray[np.bool_]

    @property
    def patches(self) -> NDArray[np.int64]:
        """The patches that are above the cut after some block, in reading order."""
        return np.flatnonzero(self.high.any(0))

    @property
    def tokens(self) -> NDArray[np.bool_]:
        """(T,): the same among all tokens. Class token and registers are none: they are not patches."""
        return np.concatenate([np.zeros(self.prefix, bool), self.high.any(0)])

    @property
    def first(self) -> NDArray[np.int64]:
        """(N,): the first block after which each patch is above the cut; L for those that never are."""
        return np.where(self.high.any(0), self.high.argmax(0), len(self.high))

    @property
    def times(self) -> NDArray[np.float64]:
        """(L, N): norms of patches, as multiples of their median after that block."""
        return self.norms[:, self.prefix :] / np.maximum(self.medians, 1e-30)[:, None]


def find_outlier_tokens(norms: NDArray, prefix: int) -> OutlierTokens:
    """Which patches are outliers after each block, from the norms (L, T) of all tokens."""
    patches = norms[:, prefix:]
    limits = outlier_thresholds(patches)
    return OutlierTokens(norms, prefix, limits, np.median(patches, -1).astype(np.float64), patches > limits[:, None])


def mask_key_columns(weights: NDArray, tokens: NDArray[np.bool_]) -> NDArray:
    """Attention weights (…, T, T) from which nothing flows out of some tokens (T,): their columns are 0, rows sum to what they did.

    It is the softmax with these keys left out. Rows of the tokens themselves are treated as all others: they still ask, and
    are not asked. A row all of whose weight was on them is spread evenly over the tokens that are left. Without tokens to
    mask, the weights themselves come back. Raises: ValueError, when no token would be left.
    """
    if not tokens.any():
        return weights
    if tokens.all():
        raise ValueError("a token must be left to attend to")
    before = np.asarray(weights, np.float32)
    left = np.where(tokens, np.float32(0), before)
    sums, remain = before.sum(-1, keepdims=True), left.sum(-1, keepdims=True)
    even = np.where(tokens, np.float32(0), np.float32(1 / (~tokens).sum()))
    kept = np.divide(left, remain, out=np.broadcast_to(even, left.shape).copy(), where=remain > 0)
    return (kept * sums).astype(weights.dtype)


def attention_share_on_tokens(fused: NDArray, tokens: NDArray[np.bool_], rows: NDArray) -> NDArray[np.float64]:
    """Share (L,) of the attention (L, T, T) of a distribution over tokens (T,) that goes to these tokens."""
    asked = np.einsum("t,ltk->lk", np.asarray(rows, np.float64), np.asarray(fused, np.float64))
    return asked[:, tokens].sum(-1) / np.maximum(asked.sum(-1), 1e-30)


def outliers_in_map(values: NDArray, patches: ArrayLike) -> NDArray[np.int64]:
    """The outlier `patches` of a photo that hold much of a map (rows, cols) or (N,), in reading order.

    An outlier token holds much when it has more than an even share of the map's total, and at most one in `ONE_IN` of the
    patches that are none has as much. By chance one in twenty would. A limit on their share of the total would be none for all
    maps: rollout is so even that the four brightest patches hold 3 % of it, and a head gives four outliers 90 %. Signed maps
    count by size. Nothing stands out of a map that is 0, or even.
    """
    amounts, some = np.abs(np.asarray(values, np.float64)).ravel(), np.asarray(patches, np.int64)
    rest = np.delete(amounts, some)
    as_much = (rest >= amounts[some, None]).sum(1)
    return some[(amounts[some] > amounts.mean()) & (as_much * ONE_IN <= len(rest))]

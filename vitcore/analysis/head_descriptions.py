"""What a head does, in numbers and in plain words; each word has one rule, and the thresholds are here and nowhere else.

All are means over the query patches of one photo. H heads, T tokens = prefix + N patches; weights are (H, T, T).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vitcore.analysis.attention_distance import mean_distance_px, uniform_distance_px
from vitcore.analysis.outlier_tokens import mask_key_columns
from vitcore.grid import Grid

HeadWord = Literal["sink", "outliers", "even", "local", "global", "mixed", "positional"]
SINK_SHARE = 0.5  # of the attention goes to one prefix token, or to the outlier tokens together
OUTLIER_SHARE = 0.1  # of the attention on outlier tokens, from which on it is worth a word
EVEN_ENTROPY_SHARE = 0.95  # of the entropy of attending to all tokens alike
LOCAL_REACH, GLOBAL_REACH = (0.5, 0.9)  # of the distance of attending to all patches alike, prefix and outlier tokens left out
POSITIONAL_SHARE = 0.5  # of the variance of attention between patches is explained by their offset alone


@dataclass(frozen=True, slots=True)
class HeadDescription:
    """One head on one photo; `sink` is the prefix token that the word "sink" is about."""

    entropy_bits: float
    distance_px: float  # as the paper: prefix tokens dropped
    reach_px: float  # prefix and outlier tokens dropped, and divided by what is left
    shares: tuple[float, ...]  # on each prefix token
    outlying: float  # share on outlier tokens
    by_offset: float
    words: tuple[HeadWord, ...]
    sink: int | None


def entropy_bits(weights: NDArray, grid: Grid) -> NDArray[np.float64]:
    """Mean over query patches of −Σ w·log2 w over all tokens (H,): 0 looks at one token, log2 T at all alike."""
    w = weights[:, grid.prefix :].astype(np.float32)
    return -(w * np.log2(np.maximum(w, 2**-30))).sum(-1).mean(-1).astype(np.float64)


def prefix_shares(weights: NDArray, grid: Grid) -> NDArray[np.float64]:
    """Mean over query patches of the weight on each prefix token (H, prefix)."""
    return weights[:, grid.prefix :, : grid.prefix].astype(np.float64).mean(1)


def explained_by_offset(weights: NDArray, grid: Grid) -> NDArray[np.float64]:
    """Share (H,) of the variance of patch-to-patch attention that the offset between two patches explains (adjusted R²).

    Rows are divided by their sum over patches. A head for which it is 1 attends to "two to the right", whatever is there.
    """
    w = weights[:, grid.prefix :, grid.prefix :].astype(np.float64)
    w = w / w.sum(-1, keepdims=True).clip(1e-12)
    kind, pairs = _offsets(grid), grid.patches**2
    count = np.bincount(kind)
    groups = int((count > 0).sum())
    flat = w.reshape(len(w), -1)
    means = np.stack([np.bincount(kind, head) / np.maximum(count, 1) for head in flat])
    total = ((flat - flat.mean(1, keepdims=True)) ** 2).sum(1)
    left = (flat**2).sum(1) - (means**2 * count).sum(1)
    unexplained = (left / max(pairs - groups, 1)) / (total / max(pairs - 1, 1)).clip(1e-30)
    return np.where(total > 1e-12, np.clip(1 - unexplained, 0, 1), 0.0)


def _offsets(grid: Grid) -> NDArray[np.int64]:
    """(N·N,): which offset (rows down, columns right) leads from each patch to each other."""
    row, col = np.divmod(np.arange(grid.patches), grid.cols)
    down, right = row[None] - row[:, None] + grid.rows - 1, col[None] - col[:, None] + grid.cols - 1
    return (down * (2 * grid.cols - 1) + right).ravel()


def describe_heads(
    weights: NDArray, distance_px: NDArray, renormalised_px: NDArray, grid: Grid, outliers: NDArray[np.bool_]
) -> list[HeadDescription]:
    """Every head of a block: its weights (H, T, T), its distances (H,), which the recording has already; `outliers` (T,) are
    the photo's outlier tokens."""
    if outliers.any():
        renormalised_px = mean_distance_px(mask_key_columns(weights, outliers), grid, "renormalise")
    outlying = weights[:, grid.prefix :, outliers].astype(np.float64).sum(-1).mean(-1)
    rows = zip(
        entropy_bits(weights, grid), distance_px, renormalised_px, prefix_shares(weights, grid), outlying,
        explained_by_offset(weights, grid), strict=True,
    )  # fmt: skip
    described = []
    for bits, px, reach_px, shares, out, offset in rows:
        words, sink = head_words(float(bits), float(reach_px), shares, float(offset), grid, float(out))
        numbers = float(bits), float(px), float(reach_px), tuple(map(float, shares)), float(out), float(offset)
        described.append(HeadDescription(*numbers, words, sink))
    return described


def head_words(
    bits: float, reach_px: float, shares: NDArray, share_by_offset: float, grid: Grid, outlier_share: float = 0.0
) -> tuple[tuple[HeadWord, ...], int | None]:
    """The words for a head, the first that fits of sink, outliers, even, local, global, mixed, then "positional"; and its sink."""
    sink = int(np.argmax(shares)) if len(shares) and max(shares) >= SINK_SHARE else None
    reach = reach_px / max(uniform_distance_px(grid), 1e-12)
    first: HeadWord = "mixed"
    if sink is not None:
        first = "sink"
    elif outlier_share >= SINK_SHARE:
        first = "outliers"
    elif bits >= EVEN_ENTROPY_SHARE * np.log2(grid.tokens):
        first = "even"
    elif reach <= LOCAL_REACH:
        first = "local"
    elif reach >= GLOBAL_REACH:
        first = "global"
    return ((first, "positional") if share_by_offset >= POSITIONAL_SHARE else (first,)), sink

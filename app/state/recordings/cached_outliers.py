"""Outlier tokens of a recording, cached; and the recording with them masked, under a key of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import vitcore
from app.state.memory import memory_cache
from vitcore.analysis.outlier_tokens import ONE_IN as ONE_IN
from vitcore.analysis.outlier_tokens import SCORE as SCORE
from vitcore.analysis.outlier_tokens import TIMES as TIMES
from vitcore.analysis.outlier_tokens import OutlierTokens, attention_share_on_tokens, mask_key_columns
from vitcore.analysis.relevance import rank_correlation
from vitcore.figures.charts.token_norms import norm_heat_maps as frames
from vitcore.figures.theme_colours import pixels_to_data_uri


@dataclass(frozen=True, eq=False)
class MaskingEffect:
    """A map (rows, cols) with the outlier tokens and without them, and how they differ.

    `outlier_share` is what the outlier tokens hold of the first, `even_outlier_share` an even share of as many tokens.
    `rank_correlation` compares how the two rank the other patches (Spearman's).
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    outlier_share: float
    even_outlier_share: float
    rank_correlation: float

    @property
    def times_even(self) -> float:
        """What the outlier tokens hold, as a multiple of an even share."""
        return self.outlier_share / self.even_outlier_share


def mask_outlier_weights(rec: vitcore.Recording, weights: NDArray) -> NDArray:
    """Attention weights (…, T) with the photo's outlier tokens masked."""
    return mask_key_columns(weights, find_outlier_tokens(rec).tokens)


@memory_cache.cached
def find_outlier_tokens(rec: vitcore.Recording) -> OutlierTokens:
    from vitcore.forward.mask_outliers import outliers_in_recording

    return outliers_in_recording(rec)


@memory_cache.cached
def outlier_attention_share(rec: vitcore.Recording) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Share (L,) of the attention, mean of heads, that goes to outlier tokens: of all patches, and of where the answer is read."""
    tokens, fused = find_outlier_tokens(rec).tokens, rec.attention_per_layer()
    patches = (np.arange(len(tokens)) >= rec.grid.prefix) / rec.grid.patches
    return attention_share_on_tokens(fused, tokens, patches), attention_share_on_tokens(fused, tokens, rec.pooling_weights)


@memory_cache.cached
def masking_effect(rec: vitcore.Recording, source: str, block: int) -> MaskingEffect:
    """What masking outlier tokens changes in the attention of all "patches" or of the "answer" in a block, or in "rollout"."""
    outliers, grid = find_outlier_tokens(rec).patches, rec.grid
    before, after = (_attention_map(one, source, block) for one in (rec, mask_outliers(rec)))
    return MaskingEffect(
        before, after, outlier_share=float(before.ravel()[outliers].sum()), even_outlier_share=len(outliers) * grid.even_share,
        rank_correlation=rank_correlation(np.delete(before, outliers), np.delete(after, outliers)),
    )  # fmt: skip


def _attention_map(rec: vitcore.Recording, source: str, block: int) -> NDArray:
    """What all patches together, or the answer's token, attend to in a block, or rollout of the latter: (rows, cols)."""
    if source == "rollout":
        return rec.rollout()
    weights = rec.attention_per_layer()[block].astype("float32")
    rows = weights[rec.grid.prefix :].mean(0) if source == "patches" else rec.pooling_weights @ weights
    return rec.grid.to_map(rows)


@memory_cache.cached
def norm_heat_maps(rec: vitcore.Recording) -> str:
    """The norms after each block as frames on one scale, one below another, a data address."""
    strip = frames(find_outlier_tokens(rec), rec.grid)
    return pixels_to_data_uri(strip.reshape(-1, *strip.shape[2:]))


def mask_outliers(rec: vitcore.Recording) -> vitcore.Recording:
    """The recording with its outlier tokens masked as keys. Heads that it has not kept or fused can't be made of it any more."""
    return _mask_outliers(rec, tuple(rec.maps), tuple(rec.fused))


@memory_cache.cached
def _mask_outliers(rec: vitcore.Recording, blocks: tuple[int, ...], fusions: tuple[str, ...]) -> vitcore.Recording:
    from vitcore.forward.mask_outliers import mask_outlier_tokens

    return mask_outlier_tokens(rec)

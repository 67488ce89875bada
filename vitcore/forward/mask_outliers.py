"""Outlier tokens of a recording: which they are, and the same recording with nothing flowing out of them (arXiv 2309.16588)."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vitcore.analysis.attention_distance import mean_distance_px
from vitcore.analysis.outlier_tokens import OutlierTokens, find_outlier_tokens, mask_key_columns
from vitcore.forward.recording import Recording


def outliers_in_recording(rec: Recording) -> OutlierTokens:
    """The outlier tokens of a recording; none where its norms are not those of patches on one grid."""
    norms = rec.norms if len(rec.norms) else np.ones((len(rec.distance_px) or 1, rec.grid.tokens), np.float32)
    return find_outlier_tokens(norms, rec.grid.prefix)


def mask_outlier_tokens(rec: Recording, tokens: NDArray[np.bool_] | None = None) -> Recording:
    """The recording with some tokens (T,) masked as keys in all its attention, in every block; default: its outlier tokens.

    Maps of heads, heads fused, and the distances of blocks whose maps are there change, as `outlier_tokens.mask_key_columns` says;
    the answer and the norms stay those of the model, which has seen all tokens. Fused heads are masked after fusing: a head
    that gives nearly all its attention to outliers, which is how a head rests, counts little, as what it leaves for others
    does. Axial attention is masked in both steps. Without any such token the recording itself comes back.
    """
    masked = outliers_in_recording(rec).tokens if tokens is None else tokens
    if not masked.any():
        return rec
    maps = {block: _masked(one, masked) for block, one in rec.maps.items()}
    fused = {name: _masked(one, masked) for name, one in rec.fused.items()}
    px, left, share = rec.distance_px.copy(), rec.distance_renormalised_px.copy(), rec.prefix_attention_share.copy()
    prefix = rec.grid.prefix
    for block, one in maps.items():
        px[block] = mean_distance_px(one, rec.grid)
        left[block] = mean_distance_px(one, rec.grid, "renormalise")
        share[block] = one[:, prefix:, :prefix].astype(np.float32).sum(-1).mean(-1)
    for array in (px, left, share):
        array.flags.writeable = False
    return replace(
        rec, maps=maps, fused=fused, distance_px=px, distance_renormalised_px=left, prefix_attention_share=share, query_key=(),
        masked=True,
    )  # fmt: skip


def _masked(stack: NDArray, tokens: NDArray[np.bool_]) -> NDArray:
    """(S, T, T) matrices masked one after another: a large model's would not fit twice; read-only, visitors share them."""
    made = np.empty_like(stack)
    for one, into in zip(stack, made, strict=True):
        into[...] = mask_key_columns(one, tokens)
    made.flags.writeable = False
    return made

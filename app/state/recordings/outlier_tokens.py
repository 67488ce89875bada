"""Outlier tokens of a recording, cached; and the recording with them masked, under a key of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.state.memory import memory_cache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vitcore.analysis.outlier_tokens import OutlierTokens
    from vitcore.forward.recording import Recording
    from vitcore.models.load_model import Vit


@memory_cache.cached
def find_outliers(rec: Recording) -> OutlierTokens:
    """The outlier tokens of a photo."""
    from vitcore.forward.mask_outliers import outliers_in_recording

    return outliers_in_recording(rec)


@memory_cache.cached
def attention_share(rec: Recording) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Share (L,) of the attention, mean of heads, that goes to outlier tokens: of all patches, and of where the answer is read."""
    import numpy as np

    from vitcore.analysis.outlier_tokens import share_on_tokens

    tokens, fused = find_outliers(rec).tokens, rec.attention_per_layer()
    patches = (np.arange(len(tokens)) >= rec.grid.prefix) / rec.grid.patches
    return share_on_tokens(fused, tokens, patches), share_on_tokens(fused, tokens, rec.pooling_weights)


@memory_cache.cached
def norm_heat_maps(rec: Recording) -> str:
    """The norms after each block as frames on one scale, one below another, a data address."""
    from vitcore.figures.charts.token_norms import norm_heat_maps as frames
    from vitcore.figures.theme import pixels_to_data_uri

    strip = frames(find_outliers(rec), rec.grid)
    return pixels_to_data_uri(strip.reshape(-1, *strip.shape[2:]))


def mask_outliers(vit: Vit, rec: Recording) -> Recording:
    """The recording with its outlier tokens masked as keys. Heads that it has not kept or fused can't be made of it any more."""
    return _mask_outliers(rec, tuple(rec.maps), tuple(rec.fused))


@memory_cache.cached
def _mask_outliers(rec: Recording, blocks: tuple[int, ...], fusions: tuple[str, ...]) -> Recording:
    from vitcore.forward.mask_outliers import mask_outlier_tokens

    return mask_outlier_tokens(rec)

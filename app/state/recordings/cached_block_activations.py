"""Activations for the story, cached: the logit lens, one token traced through a block, one patch projected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from app.state.memory import memory_cache
from app.state.recordings import cached_outliers, cached_recordings
from vitcore.analysis.outlier_tokens import outliers_in_map
from vitcore.analysis.position_embeddings import position_similarity
from vitcore.figures.outlier_frames import frame_outliers_in_pixels
from vitcore.figures.story_steps import photo_under_maps
from vitcore.figures.theme_colours import pixels_to_data_uri
from vitcore.models.model_cards import ModelError
from vitcore.probabilities import probabilities

if TYPE_CHECKING:
    from vitcore.forward.block_activations import BlockActivations, PatchProjection
    from vitcore.forward.recording import Recording
    from vitcore.models.load_model import Vit


@dataclass(frozen=True)
class PatchSimilarity:
    """The patches whose embeddings are most and least like one patch's, and its own cut a pixel further: cosines."""

    most_similar: int
    most_similar_cosine: float
    least_similar: int
    least_similar_cosine: float
    is_shifted_right: bool  # whether it was cut further to the right, else to the left
    one_pixel_shift_cosine: float


@memory_cache.cached
def patch_similarity(rec: Recording, patch: int) -> PatchSimilarity:
    """How like the embedding of a patch is to the others', and to what it is one pixel further."""
    grid, embeddings = rec.grid, cached_recordings.patch_embeddings(rec)
    cosine = position_similarity(embeddings[[patch, *range(grid.patches)]])[0, 1:]
    others = [i for i in range(len(cosine)) if i != patch]
    most, least = max(others, key=cosine.__getitem__), min(others, key=cosine.__getitem__)
    to_right = grid.row_col(patch)[1] < grid.cols - 1
    shifted = cached_recordings.shifted_patch_embeddings(rec, 1 if to_right else -1)[patch]
    shifted_cosine = position_similarity(np.stack([embeddings[patch], shifted]))[0, 1]
    return PatchSimilarity(most, float(cosine[most]), least, float(cosine[least]), to_right, float(shifted_cosine))


@memory_cache.cached
def logit_lens_probabilities(rec: Recording, _vit: Vit) -> NDArray[np.float64] | None:
    """Probabilities (L + 1, classes) of the logit lens; None for a model without a head."""
    from vitcore.forward.logit_lens import logit_lens

    return probabilities(logit_lens(_vit, rec.model_input), _vit.output) if _vit.labels else None


def logit_lens_leaders(rec: Recording, vit: Vit) -> tuple[int, int, int] | None:
    """The logit lens' likeliest class before the first block and at the end, and after how many blocks it stays that.

    None for a model without a head.
    """
    share = logit_lens_probabilities(rec, vit)
    if share is None:
        return None
    best = share.argmax(1)
    since = next(depth for depth in range(len(best)) if (best[depth:] == best[-1]).all())
    return int(best[0]), int(best[-1]), since


@memory_cache.cached
def trace_token(rec: Recording, block: int, token: int, _vit: Vit) -> BlockActivations | None:
    """What a block does to a token; None where its blocks are not those of Eq. 2–3."""
    from vitcore.forward.block_activations import trace_token

    try:
        return trace_token(_vit, rec.model_input.numbers, block, token)
    except ModelError:
        return None


@memory_cache.cached
def project_patch(rec: Recording, patch: int, _vit: Vit) -> PatchProjection | None:
    """How a patch became its embedding; None where patches are not read by one matrix."""
    from vitcore.forward.block_activations import project_patch

    return project_patch(_vit, rec.model_input.numbers, patch)


@memory_cache.cached
def attention_pictures_per_layer(rec: Recording) -> list[tuple[str, list[int]]]:
    """For each block, the photo lit by the attention (mean of the heads) of where the answer is read, a data address; and the
    outlier tokens (patches) that hold much of it, which are framed there."""
    maps = np.stack([rec.grid.to_map(rec.pooling_weights @ fused) for fused in rec.attention_per_layer()])
    marks = [outliers_in_map(one, cached_outliers.find_outlier_tokens(rec).patches).tolist() for one in maps]
    drawn = (
        frame_outliers_in_pixels(one, some, rec.grid)
        for one, some in zip(photo_under_maps(cached_recordings.input_picture(rec)[0], maps, rec.grid), marks, strict=True)
    )
    return [(pixels_to_data_uri(one, photo=True), some) for one, some in zip(drawn, marks, strict=True)]

"""What two models make of one photo, or of one each, computed once and kept: their tokens, the comparison, maps on one grid."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.state.memory import memory_cache
from app.state.recordings import cached_outliers, cached_recordings, relevance_maps
from vitcore.analysis.model_similarity import PredictionAgreement, prediction_agreement
from vitcore.figures.heat_overlay import fine_detail
from vitcore.figures.theme_colours import encode_png_or_jpeg
from vitcore.images import Photo

if TYPE_CHECKING:
    from vitcore.forward.compare_models import Comparison, MapPair, TokenRecording
    from vitcore.forward.recording import Recording
    from vitcore.models.load_model import Vit

Settings = tuple[tuple[str, float | str], ...]
PairKey = tuple[str, str, str, str]  # both models and their photos, by what they are kept under


def recording_with_tokens(vit: Vit, photo: Photo, block: int | None = None) -> Recording:
    """As the session's; the tokens are kept from the same forward pass, where it is the first."""
    if vit.is_global:
        _tokens(vit.name, photo.key, vit, photo)
    return cached_recordings.cached_recording(vit, photo, block)


@memory_cache.cached
def _tokens(model: str, key: str, _vit: Vit, _photo: Photo) -> NDArray[np.float32]:
    """The patches' tokens (L, N, D) as they leave each block; read-only."""
    from vitcore.forward.compare_models import record_tokens, tokens_of_recording

    recorded = []

    def record(vit: Vit, image: Photo, **settings: Any) -> Recording:
        one = record_tokens(vit, image, **settings)
        recorded.append(one.tokens)
        return one.rec

    rec = cached_recordings.cached_recording(_vit, _photo, record=record)
    return recorded[0] if recorded else tokens_of_recording(_vit, rec).tokens


def compare_models(vits: tuple[Vit, Vit], photos: tuple[Photo, Photo], mask_outliers: bool) -> Comparison:
    """The comparison of two models that attend over one grid each; with `mask_outliers`, of attention to other tokens."""
    from vitcore.forward.compare_models import TokenRecording

    one, two = (
        TokenRecording(recording_with_tokens(vit, photo), _tokens(vit.name, photo.key, vit, photo))
        for vit, photo in zip(vits, photos, strict=True)
    )
    return replace(_compare(one.rec, two.rec, mask_outliers, (one, two)), recordings=(one, two))


@memory_cache.cached
def _compare(
    first: Recording, second: Recording, mask_outliers: bool, _recordings: tuple[TokenRecording, TokenRecording]
) -> Comparison:
    """The same without what both looks hold, which is kept already: to weigh all of that again took longer than to compare."""
    from vitcore.forward.compare_models import compare

    return replace(compare(*_recordings, mask_outliers=mask_outliers), recordings=())  # type: ignore[arg-type]


@memory_cache.cached
def rollout_maps(comparison: Comparison, cell: int | None, settings: Settings, _vits: tuple[Vit, Vit]) -> MapPair:
    """What a place (or where the answer is read) gathered in each, on one grid."""
    recs = [side.rec for side in comparison.recordings]
    maps = [
        relevance_maps.rollout_map(rec, None if cell is None else comparison.grid.patch(i, cell), settings, vit)
        for i, (vit, rec) in enumerate(zip(_vits, recs, strict=True))
    ]
    return comparison.map_pair(*maps)


@memory_cache.cached
def attention_maps(
    comparison: Comparison, cell: int | None, blocks: tuple[int, int], head: int | None, _vits: tuple[Vit, Vit]
) -> MapPair:
    """What a place (or where the answer is read) attends to in a block of each, on one grid."""
    from vitcore.forward.compare_models import attention_map

    maps = []
    for i, (vit, block) in enumerate(zip(_vits, blocks, strict=True)):
        rec = cached_recordings.cached_recording(vit, comparison.recordings[i].rec.photo, None if head is None else block)
        token = None if cell is None else rec.grid.prefix + comparison.grid.patch(i, cell)
        maps.append(attention_map(cached_outliers.mask_outliers(rec) if comparison.masked else rec, block, head, token))
    return comparison.map_pair(*maps)


@memory_cache.cached
def common_photo_jpegs(comparison: Comparison, which: int) -> tuple[bytes, bytes]:
    """The part that both models see of the photo of model 0 or 1, and its fine detail on the grid of both, as JPEG files."""
    from vitcore.forward.compare_models import common_photo

    pixels, grid = common_photo(comparison, which=which), comparison.grid
    detail = fine_detail(Image.fromarray(pixels), (grid.rows, grid.cols))
    return encode_png_or_jpeg(pixels, photo=True)[0], encode_png_or_jpeg(detail, photo=True)[0]


def comparison_from_keys(key: PairKey, mask_outliers: bool = False) -> tuple[Comparison, tuple[Vit, Vit]]:
    """A comparison by what it is kept under, for a download, which no visitor's page waits for."""
    (one, rec), (two, other) = (cached_recordings.recording_from_key(key[i], key[i + 2], "mean") for i in range(2))
    return compare_models((one, two), (rec.photo, other.photo), mask_outliers), (one, two)


def answer_agreement(one: Recording, two: Recording) -> PredictionAgreement | None:
    """How the answers of two models agree; None where they don't tell the same classes apart."""
    return prediction_agreement(one.logits, two.logits, (one.labels, two.labels), (one.output, two.output))

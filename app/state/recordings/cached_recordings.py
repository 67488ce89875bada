"""Recordings of forward passes, cached: attention per head, heads fused, patch embeddings, and the crop that the model sees."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import vitcore
from app import texts
from app.state.memory import memory_cache
from app.state.models import loaded_models, model_weights
from app.state.photos import sample_photos, uploaded_photo
from vitcore.analysis import filters, patches
from vitcore.assets import sample_photo_rows
from vitcore.images import Photo, photo_with_crop_outlined, sharp_crop
from vitcore.models.vit import Vit

KEEP_MAPS_MB = 48  # all heads of all blocks are kept when they fit in this; else one block at a time


@memory_cache.cached
def _recording(model: str, key: str, all_blocks: bool, _photo: Photo, _record: Any = None) -> vitcore.Recording:
    """What one forward pass left: all there is of a small model; else what the rest can be made of again."""
    vit, make = loaded_models.loaded_model(model), _record or vitcore.record
    if all_blocks:
        return make(vit, _photo, maps=range(vit.blocks), fusions=("mean", "max", "min"))
    with memory_cache.CACHE.reserve(loaded_models.model_size(vit).pass_bytes):
        return make(vit, _photo, store="query_key")


@memory_cache.cached
def _heads(rec: vitcore.Recording, block: int) -> NDArray[np.float16]:
    from vitcore.forward.query_key import recompute_heads

    if rec.query_key:
        return recompute_heads(rec.query_key, block)
    return vitcore.record(loaded_models.loaded_model(rec.model), rec.photo, maps=[block], fusions=()).maps[block]


@memory_cache.cached
def _fused(rec: vitcore.Recording, fusion: Any) -> NDArray[Any]:
    """All blocks' heads of a large model, fused in another way than by their mean."""
    from vitcore.forward.query_key import recompute_fused_heads

    if rec.query_key:
        return recompute_fused_heads(rec.query_key, fusion)
    return vitcore.record(loaded_models.loaded_model(rec.model), rec.photo, fusions=(fusion,), store="query_key").fused[fusion]


@memory_cache.cached
def patch_embeddings(rec: vitcore.Recording) -> NDArray[np.float32]:
    """Patch embeddings (N, D) of what the model sees."""
    from vitcore.forward.block_activations import patch_embeddings

    return patch_embeddings(loaded_models.loaded_model(rec.model), rec.model_input.numbers)


@memory_cache.cached
def shifted_patch_embeddings(rec: vitcore.Recording, px: int) -> NDArray[np.float32]:
    """Patch embeddings (N, D), each patch cut `px` pixels further right; what is pushed out comes in on the other side."""
    from vitcore.forward.block_activations import patch_embeddings

    return patch_embeddings(loaded_models.loaded_model(rec.model), np.roll(rec.model_input.numbers, -px, axis=1))


def input_picture(rec: vitcore.Recording) -> tuple[Image.Image, bytes]:
    """What the model sees at the photo's own sharpness: a picture, and the same as a JPEG file."""
    return _input_picture(rec.model, rec.photo, rec)


@memory_cache.cached
def _input_picture(model: str, photo: Photo, _rec: vitcore.Recording) -> tuple[Image.Image, bytes]:
    from vitcore.figures.attention import resize_for_figure
    from vitcore.figures.theme_colours import encode_png_or_jpeg

    picture = resize_for_figure(sharp_crop(photo, _rec.model_input))
    return picture, encode_png_or_jpeg(np.asarray(picture), photo=True)[0]


class RebuiltInput(NamedTuple):
    """What the model sees, made of some of its filters' components: pixels (H, W, 3), their error, how much is kept."""

    pixels: NDArray[np.uint8]
    rmse: float
    variance_share: float


@memory_cache.cached
def rebuild_input_from_filters(rec: vitcore.Recording, count: int) -> RebuiltInput:
    """What the model sees, its patches projected on the first `count` components of its filters and back."""
    components, grid = model_weights.filter_components(rec.model), loaded_models.loaded_model(rec.model).patches or rec.grid
    assert components is not None, "only asked for models that have filters"
    drawn = filters.reconstruct_patches(patches.split_patches(rec.model_input.pixels, grid), components, count)
    pixels = patches.join_patches(drawn.patches, grid).clip(0, 255).round().astype("uint8")
    return RebuiltInput(pixels, drawn.rmse, drawn.variance_share)


@memory_cache.cached
def outlined_photo(rec: vitcore.Recording) -> bytes:
    """The whole photo with what the model sees outlined, as a JPEG file."""
    file = BytesIO()
    photo_with_crop_outlined(rec.photo, rec.model_input).save(file, "JPEG", quality=95)
    return file.getvalue()


def cached_recording(model: Vit, photo: Photo, block: int | None = None, record: Any = None) -> vitcore.Recording:
    """What one forward pass left behind (`record` makes it); with the maps of `block` among it, where one is named."""
    all_blocks = 2 * model.blocks * model.heads * model.grid.tokens**2 <= KEEP_MAPS_MB * 2**20
    rec = _recording(model.name, photo.key, all_blocks, photo, record)
    if all_blocks or block is None:
        return rec
    return replace(rec, maps={block: _heads(rec, block)})


def second_recording(model: Vit, chosen: str) -> vitcore.Recording:
    """What one pass on a page's second photo left: one of the gallery by its name, or an upload of this visitor's by its id."""
    return cached_recording(model, uploaded_photo.open_photo_by_id(chosen, model.bands))


def is_recording_cached(model: str, sample: str) -> bool:
    """Whether this model's recording of a sample photo is kept, so that its page is drawn at once."""
    key = sample_photos.sample_digest(sample)
    return any(memory_cache.cached_value_or_none(_recording, model, key, whole) is not None for whole in (True, False))


def input_picture_from_key(model: str, key: str) -> Image.Image:
    rec = recording_from_key(model, key, "mean")[1]
    return input_picture(rec)[0]


def recording_from_key(model: str, key: str, fusion: str) -> tuple[Vit, vitcore.Recording]:
    """A model and what it saw in a photo, by what they are kept under: for a download, which no visitor's page waits for."""
    vit = loaded_models.loaded_model(model)
    photo = uploaded_photo.open_upload_by_key(key, vit.bands)
    if photo is None:
        name = next(row["id"] for row in sample_photo_rows() if sample_photos.sample_digest(row["id"]) == key)
        photo = sample_photos.open_sample(name, texts.DEFAULT)
    return vit, recording_with_fusion(vit, cached_recording(vit, photo), fusion)


def recording_with_fusion(model: Vit, rec: vitcore.Recording, fusion: str) -> vitcore.Recording:
    """The recording with its heads fused in this way, too."""
    if fusion in rec.fused:
        return rec
    return replace(rec, fused=rec.fused | {fusion: _fused(rec, fusion)})

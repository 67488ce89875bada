"""What the worker of Live is told of a model, and the photo that it is given before a page has asked: the first of the gallery."""

from __future__ import annotations

import contextlib
from typing import Any

import vitcore
from app import texts
from app.server.live_shipped_files import EarlyPhoto
from app.state.memory import memory_cache
from app.state.models import live_onnx_graph, loaded_models
from app.state.photos import sample_photos
from app.state.recordings import cached_recordings, look_bytes_for_browser
from vitcore.images import Photo
from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.models.vit import Vit


def live_model_spec(vit: Vit, rec: vitcore.Recording) -> dict[str, Any]:
    """A model's grid, layers, crop and colours, and where its answer is read, as the worker needs them."""
    grid = rec.grid
    return {
        "grid": {"rows": grid.rows, "cols": grid.cols, "prefix": grid.prefix, "step": list(grid.step_px)},
        "blocks": vit.blocks,
        "heads": vit.heads,
        "cut": live_onnx_graph.resize_and_crop_settings(vit),
        "mean": list(vit.mean),
        "std": list(vit.std),
        "output": vit.output,
        "readout": [token for token, weight in enumerate(rec.pooling_weights) if weight > 0],
    }


def live_answers_key(vit: Vit, photo: Photo) -> str:
    """Of two pages with one key, the browser's answers for the photo at hand are one."""
    return f"{vit.name} {photo.key}"


def early_photo() -> EarlyPhoto | None:
    """The photo that a visitor sees first, for the shipped model.

    None before a page has loaded it, which would wait for this, and where there is no room for a pass.
    """
    if not loaded_models.is_model_loaded(DEFAULT_MODEL):
        return None
    with contextlib.suppress(memory_cache.MemoryBudgetError):
        return _photo_for_the_worker()
    return None


def _photo_for_the_worker() -> EarlyPhoto:
    vit, name = loaded_models.loaded_model(DEFAULT_MODEL), sample_photos.sample_photo_rows()[0]["id"]
    photo = sample_photos.open_sample(name, texts.DEFAULT, vit.bands)
    rec = cached_recordings.cached_recording(vit, photo)
    return EarlyPhoto(
        name,
        live_answers_key(vit, photo),
        live_model_spec(vit, rec),
        look_bytes_for_browser.input_png(rec),
        cached_recordings.input_picture(rec)[1],
    )

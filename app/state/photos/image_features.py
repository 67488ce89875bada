"""What a model makes of many photos at once: the features its head reads, and their pixels as a floor to compare with."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.state.memory import memory_cache
from app.state.photos.sample_photos import digest
from vitcore.train.evaluation.few_shot import FewShotDraws, few_shot_over_draws

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit

PIXELS_SIDE = 32  # side of the small pictures whose bytes are the "raw pixels"
BATCH = 8


def pixel_features(photos: Sequence[bytes]) -> NDArray[np.float32]:
    """(N, 32·32·3) bytes of the photos, squashed to a small square."""
    small = [Image.open(io.BytesIO(photo)).convert("RGB").resize((PIXELS_SIDE, PIXELS_SIDE)) for photo in photos]
    return np.stack([np.asarray(image, np.float32).ravel() for image in small])


def features_of_photos(
    vit: Vit, photos: Sequence[bytes], trained: bool = True, on_progress: Callable[[int, int], object] = lambda done, count: None
) -> NDArray[np.float32]:
    """(N, D) features of encoded photos, each kept by what it shows; `on_progress` hears how many of how many are done.

    With `trained` off, of the same architecture with random weights.
    """
    features_by_photo = [memory_cache.CACHE.peek(_key(vit.name, trained, digest(photo))) for photo in photos]
    missing = [i for i, features in enumerate(features_by_photo) if features is None]
    for start in range(0, len(missing), BATCH):
        rows = missing[start : start + BATCH]
        for i, features in zip(rows, _forward(vit, [photos[i] for i in rows], trained), strict=True):
            features_by_photo[i] = features
            memory_cache.CACHE.put(_key(vit.name, trained, digest(photos[i])), features)
        on_progress(start + len(rows), len(missing))
    return np.stack(features_by_photo)


def few_shot_draws(x: NDArray[np.float32], labels: NDArray[np.int64], shots: int) -> FewShotDraws:
    """Few-shot answers over many draws of the photos to learn from."""
    return _draws(digest(x.tobytes() + labels.tobytes()), shots, x, labels)


@memory_cache.cached
def _draws(digest: str, shots: int, _x: NDArray[np.float32], _labels: NDArray[np.int64]) -> FewShotDraws:
    return few_shot_over_draws(_x, _labels, shots)


def _key(model: str, trained: bool, digest: str) -> memory_cache.Key:
    return __name__, model, trained, digest


def _forward(vit: Vit, photos: list[bytes], trained: bool) -> NDArray[np.float32]:
    from vitcore.train.data.photos import Photos
    from vitcore.train.evaluation.accuracy import extract_features

    if not trained:
        vit = _untrained(vit.name, vit)
    return extract_features(vit, Photos("photos", photos, np.full(len(photos), -1)))


@memory_cache.cached
def _untrained(model: str, _vit: Vit) -> Vit:
    from vitcore.models.random_weights import with_random_weights

    return with_random_weights(_vit)

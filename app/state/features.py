"""What a model makes of many photos at once: the features its head reads, and their pixels as a floor to compare with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from app.state import runs
from app.state.memory import budget
from app.state.session import digest_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vitcore.models.load_model import Vit
    from vitcore.train.evaluation.few_shot_draws import Draws

PIXELS = 32  # side of the small pictures whose bytes are the "raw pixels"
BATCH = 8


def pixels(photos: Sequence[bytes]) -> NDArray[np.float32]:
    """(N, 32·32·3) bytes of the photos, squashed to a small square."""
    import io

    import numpy as np
    from PIL import Image

    small = [Image.open(io.BytesIO(photo)).convert("RGB").resize((PIXELS, PIXELS)) for photo in photos]
    return np.stack([np.asarray(image, np.float32).ravel() for image in small])


def of_photos(
    vit: Vit,
    photos: Sequence[bytes],
    trained: bool = True,
    told: Callable[[int, int], object] = lambda done, count: None,
) -> NDArray[np.float32]:
    """(N, D) features of encoded photos, each kept by what it shows; `told` hears how many of how many are done.

    With `trained` off, of the same architecture with random weights.
    """
    import numpy as np

    version = runs.version_of(vit.name)
    kept = [budget.STORE.peek(_key(version, trained, digest_of(photo))) for photo in photos]
    missing = [i for i, features in enumerate(kept) if features is None]
    for start in range(0, len(missing), BATCH):
        rows = missing[start : start + BATCH]
        for i, features in zip(rows, _forward(vit, [photos[i] for i in rows], trained), strict=True):
            kept[i] = features
            budget.STORE.put(_key(version, trained, digest_of(photos[i])), features)
        told(start + len(rows), len(missing))
    return np.stack(kept)


def draws(x: NDArray[np.float32], labels: NDArray[np.int64], shots: int) -> Draws:
    """Few-shot answers over many draws of the photos to learn from."""
    return _draws(digest_of(x.tobytes() + labels.tobytes()), shots, x, labels)


@budget.kept
def _draws(digest: str, shots: int, _x: NDArray[np.float32], _labels: NDArray[np.int64]) -> Draws:
    from vitcore.train.evaluation.few_shot_draws import over_draws

    return over_draws(_x, _labels, shots)


def _key(version: str, trained: bool, digest: str) -> budget.Key:
    return __name__, version, trained, digest


def _forward(vit: Vit, photos: list[bytes], trained: bool) -> NDArray[np.float32]:
    import numpy as np

    from vitcore.train.data.photos import Photos
    from vitcore.train.evaluation.accuracy import features

    if not trained:
        vit = _untrained(runs.version_of(vit.name), vit)
    return features(vit, Photos("photos", photos, np.full(len(photos), -1)))


@budget.kept
def _untrained(version: str, _vit: Vit) -> Vit:
    from vitcore.models.random_weights import untrained

    return untrained(_vit)

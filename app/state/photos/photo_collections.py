"""Labelled photos for a few-shot classifier: pieces of the gallery, digits, uploads; and what a model makes of many at once."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app import texts
from app.state.memory import memory_cache
from app.state.photos import sample_photos
from app.state.photos.sample_photos import photo_digest
from vitcore.images import PhotoError, open_photo
from vitcore.models.vit import Vit
from vitcore.train.evaluation.few_shot import FewShotDraws, few_shot_over_draws
from vitcore.translation import say, using_translation

PIECE_PHOTOS = ("red-panda", "cat", "macaw", "honey-bee", "espresso")  # of the gallery
PHOTOS_PER_CLASS = 12  # photos a class of what is here already
PIECE_SIDES = (0.35, 0.7)  # of a piece, over the shorter side of its photo
MAX_PHOTOS = 200  # of uploads, all classes together
PIXELS_SIDE = 32  # side of the small pictures whose bytes are the "raw pixels"
BATCH = 8


class PhotoCollection(NamedTuple):
    """Encoded photos with their classes 0 … C-1, the names of these, and what could not be shown."""

    photos: list[bytes]
    labels: list[int]
    names: list[str]
    problems: list[str]

    @property
    def smallest_class_size(self) -> int:
        return min(self.labels.count(label) for label in range(len(self.names)))

    @property
    def label_array(self) -> NDArray[np.int64]:
        """The classes (N,) as an array."""
        return np.array(self.labels)

    @property
    def largest_class_share(self) -> float:
        """The share of the photos that is in the largest class: what is right by always answering that."""
        return max(self.labels.count(label) for label in range(len(self.names))) / len(self.labels)

    def with_classes(self, classes: Sequence[int]) -> PhotoCollection:
        """Some of the classes only, numbered anew in their order."""
        new = {row: place for place, row in enumerate(sorted(classes))}
        kept = [i for i, label in enumerate(self.labels) if label in new]
        return PhotoCollection(
            [self.photos[i] for i in kept], [new[self.labels[i]] for i in kept], [self.names[row] for row in new], []
        )


@lru_cache(maxsize=len(texts.LANGUAGES))
def photo_pieces(lang: str) -> PhotoCollection:
    """Squares cut at random from five photos of the gallery: which photo is a piece from? Names in a language."""
    rng, titles = np.random.default_rng(0), {row["id"]: row["title"] for row in sample_photos.sample_photo_rows()}
    photos = []
    for name in PIECE_PHOTOS:
        image = Image.open(sample_photos.SAMPLES / f"{name}.jpg").convert("RGB")
        for _ in range(PHOTOS_PER_CLASS):
            side = int(min(image.size) * rng.uniform(*PIECE_SIDES))
            x, y = (int(rng.integers(0, length - side + 1)) for length in image.size)
            photos.append(_png(image.crop((x, y, x + side, y + side)).resize((128, 128), Image.Resampling.BICUBIC)))
    with using_translation(texts.translation_table(lang)):
        names = [say(titles[name]) for name in PIECE_PHOTOS]
    return PhotoCollection(photos, [i for i in range(len(names)) for _ in range(PHOTOS_PER_CLASS)], names, [])


def _png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


@lru_cache(maxsize=1)
def handwritten_digits_0_to_4() -> PhotoCollection:
    """Handwritten digits 0 to 4 of scikit-learn (8×8 grey pixels, UCI 1998), enlarged so that a patch sees strokes."""
    from sklearn.datasets import load_digits

    dataset = load_digits(n_class=5)
    photos, labels = [], []
    for label in range(5):
        for image in dataset.images[dataset.target == label][:PHOTOS_PER_CLASS]:
            grey = Image.fromarray((255 - 15.9375 * image).astype("uint8"))
            photos.append(_png(grey.resize((128, 128), Image.Resampling.BICUBIC)))
            labels.append(label)
    return PhotoCollection(photos, labels, [str(label) for label in range(5)], [])


def collection_of_uploads(uploads: list[tuple[str, list[tuple[str, bytes]]]]) -> PhotoCollection:
    """The classes (name, files) that have two photos or more; photos that can't be opened are among the problems."""
    photos: list[bytes] = []
    labels: list[int] = []
    names: list[str] = []
    problems: list[str] = []
    for name, files in uploads:
        good = []
        for title, data in files[: MAX_PHOTOS // len(uploads)]:
            try:
                image = open_photo(data, title).image
            except PhotoError as error:
                problems.append(str(error))
                continue
            image.thumbnail((512, 512))
            good.append(_png(image))
        if len(good) >= 2:
            labels += [len(names)] * len(good)
            photos += good
            names.append(name)
    return PhotoCollection(photos, labels, names, problems)


def pixel_features(photos: Sequence[bytes]) -> NDArray[np.float32]:
    """(N, 32·32·3) bytes of the photos, squashed to a small square."""
    small = [Image.open(io.BytesIO(photo)).convert("RGB").resize((PIXELS_SIDE, PIXELS_SIDE)) for photo in photos]
    return np.stack([np.asarray(image, np.float32).ravel() for image in small])


def features_of_photos(
    vit: Vit,
    photos: Sequence[bytes],
    use_trained_weights: bool = True,
    on_progress: Callable[[int, int], object] = lambda done, count: None,
) -> NDArray[np.float32]:
    """(N, D) features of encoded photos, each kept by what it shows; `on_progress` hears how many of how many are done.

    With `use_trained_weights` off, of the same architecture with random weights.
    """
    features_by_photo = [memory_cache.CACHE.peek(_key(vit.name, use_trained_weights, photo_digest(photo))) for photo in photos]
    missing = [i for i, features in enumerate(features_by_photo) if features is None]
    for start in range(0, len(missing), BATCH):
        rows = missing[start : start + BATCH]
        for i, features in zip(rows, _forward(vit, [photos[i] for i in rows], use_trained_weights), strict=True):
            features_by_photo[i] = features
            memory_cache.CACHE.put(_key(vit.name, use_trained_weights, photo_digest(photos[i])), features)
        on_progress(start + len(rows), len(missing))
    return np.stack(features_by_photo)


def few_shot_draws(x: NDArray[np.float32], labels: NDArray[np.int64], shots: int) -> FewShotDraws:
    """Few-shot answers over many draws of the photos to learn from."""
    return _draws(photo_digest(x.tobytes() + labels.tobytes()), shots, x, labels)


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

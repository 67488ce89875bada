"""Where a few-shot classifier's photos come from: pieces of the gallery, handwritten digits, or a visitor's own."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from app import texts
from app.shell import photo_picker, query_controls
from app.state.photos import image_features, sample_photos
from app.texts import Prose
from vitcore.translation import say, speaking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

    from vitcore.models.load_model import Vit

PIECE_PHOTOS = ("red-panda", "cat", "macaw", "honey-bee", "espresso")  # of the gallery
PHOTOS_PER_CLASS = 12  # photos a class of what is here already
PIECE_SIDES = (0.35, 0.7)  # of a piece, over the shorter side of its photo
MAX_CLASSES, MAX_PHOTOS = 10, 200


class Collection(NamedTuple):
    """Encoded photos with their classes 0 … C-1, the names of these, and what could not be shown."""

    photos: list[bytes]
    labels: list[int]
    names: list[str]
    problems: list[str]

    @property
    def fewest(self) -> int:
        """Photos of the smallest class."""
        return min(self.labels.count(label) for label in range(len(self.names)))


def collection_of_source(text: Prose, source: str) -> Collection | None:
    """The collection that a visitor chose, "pieces", "digits" or their "own"; None while that is not complete."""
    if source == "own":
        return uploaded_classes(text)
    return photo_pieces(texts.language()) if source == "pieces" else handwritten_digits()


def features_with_progress(vit: Vit, collection: Collection, text: Prose, trained: bool = True) -> NDArray[np.float32]:
    """(N, D) features of the photos, under a bar that counts them; with `trained` off, of random weights."""
    bar = st.progress(0.0, text["looking"])

    def on_progress(done: int, count: int) -> None:
        bar.progress(done / count, text.fill("looked", done=done, count=count))

    x = image_features.features_of_photos(vit, collection.photos, trained, on_progress)
    bar.empty()
    return x


@lru_cache(maxsize=len(texts.LANGUAGES))
def photo_pieces(lang: str) -> Collection:
    """Squares cut at random from five photos of the gallery: which photo is a piece from? Names in a language."""
    import numpy as np
    from PIL import Image

    rng, titles = np.random.default_rng(0), {row["id"]: row["title"] for row in sample_photos.samples()}
    photos = []
    for name in PIECE_PHOTOS:
        image = Image.open(sample_photos.SAMPLES / f"{name}.jpg").convert("RGB")
        for _ in range(PHOTOS_PER_CLASS):
            side = int(min(image.size) * rng.uniform(*PIECE_SIDES))
            x, y = (int(rng.integers(0, length - side + 1)) for length in image.size)
            photos.append(_png(image.crop((x, y, x + side, y + side)).resize((128, 128), Image.Resampling.BICUBIC)))
    with speaking(texts.table(lang)):
        names = [say(titles[name]) for name in PIECE_PHOTOS]
    return Collection(photos, [i for i in range(len(names)) for _ in range(PHOTOS_PER_CLASS)], names, [])


def _png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


@lru_cache(maxsize=1)
def handwritten_digits() -> Collection:
    """Handwritten digits 0 to 4 of scikit-learn (8×8 grey pixels, UCI 1998), enlarged so that a patch sees strokes."""
    from PIL import Image
    from sklearn.datasets import load_digits

    dataset = load_digits(n_class=5)
    photos, labels = [], []
    for label in range(5):
        for image in dataset.images[dataset.target == label][:PHOTOS_PER_CLASS]:
            grey = Image.fromarray((255 - 15.9375 * image).astype("uint8"))
            photos.append(_png(grey.resize((128, 128), Image.Resampling.BICUBIC)))
            labels.append(label)
    return Collection(photos, labels, [str(label) for label in range(5)], [])


def class_filter(text: Prose, collection: Collection, source: str) -> Collection | None:
    """Those classes of a ready collection that a visitor wants to be told apart: all at first; None while it is fewer than two."""
    rows = range(len(collection.names))
    chosen = st.pills(
        text["told apart"], rows, selection_mode="multi", default=list(rows), format_func=lambda row: collection.names[row],
        key=f"told_apart_{source}",
    )  # fmt: skip
    if len(chosen) < 2:
        return None
    new = {row: place for place, row in enumerate(sorted(chosen))}
    kept = [i for i, label in enumerate(collection.labels) if label in new]
    return Collection(
        [collection.photos[i] for i in kept],
        [new[collection.labels[i]] for i in kept],
        [collection.names[row] for row in new],
        [],
    )


def uploaded_classes(text: Prose) -> Collection | None:
    """A visitor's photos, a class a row of the form; None until two classes have two photos each."""
    count = query_controls.slider(text["classes"], "classes", 2, MAX_CLASSES, 2)
    uploads: list[tuple[str, list[tuple[str, bytes]]]] = []
    for row in range(count):
        with st.container(border=True):
            name = st.text_input(text["class name"].format(number=row + 1), text["class default"].format(number=row + 1),
                                 key=f"class_{row}", max_chars=40)  # fmt: skip
            files = st.file_uploader(
                text["class photos"], photo_picker.FILE_TYPES, True, key=f"class_photos_{row}", max_upload_size=25
            )
            uploads.append((name or str(row + 1), [(file.name, file.getvalue()) for file in files]))
    return collection_of_uploads(uploads)


def collection_of_uploads(uploads: list[tuple[str, list[tuple[str, bytes]]]]) -> Collection | None:
    """The classes that have two photos or more, of which there must be two; photos that can't be shown are named."""
    from vitcore.images import PhotoError, open_photo

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
    for problem in problems[:5]:
        st.caption(f":material/broken_image: {texts.escape_markdown(problem)}")
    return Collection(photos, labels, names, problems) if len(names) >= 2 else None

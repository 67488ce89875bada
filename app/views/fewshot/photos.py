"""Where the photos of a few-shot classifier come from: handwritten digits that are here, or a visitor's own, class by class."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import NamedTuple

import streamlit as st

from app.furniture import controls
from app.texts import Prose

DIGITS, EACH = 5, 16  # classes, and photos of each
MOST_CLASSES, MOST_PHOTOS = 10, 200


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


@lru_cache(maxsize=1)
def digits() -> Collection:
    """Handwritten digits 0 to 4 of scikit-learn (8×8 grey pixels, UCI 1998), enlarged so that a patch sees strokes."""
    from PIL import Image
    from sklearn.datasets import load_digits

    given = load_digits(n_class=DIGITS)
    photos, labels = [], []
    for label in range(DIGITS):
        for image in given.images[given.target == label][:EACH]:
            file = io.BytesIO()
            grey = Image.fromarray((255 - 15.9375 * image).astype("uint8")).resize((128, 128), Image.Resampling.BICUBIC)
            grey.save(file, "PNG")
            photos.append(file.getvalue())
            labels.append(label)
    return Collection(photos, labels, [str(label) for label in range(DIGITS)], [])


def own(text: Prose) -> Collection | None:
    """A visitor's photos, a class a row of the form; None until two classes have two photos each."""
    count = controls.slider(text["classes"], "classes", 2, MOST_CLASSES, 2)
    given: list[tuple[str, list[tuple[str, bytes]]]] = []
    for row in range(count):
        with st.container(border=True):
            name = st.text_input(text["class name"].format(number=row + 1), text["class default"].format(number=row + 1),
                                 key=f"class_{row}", max_chars=40)  # fmt: skip
            files = st.file_uploader(text["class photos"], controls.TYPES, True, key=f"class_photos_{row}")
            given.append((name or str(row + 1), [(file.name, file.getvalue()) for file in files]))
    return collected(given)


def collected(given: list[tuple[str, list[tuple[str, bytes]]]]) -> Collection | None:
    """The classes that have two photos or more, of which there must be two; photos that can't be shown are named."""
    from vitcore.images import PhotoError, open_photo

    photos, labels, names, problems = [], [], [], []
    for name, files in given:
        good = []
        for title, data in files[: MOST_PHOTOS // len(given)]:
            try:
                image = open_photo(data, title).image
            except PhotoError as error:
                problems.append(str(error))
                continue
            file = io.BytesIO()
            image.thumbnail((512, 512))
            image.save(file, "PNG")
            good.append(file.getvalue())
        if len(good) >= 2:
            labels += [len(names)] * len(good)
            photos += good
            names.append(name)
    for problem in problems[:5]:
        st.caption(f":material/broken_image: {controls.verbatim(problem)}")
    return Collection(photos, labels, names, problems) if len(names) >= 2 else None

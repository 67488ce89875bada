"""Where a few-shot classifier's photos come from, as a visitor chooses: pieces of the gallery, handwritten digits, their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import texts
from app.shell import photo_picker, query_controls
from app.state.photos import photo_collections
from app.state.photos.photo_collections import PhotoCollection
from app.texts import Prose

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vitcore.models.load_model import Vit

MAX_CLASSES, MAX_PROBLEMS = 10, 5  # rows of the form, and photos that can't be shown of which that is said


def collection_of_source(text: Prose, source: str) -> PhotoCollection | None:
    """The collection that a visitor chose, "pieces", "digits" or their "own"; None while that is not complete."""
    if source == "own":
        return _own_classes_form(text)
    return photo_collections.photo_pieces(texts.language()) if source == "pieces" else photo_collections.handwritten_digits_0_to_4()


def _features_with_progress(
    vit: Vit, collection: PhotoCollection, text: Prose, use_trained_weights: bool = True
) -> NDArray[np.float32]:
    """(N, D) features of the photos, under a bar that counts them; with `use_trained_weights` off, of random weights."""
    bar = st.progress(0.0, text["looking"])

    def on_progress(done: int, count: int) -> None:
        bar.progress(done / count, text.fill("looked", done=done, count=count))

    x = photo_collections.features_of_photos(vit, collection.photos, use_trained_weights, on_progress)
    bar.empty()
    return x


def features_by_source(
    vit: Vit, collection: PhotoCollection, text: Prose, with_random_weights: bool
) -> dict[str, NDArray[np.float32]]:
    """The features that are compared: the model's, raw pixels, and, if asked for, those of random weights."""
    found = {"model": _features_with_progress(vit, collection, text), "pixels": photo_collections.pixel_features(collection.photos)}
    if with_random_weights:
        found["random"] = _features_with_progress(vit, collection, text, use_trained_weights=False)
    return found


def class_subset_menu(text: Prose, collection: PhotoCollection, source: str) -> PhotoCollection | None:
    """Those classes of a ready collection that a visitor wants to be told apart: all at first; None while it is fewer than two."""
    rows = range(len(collection.names))
    chosen = st.pills(
        text["told apart"], rows, selection_mode="multi", default=list(rows), format_func=lambda row: collection.names[row],
        key=f"told_apart_{source}",
    )  # fmt: skip
    return collection.with_classes(chosen) if len(chosen) >= 2 else None


def _own_classes_form(text: Prose) -> PhotoCollection | None:
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
    collection = photo_collections.collection_of_uploads(uploads)
    for problem in collection.problems[:MAX_PROBLEMS]:
        st.caption(f":material/broken_image: {texts.escape_markdown(problem)}")
    return collection if len(collection.names) >= 2 else None

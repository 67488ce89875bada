"""The ZIP file of many photos, on its way or done: it grows on disk, one a visitor."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.state import models
from app.state.many_photos.stoppable import Stoppable
from app.state.memory import budget, visitors
from app.state.reports import credit_of, model_side

if TYPE_CHECKING:
    from vitcore.images import Photo
    from vitcore.report.bundle import Bundle
    from vitcore.report.report_settings import Settings

MOST_PHOTOS = 100
MOST_ZIP_BYTES = 300 * 2**20  # on disk, one a visitor


@dataclass(eq=False)
class Batch(Stoppable):
    """A visitor's ZIP file, in progress or done. It grows on disk; what is in memory is one photo at a time."""

    photos: list[tuple[str, bytes]]
    file: Any
    bundle: Bundle
    total: int
    credited: bool  # photos of the gallery, whose credits are known
    model: str  # its name
    size: int = 0  # bytes, once it is finished
    full: str = ""  # why it ended early

    @property
    def finished(self) -> bool:
        """Whether it can be downloaded."""
        return self.size > 0

    def finish(self) -> None:
        """Close the file with what is in it."""
        with self.lock:
            if not self.finished and self.bundle.photos:
                self.turn += 1
                self.bundle.close()
                self.size, self.photos = self.file.seek(0, 2), []
                self.bundle.vit = None  # type: ignore[assignment]  # a file that is finished keeps no model from making way

    def data(self) -> bytes:
        """The finished file."""
        with self.lock:
            self.file.seek(0)
            return bytes(self.file.read())


def batch() -> Batch | None:
    """This visitor's ZIP file, if one was begun."""
    return st.session_state.get("_batch")


def begin(model: str, photos: list[tuple[str, bytes]], settings: Settings, credited: bool) -> str:
    """Begin a ZIP file; the one there was is thrown away. Returns what went wrong, or nothing."""
    from vitcore.report.bundle import Bundle
    from vitcore.report.output_folder import Zip

    discard()
    vit = models.loaded(model)
    some = photos[:MOST_PHOTOS]
    try:
        visitors.bring("batch", some)
    except budget.NoRoomError:
        return texts.prose("common")["no room photos"]
    file = tempfile.TemporaryFile(prefix="inside-vit-")  # it ends with the visitor's session
    bundle = Bundle(vit, Zip(file, MOST_ZIP_BYTES), settings, texts.language(), model_side(vit.name, vit))
    st.session_state["_batch"] = Batch(some, file, bundle, len(some), credited, vit.called)
    return ""


def discard() -> None:
    """Throw this visitor's ZIP file away."""
    visitors.take_back("batch")
    old = st.session_state.pop("_batch", None)
    if old:
        with old.lock:
            old.turn += 1
            old.file.close()


def go_on(one: Batch) -> Iterator[int]:
    """Add one photo after another and finish; yields how many are done. Damaged photos are named and left out."""
    from vitcore.images import PhotoError, open_photo
    from vitcore.models.model_cards import ModelError
    from vitcore.report.output_folder import FullError
    from vitcore.report.report_settings import Origin

    one.turn = mine = one.turn + 1
    for place, (name, data) in enumerate(one.photos[one.done :], start=one.done + 1):
        made, problem = None, ""
        try:
            photo: Photo = open_photo(data, name)
            credit = credit_of(name.removesuffix(".jpg")) if one.credited else {}
            made = one.bundle.make(
                photo, Origin(credit=credit, file=f"assets/samples/{name}" if credit else photo.name)
            )
        except (PhotoError, ModelError) as error:
            problem = str(error)
        with one.lock:
            if one.turn != mine:  # stopped while this photo was looked at, or the page looks at it again
                return
            try:
                one.bundle.add(made) if made else one.bundle.fail(problem)
            except FullError as error:
                one.full = str(error)
                break
            one.done = place
        yield place
    one.finish()
    visitors.take_back("batch")

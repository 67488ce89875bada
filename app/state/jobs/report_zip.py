"""The ZIP file of many photos, on its way or done: it grows on disk, one a visitor."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.state.jobs.stoppable_job import StoppableJob
from app.state.memory import memory_cache, visitor_storage
from app.state.models import loaded_models
from app.state.photos.sample_photos import photo_credit
from app.state.reports import model_facts
from vitcore.errors import system_error_reason
from vitcore.images import Photo, PhotoError, open_photo
from vitcore.models.model_cards import ModelError
from vitcore.report.folder_or_zip import OutputTooLargeError, ZipWriter
from vitcore.report.report_settings import ReportOrigin, ReportSettings

if TYPE_CHECKING:
    from vitcore.report.report_bundle import ReportBundleWriter

MAX_PHOTOS = 100
MAX_ZIP_BYTES = 300 * 2**20  # on disk, one a visitor


@dataclass(eq=False)
class ZipJob(StoppableJob):
    """A visitor's ZIP file, in progress or done. It grows on disk; what is in memory is one photo at a time."""

    photos: list[tuple[str, bytes]]
    file: Any
    bundle: ReportBundleWriter
    photo_count: int
    are_samples: bool  # photos of the gallery, whose credits are known
    model: str  # its name
    size: int = 0  # bytes, once it is finished
    full_reason: str = ""  # why it ended early

    @property
    def is_finished(self) -> bool:
        return self.size > 0

    def fail(self, error: OSError) -> None:
        """The file can't be written: it is thrown away, and nothing goes on."""
        self.full_reason = texts.prose("report").fill("zip not written", reason=system_error_reason(error))
        self.photo_count, self.photos = self.done_count, []
        with contextlib.suppress(OSError):  # what it still holds can't be written either
            self.file.close()

    def finish(self) -> None:
        with self.lock:
            if not self.is_finished and self.bundle.photos and not self.file.closed:
                self.run_number += 1
                try:
                    self.bundle.close()
                    self.size, self.photos = self.file.seek(0, 2), []
                except OSError as error:
                    self.fail(error)
                self.bundle.vit = None  # type: ignore[assignment]  # a file that is finished keeps no model from making way

    def data(self) -> bytes:
        with self.lock:
            self.file.seek(0)
            return bytes(self.file.read())


def current_zip_job() -> ZipJob | None:
    """This visitor's ZIP file, if one was begun."""
    return st.session_state.get("_batch")


def has_begun_zip() -> bool:
    """Whether this visitor has begun a ZIP file, thrown away or not."""
    return "_batch" in st.session_state


def start_zip_job(model: str, photos: list[tuple[str, bytes]], settings: ReportSettings, are_samples: bool) -> str:
    """Begin a ZIP file; the one there was is thrown away. Returns what went wrong, or nothing."""
    from vitcore.report.report_bundle import ReportBundleWriter

    discard_zip_job()
    vit = loaded_models.loaded_model(model)
    some = photos[:MAX_PHOTOS]
    try:
        visitor_storage.keep_for_visitor("batch", some)
    except memory_cache.MemoryBudgetError:
        return texts.prose("common")["no room photos"]
    try:
        file = tempfile.TemporaryFile(prefix="inside-vit-")  # it ends with the visitor's session
    except OSError as error:
        visitor_storage.discard_for_visitor("batch")
        return texts.prose("report").fill("zip not written", reason=system_error_reason(error))
    bundle = ReportBundleWriter(vit, ZipWriter(file, MAX_ZIP_BYTES), settings, texts.language(), model_facts(vit.name, vit))
    st.session_state["_batch"] = ZipJob(some, file, bundle, len(some), are_samples, vit.display_name)
    return ""


def discard_zip_job() -> None:
    visitor_storage.discard_for_visitor("batch")
    if old := current_zip_job():
        st.session_state["_batch"] = None
        with old.lock:
            old.run_number += 1
            old.file.close()


def add_reports_to_zip(job: ZipJob) -> Iterator[int]:
    """Add one photo after another and finish; yields how many are done. Damaged photos are named and left out."""
    job.run_number = run_number = job.run_number + 1
    for place, (name, data) in enumerate(job.photos[job.done_count :], start=job.done_count + 1):
        made, problem = None, ""
        try:
            photo: Photo = open_photo(data, name, job.bundle.vit.bands)
            credit = photo_credit(name.removesuffix(".jpg")) if job.are_samples else {}
            made = job.bundle.render_photo(
                photo, ReportOrigin(credit=credit, file=f"assets/samples/{name}" if credit else photo.name)
            )
        except (PhotoError, ModelError) as error:
            problem = str(error)
        with job.lock:
            if job.run_number != run_number:  # stopped while this photo was looked at, or the page looks at it again
                return
            try:
                job.bundle.add_photo(made) if made else job.bundle.add_problem(problem)
            except OutputTooLargeError as error:
                job.full_reason = str(error)
                break
            except OSError as error:
                job.fail(error)
                break
            job.done_count = place
        yield place
    job.finish()
    visitor_storage.discard_for_visitor("batch")

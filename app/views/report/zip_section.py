"""The part of the page Take it away that is of many photos: their reports in one ZIP file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import texts
from app.components.figure import download_button
from app.shell import photo_picker, query_controls
from app.state.jobs import report_zip
from app.state.photos import sample_photos, uploaded_photo
from app.views.report import handout_section
from app.widgets.button_until_done import button_holding_press
from vitcore.report.report_settings import ReportSettings

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit

PRESS = "zip"


def show_zip_section(text: texts.Prose, vit: Vit, settings: ReportSettings) -> None:
    """The ZIP file of many photos: which, begin, progress and stop, and the file."""
    which = query_controls.button_row(text, "which", ["samples", "own"])
    photos = sample_photos.sample_files()
    if which == "own":
        files = st.file_uploader(text["files"], photo_picker.FILE_TYPES, True, key="batch", max_upload_size=25)
        shown = st.session_state.get("photo") == uploaded_photo.PHOTO_ID
        mine = uploaded_photo.current_uploaded_photo() if shown else None  # the one that is looked at, until others are brought
        photos = [(file.name, file.getvalue()) for file in files] if files else [(mine[1], mine[0])] if mine else []
        st.caption(text.fill("most", count=report_zip.MAX_PHOTOS))
    job = report_zip.current_zip_job() or _start_button(text, vit, settings, photos, which == "samples")
    if job is None:
        return
    if not job.is_finished and not job.stopped and job.done_count < job.photo_count:
        _show_progress(text, job)
    _show_result(text, job)


def _start_button(
    text: texts.Prose, vit: Vit, settings: ReportSettings, photos: list[tuple[str, bytes]], are_samples: bool
) -> report_zip.ZipJob | None:
    """The button, or what it began."""
    button = st.empty()
    label = text.fill("begin", count=min(len(photos), report_zip.MAX_PHOTOS))
    with (
        button,
        button_holding_press(
            label, PRESS, key="begin", type="primary", icon=":material/folder_zip:", disabled=not photos
        ) as is_pressed,
    ):
        problem = report_zip.start_zip_job(vit.name, photos, settings, are_samples) if is_pressed else ""
    if not is_pressed:
        return None
    if problem:
        st.warning(problem, icon=":material/memory:")
        return None
    button.empty()
    return report_zip.current_zip_job()


def _show_progress(text: texts.Prose, job: report_zip.ZipJob) -> None:
    """Go on while somebody watches; a touch of anything on the page begins the photo in hand again."""
    bar = st.progress(job.done_count / job.photo_count, text.fill("working", done=job.done_count, count=job.photo_count))
    stop = st.empty()
    stop.button(text["stop"], icon=":material/stop:", key="stop_batch", on_click=job.stop)
    for done in report_zip.add_reports_to_zip(job):
        bar.progress(done / job.photo_count, text.fill("working", done=done, count=job.photo_count))
    bar.empty()
    stop.empty()


def _show_result(text: texts.Prose, job: report_zip.ZipJob) -> None:
    """What came of it: the file, or where it was stopped; and what was left out."""
    made = len(job.bundle.photos)
    with st.container(horizontal=True, vertical_alignment="center"):
        if job.is_finished:
            st.markdown(text.fill("ready", count=made))
            download_button(
                text["zip get"].format(size=handout_section.readable_bytes(text, job.size)), job.data, "zip",
                ("inside-vit", f"{made} photos", job.model), key="zip", icon=":material/download:", type="primary",
            )  # fmt: skip
        elif job.stopped:
            st.markdown(text.fill("stopped", done=job.done_count, count=job.photo_count))
            st.button(text["go on"], key="go_on", icon=":material/play_arrow:", on_click=setattr, args=(job, "stopped", False))
            if made:
                st.button(text["enough"].format(count=made), key="enough", icon=":material/check:", on_click=job.finish)
        again = "again" if job.is_finished or not made else "discard all"
        st.button(text[again], key="again", icon=":material/delete:", on_click=report_zip.discard_zip_job)
    if not made and job.done_count == job.photo_count and not job.full_reason:
        st.error(text["none"], icon=":material/broken_image:")
    problems = [*job.bundle.problems, *([job.full_reason] if job.full_reason else [])]
    if problems:
        lines = "\n".join(f"- {texts.escape_markdown(problem)}" for problem in problems)
        st.warning(f"{text['left out']}\n{lines}", icon=":material/broken_image:")

"""The ZIP file of many photos, on the page Take it away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import texts
from app.furniture import controls
from app.furniture.held_button import pressed
from app.state import session
from app.state.many_photos import report_zip
from app.views.report.parts import size
from vitcore.file_names import file_name

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit
    from vitcore.report.report_settings import Settings

ASKED = "_zip_asked"  # the button was pressed, and the page has not come to it since


def many(text: texts.Prose, vit: Vit, asked: Settings) -> None:
    """The ZIP file of many photos: which, begin, progress and stop, and the file."""
    which = controls.choice(text, "which", ["samples", "own"])
    given = session.sample_files()
    if which == "own":
        files = st.file_uploader(text["files"], controls.TYPES, True, key="batch", max_upload_size=25)
        given = [(file.name, file.getvalue()) for file in files or ()]
        st.caption(text.fill("most", count=report_zip.MOST_PHOTOS))
    one = report_zip.batch() or _begun(text, vit, asked, given, which == "samples")
    if one is None:
        return
    if not one.finished and not one.stopped and one.done < one.total:
        _work(text, one)
    _after(text, one)


def _begun(
    text: texts.Prose, vit: Vit, asked: Settings, given: list[tuple[str, bytes]], credited: bool
) -> report_zip.Batch | None:
    """The button, or what it began."""
    button = st.empty()
    with button:
        begin = pressed(text.fill("begin", count=min(len(given), report_zip.MOST_PHOTOS)), ASKED, key="begin",
                        type="primary", icon=":material/folder_zip:", disabled=not given)  # fmt: skip
    if not begin or not given:
        return None
    if problem := report_zip.begin(vit.name, given, asked, credited):
        st.warning(problem, icon=":material/memory:")
        return None
    button.empty()
    return report_zip.batch()


def _work(text: texts.Prose, one: report_zip.Batch) -> None:
    """Go on while somebody watches; a touch of anything on the page begins the photo in hand again."""
    bar, stop = st.progress(one.done / one.total, text.fill("working", done=one.done, count=one.total)), st.empty()
    stop.button(text["stop"], icon=":material/stop:", key="stop_batch", on_click=one.stop)
    for done in report_zip.go_on(one):
        bar.progress(done / one.total, text.fill("working", done=done, count=one.total))
    bar.empty()
    stop.empty()


def _after(text: texts.Prose, one: report_zip.Batch) -> None:
    """What came of it: the file, or where it was stopped; and what was left out."""
    made = len(one.bundle.photos)
    with st.container(horizontal=True, vertical_alignment="center"):
        if one.finished:
            st.markdown(text.fill("ready", count=made))
            st.download_button(
                text["zip get"].format(size=size(text, one.size)), one.data,
                file_name("zip", "inside-vit", f"{made} photos", one.model), "application/zip",
                key="zip", icon=":material/download:", type="primary", on_click="ignore",
            )  # fmt: skip
        elif one.stopped:
            st.markdown(text.fill("stopped", done=one.done, count=one.total))
            st.button(
                text["go on"], key="go_on", icon=":material/play_arrow:", on_click=setattr, args=(one, "stopped", False)
            )
            if made:
                st.button(text["enough"].format(count=made), key="enough", icon=":material/check:", on_click=one.finish)
        again = "again" if one.finished or not made else "discard all"
        st.button(text[again], key="again", icon=":material/delete:", on_click=report_zip.discard)
    if not made and one.done == one.total:
        st.error(text["none"], icon=":material/broken_image:")
    problems = [*one.bundle.problems, *([one.full] if one.full else [])]
    if problems:
        lines = "\n".join(f"- {controls.verbatim(problem)}" for problem in problems)
        st.warning(f"{text['left out']}\n{lines}", icon=":material/broken_image:")

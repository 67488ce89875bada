"""How a model comes in: a file that is dropped, or an id of the hub; and what was wrong with the last one."""

from __future__ import annotations

import streamlit as st

from app import mode
from app.furniture import controls
from app.state.own import model as own
from app.texts import Prose

TURN, PROBLEM = "_own_turn", "_own_problem"  # which uploader it is: a new one lets go of what the last one held
ARRIVED = "_own_arrived"  # a file that is on disk, and not looked into yet


def show(text: Prose) -> None:
    """The two ways, side by side."""
    if st.session_state.get("_page") != "bring":  # another page was open: what was wrong before is old news
        st.session_state[PROBLEM] = None
    left, right = st.columns(2, gap="large")
    with left, st.container(border=True):
        _file(text)
    with right, st.container(border=True):
        _hub(text)
    if problem := st.session_state.get(PROBLEM):
        st.error(controls.verbatim(problem), icon=":material/broken_image:")


def _file(text: Prose) -> None:
    st.markdown(f"**:material/upload_file: {text['file']}**")
    controls.name_the_button()
    turn = st.session_state.setdefault(TURN, 0)
    key, most = f"own_model_{turn}", mode.upload_mb()
    st.file_uploader(text["drop"], key=key, max_upload_size=most, on_change=_take, args=(key,))
    st.caption(text["drop limits"].format(mb=most))
    if arrived := st.session_state.pop(ARRIVED, None):
        with st.spinner(text["reading"]):
            st.session_state[PROBLEM] = own.look_into(arrived)
        st.rerun()


def _take(key: str) -> None:
    """Before the page is drawn: what `st.file_uploader` returns is a copy of the whole file, the session's state is not."""
    given = st.session_state[key]
    if given is not None:
        st.session_state[TURN] += 1
        arrived = own.take(given)
        st.session_state[ARRIVED], st.session_state[PROBLEM] = (
            (None, arrived) if isinstance(arrived, str) else (arrived, None)
        )


def _hub(text: Prose) -> None:
    st.markdown(f"**:material/cloud_download: {text['hub']}**")
    if not mode.allows("downloads"):
        st.markdown(f"{mode.why('downloads')} {text['off hub']}")
        return
    said = st.text_input(text["hub id"], key="own_hub", placeholder="owner/name", max_chars=200)
    st.caption(text["hub about"])
    if st.button(text["fetch"], key="own_fetch", icon=":material/download:", disabled=not said.strip()):
        bar, words = st.progress(0.0, text["asking"]), text["fetching"]

        def progress(done: int, total: int) -> None:
            bar.progress(min(done / max(total, 1), 1.0), words.format(done=done / 1e6, total=total / 1e6))

        st.session_state[PROBLEM] = own.bring_id(said, progress)
        st.rerun()

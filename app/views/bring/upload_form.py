"""How a model comes in: a file that is dropped, or an id of the hub; and what was wrong with the last one."""

import streamlit as st

from app import permissions, texts
from app.components.figure import text_before_picture
from app.shell import photo_picker
from app.state.models import uploaded_model
from app.texts import Prose
from app.widgets.button_until_done import button_holding_press

UPLOADER_STATE, PROBLEM_STATE = ("_own_turn", "_own_problem")  # which uploader it is: a new one lets go of what the last one held
RECEIVED_STATE = "_own_arrived"  # a file that is on disk, and not looked into yet


def show_upload_form(text: Prose) -> None:
    """A file that is dropped, and what was wrong with the last one."""
    if st.session_state.get("_page") != "bring":  # another page was open: what was wrong before is old news
        st.session_state[PROBLEM_STATE] = None
    _file_uploader(text)
    if problem := st.session_state.get(PROBLEM_STATE):
        st.error(texts.escape_markdown(problem), icon=":material/broken_image:")


def show_hub_form(text: Prose) -> None:
    """An id of the hub, folded."""
    with st.expander(text["hub"], icon=":material/cloud_download:"):
        _hub_id_input(text)


def _file_uploader(text: Prose) -> None:
    photo_picker.translate_upload_buttons()
    turn = st.session_state.setdefault(UPLOADER_STATE, 0)
    key, most = f"own_model_{turn}", permissions.upload_limit_mb()
    st.file_uploader(text["drop"], key=key, max_upload_size=most, on_change=_receive_file, args=(key,))
    text_before_picture(key="aside_limits").caption(f"{text['drop limits']}. {text['yours alone']}")
    if received := st.session_state.pop(RECEIVED_STATE, None):
        with st.spinner(text["reading"]):
            st.session_state[PROBLEM_STATE] = uploaded_model.inspect_model_file(received)
        st.rerun()


def _receive_file(key: str) -> None:
    """Before the page is drawn: what `st.file_uploader` returns is a copy of the whole file, the session's state is not."""
    file = st.session_state[key]
    if file is not None:
        st.session_state[UPLOADER_STATE] += 1
        received = uploaded_model.move_model_upload_to_disk(file)
        st.session_state[RECEIVED_STATE], st.session_state[PROBLEM_STATE] = (
            (None, received) if isinstance(received, str) else (received, None)
        )


def _hub_id_input(text: Prose) -> None:
    if not permissions.is_allowed("downloads"):
        st.markdown(f"{permissions.why_not_allowed('downloads')} {text['off hub']}")
        return
    hub_id = st.text_input(text["hub id"], key="own_hub", placeholder="owner/name", max_chars=200)
    st.caption(text["hub about"])
    icon, no_id = ":material/download:", not hub_id.strip()
    with button_holding_press(text["fetch"], "own_fetch", key="own_fetch", icon=icon, disabled=no_id) as is_pressed:
        if is_pressed:
            bar, words = st.progress(0.0, text["asking"]), text["fetching"]

            def progress(done: int, total: int) -> None:
                bar.progress(min(done / max(total, 1), 1.0), words.format(done=done / 1e6, total=total / 1e6))

            st.session_state[PROBLEM_STATE] = uploaded_model.fetch_hub_model(hub_id, progress)
    if is_pressed:
        st.rerun()

"""The run behind a dot that was clicked: its model, opened on the pages that look inside, if it is on this machine."""

import streamlit as st

from app.shell.page_switch import request_page
from app.state.training import runs
from app.texts import Prose

PAGE_ICONS = {"filters": ":material/blur_on:", "positions": ":material/grid_on:", "distance": ":material/straighten:",
         "rollout": ":material/center_focus_strong:"}  # fmt: skip


def remember_run(run: str) -> None:
    """Remember the run that was clicked; a mean over seeds belongs to none."""
    st.session_state["_experiment_run"] = run


def show_clicked_run(text: Prose) -> None:
    """The run that was clicked, and the pages that look inside its model."""
    run = st.session_state.get("_experiment_run")
    if not run:
        st.caption(text["click"])
        return
    with st.container(border=True):
        st.markdown(text["run"].format(run=run))
        if runs.model_folder(f"runs/{run}") is None:
            st.caption(text["run not here"])
            return
        with st.container(horizontal=True):
            for slug, icon in PAGE_ICONS.items():
                st.button(text[f"open {slug}"], key=f"open_{slug}", icon=icon, on_click=_request_page, args=(slug, run))


def _request_page(slug: str, run: str) -> None:
    st.session_state["model"] = f"runs/{run}"
    request_page(slug, {"model": f"runs/{run}"})

"""The visitor's own model beside the picker: which file it is, and what is said where a link names one that is not here."""

from __future__ import annotations

import streamlit as st

from app import texts
from app.state.own import model as own
from vitcore.models.cards import CARDS, DEFAULT


def about() -> str:
    """Which file the model of the menu is; nothing where there is none."""
    one = own.mine()
    return "" if one is None else texts.prose("common")["own model"].format(name=texts.verbatim(one.called))


def missing() -> None:
    """Above the page: the model of the link is not here; the way to bring it, until another is chosen."""
    if not st.session_state.get("_model_missing"):
        return
    if st.session_state.get("model", DEFAULT) != DEFAULT:
        st.session_state["_model_missing"] = False
        return
    text = texts.prose("common")
    with st.container(border=True, key="missing_model"):
        st.markdown(f":material/deployed_code_alert: {text['missing model'].format(model=CARDS[0].title)}")
        st.page_link("views/bring/page.py", label=text["bring it"], icon=":material/upload_file:")
        st.button(
            text["go without"],
            key="go_without_model",
            on_click=st.session_state.update,
            kwargs={"_model_missing": False},
        )

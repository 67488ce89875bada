"""The glossary: what the field's words mean, one touch away on every page."""

import streamlit as st

from app import texts


def glossary_popover() -> None:
    """The words behind an icon; the browser opens it, and nothing runs."""
    text = texts.prose("glossary")
    with st.popover(text["title"], icon=":material/dictionary:", key="glossary", type="tertiary"):
        st.markdown(text["terms"])

"""A button that copies the page's address, says that it did, and what the address cannot carry."""

import streamlit as st

from app.components import source

_LINK = st.components.v2.component(
    "inside_vit_link", html=source("link.html"), css=source("link.css"), js=source("link.js")
)


def link(label: str, copied: str, failed: str, field: str, note: str = "", *, key: str) -> None:
    """The button; `note` is said after `copied` (or `failed`, with the address in a field called `field`)."""
    data = {"label": label, "copied": copied, "failed": failed, "field": field, "note": note}
    _LINK(data=data, key=key, width="content")

"""Pictures of every depth side by side, each with its name and what is said of it."""

import streamlit as st

from app.components import source

_DEPTH = st.components.v2.component(
    "inside_vit_depth", html="<ol>\n</ol>", css=source("depth/depth.css"), js=source("depth/depth.js")
)


def depth(tiles: list[dict[str, str]], *, key: str, label: str) -> None:
    """Show tiles of {image (a data address), alt, name, words}, as many in a row as there is room for."""
    _DEPTH(data={"tiles": tiles, "label": label}, key=key)

"""Pictures of every depth side by side, each with its name and what is said of it."""

import streamlit as st

from app.components.component_files import read_script, read_source

_COMPONENT = st.components.v2.component(
    "inside_vit_layer_pictures",
    html="<ol>\n</ol>",
    css=read_source("layer_pictures/layer_pictures.css"),
    js=read_script("layer_pictures/layer_pictures.js"),
)


def layer_pictures(pictures: list[dict[str, str]], *, key: str, label: str) -> None:
    """Show tiles of {image (a data address), alt, name, words}, as many in a row as there is room for."""
    _COMPONENT(data={"tiles": pictures, "label": label}, key=key)

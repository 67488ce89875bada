"""The picture of the page Live: the model runs in the visitor's browser on a camera, a clip, an image or the photo at hand.

Python is told nothing of what is seen there, but a frame that the visitor asks to open on every page.
"""

import base64
import binascii
from collections.abc import Callable
from typing import Any

import streamlit as st

from app.components.component_files import translated_component

LABELS = (
    "frame", "canvas", "answer", "sources", "camera", "file", "photo here", "freeze", "mirror", "turn", "cover", "clear", "rollout",
    "layer", "keep", "keep help", "heads", "all on", "clip", "step back",
    "step on", "film", "kept", "keys",
)  # fmt: skip


def live(data: dict[str, Any], *, key: str, receive_frame: Callable[[bytes], None]) -> None:
    """Draw what `data` says; a frame that the visitor wants to keep goes to `receive_frame` as a PNG."""

    def chosen() -> None:
        given = st.session_state[key].chosen
        if not isinstance(given, dict) or not isinstance(given.get("frame"), str):
            return
        st.session_state[f"{key}_n"] = st.session_state.get(f"{key}_n", 0) + 1
        try:
            receive_frame(base64.b64decode(given["frame"], validate=True))
        except binascii.Error:
            return  # a message made by hand

    names = {name.replace(" ", "_"): data["words"][name] for name in LABELS}
    sent = data | {"n": st.session_state.get(f"{key}_n", 0)}
    translated_component("live", **names)(data=sent, key=key, on_chosen_change=chosen)

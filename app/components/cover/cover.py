"""The photo that patches are covered on, by brush, eraser, rectangle or whole object; beside it the answer and two maps.

Strokes are drawn in the browser; when one ends, the set of covered patches comes back to Python once.
"""

from typing import Any

import streamlit as st

from app.components.component_files import translated_component
from app.components.pending_choices import choose

LABELS = (
    "photo", "canvas", "tools", "brush", "eraser", "rectangle", "object", "undo", "redo", "clear", "size", "threshold", "fill",
    "answer", "before", "after", "rollout", "class attention", "keys",
)  # fmt: skip


def cover(data: dict[str, Any], *, key: str, target: str, fill_target: str) -> None:
    """Draw what `data` says; what is covered goes to st.session_state[target], encoded as `covered_photos.encode_patches` does.

    What shows in its place, one of data["fills"], goes to `fill_target`.
    """
    fills = list(data["fills"])

    def chosen() -> None:
        given = st.session_state[key].chosen
        if not isinstance(given, dict):
            return
        st.session_state[f"{key}_n"] = int(given.get("n") or 0)
        if "covered" in given:
            choose(target, str(given["covered"]))
        if given.get("fill") in fills:
            choose(fill_target, given["fill"])

    names = {name.replace(" ", "_"): data["words"][name] for name in LABELS}
    sent = data | {"n": st.session_state.get(f"{key}_n", 0)}
    translated_component("cover", **names)(data=sent, key=key, on_chosen_change=chosen)

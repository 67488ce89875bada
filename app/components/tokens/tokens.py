"""Two photos in the colours of their patch tokens; the patch pointed at lights up its like, here in the browser.

The message holds a few kilobytes; pictures, tokens, components and matches are files of Streamlit's media store, which the
browser fetches once. What is chosen comes back to Python once.
"""

from typing import Any

from app.components.pending_choices import apply_choices, choice_component

LABELS = (
    "photo", "canvas", "views", "colours", "foreground", "segments", "threshold", "play", "matches", "matches help", "strip",
    "mask",
)  # fmt: skip
VIEWS = ("colours", "foreground", "segments")
CHOICE_TYPES: dict[str, type] = {"patch": int, "layer": int, "view": str, "threshold": float, "mask": bool, "lines": bool}


def tokens(data: dict[str, Any], *, key: str, targets: dict[str, str]) -> None:
    """Draw what `data` says; a choice goes to st.session_state under `targets` (choice → key of its control)."""

    def take(given: dict[str, Any]) -> None:
        known = {choice: control for choice, control in targets.items() if choice != "view" or given.get("view") in VIEWS}
        apply_choices(given, known, CHOICE_TYPES)  # a message made by hand may name another view

    choice_component("tokens", LABELS, data, key=key, on_choice=take)

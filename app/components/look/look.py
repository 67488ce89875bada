"""The Look page's picture: the photo and the paper's five pictures answer to each other in the browser.

What is chosen comes back to Python once. The message holds a few kilobytes; pictures, attention and embeddings are files of
Streamlit's media store, which the browser fetches once.
"""

from collections.abc import Callable
from typing import Any

from app.components.pending_choices import apply_choices, choice_component

LABELS = (
    "photo", "canvas", "mask", "all layers", "layer", "heads", "after layer", "play",
    "patches title", "patches more", "patches alt", "filters title", "filters more", "filters alt",
    "positions title", "positions more", "positions alt", "distance title", "distance more", "distance alt",
    "rollout title", "rollout more", "rollout alt",
)  # fmt: skip
CHOICE_TYPES: dict[str, type] = {"patch": int, "layer": int, "head": int, "mask": bool}


def look(
    data: dict[str, Any], *, key: str, targets: dict[str, str] | None = None, open_page: Callable[[str], None] | None = None
) -> None:
    """Draw what `data` says; a choice goes to st.session_state under `targets` (choice → key of its control).

    `open_page` is told the name of the section whose page is to be opened.
    """

    def take(given: dict[str, Any]) -> None:
        apply_choices(given, targets or {}, CHOICE_TYPES)
        if open_page and (name := given.get("open")):
            open_page(str(name))

    choice_component("look", LABELS, data, key=key, on_choice=take)

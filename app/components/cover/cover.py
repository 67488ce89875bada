"""The photo that patches are covered on, by brush, eraser, rectangle or whole object; beside it the answer and two maps.

Strokes are drawn in the browser; when one ends, the set of covered patches comes back to Python once.
"""

from typing import Any

from app.components.pending_choices import choice_component, set_control

LABELS = (
    "photo", "canvas", "tools", "brush", "eraser", "rectangle", "object", "undo", "redo", "clear", "size", "threshold", "fill",
    "answer", "before", "after", "rollout", "class attention", "keys",
)  # fmt: skip


def cover(data: dict[str, Any], *, key: str, target: str, fill_target: str) -> None:
    """Draw what `data` says; what is covered goes to st.session_state[target], encoded as `covered_photos.encode_patches` does.

    What shows in its place, one of data["fills"], goes to `fill_target`.
    """
    fills = list(data["fills"])

    def take(given: dict[str, Any]) -> None:
        if "covered" in given:
            set_control(target, str(given["covered"]))
        if given.get("fill") in fills:
            set_control(fill_target, given["fill"])

    choice_component("cover", LABELS, data, key=key, on_choice=take)

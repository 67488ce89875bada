"""The attention explorer: a photo to point at whose heads answer in the browser; what is chosen comes back to Python once.

The message that Streamlit sends at every run holds a few kilobytes: words, numbers, addresses. The heavy things (the photo,
a block's attention, the strip) are files of Streamlit's media store, named by their content: the browser fetches each once.
"""

from collections.abc import Callable
from typing import Any

from app.components.pending_choices import apply_choices, choice_component

LABELS = ("canvas", "tokens", "heads", "compare", "compare help", "play", "strip", "rules", "keys", "mask")

PINNED_TOKENS = ("token", "second")  # tokens, by their places in the sequence
# What else a person chooses, and its kind.
CHOICE_TYPES: dict[str, type] = {"block": int, "head": int, "rolled": bool, "mask": bool}


def explorer(
    data: dict[str, Any], *, key: str, targets: dict[str, str], directions: tuple[str, str],
    pin: Callable[[str, int | None, int], None],
) -> None:  # fmt: skip
    """Draw what `data` says; a choice goes to st.session_state under `targets` (choice → key of its control).

    `pin` is told which of PINS is what token now, None for none, and how many tokens stand before the patches.
    `directions` are the two settings of the control for "column": off, on.
    """

    prefix = data["grid"]["prefix"]  # all that Streamlit is to keep of `data` until then

    def take(given: dict[str, Any]) -> None:
        for name in PINNED_TOKENS:
            if name in given:
                pin(name, None if given[name] is None else int(given[name]), prefix)
        apply_choices(given, targets, CHOICE_TYPES | {"column": lambda column: directions[bool(column)]})

    choice_component("explorer", LABELS, data, key=key, on_choice=take)

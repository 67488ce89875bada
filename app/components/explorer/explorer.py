"""The attention explorer: a photo to point at whose heads answer in the browser; what is chosen comes back to Python once.

The message that Streamlit sends at every run holds a few kilobytes: words, numbers, addresses. The heavy things (the photo,
a block's attention, the strip) are files of Streamlit's media store, named by their content: the browser fetches each once.
"""

from typing import Any

import streamlit as st

from app.components import worded
from app.components.choices import choose

PARTS = "../outlined ../overlay explorer_read explorer_words explorer_touch explorer"
NAMES = ("canvas", "tokens", "heads", "compare", "compare help", "play", "strip", "rules", "keys", "mask")

# What a person chooses, by the key of the control that keeps it in the address bar: the least it can be, and its kind.
CHOICES: dict[str, type] = {
    "token": int,
    "second": int,
    "block": int,
    "head": int,
    "column": bool,
    "rolled": bool,
    "mask": bool,
}


def explorer(data: dict[str, Any], *, key: str, targets: dict[str, str], directions: tuple[str, str]) -> None:
    """Draw what `data` says; a choice goes to st.session_state under `targets` (choice → key of its control).

    `directions` are the two settings of the control for "column": off, on.
    """

    def chosen() -> None:
        given = st.session_state[key].chosen
        if not isinstance(given, dict):
            return
        st.session_state[f"{key}_n"] = int(given.get("n") or 0)
        for choice, control in targets.items():
            if choice not in given:
                continue
            if choice == "column":
                choose(control, directions[bool(given[choice])])
            else:
                value = given[choice]
                choose(control, None if value is None else CHOICES[choice](value))

    names = {name.replace(" ", "_"): data["words"][name] for name in NAMES}
    sent = data | {"n": st.session_state.get(f"{key}_n", 0)}
    worded("explorer", PARTS, **names)(data=sent, key=key, on_chosen_change=chosen)

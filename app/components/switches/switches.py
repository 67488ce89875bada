"""A model's components as switches: a grid of layers and heads, attention, MLP; beside it the answer and a map of what is left.

A switch that is touched shows it at once in the browser; the set of those that are off comes back to Python once.
"""

from typing import Any

import streamlit as st

from app.components.component_files import translated_component
from app.components.pending_choices import choose

LABELS = ("answer", "before", "after", "switches", "all on", "tokens", "attention", "mlp")


def switches(data: dict[str, Any], *, key: str, target: str) -> None:
    """Draw what `data` says; the names of what is off go to st.session_state[target], as text."""

    def chosen() -> None:
        given = st.session_state[key].chosen
        if not isinstance(given, dict):
            return
        st.session_state[f"{key}_n"] = int(given.get("n") or 0)
        if "off" in given:
            choose(target, str(given["off"]))

    names = {name.replace(" ", "_"): data["words"][name] for name in LABELS}
    sent = data | {"n": st.session_state.get(f"{key}_n", 0)}
    translated_component("switches", **names)(data=sent, key=key, on_chosen_change=chosen)

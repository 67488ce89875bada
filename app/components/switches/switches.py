"""A model's components as switches: a grid of layers and heads, attention, MLP; beside it the answer and a map of what is left.

A switch that is touched shows it at once in the browser; the set of those that are off comes back to Python once.
"""

from typing import Any

from app.components.pending_choices import choice_component, choose

LABELS = ("answer", "before", "after", "switches", "all on", "tokens", "attention", "mlp")


def switches(data: dict[str, Any], *, key: str, target: str) -> None:
    """Draw what `data` says; the names of what is off go to st.session_state[target], as text."""

    def take(given: dict[str, Any]) -> None:
        if "off" in given:
            choose(target, str(given["off"]))

    choice_component("switches", LABELS, data, key=key, take=take)

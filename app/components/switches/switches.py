"""A model's components as switches: a grid of layers and heads, attention, MLP; beside it the answer and a map of what is left.

A switch that is touched shows it at once in the browser; the set of those that are off comes back to Python once.
"""

from typing import Any

from app.components.pending_choices import choice_component, set_control

LABELS = (
    "answer", "before", "after", "switches", "all on", "tokens", "attention", "mlp", "switch_by", "switch_map", "try every head",
)  # fmt: skip


def switches(data: dict[str, Any], *, key: str, targets: dict[str, str]) -> None:
    """Draw what `data` says; what is chosen goes to st.session_state[targets[name]]: "off" (names, as text), "by", "map", "scan".

    Of "by" and "map" only what `data["choices"]` offers is taken.
    """

    def take(given: dict[str, Any]) -> None:
        for name, target in targets.items():
            offered = [value for value, _ in data["choices"].get(name, [])]
            if name in given and (not offered or given[name] in offered):
                set_control(target, str(given[name]))

    choice_component("switches", LABELS, data, key=key, on_choice=take)

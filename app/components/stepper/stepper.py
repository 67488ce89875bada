"""The stepper of the story: where we are among the steps, and buttons and keys that go to another."""

import streamlit as st

from app.components.component_files import translated_component
from app.components.pending_choices import set_control


def stepper(
    names: list[str], spoken_names: list[str], step: int, *, key: str, target: str, label: str, back_label: str, next_label: str,
    clicker: bool = False, titled: bool = False,
) -> None:  # fmt: skip
    """Show the steps, the current one (counted from 1) marked; a step gone to is put in st.session_state[target].

    `spoken_names[i]` is what a screen reader hears of step i + 1; `back_label` and `next_label` name the buttons at the ends.
    Arrow keys, Home and End turn the page unless a control has the focus; with `clicker`, Page Up and Page Down do as well,
    wherever the focus is but in text; what lies past the ends is left to `components/page_style`. Where it is `titled`,
    `label` stands above it.
    """

    def go() -> None:
        if st.session_state[key].to:
            set_control(target, int(st.session_state[key].to))

    data = {"names": names, "spoken": spoken_names, "step": step, "clicker": clicker, "titled": titled}
    translated_component("stepper", label=label, before=back_label, after=next_label)(data=data, key=key, on_to_change=go)

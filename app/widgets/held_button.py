"""A button that does what the page says now: its press is held until its work is done.

A button's own arguments are what the page said before the last touch. A run that another touch cuts short forgets a press;
Streamlit may cut it short wherever `st.session_state` is read or written, in a callback, too.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

PRESSES_STATE = "_presses"  # a set: to change it is no word to Streamlit


def held_press(label: str, name: str, **button: Any) -> Callable[[], None] | None:
    """Draw the button. Returns None unless it was pressed; else what forgets the press, to be called once the work is done."""
    presses = _presses()
    st.button(label, on_click=presses.add, args=(name,), **button)
    return (lambda: presses.discard(name)) if name in presses else None


def forget_press(name: str) -> None:
    """Forget a press that the page did not come to."""
    _presses().discard(name)


def _presses() -> set[str]:
    presses: set[str] = st.session_state.setdefault(PRESSES_STATE, set())
    return presses

"""A button that does what the page says now: its press is held until its work is done.

A button's own arguments are what the page said before the last touch. A run that another touch cuts short forgets a press;
Streamlit may cut it short wherever `st.session_state` is read or written, in a callback, too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

PRESSES_STATE = "_presses"  # a set: to change it neither reads nor writes the state


@contextmanager
def button_holding_press(label: str, name: str, *, disabled: bool = False, **button: Any) -> Iterator[bool]:
    """Draw the button, then do the block's work: with True where it was pressed, which is forgotten once the block has ended.

    A block that another touch cuts short is done again in the next run; one that fails is not.
    """
    presses = _presses()
    if disabled:
        presses.discard(name)
    st.button(label, on_click=presses.add, args=(name,), disabled=disabled, **button)
    try:
        yield name in presses
    except Exception:  # what Streamlit cuts a run short with is none
        presses.discard(name)
        raise
    presses.discard(name)


def forget_unhandled_press(name: str) -> None:
    """Forget a press that the page did not come to."""
    _presses().discard(name)


def _presses() -> set[str]:
    presses: set[str] = st.session_state.setdefault(PRESSES_STATE, set())
    return presses

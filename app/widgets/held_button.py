"""A button that does what the page says now: its press is held until the page comes to it again.

A button's own arguments are what the page said before the last touch, and a run that another touch cuts short forgets a press.
"""

from typing import Any

import streamlit as st


def pressed(label: str, flag: str, **button: Any) -> bool:
    """Draw the button; whether it was pressed since the page last came here. The press is held in the session as `flag`."""
    st.button(label, on_click=st.session_state.update, args=({flag: True},), **button)
    return bool(st.session_state.pop(flag, False))

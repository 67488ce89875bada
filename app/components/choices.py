"""What is chosen on a picture stays chosen, whatever else is touched while Python still answers.

A choice sets a control. When something else is touched meanwhile, Streamlit breaks the run off and takes every control's
value from the browser, which has not heard of the choice: the control would be what it was before.
"""

from typing import Any

import streamlit as st

KEY = "_choices"  # control → what it was, and what it became, until a run has told the browser


def choose(control: str, value: Any) -> None:
    """Set a control from a component's callback."""
    open_ = st.session_state.setdefault(KEY, {})
    before = open_[control][0] if control in open_ else st.session_state.get(control)
    open_[control] = (before, value)
    st.session_state[control] = value


def hold() -> None:
    """Before a run draws its controls: what a run that was broken off did not tell is set again.

    A control that has become something else than it was before the choice was touched since; that counts.
    """
    open_ = st.session_state.get(KEY, {})
    for control, (before, value) in list(open_.items()):
        if (now := st.session_state.get(control)) == before:
            st.session_state[control] = value
        elif now != value:
            del open_[control]


def answered(*controls: str) -> None:
    """Once these controls (or all of a page) have been drawn: the browser has been told."""
    open_ = st.session_state.get(KEY, {})
    for control in controls or list(open_):
        open_.pop(control, None)

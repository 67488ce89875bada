"""The address bar: what Streamlit stumbles over is taken out of it, and what a link means is written as the pages write it."""

import math

import streamlit as st


def drop_invalid_params() -> None:
    """Take out of the address what Streamlit 1.67 stumbles over before a control can refuse it: nothing, and infinity."""
    invalid = [key for key, value in st.query_params.items() if not value or _infinite(value)]
    dropped = [key for key in invalid if _drop(key)]
    if dropped:
        st.rerun()


def _drop(key: str) -> bool:
    """Take a parameter out of the address; False where a control is bound to it: that has refused it, or holds it as text."""
    try:
        del st.query_params[key]
    except st.errors.StreamlitAPIException:
        return False
    return True


def _infinite(text: str) -> bool:
    try:
        return math.isinf(float(text))
    except ValueError:
        return False


def rewrite_query_param(key: str, value: str | int, name: str) -> None:
    """What a link means, as this page writes it: in the address, and where a control is bound to that already, in its value."""
    try:
        st.query_params[key] = name
    except st.errors.StreamlitAPIException:  # bound: this page has shown the control before
        st.session_state[key] = value
        return
    st.rerun()  # a control reads the address that a run began with


def rewrite_code(key: str, code: str) -> None:
    """What a link's code means here, in place of what it was; a code that means nothing leaves the address."""
    if key in st.session_state:
        st.session_state[key] = code
    elif code:
        rewrite_query_param(key, code, code)
    else:
        del st.query_params[key]
        st.rerun()

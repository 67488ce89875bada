"""The filter that a visitor enlarges by touching it."""

import streamlit as st


def remember_clicked_filter(component: int) -> None:
    """Remember the filter that was clicked. Not a function of the page: Streamlit keeps it, and with it all that the page has."""
    st.session_state["_component"] = component

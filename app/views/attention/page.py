"""Attention explorer: point at a patch, and every head of a layer answers at once."""

import streamlit as st

from app import texts
from app.components.figure import aside
from app.furniture import controls
from app.views.attention import pinned_tokens
from app.views.attention.explorer_data import explore

text = texts.prose("attention")
first = aside(text["intro"])
vit, *_ = controls.current(needs=text["what"])
if vit.structure.axes:
    first.caption(text["axial"])
if st.session_state.get("_page") != "attention":  # entered
    pinned_tokens.arrive(vit.grid)
explore(vit.name, text)

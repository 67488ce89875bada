"""Attention explorer: point at a patch, and every head of a layer answers at once."""

import streamlit as st

from app import texts
from app.components.figure import aside
from app.shell import current_recording
from app.views.attention import pinned_tokens
from app.views.attention.explorer_view import show_explorer

text = texts.prose("attention")
first = aside(text["intro"])
vit, *_ = current_recording.load(needs_attention_for=text["what"])
if vit.structure.axes:
    first.caption(text["axial"])
if st.session_state.get("_page") != "attention":  # entered
    pinned_tokens.read_address(vit.grid)
show_explorer(vit.name, text)

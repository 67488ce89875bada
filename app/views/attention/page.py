"""Attention explorer: point at a patch, and every head of a layer answers at once."""

import streamlit as st

from app import texts
from app.components.figure import text_before_picture
from app.shell import load_page_visit
from app.views.attention import pinned_tokens
from app.views.attention.explorer_controls_and_picture import show_explorer

text = texts.prose("attention")
vit = load_page_visit.load_visit(text, needs_attention=True).vit
if st.session_state.get("_page") != "attention":  # entered
    pinned_tokens.read_pins_from_address(vit.grid)
show_explorer(vit.name, text)
text_before_picture(text["intro"])

"""Attention explorer: point at a patch, and every head of a layer answers at once."""

import streamlit as st

from app import controls, texts
from app.exploring import explore

text = texts.prose("attention")
st.markdown(text["intro"])
vit, photo, _ = controls.current(st.session_state.get("block", 0))
explore(vit, photo, text)

"""Attention explorer: point at a patch, and every head of a layer answers at once."""

import streamlit as st

from app import texts
from app.furniture import controls, model_card
from app.views.attention.explorer_data import explore

text = texts.prose("attention")
st.markdown(text["intro"])
vit, *_ = controls.current(needs=text["what"])
if vit.structure.axes:
    st.caption(text["axial"])
explore(vit.name, text)
model_card.taught(vit)

"""Attention explorer: point at a patch, and every head of a layer answers at once."""

import streamlit as st

from app import controls, texts

text = texts.prose("attention")
st.markdown(text["intro"])
vit, photo, rec = controls.current()

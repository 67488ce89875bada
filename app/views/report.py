"""Take it away: a handout, an animation, and a ZIP of everything for many photos."""

import streamlit as st

from app import controls, texts

text = texts.prose("report")
st.markdown(text["intro"])
vit, photo, rec = controls.current()

"""The story: a lecture in nine steps, from pixels to an answer, on one photo."""

import streamlit as st

from app import controls, texts

text = texts.prose("story")
st.markdown(text["intro"])
vit, photo, rec = controls.current()

"""Bring your model: a file or an id of the hub, what is found in it, what is left to ask, and opening it for every page."""

import streamlit as st

from app import texts
from app.views.bring import brought, take

text = texts.prose("bring")
st.markdown(text["intro"])
take.show(text)
brought.show(text)

"""The story: nine steps from pixels to an answer, on one photo."""

import streamlit as st

from app import texts
from app.shell import current_visit
from app.views.story import step_view

text = texts.prose("story")
step = step_view.step_input(text)
with st.bottom:  # the same place at every step
    step_view.show_stepper(text, step)
step_view.show_step(current_visit.load_visit(text, needs_attention=True, needs_colours=True), step)

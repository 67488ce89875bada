"""The story: nine steps from pixels to an answer, on one photo."""

import streamlit as st

from app import texts
from app.shell import load_page_visit
from app.views.story.story_stepper_and_steps import show_story_step, show_story_stepper, step_number_input

text = texts.prose("story")
step = step_number_input(text)
with st.bottom:  # the same place at every step
    show_story_stepper(text, step)
show_story_step(load_page_visit.load_visit(text, needs_attention=True, needs_colours=True), step)

"""The story: nine steps from pixels to an answer, on one photo."""

import streamlit as st

from app import texts
from app.shell import load_page_visit
from app.views.story import story_stepper_and_steps

text = texts.prose("story")
step = story_stepper_and_steps.step_number_input(text)
with st.bottom:  # the same place at every step
    story_stepper_and_steps.show_story_stepper(text, step)
story_stepper_and_steps.show_story_step(load_page_visit.load_visit(text, needs_attention=True, needs_colours=True), step)

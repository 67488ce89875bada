"""The story: a lecture in nine steps, from pixels to an answer, on one photo."""

import streamlit as st

from app import controls, story, texts
from app.steps import Scene

text = texts.prose("story")
stepper, row = st.container(), st.container(horizontal=True, vertical_alignment="bottom")
with row:
    step = story.step_number(text)
with stepper:
    story.navigation(text, step)
vit, photo, rec = controls.current()
with row:
    layer = head = 0
    patch = controls.number(text["patch"], "patch", rec.grid.patches, rec.grid.middle, width=130)
    if step == story.BLOCK:
        layer, head = story.inside_of(text, vit)
    else:
        st.caption(text["intro"])
story.show(Scene(vit, photo, rec, patch, layer, head, controls.theme(), text), step)

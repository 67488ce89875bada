"""The story: nine steps from pixels to an answer, on one photo."""

import streamlit as st

from app import texts
from app.furniture import controls
from app.views.story import nine_steps
from app.views.story.step import Scene

text = texts.prose("story")
stepper, row = st.container(), st.container(horizontal=True, vertical_alignment="bottom")
with row:
    step = nine_steps.step_number(text)
with stepper:
    nine_steps.navigation(text, step)
vit, photo, rec = controls.current(needs=text["what"])
with row:
    layer = head = 0
    patch = controls.patch(text["patch"], rec.grid, width=130)
    if step == nine_steps.BLOCK:
        layer, head = nine_steps.inside_of(text, vit)
    else:
        with st.container(gap=None):
            st.caption(text["intro"])
            with st.container(key="by_keys"):  # hidden where there are none
                st.caption(text["by keys"])
nine_steps.show(Scene(vit, photo, rec, patch, layer, head, controls.theme(), text), step)

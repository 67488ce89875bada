"""The story: nine steps from pixels to an answer, on one photo."""

from dataclasses import replace

import streamlit as st

from app import texts
from app.shell import current_visit, query_controls
from app.views.story import step_view
from app.views.story.story_step import StoryVisit

text = texts.prose("story")
stepper, row = st.container(), st.container(horizontal=True, vertical_alignment="bottom")
with row:
    step = step_view.step_input(text)
with stepper:
    step_view.show_stepper(text, step)
visit = current_visit.load_visit(text, needs_attention=True)
with row:
    layer = head = 0
    patch = query_controls.patch_input(text["patch"], visit.grid, width=130)
    if step == step_view.BLOCK_STEP:
        layer, head = step_view.layer_and_head_inputs(text, visit.vit)
    else:
        with st.container(gap=None):
            st.caption(text["intro"])
            with st.container(key="by_keys"):  # hidden where there are none
                st.caption(text["by keys"])
step_view.show_step(replace(visit, patch=patch, layer=layer, head=head).extend(StoryVisit), step)

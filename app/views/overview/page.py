"""Look, the landing page: the photo and the paper's five pictures, linked; below it the doors for newcomers."""

import streamlit as st

from app import texts
from app.components import light_or_dark
from app.components.look.look import look
from app.shell import load_page_visit, photo_picker
from app.shell.page_switch import request_page
from app.state import landing_figures
from app.state.recordings import cached_recordings
from app.views.overview import look_message
from app.views.overview.look_controls_and_pictures import show_look
from app.widgets import outlier_masking
from vitcore.models.model_cards import DEFAULT_MODEL

text = texts.prose("overview")
entered = st.session_state.get("_page") != "overview"
early = st.container(key="early").empty()
model, photo = st.session_state.get("model") or DEFAULT_MODEL, st.session_state.get("photo")
ready = landing_figures.precomputed_rollout_picture(model, photo) if entered and not outlier_masking.is_masking_on() else None
if ready and not cached_recordings.is_recording_cached(model, ready["photo"]):
    with early:  # until there is a model
        look(look_message.early_message(ready, text, light_or_dark.current_theme()), key="look_early")
try:
    vit = load_page_visit.load_visit(text, load_page_visit.LAST_BLOCK).vit
    show_look(vit.name, text)
finally:  # a model that can't be had stops the page
    early.empty()
own, *doors = st.columns(3, gap="medium")
with own:
    st.markdown(f"**{text['own']}**")
    photo_picker.photo_uploader("own_file")
for way, place in zip(("story", "learn"), doors, strict=True):
    with place.container(border=True, height="stretch"):
        st.markdown(f"**{text[way]}**  \n{text[f'{way} why']}")
        st.button(text[f"{way} link"], key=f"door_{way}", icon=":material/arrow_forward:", type="primary",
                  on_click=request_page, args=(way,))  # fmt: skip
st.caption(text["paper"])

"""Live: the model runs in the visitor's own browser, on a camera, a clip, an image or the photo at hand."""

import streamlit as st

from app import texts
from app.components.figure import aside, explain, lead
from app.components.live.live import live
from app.shell import current_visit
from app.views.live import poll_view, vote_view
from app.views.live.keep_frame import receive_frame
from app.views.live.live_message import live_message

text = texts.prose("live")
poll_place = st.container(key="poll_place")
picture = lead()  # what loading says comes below it: a picture that moves would begin again
visit = current_visit.load_visit(text, needs_attention=True)
with poll_place:
    poll_view.show_own_poll(visit)
    vote_view.show_vote(visit)
message = live_message(visit)
with picture:
    live(message, key="live", receive_frame=receive_frame)
aside(text["intro"])
with st.container(horizontal=True):
    explain(text["how"], text["limits"], text["source"])
    poll_view.poll_menu(visit)

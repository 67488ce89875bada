"""Live: the model runs in the visitor's own browser, on a camera, a clip, an image or the photo at hand."""

import streamlit as st

from app import texts
from app.components.figure import picture_container, show_explanation_fold, text_before_picture
from app.components.live.live import live
from app.shell import load_page_visit
from app.views.live import poll_lecturer, poll_voter
from app.views.live.keep_frame import upload_frame_as_photo
from app.views.live.live_message import live_message

text = texts.prose("live")
poll_place = st.container(key="poll_place")
picture = picture_container()  # what loading says comes below it: a picture that moves would begin again
visit = load_page_visit.load_visit(text, needs_attention=True)
with poll_place:
    # Rollout is the answer to a poll's question: while the vote is open Live, which shows it, is not here.
    is_kept_back = [poll_lecturer.show_own_poll(visit), poll_voter.show_voting_page(visit)]
    poll_lecturer.show_poll_start(visit, bool(poll_voter.asked_code()))
if not any(is_kept_back):
    message = live_message(visit)
    with picture:
        live(message, key="live", receive_frame=upload_frame_as_photo)
    text_before_picture(text["intro"])
    with st.container(horizontal=True):
        show_explanation_fold(text["how"], text["limits"], text["source"], is_map=True)
        poll_lecturer.poll_button()

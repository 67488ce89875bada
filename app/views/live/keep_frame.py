"""A frame that the visitor asked to open on every page becomes their own photo, as an upload does."""

import streamlit as st

from app import texts
from app.components.pending_choices import set_control
from app.state.photos import uploaded_photo
from app.texts import escape_markdown


def upload_frame_as_photo(png: bytes) -> None:
    """Show it on every page if it can be shown, else say why not and change nothing."""
    if problem := uploaded_photo.receive_photo(png, texts.prose("live")["frame file"]):
        st.toast(escape_markdown(problem), icon=":material/broken_image:", duration="long")
    else:
        set_control("photo", uploaded_photo.PHOTO_ID)

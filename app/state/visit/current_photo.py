"""The photo that the visitor has chosen: a sample of the gallery, or their own upload."""

import streamlit as st

from app import texts
from app.state.photos import sample_photos, uploaded_photo
from vitcore.assets import SAMPLES, samples
from vitcore.images import Photo


def load_photo() -> Photo:
    """The chosen photo: a sample, or the visitor's own."""
    chosen = st.session_state.get("photo")
    if chosen == uploaded_photo.PHOTO_ID and (own := uploaded_photo.open_current()):
        return own
    known = [row["id"] for row in samples()]
    name = chosen if chosen in known else known[0]
    return sample_photos.open_cached(
        sample_photos.sample_digest(name), f"{name}.jpg", texts.language(), "", SAMPLES / f"{name}.jpg"
    )

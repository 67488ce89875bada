"""The photo that the visitor has chosen: a sample of the gallery, or their own upload."""

import streamlit as st

from app import texts
from app.state.photos import sample_photos, uploaded_photo
from vitcore.assets import sample_photo_rows
from vitcore.images import Photo


def load_photo(bands: int = 3) -> Photo:
    """The chosen photo, a sample or the visitor's own, for a model of so many bands. Raises: PhotoError, where it has others."""
    chosen = st.session_state.get("photo")
    if chosen == uploaded_photo.PHOTO_ID and (own := uploaded_photo.open_uploaded_photo(bands=bands)):
        return own
    known = [row["id"] for row in sample_photo_rows()]
    return sample_photos.open_sample(chosen if chosen in known else known[0], texts.language(), bands)

"""The photo that the visitor has chosen: a sample of the gallery, or their own upload."""

import streamlit as st

from app.state.photos import uploaded_photo
from vitcore.images import Photo


def load_photo(bands: int = 3) -> Photo:
    """The chosen photo, a sample or the visitor's own, for a model of so many bands. Raises: PhotoError, where it has others."""
    return uploaded_photo.open_photo_by_id(st.session_state.get("photo"), bands)

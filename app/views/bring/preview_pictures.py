"""The sheet below the drop zone: what a model that is brought will show, as ghosts until it is open, then its own."""

import streamlit as st

from app import texts
from app.components import light_or_dark
from app.components.figure import picture_container
from app.components.layer_pictures.layer_pictures import layer_pictures
from app.state import reports
from app.state.memory import memory_cache
from app.state.models import loaded_models, uploaded_model
from app.state.recordings import cached_recordings
from app.state.visit import current_photo
from app.texts import Prose
from vitcore.images import PhotoError
from vitcore.models.model_cards import DEFAULT_MODEL, ModelError


def show_preview_pictures(text: Prose) -> None:
    """Six pictures of the photo at hand: through the visitor's model once it is open, else the app's own model in grey."""
    model = uploaded_model.current_uploaded_model()
    is_open = model is not None and model.options is not None
    try:
        vit = loaded_models.loaded_model(model.version if model is not None and is_open else DEFAULT_MODEL)
        rec = cached_recordings.cached_recording(vit, current_photo.load_photo(vit.bands), vit.blocks - 1)
        tiles = reports.layer_picture_tiles(rec, texts.language(), light_or_dark.current_theme(), vit)
    except (ModelError, PhotoError, memory_cache.MemoryBudgetError):
        return  # the page is for the file; what went wrong with the photo or the model is said where it is looked at
    title = text["sheet open" if is_open else "sheet ghost"]
    with picture_container():
        st.markdown(f"**{title}**")
        with st.container(key="sheet" if is_open else "ghost_sheet"):
            layer_pictures(tiles, key="sheet_pictures", label=title)

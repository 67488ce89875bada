"""What a link names and this visitor does not have: a photo or a model. It is said above the page, with the way to bring it."""

from collections.abc import Callable, Collection

import streamlit as st

from app import texts
from app.menu import page_target
from app.state.models import model_menu, uploaded_model
from app.state.photos import sample_photos, uploaded_photo
from vitcore.models.model_cards import DEFAULT_MODEL, MODEL_CARDS
from vitcore.translation import say

QUERY_KEY = "photo_missing"  # in the address as long as it is said: a reload, and who is sent the address, are told again


def note_missing_photo(ids: Collection[str], titles: Callable[[], Collection[str]]) -> None:
    """Note it where the photo that is asked for is none of `ids`, nor called so in some language.

    `titles` in every language are made only for a link that names none of `ids`: this runs whenever a page does.
    """
    requested = st.session_state.get("photo", st.query_params.get("photo", st.query_params.get(QUERY_KEY)))
    if requested is None or requested in ids or requested in titles():
        return
    # neither a link nor a reload carries somebody's upload
    st.session_state["_photo_missing"] = sample_photos.sample_photo_rows()[0]["id"]
    own = {uploaded_photo.PHOTO_ID, *(texts.prose("common", lang)["your photo"] for lang in texts.LANGUAGES)}
    st.session_state["_photo_asked"] = "" if requested in own else str(requested)[:60]


def is_own_photo_missing() -> bool:
    """Whether the page says that the photo of its link is somebody's own, and not here."""
    return st.session_state.get("_photo_missing") is not None and not st.session_state.get("_photo_asked")


def show_missing_photo(uploader: Callable[[str], None]) -> None:
    """The photo of the link is not here; where to drop it in again, until that or another is chosen."""
    shown = st.session_state.get("_photo_missing")
    if shown is None or st.session_state.get("photo") != shown:
        st.session_state["_photo_missing"] = None
        st.query_params.pop(QUERY_KEY, None)
        return
    text, requested = texts.prose("common"), st.session_state.get("_photo_asked")
    st.query_params[QUERY_KEY] = requested or uploaded_photo.PHOTO_ID
    title = next(say(row["title"]) for row in sample_photos.sample_photo_rows() if row["id"] == shown)
    sentence = text["missing photo named"].format(name=texts.escape_markdown(requested), photo=title) if requested else ""
    with st.container(border=True, key="missing_photo"):
        st.markdown(f":material/hide_image: {sentence or text['missing photo'].format(photo=title)}")
        uploader("missing_file")
        st.button(text["go without"], key="go_without", on_click=st.session_state.update, kwargs={"_photo_missing": None})


def resolve_model_or_note_missing(requested: str | None, titles: Collection[str]) -> str | None:
    """What a link or a person asks for, by the name of the menu; a model that is gone is missing, and the first is shown."""
    name = requested if requested in titles else model_menu.resolve_model_name(requested)
    if name == uploaded_model.MODEL_ID and model_menu.is_model_gone(name):  # neither a link nor a reload carries somebody's file
        st.session_state["_model_missing"], name = True, DEFAULT_MODEL
    return name


def show_missing_model() -> None:
    """The model of the link is not here; the way to bring it, until another is chosen."""
    if not st.session_state.get("_model_missing"):
        return
    if st.session_state.get("model", DEFAULT_MODEL) != DEFAULT_MODEL:
        st.session_state["_model_missing"] = False
        return
    text = texts.prose("common")
    with st.container(border=True, key="missing_model"):
        st.markdown(f":material/deployed_code_alert: {text['missing model'].format(model=MODEL_CARDS[0].title)}")
        st.page_link(page_target("bring"), label=text["bring it"], icon=":material/upload_file:")
        st.button(text["go without"], key="go_without_model", on_click=st.session_state.update, kwargs={"_model_missing": False})

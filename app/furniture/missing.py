"""What a link names and this visitor does not have: a photo or a model. It is said above the page, with the way to bring it."""

from __future__ import annotations

from collections.abc import Callable, Collection

import streamlit as st

from app import texts
from app.state import models, session
from vitcore.models.model_cards import CARDS, DEFAULT
from vitcore.translation import say

ASKED = "photo_missing"  # in the address as long as it is said: a reload, and who is sent the address, are told again


def look_for_photo(ids: Collection[str], titles: Callable[[], Collection[str]]) -> None:
    """Note it where the photo that is asked for is none of `ids`, nor called so in some language.

    `titles` in every language are made only for a link that names none of `ids`: this runs whenever a page does.
    """
    wanted = st.session_state.get("photo", st.query_params.get("photo", st.query_params.get(ASKED)))
    if wanted is None or wanted in ids or wanted in titles():
        return
    # neither a link nor a reload carries somebody's upload
    st.session_state["_photo_missing"] = session.samples()[0]["id"]
    own = {session.UPLOAD, *(texts.prose("common", lang)["your photo"] for lang in texts.LANGUAGES)}
    st.session_state["_photo_asked"] = "" if wanted in own else str(wanted)[:60]


def photo(uploader: Callable[[str], None]) -> None:
    """The photo of the link is not here; where to drop it in again, until that or another is chosen."""
    shown = st.session_state.get("_photo_missing")
    if shown is None or st.session_state.get("photo") != shown:
        st.session_state["_photo_missing"] = None
        st.query_params.pop(ASKED, None)
        return
    text, asked = texts.prose("common"), st.session_state.get("_photo_asked")
    st.query_params[ASKED] = asked or session.UPLOAD
    title = next(say(row["title"]) for row in session.samples() if row["id"] == shown)
    said = text["missing photo named"].format(name=texts.verbatim(asked), photo=title) if asked else ""
    with st.container(border=True, key="missing_photo"):
        st.markdown(f":material/hide_image: {said or text['missing photo'].format(photo=title)}")
        uploader("missing_file")
        st.button(
            text["go without"], key="go_without", on_click=st.session_state.update, kwargs={"_photo_missing": None}
        )


def model_meant(asked: str | None, titles: Collection[str]) -> str | None:
    """What a link or a person asks for, by the name of the menu; a model that is gone is missing, and the first is shown."""
    wanted = asked if asked in titles else models.meant(asked)
    if wanted == models.OWN and models.is_gone(wanted):  # neither a link nor a reload carries somebody's file
        st.session_state["_model_missing"], wanted = True, DEFAULT
    return wanted


def model() -> None:
    """The model of the link is not here; the way to bring it, until another is chosen."""
    if not st.session_state.get("_model_missing"):
        return
    if st.session_state.get("model", DEFAULT) != DEFAULT:
        st.session_state["_model_missing"] = False
        return
    text = texts.prose("common")
    with st.container(border=True, key="missing_model"):
        st.markdown(f":material/deployed_code_alert: {text['missing model'].format(model=CARDS[0].title)}")
        st.page_link("views/bring/page.py", label=text["bring it"], icon=":material/upload_file:")
        st.button(
            text["go without"],
            key="go_without_model",
            on_click=st.session_state.update,
            kwargs={"_model_missing": False},
        )

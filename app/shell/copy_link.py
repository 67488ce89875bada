"""Copy link and the handout's button: what an address carries, what it can't, and what goes along to the handout.

A page says with `offer_handout` what its pictures show; the handout of that is one click away, and has an address of its own.
"""

import contextlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import texts
from app.components.copy_link_button.copy_link_button import copy_link_button
from app.menu import page_target
from app.shell import photo_ids_and_titles, photo_picker
from app.state.models import uploaded_model
from app.state.photos import sample_photos, uploaded_photo
from app.widgets import glossary, outlier_masking
from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.report.report_settings import ReportSettings

ROLLOUT_SETTINGS = ("fusion", "discard", "residual", "first", "ask")
USUAL_ROLLOUT = {"fusion": "mean", "discard": 0, "residual": 50, "first": 0}  # of pages that have no such settings
SHOWN_STATE = "_shown"  # control of the handout's page → its value that shows what the page before it shows
BUTTON_STATE = "_handout_button"  # where the handout's button stands, by the title of this page


def forget_last_handout_offer(slug: str) -> None:
    """Before a page is drawn, forget what the last one offered for the handout, unless this is the handout's page."""
    st.session_state.pop(BUTTON_STATE, None)
    if slug != "report":
        st.session_state.pop(SHOWN_STATE, None)


def offer_handout(**handout_settings: Any) -> None:
    """What this page's pictures show, by the controls of the handout's page (None: as usual); its button leads to that."""
    st.session_state[SHOWN_STATE] = handout_settings
    if place := st.session_state.get(BUTTON_STATE):
        with place:
            _handout_button(handout_settings)


def add_to_handout(**handout_settings: Any) -> None:
    """What another part of the page shows, beside what was offered; None takes back what that part has offered before."""
    every = st.session_state.get(SHOWN_STATE, {}) | handout_settings
    offer_handout(**{key: value for key, value in every.items() if key not in handout_settings or value is not None})


def _handout_button(shown: Mapping[str, Any]) -> None:
    label, params = texts.prose("report")["to handout"], _page_params(_in_address(shown))
    st.page_link(page_target("report"), label=label, icon=":material/print:", query_params=params)


def _in_address(shown: Mapping[str, Any]) -> dict[str, str]:
    """Of what a page shows that which an address has to say: what is not as usual."""
    pages = [texts.prose(page) for page in ("report", "switch", "cover")]
    words = lambda key, value: next((text[name] for text in pages if (name := f"{key}.{value}") in text), value)  # noqa: E731
    named = {key: words(key, value) for key, value in shown.items()
             if value is not None and value is not False and value != USUAL_ROLLOUT.get(key)}  # fmt: skip
    return {key: "true" if value is True else str(value) for key, value in named.items()}


def remember_page_settings(slug: str) -> None:
    """After a page: where the visitor is, and the rollout's settings there; Streamlit forgets controls of a page that is left."""
    if slug in ("rollout", "report"):
        st.session_state["_rollout"] = {key: st.session_state[key] for key in ROLLOUT_SETTINGS if key in st.session_state}
        st.session_state["_rollout_address"] = {key: st.query_params[key] for key in ROLLOUT_SETTINGS if key in st.query_params}
    st.session_state["_page"] = slug


def restore_page_settings(slug: str) -> None:
    """On the way in, before the settings are drawn: what they were when they were last seen, or what the last page showed."""
    if st.session_state.get("_page") != slug:
        shown: dict[str, Any] = st.session_state.pop(SHOWN_STATE, {}) if slug == "report" else {}
        st.session_state.update(st.session_state.get("_rollout", {}) | shown)
        address = {key: value for key, value in st.session_state.get("_rollout_address", {}).items() if key not in shown}
        for key, value in (address | _in_address(shown)).items():
            with contextlib.suppress(st.errors.StreamlitAPIException):  # bound already: Streamlit writes it
                st.query_params[key] = value
        st.session_state["_page"] = slug  # a page that begins again before its end is not entered again


def link_limits_sentence(text: texts.Prose, slug: str) -> str:
    """What the address of this page can't carry to somebody else, in a sentence or two; empty when it carries all."""
    state, sentences = st.session_state, []
    uses_model = slug not in ("train", "learn")
    if uses_model and state.get("photo") == uploaded_photo.PHOTO_ID and uploaded_photo.current_uploaded_photo():
        sentences.append(text["lacks photo quiz" if slug == "quiz" else "lacks photo"])
    if (menu := photo_picker.SECOND_PHOTO_MENUS.get(slug)) and state.get(menu) in uploaded_photo.KINDS:
        sentences.append(text["lacks second photo"])
    model = state.get("model") if uses_model else state.get("film") if slug == "learn" else f"runs/{state.get('run') or ''}"
    if slug == "compare" and str(state.get("b") or "").startswith("runs/"):
        model = state["b"]
    if model == uploaded_model.MODEL_ID:
        sentences.append(text["lacks own model"])
    if str(model or "").startswith("runs/") and model != "runs/":
        sentences.append(text["lacks model"] if uses_model else text["lacks run"])
    return text.join_sentences(sentences)


def link_limits_advice(text: texts.Prose, slug: str) -> str:
    """What the page's address can't carry, and what to send instead, in a sentence or two."""
    sentence = link_limits_sentence(text, slug)
    return text.join_sentences((sentence, text["send handout"])) if sentence and slug not in ("train", "learn") else sentence


def show_more_button() -> None:
    """On a phone, what shows the row below; the browser answers a click (`components/page_style`)."""
    st.button(texts.prose("report")["more actions"], icon=":material/more_horiz:", key="more", type="tertiary")


def share_buttons_row(slug: str) -> DeltaGenerator:
    """By a page's title: the button that copies its address, the way to the handout, and the glossary; what follows goes there."""
    text = texts.prose("report")
    note = link_limits_advice(text, slug)
    row = st.container(horizontal=True, key="share", width="content", vertical_alignment="center", gap="xsmall", wrap=False)
    with row:
        copy_link_button(
            text["copy"],
            texts.prose("common")["copied"],
            text["copy failed"],
            text["address"],
            note,
            slug,
            photo_ids_and_titles.photo_ids_by_title(
                [*(row["id"] for row in sample_photos.sample_photo_rows()), uploaded_photo.PHOTO_ID]
            ),
            key="copy_link",
        )
        if slug not in ("report", "train", "learn"):
            st.session_state[BUTTON_STATE] = st.empty()
            offer_handout()
        glossary.glossary_popover()
    return row


def non_default_settings(settings: ReportSettings) -> dict[str, Any]:
    """What a report's address says of its settings, by control; None for those that are as usual."""
    return {
        "fusion": settings.fusion if settings.fusion != "mean" else None, "discard": round(100 * settings.discard) or None,
        "residual": round(100 * settings.residual) if settings.residual != 0.5 else None, "first": settings.first_block or None,
        "ask": "true" if settings.patch is not None else None, "patch": settings.patch,
        "pin": settings.pin, "layer": settings.layer, "one_head": settings.head, "of_token": settings.token,
        "received": "true" if settings.received else None, outlier_masking.QUERY_KEY: "true" if settings.mask_outliers else None,
    }  # fmt: skip


def page_url(settings: Mapping[str, object]) -> str:
    """Where this page is with the photo and the model of the menu and these settings (None: left out); empty when nobody knows."""
    url, params = st.context.url, _page_params(settings)
    return url.partition("?")[0] + (f"?{urlencode(params)}" if params else "") if url else ""


def _page_params(settings: Mapping[str, object]) -> dict[str, str]:
    """What an address has to say: photo and model, where they are not the first, and these settings (None: left out)."""
    defaults = {"photo": sample_photos.sample_photo_rows()[0]["id"], "model": DEFAULT_MODEL}
    params = {
        key: value
        for key in defaults
        if (value := st.session_state.get(key)) and value not in (defaults[key], uploaded_photo.PHOTO_ID, uploaded_model.MODEL_ID)
    } | {key: str(value) for key, value in settings.items() if value is not None}
    return params | ({outlier_masking.QUERY_KEY: "true"} if outlier_masking.is_masking_on() else {})

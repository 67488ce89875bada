"""Copy link: what the address of a page carries, what it can't, and the rollout's settings that go along to the report."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st

from app import texts
from app.components.link.link import link
from app.furniture import glossary, outliers, photo_names
from app.state import models, session
from vitcore.models.model_cards import DEFAULT

if TYPE_CHECKING:
    from vitcore.report.report_settings import Settings

SETTINGS = ("fusion", "discard", "residual", "first", "ask")


def remember(slug: str) -> None:
    """After a page: where the visitor is, and the rollout's settings there; Streamlit forgets controls of a page that is left."""
    if slug in ("rollout", "report"):
        st.session_state["_rollout"] = {key: st.session_state[key] for key in SETTINGS if key in st.session_state}
        st.session_state["_rollout_address"] = {key: st.query_params[key] for key in SETTINGS if key in st.query_params}
    st.session_state["_page"] = slug


def recall(slug: str) -> None:
    """On the way in, before the settings are drawn: what they were when they were last seen."""
    if st.session_state.get("_page") != slug:
        st.session_state.update(st.session_state.get("_rollout", {}))
        for key, value in st.session_state.get("_rollout_address", {}).items():
            with contextlib.suppress(st.errors.StreamlitAPIException):  # bound already: Streamlit writes it
                st.query_params[key] = value
        st.session_state["_page"] = slug  # a page that begins again before its end is not entered again


def lacking(text: texts.Prose, slug: str) -> str:
    """What the address of this page can't carry to somebody else, in a sentence or two; empty when it carries all."""
    state, said = st.session_state, []
    looks = slug not in ("train", "learn")
    if looks and state.get("photo") == session.UPLOAD and session.upload():
        said.append(text["lacks photo quiz" if slug == "quiz" else "lacks photo"])
    here = state.get("model") if looks else state.get("film") if slug == "learn" else f"runs/{state.get('run') or ''}"
    if slug == "compare" and str(state.get("b") or "").startswith("runs/"):
        here = state["b"]
    if here == models.OWN:
        said.append(text["lacks own model"])
    if str(here or "").startswith("runs/") and here != "runs/":
        said.append(text["lacks model"] if looks else text["lacks run"])
    return text.joined(said)


def advised(text: texts.Prose, slug: str) -> str:
    """The same with what to send instead, for the page; a handout's reader has that already."""
    said = lacking(text, slug)
    return text.joined((said, text["send handout"])) if said and slug not in ("train", "learn") else said


def share(slug: str) -> None:
    """By a page's title: the button that copies its address, the way to the handout, and the glossary."""
    text = texts.prose("report")
    note = advised(text, slug)
    with st.container(horizontal=True, key="share", width="content", vertical_alignment="center", gap="small"):
        link(
            text["copy"],
            texts.prose("common")["copied"],
            text["copy failed"],
            text["address"],
            note,
            slug,
            photo_names.in_links([*(row["id"] for row in session.samples()), session.UPLOAD]),
            key="copy_link",
        )
        if slug not in ("report", "train", "learn"):
            st.page_link("views/report/page.py", label=text["to handout"], icon=":material/print:")
        glossary.popover()


def address(settings: Settings) -> str:
    """Where the report of this photo and model is in this app, with the rollout's settings; empty when nobody knows."""
    return here({
        "fusion": settings.fusion if settings.fusion != "mean" else None, "discard": round(100 * settings.discard) or None,
        "residual": round(100 * settings.residual) if settings.residual != 0.5 else None, "first": settings.first_block or None,
        "ask": "true" if settings.patch is not None else None, "patch": settings.patch,
        "pin": settings.pin, outliers.KEY: "true" if settings.mask_outliers else None,
    })  # fmt: skip


def here(settings: Mapping[str, object]) -> str:
    """Where this page is with the photo and the model of the menu and these settings (None: left out); empty when nobody knows."""
    url = st.context.url
    if not url:
        return ""
    usual = {"photo": session.samples()[0]["id"], "model": DEFAULT}
    asked = {
        key: value
        for key in usual
        if (value := st.session_state.get(key)) and value not in (usual[key], session.UPLOAD, models.OWN)
    } | {key: str(value) for key, value in settings.items() if value is not None}
    asked |= {outliers.KEY: "true"} if outliers.on() else {}
    return url.partition("?")[0] + (f"?{urlencode(asked)}" if asked else "")

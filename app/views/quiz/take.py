"""The quiz as a page to give along: the file, the shell's command for it, and the link that opens the same quiz."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from app import texts
from app.components.listing.listing import listing
from app.furniture import copy_link
from app.state import models, reports, session
from vitcore.file_names import file_name
from vitcore.translation import speaking

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vitcore.images import Photo
    from vitcore.models.load_model import Vit
    from vitcore.report.report_settings import Origin


def handout(text: texts.Prose, vit: Vit, photo: Photo, seed: int, masks: bool) -> None:
    """The file, made when it is asked for, and the shell's command for the same."""
    from vitcore.quiz.quiz_handout import command
    from vitcore.report.report_settings import Origin

    own = session.upload() is not None and st.session_state.get("photo") == session.UPLOAD
    sample = "" if own else photo.name.removesuffix(".jpg")
    lacking = copy_link.lacking(texts.prose("report"), "quiz")
    origin = Origin(address=copy_link.here({"quiz_seed": seed}), lacking=lacking, lang=texts.language())
    st.markdown(f"## {text['take title']}")
    st.markdown(text["take about"])
    st.download_button(
        text["take get"], partial(made, vit.name, photo.key, seed, sample, origin, texts.table(), masks),
        file_name("html", f"quiz-{seed}", photo.name, vit.called),
        "text/html", key="quiz_html", icon=":material/print:", on_click="ignore",
    )  # fmt: skip
    if st.session_state.get("model") != models.OWN:
        st.caption(text["take shell"])
        listing(command(photo.name if own else f"assets/samples/{photo.name}", vit.called, seed, masks), key="shell")


def made(model: str, key: str, seed: int, sample: str, origin: Origin, words: Mapping[str, str], masks: bool) -> bytes:
    """The file, where no visitor's language is known; what waits for it holds no model and no photo."""
    with speaking(words):
        return reports.quiz_handout(model, key, seed, sample, origin, masks)

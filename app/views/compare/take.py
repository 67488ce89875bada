"""What a comparison comes to, in three numbers; and both models side by side as a handout, to take along."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from app import texts
from app.components.listing.listing import listing
from app.furniture import controls, copy_link, outliers
from app.state import session
from app.state.beside import comparisons
from app.state.model_ref import ModelRef
from app.views.compare.pair import Pair
from vitcore.file_names import file_name
from vitcore.translation import speaking

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vitcore.report.report_settings import Origin

# What a link to the page carries beside the picture's own settings:
ADDRESS = ("photo", "model", "b", "b_px", "picture")


def numbers(pair: Pair) -> None:
    """Rank correlation of rollouts, CKA of tokens at the same depth, and how many of the likeliest five are shared."""
    from vitcore.report import comparison_handout

    text, comparison = pair.text, pair.comparison
    if comparison is None:
        return
    values = [value for *_, value in comparison.cka_per_layer if value == value]
    answers = comparison.answers
    with st.container(horizontal=True, key="alike"):
        st.metric(text["alike rollouts"], _number(comparison.rank_correlation), help=text["alike rollouts help"])
        st.metric(
            text["alike tokens"],
            _number(float(np.mean(values)) if values else float("nan")),
            help=text["alike tokens help"],
        )
        shared = f"{answers.shared_top5} / {answers.of}" if answers else "–"
        st.metric(text["alike answers"], shared, help=text["alike answers help"])
    st.markdown(controls.verbatim(comparison_handout.of_answers(comparison)))


def _number(value: float) -> str:
    return f"{value:.2f}" if value == value else "–"


def taught(pair: Pair) -> None:
    """Say so where one of the two was taught by the other: that they are alike was the aim."""
    for vit, other in (pair.vits, pair.vits[::-1]):
        if other.card.title in (vit.card.teacher, vit.card.looker):
            told = pair.text["taught"].format(model=vit.card.title, teacher=other.card.title)
            st.caption(f":material/school: {told}")


def handout(pair: Pair) -> None:
    """The file, made when it is asked for, and the shell's command for the same."""
    from vitcore.report.comparison_handout import command_of
    from vitcore.report.report_settings import Origin

    text = pair.text
    if pair.comparison is None:
        return
    st.markdown(f"## {text['take title']}")
    own = session.upload() is not None and st.session_state.get("photo") == session.UPLOAD
    sample = "" if own else pair.photo.name.removesuffix(".jpg")
    origin = Origin(
        address=_address(own), lacking=copy_link.lacking(texts.prose("report"), "compare"), lang=texts.language()
    )
    st.markdown(text["take about"])
    st.download_button(
        text["take get"], partial(made, pair.me, pair.names, origin, sample, texts.table(), outliers.on()),
        file_name("html", "compare", *pair.of("a", "b")), "text/html",
        key="compare_html", icon=":material/print:", type="primary", on_click="ignore",
    )  # fmt: skip
    refs = [ModelRef.parse(vit.name) for vit in pair.vits]
    if not refs[1].variant:
        st.caption(text["take shell"])
        listing(command_of(refs[0].name, refs[1].name, "photo.jpg", outliers.on()), key="shell")


def made(
    me: tuple[str, str, str],
    names: tuple[str, str],
    origin: Origin,
    sample: str,
    words: Mapping[str, str],
    masks: bool = False,
) -> bytes:
    """The handout, where no visitor's language is known; what waits for it holds no model and no photo."""
    with speaking(words):
        return comparisons.handout(*me, names, origin, sample, masks)


def _address(own: bool) -> str:
    """Where this comparison is in this app; empty when nobody knows."""
    here, state = st.context.url, st.session_state
    given = {key: str(state[key]) for key in ADDRESS if state.get(key) and not (own and key == "photo")}
    given |= {outliers.KEY: "true"} if outliers.on() else {}
    return here.partition("?")[0] + f"?{urlencode(given)}" if here else ""

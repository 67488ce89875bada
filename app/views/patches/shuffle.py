"""What shuffling the patches does to the answer: three charts, and why, computed from what the model answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.components.figure import plot
from app.furniture import controls
from app.state import shuffles
from app.texts import Prose

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording
    from vitcore.images import Photo
    from vitcore.models.zoo import Vit

Answer = list[tuple[str, float]]  # classes and probabilities, the likeliest first


def titles(text: Prose) -> tuple[str, str, str]:
    """What the answers are to."""
    return text["in order"], text["positions stay"], text["positions move"]


def show(vit: Vit, photo: Photo, rec: Recording, seed: int, answers: list[Answer], text: Prose) -> None:
    """The charts, and what follows from them."""
    from vitcore import figures

    st.markdown(f"## {text['shuffle title']}")
    st.markdown(text["shuffle"])
    for place, title, answer in zip(st.columns(3), titles(text), answers, strict=False):
        with place:
            plot(figures.predictions(answer, controls.theme(), title), title, text["answers alt"].format(title=title))
    restored = [name for name, _ in answers[0]] == [name for name, _ in answers[-1]]
    before, after, bare = shuffles.shares(vit.name, photo.key, seed, rec)
    facts = {"label": controls.verbatim(answers[0][0][0]), "before": f"{before:.1%}", "after": f"{after:.1%}"}
    stays = answers[1][0][0] == answers[0][0][0] and after >= 0.8 * before
    st.markdown(text["shuffle stays" if stays else "shuffle changes"].format(**facts))
    if bare is not None:
        much = "shuffle bare little" if bare >= before / 2 else "shuffle bare much"
        st.markdown(text[much].format(**facts, bare=f"{bare:.1%}"))
    st.caption(text["shuffle why" if restored and len(answers) == 3 else "shuffle not restored"])

"""Why a shuffle changes the answer, or does not: put to the test on this photo with this model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.furniture import controls
from app.state import session

if TYPE_CHECKING:
    from app.texts import Prose
    from vitcore.forward.recording import Recording

LITTLE = 0.8  # of the probability is left, where the model hardly minds
MOST = 0.5  # of it is left, where the patches carry most of the answer


def explained(
    text: Prose, model: str, key: str, seed: int, rec: Recording, answers: list[list[tuple[str, float]]]
) -> None:
    """What the answer was worth in order, shuffled, and with all patches at one position; and what that means.

    `answers` are those of `session.shuffled_answers`: in order, shuffled, shuffled with positions.
    """
    before, after, bare = session.shares_shuffled(model, key, seed, rec)
    facts = {"label": controls.verbatim(answers[0][0][0]), "before": f"{before:.1%}", "after": f"{after:.1%}"}
    stays = answers[1][0][0] == answers[0][0][0] and after >= LITTLE * before
    st.markdown(text["shuffle stays" if stays else "shuffle changes"].format(**facts))
    if bare is not None:
        told = text["shuffle bare little" if bare >= MOST * before else "shuffle bare much"]
        st.markdown(told.format(**facts, bare=f"{bare:.1%}"))
    restored = [name for name, _ in answers[0]] == [name for name, _ in answers[-1]]
    st.caption(text["shuffle why" if restored and len(answers) == 3 else "shuffle not restored"])

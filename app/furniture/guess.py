"""A question that a visitor may guess at before its answer is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import texts

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


def answer(key: str, options: list[str], right: int, said: str) -> DeltaGenerator:
    """The guesses as buttons, and the answer, folded: whether the guess was right, else what is, and what is to be `said`.

    Returns the fold, for what else belongs to the answer.
    """
    text = texts.prose("common")
    guess = st.pills(
        text["guess"], range(len(options)), format_func=lambda i: options[i], key=f"guess_{key}",
        label_visibility="collapsed",
    )  # fmt: skip
    fold = st.expander(text["show answer"], key=f"answer_{key}")
    verdict = ""
    if guess is not None:
        verdict = text["guessed right" if guess == right else "guessed otherwise"]
        verdict = verdict.format(guess=options[guess], right=options[right])
    fold.markdown(f"{verdict} {said}".strip())
    return fold

"""A question that a visitor may guess at before its answer is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import texts

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


def is_made(key: str) -> bool:
    """Whether this visitor has guessed: until then a page keeps to itself what would give the answer away."""
    return st.session_state.get(f"guess_{key}") is not None


def answer(key: str, options: list[str], right: int, said: str) -> DeltaGenerator:
    """The guesses as buttons; the answer, opened by a guess or by hand: whether it was right, else what is, and what is `said`.

    Returns the fold, for what else belongs to the answer.
    """
    text = texts.prose("common")
    guess = st.pills(
        text["guess"], range(len(options)), format_func=lambda i: options[i], key=f"guess_{key}",
        label_visibility="collapsed",
    )  # fmt: skip
    guessed = guess is not None  # in the key too: the browser remembers by it whether a fold is open
    fold = st.expander(text["show answer"], guessed, key=f"answer_{key}_{guessed}")
    verdict = ""
    if guess is not None:
        verdict = text["guessed right" if guess == right else "guessed otherwise"]
        verdict = verdict.format(guess=options[guess], right=options[right])
    fold.markdown(f"{verdict} {said}".strip())
    return fold

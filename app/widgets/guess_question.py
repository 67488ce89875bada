"""A question that a visitor may guess at before its answer is shown."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import texts


def has_guessed(key: str) -> bool:
    """Whether this visitor has guessed: until then a page keeps to itself what would give the answer away."""
    return st.session_state.get(f"guess_{key}") is not None


def guess_before_answer(key: str, options: list[str], right_option: int, explanation: str) -> DeltaGenerator:
    """Guesses as buttons, and the answer below, opened by a guess or by hand: a verdict on the guess, then the `explanation`.

    Returns the fold, for what else belongs to the answer.
    """
    text = texts.prose("common")
    guess = st.pills(
        text["guess"], range(len(options)), format_func=lambda i: options[i], key=f"guess_{key}", label_visibility="collapsed"
    )
    guessed = guess is not None  # in the key too: the browser remembers by it whether a fold is open
    expander = st.expander(text["show answer"], guessed, key=f"answer_{key}_{guessed}")
    verdict = ""
    if guess is not None:
        verdict = text["guessed right" if guess == right_option else "guessed otherwise"]
        verdict = verdict.format(guess=options[guess], right=options[right_option])
    expander.markdown(f"{verdict} {explanation}".strip())
    return expander

"""What shuffling the patches does to the answer: a guess, then three charts and why, computed from what the model answers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.components.figure import show_drawing
from app.state.recordings import photo_patches
from app.state.visit.visit import Visit
from app.texts import Prose
from app.widgets import guess_question
from vitcore import figures
from vitcore.grid import Grid
from vitcore.translation import percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDING_ERROR = 1e-3  # sums of the same terms in another order differ by less, in half precision too
Answer = list[tuple[str, float]]  # classes and probabilities, the likeliest first


def show_shuffle_question(visit: Visit, seed: int) -> None:
    """A question to guess first; its answer opens with the charts, and says what follows from them."""
    text, answers = visit.texts, photo_patches.shuffled_top_answers(visit.recording, seed)
    before, after, without_positions = photo_patches.shuffled_top_probabilities(visit.recording, seed)
    stays = answers[1][0][0] == answers[0][0][0] and after >= 0.8 * before
    facts = {"label": texts.escape_markdown(answers[0][0][0]), "before": percent(before), "after": percent(after)}
    facts |= {"now": texts.escape_markdown(answers[1][0][0]), "now_share": percent(answers[1][0][1])}
    with st.container(border=True):
        st.markdown(f"## {text['shuffle title']}")
        st.markdown(text["shuffle"].format(**facts))
        options = [text["guess stays"], text["guess changes"]]
        explanation = text["shuffle stays" if stays else "shuffle changes"].format(**facts)
        with guess_question.guess_before_answer("shuffle", options, 0 if stays else 1, explanation):
            _answer_charts(answers, visit.mode, text)
            if len(answers) == 3:
                st.caption(text["shuffle moved"])
            if without_positions is not None:
                much = "shuffle bare little" if without_positions >= before / 2 else "shuffle bare much"
                st.markdown(text[much].format(**facts, bare=percent(without_positions)))
            st.caption(text[_explanation_key(answers)])


def slot_of_patch(order: NDArray | None, patch: int) -> int:
    """Where a patch stands in an order, of which slot i shows patch `order[i]`; without one, where it is."""
    return patch if order is None else int((order == patch).argmax())


def current_slot_sentence(order: NDArray, patch: int, grid: Grid, text: Prose) -> str:
    """Where a patch is now."""
    slot = slot_of_patch(order, patch)
    row, col = grid.row_col(slot)
    return text["now there" if slot == patch else "now at"].format(
        patch=patch, slot=slot, row=row, col=col, place=grid.prefix + slot, before=grid.prefix + patch
    )


def _explanation_key(answers: list[Answer]) -> str:
    """Which explanation is true: what the model answers in order, shuffled and, where positions can be moved, with them."""
    if len(answers) == 2 and _same_answer(answers[0], answers[1]):
        return "shuffle no place"
    return "shuffle why" if len(answers) == 3 and _same_answer(answers[0], answers[2]) else "shuffle not restored"


def _same_answer(one: Answer, other: Answer) -> bool:
    """Whether two answers are the same to rounding: classes in one order, and their probabilities."""
    close = all(math.isclose(p, q, rel_tol=ROUNDING_ERROR) for (_, p), (_, q) in zip(one, other, strict=True))
    return close and [name for name, _ in one] == [name for name, _ in other]


def _answer_charts(answers: list[Answer], mode: Any, text: Prose) -> None:
    titles = text["in order"], text["positions stay"], text["positions move"]
    for place, title, answer in zip(st.columns(3, vertical_alignment="bottom"), titles, answers, strict=False):
        with place:
            show_drawing(figures.predictions(answer, mode, title), title, text["answers alt"].format(title=title))

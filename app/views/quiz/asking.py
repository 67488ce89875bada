"""The questions of a quiz, one on each screen: what was answered, what is right and why, and where one can see it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from app import texts
from app.components.choice.choice import Option, Shown, choice
from app.components.choices import choose
from app.components.lecture.lecture import wide
from app.components.steps.steps import steps
from app.furniture import controls, lecture

if TYPE_CHECKING:
    from vitcore.quiz.draw_quiz import Quiz
    from vitcore.quiz.question import Picture, Question

SHOWN = -1  # in the place of an answer: it was shown, and nobody had answered


class Sheet(NamedTuple):
    """A quiz on a page: of which photo, model and seed, its questions, and the page's words."""

    me: tuple[Any, ...]
    quiz: Quiz
    text: texts.Prose

    @property
    def given(self) -> dict[int, int]:
        """What was answered, by the place of the question; empty for another photo, model or seed."""
        whose, given = st.session_state.get("_quiz_given", (None, {}))
        return dict(given) if whose == self.me else {}


def seed(text: texts.Prose) -> int:
    """Which quiz: kept in the address, so that a class sees the same."""
    from vitcore.quiz.draw_quiz import SEEDS

    return controls.number(text["seed"], "quiz_seed", SEEDS, width=130, help=text["seed help"])


def another(text: texts.Prose) -> None:
    """The next quiz, from its first question."""
    st.button(text["another"], key="quiz_another", icon=":material/casino:", on_click=_next_seed)


def _next_seed() -> None:
    from vitcore.quiz.draw_quiz import SEEDS

    st.session_state["quiz_seed"] = ((st.session_state.get("quiz_seed") or 0) + 1) % SEEDS
    st.session_state["question"] = 1


def number(sheet: Sheet) -> int:
    """Which question it is, from 1; kept in the address."""
    count = len(sheet.quiz.questions)
    if not 1 <= (st.session_state.get("question") or 1) <= count:
        st.session_state["question"] = 1
    label = sheet.text["question"]
    return int(st.number_input(label, 1, count, key="question", bind="query-params", width=wide(130))) - 1


def navigation(sheet: Sheet, place: int) -> None:
    """The stepper: the questions by the page where one can see what they ask about."""
    text, menu, questions = sheet.text, texts.prose("menu"), sheet.quiz.questions
    names = [menu[one.page] for one in questions]
    spoken = [text["spoken"].format(number=i, count=len(names), name=name) for i, name in enumerate(names, 1)]
    steps(names, spoken, place + 1, key="quiz_steps", target="question", label=text["steps"], before=text["before"],
          after=text["after"], clicker=lecture.on(), titled=True)  # fmt: skip


def show(sheet: Sheet, place: int) -> None:
    """A question, its choices, and once it is known the answer."""
    text, question = sheet.text, sheet.quiz.questions[place]
    answered = sheet.given.get(place)
    known = answered is not None
    st.markdown(f"### {place + 1} · {controls.verbatim(question.sentence)}")
    choice(
        [_shown(one) for one in question.pictures], _options(question), key="quiz_choice", label=text["choices"],
        name=f"{sheet.me} {place}", marks=(text["mark right"], text["mark wrong"]), large=lecture.on(),
        on_pick=partial(_answer, sheet.me, place), right=question.right if known else None, picked=answered,
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center"):
        label, icon = ("hide", ":material/visibility_off:") if known else ("reveal", ":material/visibility:")
        st.button(
            text[label], key="quiz_reveal", icon=icon, shortcut="S", on_click=_answer,
            args=(sheet.me, place, None if known else SHOWN),
        )  # fmt: skip
        st.caption(text["keys lecture" if lecture.on() else "keys"])
    if known:
        _tell(text, question, answered)
        if place + 1 < len(sheet.quiz.questions):  # where one has read to, on a phone far below the stepper
            st.button(text["after"], key="quiz_next", icon=":material/arrow_forward:", on_click=choose,
                      args=("question", place + 2))  # fmt: skip


def _options(question: Question) -> list[Option]:
    from vitcore.quiz.quiz_handout import labelled

    return [
        Option(words, _shown(one.picture) if one.picture else None, one.told)
        for (_, words), one in zip(labelled(question), question.choices, strict=True)
    ]


def _shown(picture: Picture) -> Shown:
    from vitcore.figures.theme import encoded

    return Shown(*encoded(picture.pixels, picture.photo), picture.alt, picture.photo)


def _tell(text: texts.Prose, question: Question, answered: int | None) -> None:
    """Whether it was right, why, and the page that shows it."""
    from vitcore.quiz.question import LETTERS

    facts = {"letter": question.letter, "why": controls.verbatim(question.why)}
    if answered == question.right:
        st.success(text["it is right"].format(**facts), icon=":material/check_circle:")
    elif answered is None or answered == SHOWN:
        st.info(text["it is"].format(**facts), icon=":material/lightbulb:")
    else:
        st.warning(text["it is wrong"].format(**facts, chosen=LETTERS[answered]), icon=":material/cancel:")
    there = texts.prose("menu")[question.page]
    st.page_link(f"views/{question.page}/page.py", label=text["see"].format(page=there), icon=":material/arrow_forward:",
                 query_params=dict(question.address))  # fmt: skip


def _answer(me: tuple[Any, ...], place: int, chosen: int | None) -> None:
    """Keep an answer to a question, or take it back."""
    whose, given = st.session_state.get("_quiz_given", (None, {}))
    kept: dict[int, Any] = dict(given) if whose == me else {}
    kept[place] = chosen
    st.session_state["_quiz_given"] = me, {at: one for at, one in kept.items() if one is not None}


def score(sheet: Sheet) -> None:
    """How many questions were answered, and how many of them right; an answer that was shown first counts as neither."""
    given = {place: one for place, one in sheet.given.items() if one != SHOWN}
    right = sum(
        one == sheet.quiz.questions[place].right for place, one in given.items() if place < len(sheet.quiz.questions)
    )
    count = len(sheet.quiz.questions)
    st.markdown(sheet.text.fill("score" if given else "no score", right=right, done=len(given), count=count))
    from vitcore.quiz.quiz_handout import few

    if said := few(sheet.quiz):
        st.caption(f":material/info: {said}")

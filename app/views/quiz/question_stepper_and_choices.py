"""The questions of a quiz, one on each screen: what was answered, what is right and why, and where one can see it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from app import texts
from app.components.figure import show_explanation_fold
from app.components.multiple_choice.multiple_choice import ChoicePicture, Option, multiple_choice
from app.components.page_style.page_style import scale_to_page_px
from app.components.pending_choices import set_control
from app.components.stepper.stepper import stepper
from app.menu import page_target
from app.shell import lecture_mode, query_controls
from vitcore.figures.theme_colours import encode_png_or_jpeg
from vitcore.quiz.question import LETTERS, Question, QuestionPicture

if TYPE_CHECKING:
    from vitcore.quiz.draw_quiz import Quiz

REVEALED = -1  # in the place of an answer: it was shown, and nobody had answered


class QuizSheet(NamedTuple):
    """A quiz on a page: of which photo, model and seed, its questions, and the page's words."""

    key: tuple[Any, ...]
    quiz: Quiz
    text: texts.Prose

    @property
    def answers(self) -> dict[int, int]:
        """What was answered, by the place of the question; empty for another photo, model or seed."""
        whose, given = st.session_state.get("_quiz_given", (None, {}))
        return dict(given) if whose == self.key else {}


def quiz_seed_input(text: texts.Prose) -> int:
    """Which quiz: kept in the address, so that a class sees the same."""
    from vitcore.quiz.draw_quiz import SEED_COUNT

    return query_controls.number_input(text["seed"], "quiz_seed", SEED_COUNT, width=130, help=text["seed help"])


def next_quiz_button(text: texts.Prose) -> None:
    """The next quiz, from its first question."""
    st.button(text["another"], key="quiz_another", icon=":material/casino:", on_click=_next_seed)


def _next_seed() -> None:
    from vitcore.quiz.draw_quiz import SEED_COUNT

    st.session_state["quiz_seed"] = ((st.session_state.get("quiz_seed") or 0) + 1) % SEED_COUNT
    st.session_state["question"] = 1


def question_number_input(sheet: QuizSheet) -> int:
    """Which question it is, from 1; kept in the address."""
    count = len(sheet.quiz.questions)
    if not 1 <= (st.session_state.get("question") or 1) <= count:
        st.session_state["question"] = 1
    label = sheet.text["question"]
    return int(st.number_input(label, 1, count, key="question", bind="query-params", width=scale_to_page_px(130))) - 1


def show_question_stepper(sheet: QuizSheet, place: int) -> None:
    """The stepper: the questions by the page where one can see what they ask about."""
    text, menu, questions = sheet.text, texts.prose("menu"), sheet.quiz.questions
    names = [menu[one.page] for one in questions]
    spoken = [text["spoken"].format(number=i, count=len(names), name=name) for i, name in enumerate(names, 1)]
    stepper(names, spoken, place + 1, key="quiz_steps", target="question", label=text["steps"], back_label=text["before"],
          next_label=text["after"], clicker=lecture_mode.is_lecture(), titled=True)  # fmt: skip


def show_quiz_question(sheet: QuizSheet, place: int) -> None:
    """A question, its choices, and once it is known the answer."""
    question, answered = sheet.quiz.questions[place], sheet.answers.get(place)
    st.markdown(f"### {place + 1} · {texts.escape_markdown(question.sentence)}")
    with st.container(key="quiz_question" if len(question.pictures) == 1 else None):
        _show_choices(sheet, place, question, answered)


def _show_choices(sheet: QuizSheet, place: int, question: Question, answered: int | None) -> None:
    """The choices, and below them the answer; in a lecture it stands beside a question's one picture (`page_style.css`)."""
    text, known = sheet.text, answered is not None
    multiple_choice(
        [_choice_picture(one) for one in question.pictures], _choice_options(question), key="quiz_choice", label=text["choices"],
        name=f"{sheet.key} {place}", verdict_labels=(text["mark right"], text["mark wrong"]), large=lecture_mode.is_lecture(),
        on_pick=partial(_keep_answer, sheet.key, place), right=question.correct_choice if known else None, picked=answered,
    )  # fmt: skip
    with st.container(key="quiz_answer"):
        _show_answer(sheet, place, question, answered)


def _show_answer(sheet: QuizSheet, place: int, question: Question, answered: int | None) -> None:
    """What shows or hides the answer, and once it is known whether the choice was right."""
    text, known = sheet.text, answered is not None
    with st.container(horizontal=True, vertical_alignment="center"):
        label, icon = ("hide", ":material/visibility_off:") if known else ("reveal", ":material/visibility:")
        st.button(
            text[label], key="quiz_reveal", icon=icon, shortcut="S", on_click=_keep_answer,
            args=(sheet.key, place, None if known else REVEALED),
        )  # fmt: skip
        if lecture_mode.is_lecture():
            st.caption(text["keys lecture"])
        else:
            show_explanation_fold(text["how"])
    if known:
        _show_verdict(text, question, answered)
        if place + 1 < len(sheet.quiz.questions):  # where one has read to, on a phone far below the stepper
            st.button(text["after"], key="quiz_next", icon=":material/arrow_forward:", on_click=set_control,
                      args=("question", place + 2))  # fmt: skip


def _choice_options(question: Question) -> list[Option]:
    from vitcore.quiz.quiz_handout import choice_labels

    return [
        Option(words, _choice_picture(one.picture) if one.picture else None, one.number_text)
        for (_, words), one in zip(choice_labels(question), question.choices, strict=True)
    ]


def _choice_picture(picture: QuestionPicture) -> ChoicePicture:
    return ChoicePicture(*encode_png_or_jpeg(picture.pixels, picture.photo), picture.alt, picture.photo)


def _show_verdict(text: texts.Prose, question: Question, answered: int | None) -> None:
    """Whether it was right, why, and the page that shows it."""
    facts = {"letter": question.correct_letter, "why": texts.escape_markdown(question.explanation)}
    if answered == question.correct_choice:
        st.success(text["it is right"].format(**facts), icon=":material/check_circle:")
    elif answered is None or answered == REVEALED:
        st.info(text["it is"].format(**facts), icon=":material/lightbulb:")
    else:
        st.warning(text["it is wrong"].format(**facts, chosen=LETTERS[answered]), icon=":material/cancel:")
    there = texts.prose("menu")[question.page]
    st.page_link(page_target(question.page), label=text["see"].format(page=there), icon=":material/arrow_forward:",
                 query_params=dict(question.address))  # fmt: skip


def _keep_answer(sheet_key: tuple[Any, ...], place: int, chosen: int | None) -> None:
    """Keep an answer to a question, or take it back."""
    whose, old_answers = st.session_state.get("_quiz_given", (None, {}))
    answers: dict[int, Any] = dict(old_answers) if whose == sheet_key else {}
    answers[place] = chosen
    st.session_state["_quiz_given"] = sheet_key, {at: one for at, one in answers.items() if one is not None}

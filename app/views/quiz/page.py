"""A quiz: ten questions on the pictures of this photo and model, one on each screen, answers computed, and a page to print."""

import streamlit as st

from app import texts
from app.shell import lecture_mode, load_page_visit, missing_photo_or_model
from app.state import reports
from app.views.quiz import quiz_download
from app.views.quiz.question_stepper_and_choices import (
    REVEALED,
    QuizSheet,
    next_quiz_button,
    question_number_input,
    quiz_seed_input,
    show_question_stepper,
    show_quiz_question,
)
from app.widgets import outlier_masking

text = texts.prose("quiz")
if missing_photo_or_model.is_own_photo_missing():  # the gallery's first photo would give other questions
    st.info(text["photo missing"], icon=":material/quiz:")
    st.stop()
visit = load_page_visit.load_visit(text, needs_colours=True)
sheet_place, score = st.container(), st.container()
row = st.container(horizontal=True, vertical_alignment="bottom", key="quiz_row")
with row:
    seed = quiz_seed_input(text)
with st.spinner(text["drawing"]):
    mask_outliers = outlier_masking.is_masking_applied(visit)
    quiz = reports.draw_cached_quiz(visit.recording, seed, texts.language(), mask_outliers, visit.vit)
if not quiz.questions:
    st.info(text["none"], icon=":material/info:")
    st.stop()
sheet = QuizSheet((*outlier_masking.recording_masked_if_on(visit).key, seed), quiz, text)
with row:
    place = question_number_input(sheet)
    next_quiz_button(text)
    if visit.vit.is_global and not lecture_mode.is_lecture():
        outlier_masking.show_switch_if_outliers(visit, "quiz")
with sheet_place:
    show_quiz_question(sheet, place)
with st.bottom:  # the same place under every question: what is pressed must not move away between press and release
    show_question_stepper(sheet, place)
if not lecture_mode.is_lecture():
    from vitcore.quiz.quiz_handout import fewer_questions_sentence

    with score:  # an answer that was shown first counts as neither right nor wrong
        answers = {at: one for at, one in sheet.answers.items() if one != REVEALED}
        right = sum(one == quiz.questions[at].correct_choice for at, one in answers.items() if at < len(quiz.questions))
        facts = {"right": right, "done": len(answers), "count": len(quiz.questions)}
        st.markdown(text.fill("score" if answers else "no score", **facts))
        if sentence := fewer_questions_sentence(quiz):
            st.caption(f":material/info: {sentence}")
    quiz_download.quiz_handout_button(visit, seed, mask_outliers)

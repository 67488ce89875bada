"""A quiz: ten questions on the pictures of this photo and model, one on each screen, answers computed, and a page to print."""

import streamlit as st

from app import texts
from app.shell import current_visit, lecture_mode, missing_photo_or_model
from app.state import reports
from app.views.quiz import question_view, quiz_download
from app.widgets import outlier_masking

text = texts.prose("quiz")
if missing_photo_or_model.is_own_photo_missing():  # the gallery's first photo would give other questions
    st.info(text["photo missing"], icon=":material/quiz:")
    st.stop()
visit = current_visit.load_visit(text, needs_colours=True)
sheet_place, score = st.container(), st.container()
row = st.container(horizontal=True, vertical_alignment="bottom", key="quiz_row")
with row:
    seed = question_view.seed_input(text)
with st.spinner(text["drawing"]):
    mask_outliers = outlier_masking.applies_to(visit)
    quiz = reports.quiz(visit.recording, seed, texts.language(), mask_outliers, visit.vit)
if not quiz.questions:
    st.info(text["none"], icon=":material/info:")
    st.stop()
sheet = question_view.QuizSheet((*outlier_masking.recording_to_show(visit).key, seed), quiz, text)
with row:
    place = question_view.question_input(sheet)
    question_view.next_quiz_button(text)
    if visit.vit.is_global and not lecture_mode.is_on():
        outlier_masking.switch_if_any(visit, "quiz")
with sheet_place:
    question_view.show_question(sheet, place)
with st.bottom:  # the same place under every question: what is pressed must not move away between press and release
    question_view.show_stepper(sheet, place)
if not lecture_mode.is_on():
    from vitcore.quiz.quiz_handout import fewer_questions_sentence

    with score:  # an answer that was shown first counts as neither right nor wrong
        answers = {at: one for at, one in sheet.answers.items() if one != question_view.REVEALED}
        right = sum(one == quiz.questions[at].correct_choice for at, one in answers.items() if at < len(quiz.questions))
        facts = {"right": right, "done": len(answers), "count": len(quiz.questions)}
        st.markdown(text.fill("score" if answers else "no score", **facts))
        if sentence := fewer_questions_sentence(quiz):
            st.caption(f":material/info: {sentence}")
    quiz_download.handout_button(visit, seed, mask_outliers)

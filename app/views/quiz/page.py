"""A quiz: ten questions on the pictures of this photo and model, one on each screen, answers computed, and a page to print."""

import streamlit as st

from app import texts
from app.furniture import controls, lecture, outliers
from app.state import reports
from app.views.quiz import asking, take

text = texts.prose("quiz")
if not lecture.on():
    st.markdown(text["intro"])
vit, photo, rec = controls.current()
stepper, sheet_place = st.container(), st.container()
row = st.container(horizontal=True, vertical_alignment="bottom")
with row:
    seed = asking.seed(text)
with st.spinner(text["drawing"]):
    masks = outliers.masks(vit, rec)
    quiz = reports.quiz(rec, seed, texts.language(), masks, vit)
if not quiz.questions:
    st.info(text["none"], icon=":material/info:")
    st.stop()
sheet = asking.Sheet((*outliers.read(vit, rec).key, seed), quiz, text)
with row:
    place = asking.number(sheet)
    asking.another(text)
    if vit.is_global and not lecture.on():
        outliers.quiet(vit, rec, "quiz")
with stepper:
    asking.navigation(sheet, place)
with sheet_place:
    asking.show(sheet, place)
    if not lecture.on():
        asking.score(sheet)
if not lecture.on():
    take.handout(text, vit, photo, seed, masks)

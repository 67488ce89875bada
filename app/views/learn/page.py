"""Watch it learn: a training as a film, of filters, positions, distances, attention and answers, snapshot by snapshot."""

import streamlit as st

from app import texts
from app.components.figure import aside, lead
from app.furniture import controls
from app.state import runs
from app.views.learn import screen

text = texts.prose("learn")
first = aside(text["intro"])
titles = runs.films()
if not titles:
    st.info(text["none"], icon=":material/movie:")
    st.page_link("views/train/page.py", label=text["train link"], icon=":material/model_training:")
    st.stop()

with st.container(horizontal=True, vertical_alignment="bottom"):
    name = controls.named(text["film"], titles, "film", [runs.films(lang) for lang in texts.LANGUAGES], width=320)
    try:
        film = runs.film(name)[1]
    except runs.RunError as error:
        st.error(controls.verbatim(str(error)[0].upper() + str(error)[1:]), icon=":material/broken_image:")
        st.stop()
    photo = controls.photo_menu(text["scene"], list(film.names), "scene", width=220)
if film.task in ("layers", "classify", "masked", "distil", "filmed"):
    first.markdown(text[f"task {film.task}"])
with first:
    screen.card(name, film, text)
run = runs.watch(name.removeprefix("runs/")) if name.startswith("runs/") else None
with lead():
    screen.show(name, film.names.index(photo), bool(run and run.live), text)

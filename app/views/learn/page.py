"""Watch it learn: a training as a film, of filters, positions, distances, attention and answers, snapshot by snapshot."""

import streamlit as st

from app import texts
from app.components.chart.chart import undimmed_container
from app.components.figure import picture_container
from app.menu import page_target
from app.shell import photo_picker, query_controls
from app.state.training import films, run_status
from app.views.learn import film_player, film_sentences

text = texts.prose("learn")
titles = films.film_titles()
if not titles:
    st.info(text["none"], icon=":material/movie:")
    st.page_link(page_target("train"), label=text["train link"], icon=":material/model_training:")
    st.stop()

problem_place = st.container()
with undimmed_container("film_bar"):  # above the pictures; on a phone and in a lecture it stays at their foot
    bar = st.container(horizontal=True, vertical_alignment="center")
screen = picture_container()
with st.container(key="film_choice"):
    with st.popover(text["film"], icon=":material/movie:"):
        name = query_controls.select_menu(text["film"], titles, "film", [films.film_titles(lang) for lang in texts.LANGUAGES])
        try:
            film = films.open_film(name)[1]
        except run_status.RunError as error:
            problem_place.error(texts.escape_markdown(str(error)[0].upper() + str(error)[1:]), icon=":material/broken_image:")
            st.stop()
        photo = photo_picker.photo_menu(text["scene"], list(film.names), "scene")
run = run_status.run_status(name.removeprefix("runs/")) if name.startswith("runs/") else None
with screen:
    film_player.show_film(name, film.names.index(photo), bool(run and run.is_live), text, bar)
if film.task in film_sentences.TASKS:
    st.caption(text[f"task {film.task}"])

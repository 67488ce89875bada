"""The screen of Watch it learn: which snapshot is shown, playing, and the pictures of that snapshot side by side.

Everything that changes with the snapshot is in one fragment, so that playing runs nothing else of the page again.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import texts
from app.components import light_or_dark
from app.components.chart.chart import chart, undimmed_container
from app.components.copyable_text.copyable_text import copyable_text
from app.components.figure import download_button, show_explanation_fold
from app.components.page_style.page_style import scale_to_page_px
from app.state.training import film_figures, films
from app.views.learn import film_sentences
from app.widgets import model_card_and_cautions
from vitcore.csv_and_npz import to_npz
from vitcore.figures.charts.training_figures import FIRST

if TYPE_CHECKING:
    from vitcore.train.film_files import Film

FRAME_S = 0.5  # two snapshots a second
REFRESH_S = 2.0  # between two looks at a run that is being trained
FIGURES = ("given", "predicted", "truth", "rollout", "answer", "filters", "last_block", "positions", "distance")  # of one film some
ROWS_ON_SCREEN = 2  # of pictures, below the slider


def show_film(name: str, photo: int, live: bool, text: texts.Prose, bar: DeltaGenerator) -> None:
    """The slider, in `bar`, and the pictures of a film; `live`: of a run that may add to it."""
    every = FRAME_S if _is_film_playing() else REFRESH_S if live else None
    with undimmed_container("screen"):
        st.fragment(_player, run_every=every)(name, photo, live, text, bar)


def _is_film_playing() -> bool:
    """Whether the film runs."""
    return bool(st.session_state.get("_playing"))


def _film_play_button(steps: list[int]) -> None:
    """Play, from the beginning if the film is at its end; or pause. The whole page runs again: its screen's pace is another."""

    def toggle() -> None:
        st.session_state["_playing"] = not _is_film_playing()
        if _is_film_playing() and st.session_state.get("frame") in (None, steps[-1]):
            st.session_state["frame"] = steps[0]
            st.session_state["_sent"] = [steps[-1], steps[0]]
        st.session_state["_turned"] = time.monotonic()

    text = texts.prose("learn")
    label, icon = (text["pause"], ":material/pause:") if _is_film_playing() else (text["play"], ":material/play_arrow:")
    if st.button(
        label, icon=icon, key="play", on_click=toggle, type="primary", width=scale_to_page_px(120), disabled=len(steps) < 2
    ):
        st.rerun()


def _player(name: str, photo: int, live: bool, text: texts.Prose, bar: DeltaGenerator) -> None:
    key, film = films.open_film(name)
    steps = film.steps.tolist()
    with bar:
        _film_play_button(steps)
        if _next_frame(steps, live):
            st.session_state["_playing"] = False
            st.rerun()
        step = st.select_slider(text["step"], steps, key="frame", bind="query-params") if len(steps) > 1 else steps[0]
    frame, mode = steps.index(step), light_or_dark.current_theme()
    specs = {part: films.frame_chart_specs(key, part, frame, photo, mode, texts.language(), film) for part in ("weights", "photo")}
    shown = specs["weights"] | specs["photo"]
    findings = film_sentences.snapshot_findings(film, frame, films.first_emergence_steps(f"{key}:{steps[-1]}", film), text)
    there = [one for one in FIGURES if one in shown]
    with st.container(key="film_pictures"):  # in columns by `film.css`
        for one in there:
            with st.container(border=True, height="stretch"):
                chart(shown[one], key=f"film_{one}", alt=text[f"{one} alt"], rows=ROWS_ON_SCREEN)
                if found := findings.get(one):
                    st.badge(found.flag, icon=found.icon, color="green" if found.is_there else "gray")
    _training_curves(key, film, step, mode, text)
    with st.container(horizontal=True):
        told = [found.sentence for found in findings.values()] + [film_sentences.most_changed_head_sentence(film, frame, text)]
        read = [text["intro"], text.join_sentences(told), *(text[one] for one in shown), _curve_sentences(film, text)]
        show_explanation_fold("\n\n".join(filter(None, read)), text["limits"])
        with st.popover(text["about"], icon=":material/movie:", type="tertiary"):
            film_sentences.show_film_caption(name, film, text)
            if film.command:
                st.caption(text["made like" if model_card_and_cautions.has_several_commands(name) else "made"])
                copyable_text(film.command, key="command")
        numbers = partial(to_npz, {"step": film.steps[frame]} | {name: values[frame] for name, values in film.arrays.items()})
        download_button(text["numbers"], numbers, "npz", (f"film-step-{step}", film.title), key="film_numbers", type="tertiary",
                    icon=":material/download:")  # fmt: skip


def _next_frame(steps: list[int], live: bool) -> bool:
    """Choose the snapshot before the slider is drawn: first the first, of a `live` run that grows the last; the next while playing.

    True once the page has answered that it shows the last one, so that playing ends. A page that is behind asks with a
    step it was sent earlier: `_sent` has those it has not answered with yet, and none of them is the visitor's choice.
    """
    state = st.session_state
    now, before, sent = state.get("frame"), state.get("_last_step"), state.get("_sent", [])
    state["_last_step"] = steps[-1]
    begin = steps[-1 if live else 0]
    answered = now in sent[-1:]
    if now is None:
        if "frame" not in st.query_params:  # else the slider takes it from there
            state["frame"] = begin
    elif now in sent:
        state["frame"] = sent[-1]
    elif now not in steps:
        state["frame"] = begin
    elif live and now == before and not _is_film_playing():
        state["frame"] = steps[-1]
    state["_sent"] = sent if now in sent and not answered else [state.get("frame")]
    if not _is_film_playing():
        state["_sent"] = []
        return False
    place = steps.index(state["frame"]) if state.get("frame") in steps else 0
    if answered and place == len(steps) - 1:
        return True
    if time.monotonic() - state.get("_turned", 0) >= 0.8 * FRAME_S:
        place = min(place + 1, len(steps) - 1)
        state["_turned"] = time.monotonic()
    state["frame"] = steps[place]
    state["_sent"] = [*state["_sent"], steps[place]]
    return False


def _training_curves(key: str, film: Film, step: int, mode: Any, text: texts.Prose) -> None:
    if not film.log:
        return
    drawn = films.film_curve_specs(key, len(film.log), int(film.steps[-1]), mode, texts.language(), film.shared, film.log)
    titles = film_figures.curve_titles(film.log, step)
    specs = {one: drawn[one] | {"title": titles[one]} for one in ("loss", "accuracy") if one in drawn}
    if not specs:
        return
    for place, one in zip(st.columns(len(specs)), specs, strict=True):
        with place, st.container(border=True, height="stretch"):
            chart(specs[one], key=f"film_{one}", alt=text[f"{one} alt"], marker_x=max(step, FIRST))


def _curve_sentences(film: Film, text: texts.Prose) -> str:
    """How to read the curves of a training; "" where it kept none."""
    measured = any("val_loss" in record or "top1" in record for record in film.log)
    points = text["points shared" if film.shared else "points"].format(photos=film_sentences.held_out_photos_phrase(film, text))
    later = ", ".join(f"{step:,}" for step in film.steps_of_new_loss_terms()) if film.task == "layers" else ""
    changing = text["curves layers"].format(steps=later) if later else ""
    return text.join_sentences((text["curves"], points if measured else "", changing)) if film.log else ""

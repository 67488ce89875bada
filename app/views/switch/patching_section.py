"""The page's second part: tokens of another photo's pass taken over."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from app import texts
from app.components.figure import show_downloads, show_drawing, show_explanation_fold
from app.shell import load_page_visit, photo_picker, query_controls
from app.state import step_animations
from app.state.recordings import cached_interventions, cached_recordings
from app.state.visit.visit import Visit, photo_subject
from app.texts import escape_markdown
from app.views.switch.every_head import depth_range_of_layer, depth_ranges
from app.views.switch.steering_section import show_steering
from app.widgets import guess_question
from vitcore import figures
from vitcore.models.model_cards import ModelError
from vitcore.translation import percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vitcore.forward.recording import Recording
    from vitcore.interventions.activation_patching import ActivationPatching

SWAP, SQUARE, LAYER = "swap", "square", "swap_layer"  # controls
SWAPPED = "swapped"
SIDES = ("8", "4", "2", "1")  # of squares, in patches
USUAL_SIDE = "4"
MAP_PX = 400  # as high as the curve, with the layer above it
LEAST_TOP = 0.05  # of the map's scale: what is less is nearly nothing


@st.fragment
def show_patching(model: str, text: texts.Prose) -> None:
    """The question, the button, and where they are asked for the pictures; runs on its own when something is touched."""
    visit = load_page_visit.load_fragment_visit(model, text)
    vit, photo = visit.vit, visit.photo
    st.markdown(f"## {text['swap title']}")
    st.markdown(text["swap intro"])
    with st.container(horizontal=True, vertical_alignment="bottom", key="swap_controls"):
        second = photo_picker.second_photo_menu(visit, text["second photo"])
        side = int(query_controls.button_row(text, SQUARE, list(SIDES), USUAL_SIDE, help=text["square help"]))
        st.button(text["swap them"], key="swap_them", type="primary", on_click=st.session_state.update, kwargs={SWAP: SWAPPED})
        swapped = st.text_input(text["swapped"], key=SWAP, bind="query-params") == SWAPPED
    other = cached_recordings.second_recording(vit, second.photo)
    try:
        found = cached_interventions.patched_by_depth(visit.recording, other, vit)
    except ModelError as error:
        st.info(escape_markdown(str(error)), icon=":material/info:")
        show_steering(visit, other, second.title)
        return
    key = f"swap {vit.name} {photo.key} {other.photo.key}"
    answers = {"own": _answer(visit.recording), "other": _answer(other)}
    if swapped or guess_question.has_guessed(key):
        _show_pictures(visit, other, found, side, answers)
    if cached_interventions.readout_tokens(visit.recording):
        _show_question(visit, found, key, answers)
    show_steering(visit, other, second.title)


def _answer(rec: Recording) -> str:
    label, probability = rec.top_classes(1, translated=True)[0]
    return f"{escape_markdown(label)} ({percent(probability)})"


def _show_pictures(visit: Visit, other: Recording, found: ActivationPatching, side: int, answers: dict[str, str]) -> None:
    """The curve of depth, and on the photo what each square of patches does after a layer."""
    text, grid, mode, photo = visit.texts, visit.grid, visit.mode, visit.input_picture
    turning, layers = _turning(visit, found), visit.vit.blocks
    share, names, even = found.share, _groups(visit), found.even_share
    st.markdown(f"**{_turning_sentence(visit, found)}** {text['swap answers'].format(**answers)}")
    left, right = st.columns([1, 1], gap="large")
    squares = _squares(visit, other, side)
    with left:
        show_drawing(figures.patching_by_depth(share, names, turning, even, mode), "swap_curve", text["curve alt"])
    with right:
        last = layers - 1
        most = int(abs(squares).max((1, 2)).argmax())  # after this layer one square does most
        layer = query_controls.slider(text["after layer"], LAYER, 0, last, most)
        top = max(LEAST_TOP, float(abs(squares).max()))
        title, unit = text["map title"].format(layer=layer), text["share unit"]
        drawn = figures.relevance(squares[layer], photo, grid, title, unit, signed=True, mode=mode, min_top=top)
        show_drawing(replace(drawn, height_px=MAP_PX, stays_at_top=True), "swap_map", text["map alt"].format(layer=layer))
    with st.container(horizontal=True):
        show_explanation_fold(text["swap how"], text["swap limits"], text["swap source"])
        show_downloads(
            lambda: figures.patching_by_depth(share, names, turning, even, mode), "swap", _turning_sentence(visit, found),
            subjects=(*visit.subjects, photo_subject(other.photo)), file_stem="swapped tokens",
            logit_difference=found.logit_difference,
            animation=partial(
                step_animations.patching_animation, visit.vit.name, visit.photo.key, squares, text["film swap"], unit, top, mode
            ), share=share, logit_difference_own=found.own, logit_difference_other=found.other, share_of_squares=squares,
        )  # fmt: skip


def _squares(visit: Visit, other: Recording, side: int) -> NDArray:
    found = cached_interventions.patched_squares_if_made(visit.recording, other, side)
    if found is not None:
        return found
    bar = st.progress(0.0, visit.texts["swapping"])

    def progress(done: int, total: int) -> None:
        bar.progress(done / total, visit.texts["swapping"])

    try:
        return cached_interventions.patched_squares(visit.recording, other, side, visit.vit, progress)
    finally:
        bar.empty()


def _groups(visit: Visit) -> list[str]:
    text = visit.texts
    return [*([text["group readout"]] if cached_interventions.readout_tokens(visit.recording) else []), text["group patches"]]


def _turning(visit: Visit, found: ActivationPatching) -> int | None:
    return found.turning_layer(0) if cached_interventions.readout_tokens(visit.recording) else None


def _turning_sentence(visit: Visit, found: ActivationPatching) -> str:
    text, layer = visit.texts, _turning(visit, found)
    if not cached_interventions.readout_tokens(visit.recording):
        return text["read from patches"]
    return text["never turns"] if layer is None else text["turns"].format(layer=layer)


def _show_question(visit: Visit, found: ActivationPatching, key: str, answers: dict[str, str]) -> None:
    """After which part of the depth does the class token alone carry the other photo's answer?"""
    text, parts = visit.texts, depth_ranges(visit.vit.blocks, visit.texts)
    right = depth_range_of_layer(_turning(visit, found), parts)
    with st.container(border=True):
        st.markdown(f"### {text['predict title']}")
        st.markdown(text["predict swap"].format(**answers))
        guess_question.guess_before_answer(key, [part.title for part in parts], right, _turning_sentence(visit, found))

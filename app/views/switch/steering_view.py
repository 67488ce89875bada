"""The page's third part: the residual stream is moved towards the second photo after one layer, as far as a slider says."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.components.figure import downloads, explain, plot
from app.shell import copy_link, photo_picker, query_controls
from app.state import step_animations
from app.state.photos import uploaded_photo
from app.state.recordings import covered_photos, interventions
from app.state.visit.visit import Visit
from app.texts import escape_markdown
from vitcore import figures
from vitcore.models.model_cards import ModelError
from vitcore.translation import percent

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording

LAYER, SCALE = "steer_layer", "steer"  # controls; the scale in per cent of the whole way
FARTHEST = 300
SHOWN_CLASSES = 5


def chosen() -> dict[str, Any]:
    """What of steering goes along to the handout; None where nothing is steered, or the second photo is a visitor's own."""
    state = st.session_state
    second = state.get(photo_picker.SECOND_PHOTO)
    is_steered = state.get(SCALE) and second not in (None, *uploaded_photo.KINDS)
    found = {SCALE: state.get(SCALE), LAYER: state.get(LAYER), photo_picker.SECOND_PHOTO: second}
    return found if is_steered else dict.fromkeys(found)


def show_steering(visit: Visit, other: Recording, title: str) -> None:
    """The sliders, the answer's bars, and what became of both photos' answers."""
    text, rec, vit = visit.texts, visit.recording, visit.vit
    st.markdown(f"## {text['steer title']}")
    with st.container(horizontal=True, vertical_alignment="bottom", key="steer_controls"):
        layer = query_controls.slider(text["steer layer"], LAYER, 0, vit.blocks - 1, vit.blocks // 2)
        scale = query_controls.slider(text["steer by"].format(photo=title), SCALE, -FARTHEST, FARTHEST, 0, help=text["steer help"])
    try:
        logits = interventions.steered_logits(rec, other, layer, scale, vit)
    except ModelError as error:
        st.info(escape_markdown(str(error)), icon=":material/info:")
        return
    rows = covered_photos.answer_rows(rec, logits)
    was, now = max(rows, key=lambda row: row.before), max(rows, key=lambda row: row.after)
    said = [text["row"].format(label=row.label, before=percent(row.before), after=percent(row.after)) for row in (was, now)]
    st.markdown(escape_markdown(" · ".join(dict.fromkeys(said))))
    top = replace(rec, logits=logits).top_classes(SHOWN_CLASSES, translated=True)
    plot(figures.predictions(top, visit.mode, text["steered answer"]), "steered", text["steered answer"])
    with st.container(horizontal=True):
        explain(text["steer how"], text["steer limits"], text["steer source"])
        words = {"title": text["film steer"].format(photo=title, layer=layer), "unit": text["percent of all"]}
        downloads(
            lambda: figures.predictions(top, visit.mode, text["steered answer"]), "steered", subjects=(*visit.subjects, title),
            file_stem=f"steered after layer {layer}", logits_before=rec.logits, logits_after=logits, scale_percent=scale,
            animation=partial(
                step_animations.steering_animation, vit.name, visit.photo.key, other.photo.key, layer, scale or FARTHEST, words,
                visit.mode,
            ),
        )  # fmt: skip
    copy_link.add_to_handout(**chosen())

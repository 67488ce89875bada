"""The page's third part: the residual stream moved towards that of another photo."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.components.figure import show_downloads, show_drawing, show_explanation_fold
from app.shell import copy_link, photo_picker, query_controls
from app.state import step_animations
from app.state.photos import uploaded_photo
from app.state.recordings import cached_interventions, covered_photos
from app.state.visit.visit import Visit
from app.texts import escape_markdown
from vitcore import figures
from vitcore.models.model_cards import ModelError
from vitcore.translation import percents

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording

STEER_LAYER, SCALE = "steer_layer", "steer"  # controls; the scale in per cent of the whole way
FARTHEST = 300
SHOWN_CLASSES = 5


def steering_params_for_handout() -> dict[str, Any]:
    """What of steering goes along to the handout; None where nothing is steered, or the second photo is a visitor's own."""
    state = st.session_state
    second = state.get(photo_picker.SECOND_PHOTO)
    is_steered = state.get(SCALE) and second not in (None, *uploaded_photo.KINDS)
    found = {SCALE: state.get(SCALE), STEER_LAYER: state.get(STEER_LAYER), photo_picker.SECOND_PHOTO: second}
    return found if is_steered else dict.fromkeys(found)


def show_steering(visit: Visit, other_recording: Recording, other_photo_title: str) -> None:
    """The sliders, the answer's bars, and what became of both photos' answers."""
    text, rec, vit = visit.texts, visit.recording, visit.vit
    st.markdown(f"## {text['steer title']}")
    with st.container(horizontal=True, vertical_alignment="bottom", key="steer_controls"):
        layer = query_controls.slider(text["steer layer"], STEER_LAYER, 0, vit.blocks - 1, vit.blocks // 2)
        scale = query_controls.slider(
            text["steer by"].format(photo=other_photo_title), SCALE, -FARTHEST, FARTHEST, 0, help=text["steer help"]
        )
    try:
        logits = cached_interventions.steered_logits(rec, other_recording, layer, scale, vit)
    except ModelError as error:
        st.info(escape_markdown(str(error)), icon=":material/info:")
        return
    rows = covered_photos.answer_change_rows(rec, logits)
    was, now = max(rows, key=lambda row: row.before), max(rows, key=lambda row: row.after)
    shares = [percents(row.before, row.after) for row in (was, now)]
    said = [text["row"].format(label=row.label, before=a, after=b) for row, (a, b) in zip((was, now), shares, strict=True)]
    st.markdown(escape_markdown(" · ".join(dict.fromkeys(said))))
    top = replace(rec, logits=logits).top_classes(SHOWN_CLASSES, translated=True)
    show_drawing(figures.predictions(top, visit.mode, text["steered answer"]), "steered", text["steered answer"])
    with st.container(horizontal=True):
        show_explanation_fold(text["steer how"], text["steer limits"], text["steer source"])
        show_downloads(
            lambda: figures.predictions(top, visit.mode, text["steered answer"]),
            "steered",
            subjects=(*visit.subjects, other_photo_title),
            file_stem=f"steered after layer {layer}",
            logits_before=rec.logits,
            logits_after=logits,
            scale_percent=scale,
            animation=partial(
                step_animations.steering_animation,
                vit.name,
                visit.photo.key,
                other_recording.photo.key,
                layer,
                scale or FARTHEST,
                text["film steer"].format(photo=other_photo_title, layer=layer),
                visit.mode,
            ),
        )
    copy_link.add_to_handout(**steering_params_for_handout())

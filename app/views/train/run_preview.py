"""A training before it starts: its photos as patches, the empty curve, what it costs, and the button that starts it."""

from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import permissions, texts
from app.components import light_or_dark
from app.components.copyable_text.copyable_text import copyable_text
from app.components.figure import show_drawing, show_explanation_fold
from app.components.page_style.page_style import scale_to_page_px
from app.state.training import run_status, training_estimate, training_preview, training_processes
from app.texts import escape_markdown
from app.views.train import recipe_form
from app.widgets.button_until_done import button_holding_press
from vitcore.train.recipe import Recipe, recipe_to_json

PRESS = "start training"


class PreviewPlaces(NamedTuple):
    """Where the parts of a training to come stand: its photos, beside them the curve, below that the preset and the button."""

    photos: DeltaGenerator
    curve: DeltaGenerator
    preset: DeltaGenerator
    start: DeltaGenerator


def make_preview_places() -> PreviewPlaces:
    """Make room for them."""
    left, right = st.columns([2, 1], gap="large")
    return PreviewPlaces(left, right.container(), right.container(), right.container())


def show_preview_and_start(
    places: PreviewPlaces, preset: str, recipe: Recipe, photos: str, run_name: str, text: texts.Prose
) -> None:
    """The pictures of a training to come, what is known of it, and the button."""
    photo_count = training_estimate.count_photos(photos, recipe.task)
    classes = photo_count.classes if recipe.task != "masked" else 0
    with places.photos:
        if photo_count.problem:
            st.warning(escape_markdown(photo_count.problem), icon=":material/folder_off:")
        elif photo_count.is_counted:
            drawn = training_preview.photos_in_patches_figure(photos, photo_count.photos, recipe, light_or_dark.current_theme())
            show_drawing(drawn, "train_photos", text["preview alt"])
        if said := _photo_count_sentence(photo_count, recipe, text):
            st.caption(said)
    with places.curve:
        show_drawing(
            training_preview.empty_loss_chart(recipe, classes, light_or_dark.current_theme()), "train_curve", text["curve alt"]
        )
    with places.start:
        size = training_estimate.recipe_model_size(recipe_to_json(recipe), classes)
        if isinstance(size, str):
            st.error(escape_markdown(size))
            return
        _start_button(preset, recipe, photos, run_name, bool(photo_count.problem), text)
        _cost(preset, recipe, size, classes, text)
        with st.container(horizontal=True, gap="small"):
            show_explanation_fold(f"{text['preview how']} {text['curve how']}")
            with st.popover(text["shell"], icon=":material/terminal:", type="tertiary"):
                st.caption(text["same"])
                copyable_text(recipe_form.train_command(preset, recipe, photos, run_name), key="command")


def _start_button(preset: str, recipe: Recipe, photos: str, run_name: str, is_disabled: bool, text: texts.Prose) -> None:
    problem = ""
    with button_holding_press(
        text["start"], PRESS, type="primary", icon=":material/play_arrow:", disabled=is_disabled, width="stretch"
    ) as is_pressed:
        if is_pressed:
            run_id, problem = _start_run(preset, recipe, photos, run_name)
    if problem:
        st.error(escape_markdown(recipe_form.capitalise_first_word(problem)), icon=":material/error:")
    elif is_pressed:
        st.session_state[recipe_form.STARTED_STATE] = {"run": run_id, "run_name": ""}
        st.rerun()


def _cost(preset: str, recipe: Recipe, size: tuple[int, float], classes: int, text: texts.Prose) -> None:
    """How long it takes, once that is measured; else what the preset says of itself, where nothing of it was changed."""
    key = recipe_to_json(recipe)
    cost = training_estimate.measure_training_cost(key, classes) if st.session_state.get("_measured") == key else None
    if cost is None and (said := recipe_form.preset_cost_text(preset, recipe)):
        st.caption(escape_markdown(text.join_sentences((text["about cost"], said))))
    _size_metrics(size, cost, text)
    if cost is None:
        st.button(text["measure"], icon=":material/timer:", type="tertiary", on_click=st.session_state.update,
                  args=({"_measured": key},))  # fmt: skip
    else:
        st.caption(escape_markdown(cost) if isinstance(cost, str) else text["measured"])


def _photo_count_sentence(photo_count: training_estimate.PhotoCount, recipe: Recipe, text: texts.Prose) -> str:
    if not photo_count.is_counted:
        return "" if photo_count.problem else text.fill("uncounted", classes=photo_count.classes)
    is_held_out = photo_count.held_out and not photo_count.validates_on_training_photos
    held = text["held"].format(count=photo_count.held_out) if is_held_out else ""
    epochs = recipe.steps * recipe.batch / max(photo_count.photos, 1)
    shown = min(training_preview.PHOTOS_SHOWN, photo_count.photos)
    counted = text.fill(
        "counted", shown=shown, photos=f"{photo_count.photos:,}", held=held, classes=f"{photo_count.classes:,}",
        epochs=f"{epochs:,.0f}" if epochs >= 10 else f"{epochs:.2g}",
    )  # fmt: skip
    return text.join_sentences((counted, text["shared"] if photo_count.validates_on_training_photos else ""))


def _size_metrics(size: tuple[int, float], cost: Any, text: texts.Prose) -> None:
    params, flop = size
    metrics = {text["parameters"]: _short_number(params), text["macs"]: _short_number(flop / 2)}  # a multiply-add is two
    if cost is not None and not isinstance(cost, str):
        metrics |= {text["a step"]: f"{cost.seconds_per_step:.2g} s", text["whole run"]: run_status.readable_time(cost.seconds)}
    with st.grid(min_column_width=scale_to_page_px(120)):
        for label, value in metrics.items():
            st.metric(label, value)


def _short_number(value: float) -> str:
    """1.8 M, 1.2 T: three digits and a letter."""
    for letter, size in (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.0f}"


def _start_run(name: str, recipe: Recipe, photos: str, run_name: str) -> tuple[str, str]:
    """Start a training. Returns its id, and what went wrong, if anything did."""
    where = photos if ":" in photos or photos in recipe_form.SOURCES else _absolute_paths(photos)
    run_id = run_name or f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    try:
        return run_id, training_processes.start_run(run_id, recipe, where)
    except permissions.NotAllowedError as error:
        return run_id, str(error)


def _absolute_paths(photos: str) -> str:
    """The run's process has a working directory of its own."""
    return ",".join(str(Path(part.strip()).expanduser().absolute()) for part in photos.split(","))

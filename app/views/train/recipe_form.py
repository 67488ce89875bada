"""The form of a new training: photos, a preset, and a control for every field of the recipe, made from the fields themselves."""

from __future__ import annotations

import inspect
import re
import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import permissions, texts
from app.components.copyable_text.copyable_text import copyable_text
from app.components.page_style.page_style import scaled_px
from app.shell.query_controls import select_menu
from app.state.training import runs, synthetic_examples, training_estimate, training_processes
from app.texts import escape_markdown
from app.views.train import model_kinds
from app.widgets.held_button import pressed
from vitcore.train.presets import PRESETS
from vitcore.train.recipe import Recipe, RecipeError, recipe_fields, to_json, with_changes
from vitcore.translation import say

if TYPE_CHECKING:
    from dataclasses import Field

MAIN_FIELDS = ("steps", "batch", "image_px")  # what most people change; all else is folded
SIZE_FIELDS = ("patch_px", "width", "blocks", "heads", "lr_peak")
FIELD_NAMES = {"lr_peak": "peak learning rate", "image_px": "image side", "patch_px": "patch side", "beta2": "second β",
         "mlp_head": "hidden layer in the head", "mlp_ratio": "MLP width",
         "positions_at": "where positions act", "resnet": "ResNet", "readout": "read from",
         "resident_gb": "kept decoded"}  # fmt: skip
PRESSED_FLAG = "_start_asked"  # the button was pressed, and the page has not been drawn to its end since
STARTED_STATE = "_started"  # controls to set for the run that was just started
SOURCES = ("samples", "drawn", "folder", "cifar10", "cifar100", "hub")


def source_input(text: texts.Prose) -> str:
    """Where the photos are. What is typed stays out of the address: a link must not make this machine open a path."""
    kind = st.selectbox(
        text["photos"], SOURCES, format_func=lambda name: text[f"source {name}"], key="photos_from", persist_state="session"
    )
    if kind == "folder":
        return st.text_input(
            text["path"], key="photos_path", persist_state="session", placeholder="/home/me/photos", help=text["path help"]
        ).strip()
    if kind == "hub":
        name = st.text_input(text["name"], key="photos_hub", persist_state="session", placeholder="owner/name").strip()
        return f"hf:{name.removeprefix('hf:')}" if name else ""
    if kind == "drawn":
        options = st.text_input(
            text["options"], key="photos_drawn", persist_state="session", placeholder=synthetic_examples.default_options(),
            help=text["options help"],
        ).strip()  # fmt: skip
        return f"drawn:{options}" if options else kind
    return kind


def preset_menu(text: texts.Prose) -> str:
    """Which recipe to start from."""
    names = {name: text[f"preset {name}"] for name in PRESETS}
    others = [{name: texts.prose("train", lang)[f"preset {name}"] for name in PRESETS} for lang in texts.LANGUAGES]
    return select_menu(text["preset"], names, "preset", others, help=text["preset help"])


def preset_description(name: str) -> dict[str, str]:
    """What a preset's docstring says, by part, in the reader's language: "what", "Expected", "Cost", "Command"."""
    text = inspect.getdoc(PRESETS[name]) or ""
    first, *rest = re.split(r"\b(Expected|Cost|Command)(?: here)?:", text)
    parts = {"what": first} | dict(zip(rest[::2], rest[1::2], strict=True))
    return {part: say(" ".join(said.split())) for part, said in parts.items()}


def show_preset(name: str, text: texts.Prose) -> None:
    """What a preset is, in a frame."""
    parts = preset_description(name)
    with st.container(border=True):
        st.markdown(escape_markdown(parts.pop("what")))
        for part, words in parts.items():
            shown = f"`{words}`" if part == "Command" else escape_markdown(words)
            st.markdown(f"**{text[f'about {part.lower()}']}** {shown}")


def field_controls(name: str, kind: str, text: texts.Prose) -> dict[str, Any]:
    """A control for each field, those most used first, the others folded in their groups; the values they are set to.

    What the kind of model sets has controls of its own, so that another kind finds its own again.
    """
    recipe, own = model_kinds.kind_recipe(name, kind), model_kinds.kind_fields(name, kind)
    values: dict[str, Any] = {}
    by_name = {field.name: field for field in recipe_fields()}

    def control(field: Field[Any]) -> Any:
        return _field_control(field, getattr(recipe, field.name), f"{name}.{kind}" if field.name in own else name, text)

    with st.grid(min_column_width=scaled_px(150)):
        values |= {usual: control(by_name[usual]) for usual in MAIN_FIELDS}
    folded = {text["size and rate"]: [by_name[field] for field in SIZE_FIELDS]}
    for group in dict.fromkeys(field.metadata["group"] for field in recipe_fields()):
        rest = [
            field for field in recipe_fields() if field.metadata["group"] == group and field.name not in MAIN_FIELDS + SIZE_FIELDS
        ]
        folded |= {say(group): rest} if rest else {}
    with st.expander(text["more settings"], icon=":material/tune:", key=f"{name}.more"):
        for title, rest in folded.items():
            with st.expander(title, key=f"{name}.{title}"), st.grid(min_column_width=scaled_px(210), vertical_alignment="bottom"):
                values |= {field.name: control(field) for field in rest}
    return values


def field_name(name: str) -> str:
    """A field in English words."""
    return FIELD_NAMES.get(name, re.sub(r"_(px|steps|gb)$", "", name).replace("_", " "))


def _field_control(field: Field[Any], value: Any, key_prefix: str, text: texts.Prose) -> Any:
    about, words = field.metadata, field_name(field.name)
    unit = about["unit"] if about["unit"] != words else ""
    label = _capitalized(say(words)) + (text["unit"].format(unit=say(unit)) if unit else "")
    help_text = text["field help"].format(help=_capitalized(say(about["help"])), flag=f"--{field.name.replace('_', '-')}")
    common: dict[str, Any] = {"key": f"{key_prefix}.{field.name}", "help": help_text, "persist_state": "session"}
    if isinstance(value, bool):
        return st.toggle(label, value, **common)
    if about["choices"]:
        return st.selectbox(label, about["choices"], about["choices"].index(value), **common)
    if isinstance(value, str):
        return st.text_input(label, value, **common)
    if isinstance(value, int):
        return st.number_input(label, value=value, step=1, **common)
    return st.number_input(label, value=value, step=_step_size(value), format="%.6g", **common)


def _capitalized(words: str) -> str:
    """The words as the beginning of a sentence."""
    return words[0].upper() + words[1:]


def _step_size(value: float) -> float:
    """What + and − change: a tenth of a power of ten below the value; 0.05 from zero."""
    return float(f"1e{int(f'{value:e}'.partition('e')[2]) - (value != 1)}") if value else 0.05


def build_recipe(name: str, values: dict[str, Any]) -> Recipe | str:
    """The recipe of these values, or the sentence that says why there is none."""
    try:
        return with_changes(PRESETS[name](), values)
    except (RecipeError, TypeError) as error:
        return str(error)


def shell_command(name: str, recipe: Recipe, photos: str, run_id: str = "") -> str:
    """The shell's way to the same run."""
    words = ["python", "-m", "vitcore", "train", name, "--data", photos or "PHOTOS", *(["--id", run_id] if run_id else [])]
    usual = PRESETS[name]()
    for field in recipe_fields():
        value, flag = getattr(recipe, field.name), field.name.replace("_", "-")
        if value != getattr(usual, field.name):
            words += [f"--{flag}" if value else f"--no-{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
    return shlex.join(words)


def show_estimate_and_start(name: str, recipe: Recipe, photos: str, text: texts.Prose) -> None:
    """What is known before it starts: photos, size, cost; the same command; and the button."""
    photo_count = training_estimate.count_photos(photos, recipe.task)
    key, classes = to_json(recipe), photo_count.classes if recipe.task != "masked" else 0
    if photo_count.problem:
        st.warning(escape_markdown(photo_count.problem), icon=":material/folder_off:")
    st.caption(_photo_count_sentence(photo_count, recipe, text))
    size = training_estimate.model_size(key, classes)
    if isinstance(size, str):
        st.error(escape_markdown(size))
        return
    cost = training_estimate.measure_cost(key, classes) if st.session_state.get("_measured") == key else None
    _size_metrics(size, cost, text)
    if cost is None:
        st.button(text["measure"], icon=":material/timer:", on_click=st.session_state.update, args=({"_measured": key},))
    else:
        st.caption(escape_markdown(cost) if isinstance(cost, str) else text["measured"])
    run_name = st.text_input(text["run name"], key="run_name", placeholder=f"{name}-…", max_chars=64,
                          help=text["run name help"]).strip()  # fmt: skip
    start = pressed(text["start"], PRESSED_FLAG, type="primary", icon=":material/play_arrow:", disabled=bool(photo_count.problem))
    if start and not photo_count.problem:
        st.error(escape_markdown(_capitalized(_start_run(name, recipe, photos, run_name))), icon=":material/error:")
    st.caption(text["same"])
    copyable_text(shell_command(name, recipe, photos, run_name), key="command")


def _photo_count_sentence(photo_count: training_estimate.PhotoCount, recipe: Recipe, text: texts.Prose) -> str:
    if not photo_count.is_counted:
        return "" if photo_count.problem else text.fill("uncounted", classes=photo_count.classes)
    held = (
        text["held"].format(count=photo_count.held_out)
        if photo_count.held_out and not photo_count.validates_on_training_photos
        else ""
    )
    epochs = recipe.steps * recipe.batch / max(photo_count.photos, 1)
    return text.fill(
        "counted", photos=f"{photo_count.photos:,}", held=held, classes=f"{photo_count.classes:,}",
        epochs=f"{epochs:,.0f}" if epochs >= 10 else f"{epochs:.2g}",
    ) + (" " + text["shared"] if photo_count.validates_on_training_photos else "")  # fmt: skip


def _size_metrics(size: tuple[int, float], cost: Any, text: texts.Prose) -> None:
    params, flop = size
    metrics = {text["parameters"]: _short_number(params), text["flop"]: _short_number(flop)}
    if cost is not None and not isinstance(cost, str):
        metrics |= {text["a step"]: f"{cost.seconds_per_step:.2g} s", text["whole run"]: runs.readable_time(cost.seconds)}
    with st.grid(min_column_width=scaled_px(120)):
        for label, value in metrics.items():
            st.metric(label, value)


def _short_number(value: float) -> str:
    """1.8 M, 1.2 T: three digits and a letter."""
    for letter, size in (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.0f}"


def show_started_run() -> None:
    """Before the controls are drawn: show the run that has just been started."""
    st.session_state.update(st.session_state.pop(STARTED_STATE, {}))


def _start_run(name: str, recipe: Recipe, photos: str, run_name: str) -> str:
    """Start a training. Returns what went wrong; if nothing did, the page is drawn again and shows the run."""
    where = photos if ":" in photos or photos in SOURCES else _absolute_paths(photos)
    run_id = run_name or f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    try:
        problem = training_processes.start_run(run_id, recipe, where)
    except permissions.NotAllowedError as error:
        problem = str(error)
    if not problem:
        st.session_state[STARTED_STATE] = {"run": run_id, "run_name": ""}
        st.rerun()
    return problem


def _absolute_paths(photos: str) -> str:
    """The run's process has a working directory of its own."""
    return ",".join(str(Path(part.strip()).expanduser().absolute()) for part in photos.split(","))

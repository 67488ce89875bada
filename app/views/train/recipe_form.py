"""The form of a new training: photos, a preset, the kind of model, and a control for every field of the recipe."""

import inspect
import re
import shlex
from dataclasses import Field
from typing import Any

import streamlit as st

from app import texts
from app.components.page_style.page_style import scale_to_page_px
from app.shell.query_controls import word_menu
from app.state.training import training_preview
from app.texts import escape_markdown
from vitcore.train.presets import PRESETS
from vitcore.train.recipe import Recipe, RecipeError, recipe_fields, with_changes
from vitcore.translation import say

MAIN_FIELDS = ("steps", "batch", "image_px")  # what most people change; all else is folded
SIZE_FIELDS = ("patch_px", "width", "blocks", "heads", "lr_peak")
FIELD_NAMES = {"lr_peak": "peak learning rate", "image_px": "image side", "patch_px": "patch side", "beta2": "second β",
         "mlp_head": "hidden layer in the head", "mlp_ratio": "MLP width",
         "positions_at": "where positions act", "resnet": "ResNet", "readout": "read from",
         "resident_gb": "kept decoded"}  # fmt: skip
STARTED_STATE = "_started"  # controls to set for the run that was just started
SOURCES = ("samples", "drawn", "folder", "cifar10", "cifar100", "hub")
PLAIN_VIT = "plain"
BASE_WIDTH = 768  # a preset as wide as this, or wider, is given the paper's convolutions, others small ones
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # small, and as the paper has it
    PLAIN_VIT: ({}, {}),
    "hybrid": ({"resnet": "R14/16", "patch_px": 16}, {"resnet": "R50/16", "patch_px": 16}),
    "axial": ({"family": "axial", "readout": "mean"}, {"family": "axial", "readout": "mean"}),
    "resnet": ({"family": "resnet", "resnet": "R26", "width": 64, "patch_px": 32},
               {"family": "resnet", "resnet": "R50", "width": 64, "patch_px": 32, "mlp_head": False}),
    "axial resnet": ({"family": "axial resnet", "resnet": "R26", "width": 32, "heads": 4, "patch_px": 32},
                     {"family": "axial resnet", "resnet": "R50", "width": 64, "heads": 8, "patch_px": 32, "mlp_head": False}),
    "none": ({"positions": "none"}, {"positions": "none"}),
    "2d": ({"positions": "2d"}, {"positions": "2d"}),
    "relative": ({"positions": "relative", "positions_at": "blocks"}, {"positions": "relative", "positions_at": "blocks"}),
    "mean": ({"readout": "mean"}, {"readout": "mean"}),
}  # fmt: skip
MIN_CELLS = 4  # rows and columns that convolutions leave of a picture, at least; ResNets as few as two
MIN_RESNET_CELLS = 2


def photo_source_input(text: texts.Prose) -> str:
    """Where the photos are. What is typed stays out of the address: a link must not make this machine open a path."""
    kind = st.selectbox(
        text["photos"], SOURCES, format_func=lambda name: text[f"source {name}"], key="photos_from", persist_state="session",
        width=scale_to_page_px(320),
    )  # fmt: skip
    if kind == "folder":
        return st.text_input(
            text["path"], key="photos_path", persist_state="session", placeholder="/home/me/photos", help=text["path help"],
            width=scale_to_page_px(320),
        ).strip()  # fmt: skip
    if kind == "hub":
        name = st.text_input(
            text["name"], key="photos_hub", persist_state="session", placeholder="owner/name", width=scale_to_page_px(320)
        ).strip()
        return f"hf:{name.removeprefix('hf:')}" if name else ""
    if kind == "drawn":
        options = st.text_input(
            text["options"], key="photos_drawn", persist_state="session", placeholder=training_preview.default_synthetic_options(),
            help=text["options help"], width=scale_to_page_px(320),
        ).strip()  # fmt: skip
        return f"drawn:{options}" if options else kind
    return kind


def preset_menu(text: texts.Prose, **options: Any) -> str:
    """Which recipe to start from."""
    words = {name: f"preset {name}" for name in PRESETS}
    return word_menu(text["preset"], text, words, "preset", help=text["preset help"], **options)


def preset_description(name: str) -> dict[str, str]:
    """What a preset's docstring says, by part, in the reader's language: "what", "Expected", "Cost", "Command"."""
    text = inspect.getdoc(PRESETS[name]) or ""
    first, *rest = re.split(r"\b(Expected|Cost|Command)(?: here)?:", text)
    parts = {"what": first} | dict(zip(rest[::2], rest[1::2], strict=True))
    return {part: say(" ".join(said.split())) for part, said in parts.items()}


def show_preset_description(name: str, text: texts.Prose) -> None:
    """What a preset is, in a frame."""
    parts = preset_description(name)
    with st.container(border=True):
        st.markdown(escape_markdown(parts.pop("what")))
        for part, words in parts.items():
            shown = f"`{words}`" if part == "Command" else escape_markdown(words)
            st.markdown(f"**{text[f'about {part.lower()}']}** {shown}")


def preset_cost_text(name: str, recipe: Recipe) -> str:
    """What a preset's docstring says of its cost, where the recipe is the preset's own."""
    return preset_description(name).get("Cost", "") if recipe == PRESETS[name]() else ""


def recipe_field_controls(name: str, kind: str, text: texts.Prose) -> dict[str, Any]:
    """A control for each field, those most used first, the others folded in their groups; the values they are set to.

    What the kind of model sets has controls of its own, so that another kind finds its own again.
    """
    recipe, own = recipe_for_kind(name, kind), model_kind_fields(name, kind)
    values: dict[str, Any] = {}
    by_name = {field.name: field for field in recipe_fields()}

    def control(field: Field[Any]) -> Any:
        return _field_control(field, getattr(recipe, field.name), f"{name}.{kind}" if field.name in own else name, text)

    with st.grid(min_column_width=scale_to_page_px(150)):
        values |= {usual: control(by_name[usual]) for usual in MAIN_FIELDS}
    folded = {text["size and rate"]: [by_name[field] for field in SIZE_FIELDS]}
    for group in dict.fromkeys(field.metadata["group"] for field in recipe_fields()):
        rest = [
            field for field in recipe_fields() if field.metadata["group"] == group and field.name not in MAIN_FIELDS + SIZE_FIELDS
        ]
        folded |= {say(group): rest} if rest else {}
    for title, rest in folded.items():
        with (
            st.expander(title, key=f"{name}.{title}"),
            st.grid(min_column_width=scale_to_page_px(210), vertical_alignment="bottom"),
        ):
            values |= {field.name: control(field) for field in rest}
    return values


def run_name_input(preset: str, text: texts.Prose) -> str:
    """What the run is called; empty: by its preset and the time."""
    return st.text_input(
        text["run name"],
        key="run_name",
        placeholder=f"{preset}-…",
        max_chars=64,
        help=text["run name help"],
        width=scale_to_page_px(420),
    ).strip()


def recipe_field_words(name: str) -> str:
    """A field in English words."""
    return FIELD_NAMES.get(name, re.sub(r"_(px|steps|gb)$", "", name).replace("_", " "))


def _field_control(field: Field[Any], value: Any, key_prefix: str, text: texts.Prose) -> Any:
    about, words = field.metadata, recipe_field_words(field.name)
    unit = about["unit"] if about["unit"] != words else ""
    label = capitalise_first_word(say(words)) + (text["unit"].format(unit=say(unit)) if unit else "")
    help_text = text["field help"].format(help=capitalise_first_word(say(about["help"])), flag=f"--{field.name.replace('_', '-')}")
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


def capitalise_first_word(words: str) -> str:
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


def train_command(name: str, recipe: Recipe, photos: str, run_id: str = "") -> str:
    """The shell's way to the same run."""
    words = ["python", "-m", "vitcore", "train", name, "--data", photos or "PHOTOS", *(["--id", run_id] if run_id else [])]
    usual = PRESETS[name]()
    for field in recipe_fields():
        value, flag = getattr(recipe, field.name), field.name.replace("_", "-")
        if value != getattr(usual, field.name):
            words += [f"--{flag}" if value else f"--no-{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
    return shlex.join(words)


def select_started_run() -> None:
    """Before the controls are drawn: show the run that has just been started."""
    st.session_state.update(st.session_state.pop(STARTED_STATE, {}))


def model_kind_fields(preset: str, kind: str) -> dict[str, Any]:
    """What the kind changes of the preset's recipe; a picture that convolutions would leave too little of is enlarged."""
    usual = PRESETS[preset]()
    fields = dict(KINDS[kind][usual.width >= BASE_WIDTH])
    if patch_px := fields.get("patch_px"):
        least = patch_px * (MIN_RESNET_CELLS if "resnet" in fields.get("family", "") else MIN_CELLS)
        fields["image_px"] = max(usual.image_px, least)
    return {name: value for name, value in fields.items() if value != getattr(usual, name)}


def _fits_preset(preset: str, kind: str) -> bool:
    try:
        with_changes(PRESETS[preset](), model_kind_fields(preset, kind))
    except RecipeError:
        return False
    return kind == PLAIN_VIT or bool(model_kind_fields(preset, kind))


def recipe_for_kind(preset: str, kind: str) -> Recipe:
    """The preset's recipe for a model of that kind."""
    return with_changes(PRESETS[preset](), model_kind_fields(preset, kind))


def model_kind_menu(preset: str, text: texts.Prose) -> str:
    """The menu of kinds, and what follows from the one that is chosen."""
    offered = [kind for kind in KINDS if _fits_preset(preset, kind)]
    if st.session_state.get("kind", PLAIN_VIT) not in offered:
        st.session_state["kind"] = PLAIN_VIT
    kind = word_menu(text["kind"], text, {kind: f"kind {kind}" for kind in offered}, "kind", help=text["kind help"])
    st.caption(text[f"kind {kind} about"])
    if kind != PLAIN_VIT:
        wanted = ", ".join(f"`--{name.replace('_', '-')} {value}`" for name, value in model_kind_fields(preset, kind).items())
        st.caption(f"{text['kind sets']} {wanted}. {text['kind other']}")
    if len(offered) < len(KINDS):
        away = [text[f"kind {one}"] for one in KINDS if one not in offered]
        st.caption(text["kind away"].format(kinds=escape_markdown(" · ".join(away))))
    return kind

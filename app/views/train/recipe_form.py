"""The form of a new training: photos, a preset, and a control for every field of the recipe, made from the fields themselves."""

from __future__ import annotations

import inspect
import re
import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import mode, texts
from app.components.lecture.lecture import wide
from app.components.listing.listing import listing
from app.furniture.controls import named, verbatim
from app.furniture.held_button import pressed
from app.state import processes, runs
from app.views.train import kinds
from vitcore.train.presets import PRESETS
from vitcore.train.recipe import Recipe, RecipeError, changed, knobs, to_json
from vitcore.translation import say

if TYPE_CHECKING:
    from dataclasses import Field

USUAL = ("steps", "batch", "image_px")  # what most people change; all else is folded
SIZE = ("patch_px", "width", "blocks", "heads", "lr_peak")
WORDS = {"lr_peak": "peak learning rate", "image_px": "image side", "patch_px": "patch side", "beta2": "second β",
         "mlp_head": "hidden layer in the head", "mlp_ratio": "MLP width",
         "positions_at": "where positions act", "resnet": "ResNet", "readout": "read from",
         "resident_gb": "kept decoded"}  # fmt: skip
ASKED = "_start_asked"  # the button was pressed, and the page has not been drawn to its end since
STARTED = "_started"  # controls to set for the run that was just started
SOURCES = ("samples", "drawn", "folder", "cifar10", "cifar100", "hub")


def source(text: texts.Prose) -> str:
    """Where the photos are. What is typed stays out of the address: a link must not make this machine open a path."""
    kind = st.selectbox(
        text["photos"],
        SOURCES,
        format_func=lambda name: text[f"source {name}"],
        key="photos_from",
        persist_state="session",
    )
    if kind == "folder":
        return st.text_input(
            text["path"], key="photos_path", persist_state="session", placeholder="/home/me/photos", help=text["path help"],
        ).strip()  # fmt: skip
    if kind == "hub":
        name = st.text_input(text["name"], key="photos_hub", persist_state="session", placeholder="owner/name").strip()
        return f"hf:{name.removeprefix('hf:')}" if name else ""
    if kind == "drawn":
        from vitcore.train.data.synthetic_dataset import OPTIONS

        options = st.text_input(
            text["options"], key="photos_drawn", persist_state="session", placeholder=OPTIONS,
            help=text["options help"],
        ).strip()  # fmt: skip
        return f"drawn:{options}" if options else kind
    return kind


def preset(text: texts.Prose) -> str:
    """Which recipe to start from."""
    names = {name: text[f"preset {name}"] for name in PRESETS}
    others = [{name: texts.prose("train", lang)[f"preset {name}"] for name in PRESETS} for lang in texts.LANGUAGES]
    return named(text["preset"], names, "preset", others, help=text["preset help"])


def about(name: str) -> dict[str, str]:
    """What a preset's docstring says, by part, in the reader's language: "what", "Expected", "Cost", "Command"."""
    text = inspect.getdoc(PRESETS[name]) or ""
    first, *rest = re.split(r"\b(Expected|Cost|Command)(?: here)?:", text)
    parts = {"what": first} | dict(zip(rest[::2], rest[1::2], strict=True))
    return {part: say(" ".join(said.split())) for part, said in parts.items()}


def told(name: str, text: texts.Prose) -> None:
    """What a preset is, in a frame."""
    said = about(name)
    with st.container(border=True):
        st.markdown(verbatim(said.pop("what")))
        for part, words in said.items():
            shown = f"`{words}`" if part == "Command" else verbatim(words)
            st.markdown(f"**{text[f'about {part.lower()}']}** {shown}")


def fields(name: str, kind: str, text: texts.Prose) -> dict[str, Any]:
    """A control for each field, those most used first, the others folded in their groups; the values they are set to.

    What the kind of model sets has controls of its own, so that another kind finds its own again.
    """
    recipe, own = kinds.recipe(name, kind), kinds.fields(name, kind)
    values: dict[str, Any] = {}
    by_name = {field.name: field for field in knobs()}

    def control(field: Field[Any]) -> Any:
        return _control(field, getattr(recipe, field.name), f"{name}.{kind}" if field.name in own else name, text)

    with st.grid(min_column_width=wide(150)):
        values |= {usual: control(by_name[usual]) for usual in USUAL}
    folded = {text["size and rate"]: [by_name[field] for field in SIZE]}
    for group in dict.fromkeys(field.metadata["group"] for field in knobs()):
        rest = [field for field in knobs() if field.metadata["group"] == group and field.name not in USUAL + SIZE]
        folded |= {say(group): rest} if rest else {}
    with st.expander(text["more settings"], icon=":material/tune:", key=f"{name}.more"):
        for title, rest in folded.items():
            with (
                st.expander(title, key=f"{name}.{title}"),
                st.grid(min_column_width=wide(210), vertical_alignment="bottom"),
            ):
                values |= {field.name: control(field) for field in rest}
    return values


def called(name: str) -> str:
    """A field in English words."""
    return WORDS.get(name, re.sub(r"_(px|steps|gb)$", "", name).replace("_", " "))


def _control(field: Field[Any], value: Any, whose: str, text: texts.Prose) -> Any:
    about, words = field.metadata, called(field.name)
    unit = about["unit"] if about["unit"] != words else ""
    label = _begun(say(words)) + (text["unit"].format(unit=say(unit)) if unit else "")
    told = text["field help"].format(help=_begun(say(about["help"])), flag=f"--{field.name.replace('_', '-')}")
    common: dict[str, Any] = {"key": f"{whose}.{field.name}", "help": told, "persist_state": "session"}
    if isinstance(value, bool):
        return st.toggle(label, value, **common)
    if about["choices"]:
        return st.selectbox(label, about["choices"], about["choices"].index(value), **common)
    if isinstance(value, str):
        return st.text_input(label, value, **common)
    if isinstance(value, int):
        return st.number_input(label, value=value, step=1, **common)
    return st.number_input(label, value=value, step=_step(value), format="%.6g", **common)


def _begun(words: str) -> str:
    """The words as the beginning of a sentence."""
    return words[0].upper() + words[1:]


def _step(value: float) -> float:
    """What + and − change: a tenth of a power of ten below the value; 0.05 from zero."""
    return float(f"1e{int(f'{value:e}'.partition('e')[2]) - (value != 1)}") if value else 0.05


def recipe(name: str, values: dict[str, Any]) -> Recipe | str:
    """The recipe of these values, or the sentence that says why there is none."""
    try:
        return changed(PRESETS[name](), values)
    except (RecipeError, TypeError) as error:
        return str(error)


def command(name: str, wanted: Recipe, photos: str, run_id: str = "") -> str:
    """The shell's way to the same run."""
    words = [
        "python",
        "-m",
        "vitcore",
        "train",
        name,
        "--data",
        photos or "PHOTOS",
        *(["--id", run_id] if run_id else []),
    ]
    usual = PRESETS[name]()
    for field in knobs():
        value, flag = getattr(wanted, field.name), field.name.replace("_", "-")
        if value != getattr(usual, field.name):
            words += (
                [f"--{flag}" if value else f"--no-{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
            )
    return shlex.join(words)


def before(name: str, wanted: Recipe, photos: str, text: texts.Prose) -> None:
    """What is known before it starts: photos, size, cost; the same command; and the button."""
    photographs = runs.look_into(photos, wanted.task)
    key, classes = to_json(wanted), photographs.classes if wanted.task != "masked" else 0
    if photographs.problem:
        st.warning(verbatim(photographs.problem), icon=":material/folder_off:")
    st.caption(_counted(photographs, wanted, text))
    size = runs.shape(key, classes)
    if isinstance(size, str):
        st.error(verbatim(size))
        return
    timed = runs.measured(key, classes) if st.session_state.get("_measured") == key else None
    _numbers(size, timed, text)
    if timed is None:
        st.button(text["measure"], icon=":material/timer:", on_click=st.session_state.update,
                  args=({"_measured": key},))  # fmt: skip
    else:
        st.caption(verbatim(timed) if isinstance(timed, str) else text["measured"])
    given = st.text_input(text["run name"], key="run_name", placeholder=f"{name}-…", max_chars=64,
                          help=text["run name help"]).strip()  # fmt: skip
    start = pressed(
        text["start"], ASKED, type="primary", icon=":material/play_arrow:", disabled=bool(photographs.problem)
    )
    if start and not photographs.problem:
        st.error(verbatim(_begun(_start(name, wanted, photos, given))), icon=":material/error:")
    st.caption(text["same"])
    listing(command(name, wanted, photos, given), key="command")


def _counted(photographs: runs.Photographs, wanted: Recipe, text: texts.Prose) -> str:
    if not photographs.counted:
        return "" if photographs.problem else text.fill("uncounted", classes=photographs.classes)
    held = text["held"].format(count=photographs.held_out) if photographs.held_out and not photographs.shared else ""
    epochs = wanted.steps * wanted.batch / max(photographs.photos, 1)
    return text.fill(
        "counted", photos=f"{photographs.photos:,}", held=held, classes=f"{photographs.classes:,}",
        epochs=f"{epochs:,.0f}" if epochs >= 10 else f"{epochs:.2g}",
    ) + (" " + text["shared"] if photographs.shared else "")  # fmt: skip


def _numbers(size: tuple[int, float], timed: Any, text: texts.Prose) -> None:
    from vitcore.train.run_folder import readable_time

    params, flop = size
    told = {text["parameters"]: _short(params), text["flop"]: _short(flop)}
    if timed is not None and not isinstance(timed, str):
        told |= {text["a step"]: f"{timed.seconds_per_step:.2g} s", text["whole run"]: readable_time(timed.seconds)}
    with st.grid(min_column_width=wide(120)):
        for label, value in told.items():
            st.metric(label, value)


def _short(value: float) -> str:
    """1.8 M, 1.2 T: three digits and a letter."""
    for letter, size in (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.0f}"


def turn_to_the_started() -> None:
    """Before the controls are drawn: show the run that has just been started."""
    st.session_state.update(st.session_state.pop(STARTED, {}))


def _start(name: str, wanted: Recipe, photos: str, given: str) -> str:
    """Start a training. Returns what went wrong; if nothing did, the page is drawn again and shows the run."""
    where = photos if ":" in photos or photos in SOURCES else _absolute(photos)
    run_id = given or f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    try:
        problem = processes.start(run_id, wanted, where)
    except mode.OffError as error:
        problem = str(error)
    if not problem:
        st.session_state[STARTED] = {"run": run_id, "run_name": ""}
        st.rerun()
    return problem


def _absolute(photos: str) -> str:
    """The run's process has a working directory of its own."""
    return ",".join(str(Path(part.strip()).expanduser().absolute()) for part in photos.split(","))

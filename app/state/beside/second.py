"""The model that stands beside the chosen one: another, or the chosen one otherwise (random weights, other input, other step)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from app import texts
from app.state import models, runs
from app.state.memory import budget
from app.state.model_ref import CHECKPOINTS, ModelRef
from app.state.model_ref import RANDOM as RANDOM
from vitcore.models.model_cards import DEFAULT, ModelError

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit

ITSELF = "itself"
OWN = "own"  # the input size that a model was made for
FACTORS = (0.5, 0.75, 1.5, 2)  # of its rows and columns
LEAST, MOST = 4, 1600  # rows or columns, and patches


def steps(name: str) -> list[str]:
    """The checkpoints of `runs/<id>`, by the names of their folders: its state at up to two steps."""
    path = runs.model_of(ModelRef.parse(name).name)
    return [which for which in CHECKPOINTS if path and (path / which / "model.safetensors").is_file()]


def sizes(vit: Vit) -> dict[str, tuple[int, int]]:
    """Other input sizes (height, width) a model can be given, by name; none where its positions can't be resampled.

    None of a checkpoint either: what is opened again at another size is the model that its run has written.
    """
    resamples = vit.is_global and not vit.structure.axes and hasattr(vit.module, "set_input_size")
    if not resamples or ModelRef.parse(vit.name).outermost not in ("", RANDOM):
        return {}
    (high, wide), grid = vit.grid.step_px, vit.grid
    shapes = [(round(grid.rows * factor), round(grid.cols * factor)) for factor in FACTORS]
    fit = [(r, c) for r, c in shapes if min(r, c) >= LEAST and r * c <= MOST and (r, c) != (grid.rows, grid.cols)]
    return {f"{r * high}x{c * wide}": (r * high, c * wide) for r, c in fit}


def base(first: Vit, asked: str, progress: Callable[[int, int], None]) -> Vit:
    """The model that is asked for at its own input size, downloaded if need be. Raises: ModelError, NoRoomError."""
    if asked == RANDOM:
        return models.variant(first, RANDOM)
    if asked == ITSELF:
        return first
    if asked in steps(first.name):
        path = runs.model_of(ModelRef.parse(first.name).name)
        assert path, "it has steps"
        return models.variant(first, f"{asked}.{(path / asked / 'model.safetensors').stat().st_mtime_ns}")
    return models.have(asked, asked == DEFAULT, progress)


def have(first: Vit, asked: str, progress: Callable[[int, int], None]) -> Vit | None:
    """The same; None where it can't be had (`problem` says why), which is not tried again until `forget` or another is asked."""
    return _tried((first.name, asked), lambda: base(first, asked, progress))


def resized(vit: Vit, size: str) -> Vit | None:
    """A model at one of its `sizes`, or as it is at OWN; None where it can't be had, as of `have`."""
    return vit if size not in sizes(vit) else _tried((vit.name, size), lambda: models.variant(vit, size))


def _tried(what: tuple[str, str], make: Callable[[], Vit]) -> Vit | None:
    known = st.session_state.setdefault("_beside_problems", {})
    if what in known:
        return None
    try:
        return make()
    except (ModelError, budget.NoRoomError) as error:
        known.clear()
        known[what] = str(error) or texts.prose("common")["no room now"]
        return None


class Failed(NamedTuple):
    """A model that could not be had: its name, what the address said, why, and the one that B stays at."""

    asked: str
    said: str
    why: str
    stays: str


def go_back(asked: str) -> None:
    """It could not be had: at the next run B is the one before, and `stays_at` says why."""
    before = st.session_state.get("_beside", RANDOM)
    stays = before if before != asked else RANDOM
    st.session_state["_beside_failed"] = Failed(asked, st.query_params.get("b", ""), problem(), stays)
    st.session_state["_beside_goes_back"] = stays
    forget()


def name_the_one_there_is() -> None:
    """Before the picker is drawn: it and the address name the model that is shown."""
    if (stays := st.session_state.pop("_beside_goes_back", None)) is not None:
        st.session_state["b"] = stays
    elif st.session_state.get("_page") != "compare":  # somebody comes back: old news
        st.session_state["_beside_failed"] = None


def misnamed() -> list[tuple[str, str, str]]:
    """What a link's address may still say, and should not: the parameter, its value, and the right one, none for the usual."""
    failed: Failed | None = st.session_state.get("_beside_failed")
    stays = failed and failed.stays == st.session_state.get("b")
    return [("b", failed.said, "" if failed.stays == RANDOM else failed.stays)] if failed and stays else []


def stays_at(asked: str) -> Failed | None:
    """This one is had; what could not be had before it, if that is why it is shown."""
    st.session_state["_beside"] = asked
    failed: Failed | None = st.session_state.get("_beside_failed")
    if failed and failed.stays != asked:
        failed = st.session_state["_beside_failed"] = None
    return failed


def try_again() -> None:
    """Ask once more for the model that could not be had."""
    if failed := st.session_state.pop("_beside_failed", None):
        st.session_state["b"] = failed.asked


def problem() -> str:
    """Why the second model could not be had."""
    return next(iter(st.session_state.get("_beside_problems", {}).values()), "")


def forget() -> None:
    """Let it be tried again."""
    st.session_state["_beside_problems"] = {}

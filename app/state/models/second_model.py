"""The model that stands beside the chosen one: another, or the chosen one otherwise (random weights, other input, other step)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from app import texts
from app.state.memory import memory_cache
from app.state.models import loaded_models
from app.state.models.model_ref import CHECKPOINTS, ModelRef
from app.state.models.model_ref import RANDOM as RANDOM
from app.state.training import runs
from vitcore.models.model_cards import DEFAULT_MODEL, ModelError

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit

ITSELF = "itself"
OWN_SIZE = "own"  # the input size that a model was made for
SIZE_FACTORS = (0.5, 0.75, 1.5, 2)  # of its rows and columns
LEAST, MOST = 4, 1600  # rows or columns, and patches


def run_checkpoints(name: str) -> list[str]:
    """The checkpoints of `runs/<id>`, by the names of their folders: its state at up to two steps."""
    path = runs.model_folder(ModelRef.parse(name).name)
    return [which for which in CHECKPOINTS if path and (path / which / "model.safetensors").is_file()]


def input_sizes(vit: Vit) -> dict[str, tuple[int, int]]:
    """Other input sizes (height, width) a model can be given, by name; none where its positions can't be resampled.

    None of a checkpoint either: what is opened again at another size is the model that its run has written.
    """
    resamples = vit.is_global and not vit.structure.axes and hasattr(vit.module, "set_input_size")
    if not resamples or ModelRef.parse(vit.name).outermost not in ("", RANDOM):
        return {}
    (high, wide), grid = vit.grid.step_px, vit.grid
    shapes = [(round(grid.rows * factor), round(grid.cols * factor)) for factor in SIZE_FACTORS]
    fit = [(r, c) for r, c in shapes if min(r, c) >= LEAST and r * c <= MOST and (r, c) != (grid.rows, grid.cols)]
    return {f"{r * high}x{c * wide}": (r * high, c * wide) for r, c in fit}


def load_second(first: Vit, requested: str, progress: Callable[[int, int], None]) -> Vit:
    """The model that is asked for at its own input size, downloaded if need be. Raises: ModelError, MemoryBudgetError."""
    if requested == RANDOM:
        return loaded_models.load_variant(first, RANDOM)
    if requested == ITSELF:
        return first
    if requested in run_checkpoints(first.name):
        path = runs.model_folder(ModelRef.parse(first.name).name)
        assert path, "it has steps"
        return loaded_models.load_variant(first, f"{requested}.{(path / requested / 'model.safetensors').stat().st_mtime_ns}")
    return loaded_models.fetch_and_load(requested, requested == DEFAULT_MODEL, progress)


def try_load(first: Vit, requested: str, progress: Callable[[int, int], None]) -> Vit | None:
    """The same; None where it can't be had (`load_problem` says why): tried again after `forget_problem`, or another model."""
    return _load_once((first.name, requested), lambda: load_second(first, requested, progress))


def try_resize(vit: Vit, size: str) -> Vit | None:
    """A model at one of its `input_sizes`, or as it is at OWN_SIZE; None where it can't be had, as of `try_load`."""
    return vit if size not in input_sizes(vit) else _load_once((vit.name, size), lambda: loaded_models.load_variant(vit, size))


def _load_once(key: tuple[str, str], make: Callable[[], Vit]) -> Vit | None:
    problems = st.session_state.setdefault("_beside_problems", {})
    if key in problems:
        return None
    try:
        return make()
    except (ModelError, memory_cache.MemoryBudgetError) as error:
        problems.clear()
        problems[key] = str(error) or texts.prose("common")["no room now"]
        return None


class FailedModel(NamedTuple):
    """A model that could not be had: its name, what the address said, why, and the one that B stays at."""

    requested: str
    query_value: str
    reason: str
    fallback: str


def fall_back(requested: str) -> None:
    """It could not be had: at the next run B is the one before, and `last_failure` says why."""
    previous = st.session_state.get("_beside", RANDOM)
    fallback = previous if previous != requested else RANDOM
    st.session_state["_beside_failed"] = FailedModel(requested, st.query_params.get("b", ""), load_problem(), fallback)
    st.session_state["_beside_goes_back"] = fallback
    forget_problem()


def reset_picker() -> None:
    """Before the picker is drawn: it and the address name the model that is shown."""
    if (fallback := st.session_state.pop("_beside_goes_back", None)) is not None:
        st.session_state["b"] = fallback
    elif st.session_state.get("_page") != "compare":  # somebody comes back: old news
        st.session_state["_beside_failed"] = None


def stale_query_params() -> list[tuple[str, str, str]]:
    """What a link's address may still say, and should not: the parameter, its value, and the right one, none for the usual."""
    failed: FailedModel | None = st.session_state.get("_beside_failed")
    is_shown = failed and failed.fallback == st.session_state.get("b")
    return [("b", failed.query_value, "" if failed.fallback == RANDOM else failed.fallback)] if failed and is_shown else []


def last_failure(shown: str) -> FailedModel | None:
    """This one is had; what could not be had before it, if that is why it is shown."""
    st.session_state["_beside"] = shown
    failed: FailedModel | None = st.session_state.get("_beside_failed")
    if failed and failed.fallback != shown:
        failed = st.session_state["_beside_failed"] = None
    return failed


def try_again() -> None:
    """Ask once more for the model that could not be had."""
    if failed := st.session_state.pop("_beside_failed", None):
        st.session_state["b"] = failed.requested


def load_problem() -> str:
    """Why the second model could not be had."""
    return next(iter(st.session_state.get("_beside_problems", {}).values()), "")


def forget_problem() -> None:
    """Let it be tried again."""
    st.session_state["_beside_problems"] = {}

"""The model that stands beside the chosen one: another, or the chosen one otherwise (random weights, other input, other step)."""

from collections.abc import Callable

import streamlit as st

from app import texts
from app.state.memory.memory_cache import MemoryBudgetError
from app.state.model_ref import CHECKPOINTS, ModelRef
from app.state.model_ref import RANDOM as RANDOM
from app.state.models import loaded_models
from app.state.photos import uploaded_photo
from app.state.training import run_status
from app.state.visit.model_choice_and_problem import ModelChoice
from vitcore.models.model_cards import DEFAULT_MODEL, ModelError
from vitcore.models.vit import Vit

SECOND = ModelChoice("b", RANDOM)
OTHER_PHOTO_STATE = "_b_other_photo"  # whether B had a photo of its own in the last run
VARIANT_PROBLEM_STATE = "_b_variant_problem"
ITSELF = "itself"
OWN_SIZE = "own"  # the input size that a model was made for
SIZE_FACTORS = (0.5, 0.75, 1.5, 2)  # of its rows and columns
LEAST, MOST = 4, 1600  # rows or columns, and patches


def follow_second_photo(chosen: str) -> None:
    """With another photo comes the same model, and with the same photo another, unless somebody has chosen B."""
    state, other = st.session_state, chosen != uploaded_photo.SAME_PHOTO
    if other != state.get(OTHER_PHOTO_STATE, other):
        usual, instead = (RANDOM, ITSELF) if other else (ITSELF, RANDOM)
        if (state.get("b") or RANDOM, state.get("b_px") or OWN_SIZE) == (usual, OWN_SIZE):
            state["b"] = instead
    state[OTHER_PHOTO_STATE] = other


def run_checkpoints(name: str) -> list[str]:
    """The checkpoints of `runs/<id>`, by the names of their folders: its state at up to two steps."""
    path = run_status.run_model_folder(ModelRef.parse(name).name)
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


def _load_second_model(first: Vit, requested: str, progress: Callable[[int, int], None]) -> Vit:
    """The model that is asked for at its own input size, downloaded if need be. Raises: ModelError, MemoryBudgetError."""
    if requested == RANDOM:
        return loaded_models.load_model_variant(first, RANDOM)
    if requested == ITSELF:
        return first
    if requested in run_checkpoints(first.name):
        path = run_status.run_model_folder(ModelRef.parse(first.name).name)
        assert path, "it has steps"
        return loaded_models.load_model_variant(first, f"{requested}.{run_status.model_written_ns(path / requested)}")
    return loaded_models.load_or_download(requested, requested == DEFAULT_MODEL, progress)


def try_load_second(first: Vit, requested: str, progress: Callable[[int, int], None]) -> Vit | None:
    """The second model, or None where it can't be had: `SECOND` or `variant_problem` says why."""
    if requested == RANDOM:
        return _try_variant(first, RANDOM)
    try:
        return _load_second_model(first, requested, progress)
    except (ModelError, MemoryBudgetError) as error:
        forget_variant_problem()
        SECOND.fail(requested, error, SECOND.shown if SECOND.shown != requested else RANDOM)
        return None


def try_resize_model(vit: Vit, size: str) -> Vit | None:
    """A model at one of its `input_sizes`, or as it is at OWN_SIZE; None where it can't be had (`variant_problem`)."""
    return _try_variant(vit, size) if size in input_sizes(vit) else vit


def _try_variant(vit: Vit, variant: str) -> Vit | None:
    """It is tried once, and again after `forget_variant_problem` or another variant."""
    problems = st.session_state.setdefault(VARIANT_PROBLEM_STATE, {})
    if (vit.name, variant) in problems:
        return None
    try:
        return loaded_models.load_model_variant(vit, variant)
    except (ModelError, MemoryBudgetError) as error:
        problems.clear()
        problems[vit.name, variant] = str(error) or texts.prose("common")["no room now"]
        return None


def variant_problem() -> str:
    """Why a variant of a model could not be had."""
    return next(iter(st.session_state.get(VARIANT_PROBLEM_STATE, {}).values()), "")


def forget_variant_problem() -> None:
    """Let it be tried again."""
    st.session_state[VARIANT_PROBLEM_STATE] = {}

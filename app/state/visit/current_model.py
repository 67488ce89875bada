"""The model that the visitor has chosen; where it can't be loaded, the one before stays, and the page says why."""

import contextlib
from collections.abc import Callable, Mapping

from app import texts
from app.state.memory import memory_cache
from app.state.memory.memory_cache import MemoryBudgetError
from app.state.models import loaded_models, model_menu
from app.state.recordings import cached_recordings
from app.state.visit import current_photo
from app.state.visit.model_choice_and_problem import ModelChoice
from vitcore.images import PhotoError
from vitcore.models.model_cards import DEFAULT_MODEL, ModelError
from vitcore.models.vit import Vit

FIRST = ModelChoice("model", DEFAULT_MODEL)


def load_model(progress: Callable[[int, int], None]) -> Vit:
    """The chosen model, downloaded if need be; when it can't be had, the one there was (`model_problem_sentence` says why)."""
    name, last = FIRST.wanted, FIRST.shown
    try:
        model = loaded_models.load_or_download(name, name in (last, DEFAULT_MODEL), progress)
        if name != last:  # a model may load and still not attend over one grid of patches
            with contextlib.suppress(PhotoError):  # another photo is wanted, and the page says which
                cached_recordings.cached_recording(model, current_photo.load_photo(model.bands))
    except (ModelError, MemoryBudgetError) as error:
        fallback = DEFAULT_MODEL if model_menu.is_model_gone(last) else last  # a run's, or the visitor's own, may be gone by now
        model = loaded_models.loaded_model(model_menu.model_cache_key(fallback))
        FIRST.fail(name, error, fallback)
    else:
        FIRST.succeed(name)
    return model


def loaded_model_or_none() -> Vit | None:
    try:
        return memory_cache.cached_value_or_none(loaded_models.loaded_model, model_menu.model_cache_key(FIRST.wanted))
    except ModelError:
        return None


def model_bands() -> int:
    """How many bands the model that is shown reads: three, while it is not here."""
    try:
        return loaded_models.loaded_model(model_menu.model_cache_key(FIRST.shown)).bands
    except (ModelError, MemoryBudgetError):
        return 3


def assumed_answers() -> Mapping[str, str]:
    """What is assumed of the model that is wanted, by `OpenQuestion.key`; nothing of one that is not in memory."""
    vit = loaded_model_or_none()
    return vit.assumed if vit else {}


def model_problem_sentence() -> str:
    """Why the model that was asked for is not the one shown, and which one is; empty where it is."""
    if (problem := FIRST.problem) is None:
        return ""
    text, cards = texts.prose("common"), model_menu.models_by_name()
    title = cards[FIRST.shown].title if FIRST.shown in cards else FIRST.shown
    tried = text["tried"].format(count=problem.tries) + " " if problem.tries > 1 else ""
    return f"{problem.reason} {tried}" + text["stays"].format(model=title)

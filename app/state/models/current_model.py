"""The model that the visitor has chosen; where it can't be loaded, the one before stays, and the page says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from app import texts
from app.state.memory import memory_cache
from app.state.models import loaded_models, model_menu
from app.state.photos import current_photo
from app.state.recordings import recordings
from vitcore.models.model_cards import DEFAULT_MODEL

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit


def load(progress: Callable[[int, int], None]) -> Vit:
    """The chosen model, downloaded if need be; when it can't be had, the one there was (`error_sentence` says why)."""
    name = st.session_state.get("model") or DEFAULT_MODEL
    last = st.session_state.get("_model", DEFAULT_MODEL)
    from vitcore.models.model_cards import ModelError

    try:
        model = loaded_models.fetch_and_load(name, name in (last, DEFAULT_MODEL), progress)
        if name != last:
            recordings.recording(model, current_photo.load())  # a model may load and still not attend over one grid of patches
    except (ModelError, memory_cache.MemoryBudgetError) as error:
        last_problem = st.session_state.get("_model_problem") or {}
        tries = last_problem["tries"] + 1 if last_problem.get("name") == name else 1
        fallback = _last_model()
        st.session_state["_model_problem"] = {
            "name": name, "why": str(error) or texts.prose("common")["no room now"], "tries": tries,
            "told": st.session_state.get("_model", DEFAULT_MODEL) == name,
        }  # fmt: skip
        return fallback
    st.session_state["_model"] = name
    if (st.session_state.get("_model_problem") or {}).get("name") == name:
        forget_error()
    return model


def _last_model() -> Vit:
    """The model there was; if it was a run's or the visitor's own, that may be gone by now."""
    last = st.session_state.get("_model", DEFAULT_MODEL)
    if model_menu.is_gone(last):
        last = st.session_state["_model"] = DEFAULT_MODEL
    return loaded_models.loaded(model_menu.model_version(last))


def error_sentence() -> str | None:
    """Why the model that was asked for is not the one shown, and which one is."""
    problem, text = st.session_state.get("_model_problem"), texts.prose("common")
    if not problem:
        return None
    last = st.session_state.get("_model", DEFAULT_MODEL)
    title = cards[last].title if last in (cards := model_menu.menu()) else last
    tried = text["tried"].format(count=problem["tries"]) + " " if problem["tries"] > 1 else ""
    return f"{problem['why']} {tried}" + text["stays"].format(model=title)


def load_failed() -> bool:
    """Whether the picker and the address still name a model that could not be had."""
    problem = st.session_state.get("_model_problem")
    return bool(problem and not problem["told"])


def reset_picker() -> None:
    """Before the picker is drawn: it and the address name the model that is shown, not one that could not be had."""
    if load_failed():
        st.session_state["model"] = st.session_state.get("_model", DEFAULT_MODEL)
        st.session_state["_model_problem"]["told"] = True


def stale_query_params() -> list[tuple[str, str, str]]:
    """What a link's address may still say, and should not: the parameter, its value, and the right one."""
    problem = st.session_state.get("_model_problem")
    return [("model", problem["name"], st.session_state.get("_model", DEFAULT_MODEL))] if problem and problem["told"] else []


def try_again() -> None:
    """Ask once more for the model that could not be had."""
    if problem := st.session_state.get("_model_problem"):
        st.session_state["model"] = problem["name"]


def forget_error() -> None:
    """Another model was chosen, or another page: what could not be had is old news."""
    st.session_state["_model_problem"] = None


def enter_page(slug: str) -> None:
    """At the beginning of a run: where the visitor is."""
    if st.session_state.get("_slug") != slug:
        st.session_state["_slug"] = slug
        forget_error()

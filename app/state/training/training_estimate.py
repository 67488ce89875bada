"""A training before it starts, cached: how many photos it has, how large its model is, what it costs on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from app import permissions, texts
from vitcore.errors import refusal_reason
from vitcore.train.recipe import recipe_from_json

if TYPE_CHECKING:
    from vitcore.train.learning.training_cost import TrainingCost

UNKNOWN_CLASS_COUNT = 1000  # classes assumed of a data set that is not counted before it is trained on


@dataclass(frozen=True)
class PhotoCount:
    """What is known of a source: how many photos, held-out ones and classes; or why they can't be had."""

    is_counted: bool = False
    photos: int = 0
    held_out: int = 0
    classes: int = UNKNOWN_CLASS_COUNT
    validates_on_training_photos: bool = False  # what is measured on is what was learned from
    problem: str = ""


def count_photos(source: str, task: str) -> PhotoCount:
    """Count the photos of the samples or of a folder; data sets that would be downloaded are left for the run."""
    known, text = {"cifar10": 10, "cifar100": 100}, texts.prose("train")
    if not permissions.is_allowed("paths") and source != "samples":
        return PhotoCount(problem=permissions.why_not_allowed("paths"))
    if source in known or source.startswith("hf:"):
        return PhotoCount(classes=known.get(source, UNKNOWN_CLASS_COUNT))
    if not source.strip():
        return PhotoCount(problem=text["name one"])
    with st.spinner(text["counting"]):
        photographs = _count_photos(source, texts.language())
    if task == "classify" and photographs.is_counted and not photographs.classes:
        return PhotoCount(problem=text["no classes"].format(source=source))
    return photographs


@st.cache_data(max_entries=16, ttl=60, show_spinner=False)
def _count_photos(source: str, lang: str) -> PhotoCount:
    from vitcore.train.data.photo_sources import DataError, open_photo_source

    try:
        train, held_out = open_photo_source(source)
    except (DataError, OSError) as error:
        return PhotoCount(problem=str(error))
    return PhotoCount(True, len(train), len(held_out), len(train.classes), train is held_out)


def recipe_model_size(recipe_json: str, classes: int) -> tuple[int, float] | str:
    """Parameters of a recipe's model, and floating-point operations of a step; or why it can't be built."""
    if not permissions.is_allowed("paths"):  # a recipe may name a teacher's file
        return permissions.why_not_allowed("trainings")
    try:
        return _model_size(recipe_json, classes, texts.language())
    except Exception as error:  # timm and torch each complain in their own way; not kept, it may be out of memory
        return refusal_reason(error)


def measure_training_cost(recipe_json: str, classes: int) -> TrainingCost | str:
    """What a run costs on this machine, timed; or why that can't be said."""
    if not permissions.is_allowed("trainings"):
        return permissions.why_not_allowed("trainings")
    with st.spinner(texts.prose("train")["measuring"]):
        try:
            return _measure_cost(recipe_json, classes, texts.language())
        except Exception as error:  # out of memory, most likely: not kept, for the next time there may be more
            return refusal_reason(error)


@st.cache_data(max_entries=64, show_spinner=False)
def _model_size(recipe_json: str, classes: int, lang: str) -> tuple[int, float]:
    from vitcore.train.learning import training_cost

    recipe = recipe_from_json(recipe_json)
    params, forward = training_cost.params_and_forward_flop(recipe, classes)
    return params, 3 * forward * recipe.batch


@st.cache_data(max_entries=32, show_spinner=False)
def _measure_cost(recipe_json: str, classes: int, lang: str) -> TrainingCost:
    from vitcore.train.learning.training_cost import training_cost

    return training_cost(recipe_from_json(recipe_json), classes)

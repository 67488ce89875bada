"""Recipes: values out of range are refused in a sentence, and JSON of another version is not guessed at."""

import dataclasses
import inspect
import json

import pytest

from vitcore.train.presets import PRESETS, recipe_of_preset
from vitcore.train.recipe import Recipe, RecipeError, recipe_fields, recipe_from_json, recipe_to_json, with_changes


@pytest.mark.parametrize("name", PRESETS)
def test_presets_survive_json_and_say_what_they_promise(name):
    recipe = recipe_of_preset(name)
    assert recipe_from_json(recipe_to_json(recipe)) == recipe
    said = inspect.getdoc(PRESETS[name])
    assert "Command: " in said and ("Expected" in said or "measured" in said) and ("Cost" in said or "cost" in said)


def test_every_field_says_what_it_is():
    for field in recipe_fields():
        assert len(field.metadata["help"]) > 8, field.name
        assert field.metadata["group"]
        assert type(field.default) in (int, float, bool, str)


@pytest.mark.parametrize(("change", "words"), [
    ({"image_px": 30}, "whole number of patches"), ({"width": 100}, "evenly"), ({"steps": 0}, "at least 1"),
    ({"lr_peak": float("nan")}, "at least"), ({"dropout": 1.5}, "share"), ({"task": "sing"}, "one of"),
    ({"micro_batch": 48}, "passes of 48"), ({"task": "distil"}, "teacher"), ({"colour": 1}, "no field 'colour'"),
    ({"steps": "many"}, "int"), ({"steps": True}, "int"), ({"flip": 1}, "bool"),
])  # fmt: skip
def test_bad_values_are_refused_in_a_sentence(change, words):
    with pytest.raises(RecipeError, match=words) as caught:
        with_changes(Recipe(), change)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"steps": 3}'])
def test_what_is_not_a_recipe_is_refused(text):
    with pytest.raises(RecipeError, match="not a recipe"):
        recipe_from_json(text)


@pytest.mark.parametrize(("more", "said"), [
    ({"version": 99}, "version 99; this vitcore reads version 2"), ({"telepathy": 1}, "telepathy"),
])  # fmt: skip
def test_a_recipe_of_the_future_is_refused(more, said):
    with pytest.raises(RecipeError, match=said):
        recipe_from_json(json.dumps(json.loads(recipe_to_json(Recipe())) | more))


def test_recipes_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Recipe().steps = 3  # type: ignore[misc]

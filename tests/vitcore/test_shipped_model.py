"""The shipped model: it names what it sees, its positions know the grid, and its card says what was measured and who taught it."""

import argparse
import importlib
import json
import shlex
import sys
from pathlib import Path

import pytest

import vitcore
from tests.shipping import measure
from vitcore.analysis.position_embeddings import correlation_with_distance, position_similarity
from vitcore.cli.commands import command_parser
from vitcore.models import load_model
from vitcore.models.model_cards import DEFAULT_MODEL, MODEL_CARDS
from vitcore.train.film_files import last_accuracy
from vitcore.train.presets import PRESETS

ROOT = Path(__file__).parent.parent.parent
SAMPLES = ROOT / "assets" / "samples"
CREDITS = json.loads((SAMPLES / "credits.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def card() -> dict:
    return json.loads((ROOT / "assets" / "models" / f"{DEFAULT_MODEL}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def looked(shipped) -> dict:
    return measure.gallery_accuracy(shipped)


def test_it_names_the_gallery_and_looks_at_no_patch_in_every_photo(looked, shipped):
    """Of the 18 photos that ship; what is no ImageNet class counts with its nearest ones, which the credits name."""
    assert looked["photos"] == 18
    assert looked["among_five"] >= 15 and looked["first"] >= 11, looked
    assert not {"red-panda", "cat"} & set(looked["missed"])
    assert looked["largest_patch"] <= 0.03
    ids = load_model.wordnet_ids(shipped)
    for row in CREDITS:
        if row["id"] in ("red-panda", "cat"):  # the first photos, at the first guess
            assert ids[int(vitcore.record(shipped, SAMPLES / f"{row['id']}.jpg").logits.argmax())] in row["classes"]


def test_every_photo_that_ships_has_its_classes(shipped):
    """WordNet ids that the model knows; where they are only the nearest there are, the credits say so."""
    every = load_model.wordnet_ids(shipped)
    ids = set(every)
    called = {row["title"]: shipped.labels[every.index(row["classes"][0])] for row in CREDITS
              if len(row["classes"]) == 1 and "nearest" not in row}  # fmt: skip
    others = {title: label for title, label in called.items() if label.lower() not in title.lower()}
    assert others == {row["title"]: row["imagenet"] for row in CREDITS if "imagenet" in row}
    assert all(row["classes"] and set(row["classes"]) <= ids for row in CREDITS)
    assert {row["id"] for row in CREDITS if "nearest" in row} == {"dahlia", "astronaut", "crab", "pagoda", "rocket", "biplane"}
    told = (SAMPLES / "CREDITS.md").read_text(encoding="utf-8")
    assert "nearest" in told and "classes" in told


def test_the_card_says_who_taught_it(card, shipped):
    assert shipped.card.teacher == MODEL_CARDS[0].teacher == card["card"]["teacher"] != ""
    assert shipped.card.looker == MODEL_CARDS[0].looker == card["card"]["looker"]
    measured = card["trained"]["measured"]
    assert measured["hidden_states"]["mean"] <= 0.1
    assert card["recipe"]["task"] == "layers"


class Understood(Exception):
    """Every word of a command was taken by its parser."""


def test_every_command_of_the_card_is_understood(card, monkeypatch):
    """By the code as it is: a flag that is gone, or a verb, is an error of its parser."""
    parse = argparse.ArgumentParser.parse_args

    def parsed(self, args=None, namespace=None):
        parse(self, args, namespace)
        raise Understood

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parsed)
    for one in card["trained"]["commands"]:
        python, flag, module, *words = shlex.split(one["command"])
        assert (python, flag) == ("python", "-m")
        monkeypatch.setattr(sys, "argv", [module, *words])
        run = command_parser().parse_args if module == "vitcore" else importlib.import_module(module).main
        with pytest.raises(Understood):
            run()


def test_the_card_says_of_each_set_of_photos_whether_anything_was_tuned_on_it(card):
    """Each set that is measured has its use; the teacher was asked about the same photos."""
    trained = card["trained"]
    measured, teacher = trained["measured"], trained["teacher_measured_alike"]
    sets = {name.partition(" ")[2] for name in measured if name.startswith(("accuracy ", "kinds "))} | {"pets"}
    assert {name: told["use"] for name, told in trained["photos"].items()} == {
        name: "test" if name == "pets" else "validation" for name in sets
    }
    for name in [name for name in measured if name.startswith(("accuracy ", "kinds "))]:
        assert photos(measured[name]) == photos(teacher[name]), name
    assert photos(measured["pets"]) == photos(teacher["pets"])


def photos(found: dict) -> dict | int:
    """How many photos each figure is of."""
    parts = {name: photos(part) for name, part in found.items() if isinstance(part, dict) and name != "breeds"}
    return parts or found["photos"]


def test_the_card_tells_what_was_measured_and_how(card, shipped):
    near = correlation_with_distance(position_similarity(load_model.position_embeddings(shipped)), shipped.grid)
    assert near <= -0.5 and card["trained"]["measured"]["position_correlation"] == pytest.approx(near, abs=2e-3)
    commands = [one["command"] for one in card["trained"]["commands"]]
    assert "python -m vitcore train layer_by_layer" in commands[0]
    assert all("python -m tests.shipping.measure" in command for command in commands[-2:])
    assert card["card"]["licence"] == MODEL_CARDS[0].licence == "Apache-2.0"
    assert card["card"]["params_m"] == MODEL_CARDS[0].params_m


def test_what_presets_promise_is_what_the_card_and_the_film_say(card):
    """The figures of both presets that made what ships: they are written in their docstrings, which a page shows."""
    mine, teacher = (card["trained"][of]["accuracy photos128-0-of-2"] for of in ("measured", "teacher_measured_alike"))
    promised = f"({mine['top1']:.0f} % right beside {teacher['top1']:.0f} % of {mine['photos']:,} held out)"
    assert promised in " ".join(str(PRESETS["layer_by_layer"].__doc__).split())
    film = json.loads((ROOT / "assets" / "recordings" / "labels-alone.json").read_text(encoding="utf-8"))
    learned, right = film["data"].split()[0], last_accuracy(film["log"]).right
    alone = " ".join(str(PRESETS["labels_alone"].__doc__).split())
    assert f"{right:.0f} % right on held-out photos" in alone and f"after learning from {learned};" in alone

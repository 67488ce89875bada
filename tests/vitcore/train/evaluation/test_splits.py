"""Which photos `evaluate` and `few-shot` judge: all of a plain folder, or a split, and counts that add up to what is there."""

import json

import numpy as np
import pytest
from PIL import Image

import vitcore
from vitcore.__main__ import main
from vitcore.cli import inspect as inspecting
from vitcore.models import load_model
from vitcore.train import run_folder
from vitcore.train.data.photo_sources import open_photo_source
from vitcore.train.evaluation.choose_split import open_split
from vitcore.train.recipe import Recipe

A_CLASS = 10


def fill(folder, names, count=A_CLASS):
    for number, name in enumerate(names):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            Image.new("RGB", (16, 16), (20 * i, 90 * number, 60)).save(folder / name / f"{i}.png")
    return folder


@pytest.fixture
def vit(make_vit, monkeypatch):
    """What `load` returns: a random model with classes a to j."""
    made = vitcore.wrap(make_vit().module, name="tiny", labels=list("abcdefghij"), mean=(0.5,) * 3, std=(0.5,) * 3)
    monkeypatch.setattr(load_model, "load", lambda *_, **__: made)
    monkeypatch.setattr(inspecting, "print_assumed_answers", lambda *_: None)
    return made


@pytest.fixture
def said(capsys):
    def ask(*argv):
        assert main([*map(str, argv), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return ask


def total(found):
    return found["photos"] + found["left_out"] + found["outside_split"]


@pytest.mark.parametrize("verb", [["evaluate"], ["few-shot", "--shots", "1", "2"]], ids=lambda verb: verb[0])
def test_a_plain_folder_is_judged_whole_unless_a_split_is_asked_for(verb, vit, said, tmp_path):
    folder = fill(tmp_path / "photos", ["a", "b"])
    (folder / "a" / "9.png").write_bytes(b"no picture")
    (folder / "a" / "notes.txt").write_text("no photo")
    for given, split, outside in (([], "all", 0), (["--split", "all"], "all", 0), (["--split", "train"], "train", 2)):
        found = said(*verb, "--data", folder, *given)
        assert (found["split"], found["outside_split"], total(found)) == (split, outside, 20)
        assert found["left_out"] <= 1 and (split != "all" or found["left_out"] == 1)
    found = said(*verb, "--data", folder, "--split", "validation")
    assert found["split"] == "validation" and total(found) == 20
    assert found["outside_split"] == (18 if verb[0] == "evaluate" else 0)  # few-shot learns from the others


def test_validation_photos_of_its_own_are_asked_about_and_all_are_both(vit, said, tmp_path):
    fill(tmp_path / "photos" / "train", ["a", "b"])
    fill(tmp_path / "photos" / "val", ["a", "b"], 3)
    for given, split, photos in (([], "validation", 6), (["--split", "train"], "train", 20), (["--split", "all"], "all", 26)):
        found = said("evaluate", "--data", tmp_path / "photos", *given)
        assert (found["split"], found["photos"], total(found)) == (split, photos, 26)
    found = said("few-shot", "--data", tmp_path / "photos", "--shots", "1")
    assert (found["split"], found["photos"]) == ("validation", 26)
    shots = lambda *given: [key for key in said("few-shot", "--data", tmp_path / "photos", *given) if key.endswith("-shot")]  # noqa: E731
    assert shots() == ["1-shot", "5-shot", "10-shot"], "of the usual ones those that every class has"
    assert shots("--split", "train") == ["1-shot", "5-shot"], "a photo at least of each class is asked about"


def test_a_run_is_judged_on_what_it_did_not_see(vit, said, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run_folder, "RUNS_FOLDER", tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    folder = fill(tmp_path / "photos", ["a", "b"])
    run_folder.create_run("mine", Recipe(seed=5), "photos")
    held_out = open_photo_source("photos", seed=5)[1]
    assert open_split(str(folder), model="mine").photos.items == [folder / file.relative_to("photos") for file in held_out.items]
    found = said("evaluate", "--model", "runs/mine", "--data", folder)
    assert (found["split"], found["photos"], found["outside_split"]) == ("validation", 2, 18)
    assert main(["evaluate", "--model", "mine", "--data", str(folder), "--split", "all"]) == 0
    assert "was trained on photos of" in capsys.readouterr().err
    other = fill(tmp_path / "other", ["a", "b"])
    assert said("evaluate", "--model", "mine", "--data", other)["split"] == "all"


def test_the_photos_of_two_sets_are_opened_by_their_own(tmp_path):
    for source in ("digits", "drawn:classes=3,px=16,photos=9,validation=6"):
        train, validation = open_photo_source(source)
        with pytest.raises(ValueError, match="not 'val'"):
            open_split(source, "val")
        both = open_split(source, "all").photos
        assert len(both) == len(train) + len(validation) and both.labels.tolist() == [*train.labels, *validation.labels]
        for i, one in ((0, train.open(0)), (len(train) - 1, train.open(len(train) - 1)), (len(train), validation.open(0))):
            assert (np.asarray(both.open(i)) == np.asarray(one)).all()
        some = both.subset([len(train), 0])
        assert (np.asarray(some.open(0)) == np.asarray(validation.open(0))).all()


def test_shots_that_leave_no_photo_are_refused(vit, tmp_path, capsys):
    fill(tmp_path / "photos", ["a", "b"], 2)
    assert main(["few-shot", "--data", str(tmp_path / "photos"), "--shots", "2"]) == 2
    assert "no photo to ask about" in capsys.readouterr().err

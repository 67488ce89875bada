"""Verbs on several photos and folders, told quietly, into a pipe that is closed, and completed by a shell."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import vitcore
from tests import picture_files
from tests.conftest import ROOT, SAMPLES
from tests.printed_figures import printed_blank
from vitcore.__main__ import main
from vitcore.cli import completion
from vitcore.cli import inspect as inspecting
from vitcore.cli.commands import command_parser
from vitcore.models import load_model

VERBS = {"patches": [], "rollout": [], "relevance": ["--method", "gradient_rollout"], "attention": ["--layer", "0"]}


@pytest.fixture(autouse=True)
def small_model_and_blank_pictures(make_vit, monkeypatch):
    made = make_vit()
    monkeypatch.setattr(load_model, "load", lambda *_, **__: made)
    monkeypatch.setattr(inspecting, "print_assumed_answers", lambda *_: None)
    with printed_blank():
        yield


@pytest.fixture
def folder(tmp_path):
    """Two photos, of one name in two folders, and what is none."""
    for place in ("a", "b"):
        (tmp_path / "photos" / place).mkdir(parents=True)
        shutil.copy(SAMPLES / ("cat.jpg" if place == "a" else "crab.jpg"), tmp_path / "photos" / place / "one.jpg")
    (tmp_path / "photos" / "broken.jpg").write_bytes(b"")
    return tmp_path / "photos"


@pytest.mark.parametrize("verb", VERBS)
def test_a_folder_and_its_own_pictures(verb, folder, capsys):
    """The folder for what is drawn lies in the folder of photos: a second pass finds the same photos."""
    for _ in range(2):
        assert main([verb, *VERBS[verb], str(folder), "--out", str(folder / "out")]) == 0
        said = capsys.readouterr()
        assert "broken.jpg is empty." in said.err and said.out.count("\n") == 2
        wanted = sorted(f"{name}-{verb}.{kind}" for name in ("one", "one-2") for kind in ("npz", "png"))
        assert sorted(file.name for file in (folder / "out").iterdir()) == wanted


@pytest.mark.parametrize("verb", ["rollout", "distance", "report", "test"])
def test_a_named_photo_that_is_left_out_is_told_quietly_too_and_by_the_exit_status(verb, folder, tmp_path, capsys):
    photo = str(folder / "a" / "one.jpg")
    more = {"test": ["--tests", "deletion", "--methods", "rollout", "--orders", "0"], "report": ["--out", str(tmp_path / "r")]}
    args = [verb, *more.get(verb, ["--json"]), photo, "--quiet"]
    assert main([*args, str(folder / "nope.jpg")]) == 1
    assert capsys.readouterr().err == "nope.jpg can't be read: No such file or directory.\n"
    assert main([*args, str(folder)]) == 0, "of a folder, what is no photo is left out"
    said = capsys.readouterr()
    assert said.err == "" and "random orders" not in said.out


@pytest.mark.parametrize(("flag", "nearest"), [("--jsn", "--json"), ("--fusio=max", "--fusion"), ("--zzz", "")])
def test_an_unknown_flag_is_told_with_the_nearest_of_the_verb(flag, nearest, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["rollout", "photo.jpg", flag])
    near = nearest and f"; the nearest is {nearest}"
    assert (
        ended.value.code == 2
        and capsys.readouterr().err == f"vitcore: there is no {flag} here{near} (see vitcore rollout --help)\n"
    )


def test_json_of_several_is_one_object(folder, capsys):
    given = [folder / "a" / "one.jpg", folder / "b" / "one.jpg"]
    alone = []
    for photo in given:
        assert main(["rollout", str(photo), "--json"]) == 0
        alone.append(json.loads(capsys.readouterr().out))
    assert main(["rollout", *map(str, given), "--json"]) == 0
    both = json.loads(capsys.readouterr().out)["photos"]
    assert [one.pop("photo") for one in both] == [str(photo) for photo in given]
    assert both == alone and both[0]["rollout"] != both[1]["rollout"]


def test_json_lines_are_a_photo_each(folder, capsys):
    assert main(["rollout", str(folder), "--json"]) == 0
    together = json.loads(capsys.readouterr().out)["photos"]
    assert main(["rollout", str(folder), "--json-lines"]) == 0
    said = capsys.readouterr()
    assert [json.loads(line) for line in said.out.splitlines()] == together and "broken.jpg is empty." in said.err
    assert main(["rollout", together[0]["photo"], "--json-lines"]) == 0
    assert json.loads(capsys.readouterr().out) == together[0]


def test_activations_of_a_folder(folder, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["cache", str(folder), "--names", "q,attn,embed", "--layers", "0,2", "--out", str(out)]) == 0
    assert sorted(file.name for file in out.iterdir()) == ["one-2-activations.npz", "one-activations.npz"]
    vit, written = load_model.load(), np.load(out / "one-activations.npz")
    kept = vitcore.cache(vit, folder / "a" / "one.jpg", ["q", "pattern", "embed"], [0, 2])
    assert {*written} == {*kept, "logits"} and all(np.array_equal(written[key], kept[key][0]) for key in kept)
    for wrong, told in (["--layers", "last"], "numbers with commas"), (["--names", "stream"], "an activation is one of"):
        assert main(["cache", str(folder), *wrong]) == 2 and told in capsys.readouterr().err


def test_photos_that_are_all_damaged_are_an_error(folder, capsys):
    (folder / "too.jpg").write_bytes(b"")
    assert main(["rollout", str(folder / "broken.jpg"), str(folder / "too.jpg"), "--quiet"]) == 2
    assert capsys.readouterr().err == "vitcore: none of the photos could be read.\n"


def test_quiet_tells_errors_alone(tmp_path, capsys):
    (tmp_path / "moving.gif").write_bytes(picture_files.animated())
    for given in (["--quiet", "rollout"], ["rollout", "--quiet"]):
        assert main([*given, str(tmp_path / "moving.gif"), "--json"]) == 0
        said = capsys.readouterr()
        assert said.err == "" and json.loads(said.out)["rollout"]
    assert main(["rollout", "nowhere.jpg", "--quiet"]) == 2
    assert capsys.readouterr().err.startswith("vitcore: ")


def test_a_rollout_by_the_convention_of_vit_explain(capsys):
    found = {}
    for verb in (["rollout"], ["relevance", "--method", "gradient_rollout"]):
        for convention in ("row-stochastic", "vit-explain"):
            assert main([*verb, str(SAMPLES / "cat.jpg"), "--convention", convention, "--json"]) == 0
            found[verb[0], convention] = np.array(json.loads(capsys.readouterr().out)[verb[0]])
    assert all((values.max() == 1) == (convention == "vit-explain") for (_, convention), values in found.items())
    assert main(["relevance", str(SAMPLES / "cat.jpg"), "--convention", "vit-explain"]) == 2
    assert "chefer has no setting convention" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise there")
@pytest.mark.parametrize("given", [["models"], ["train", "--help"]], ids=" ".join)
def test_a_reader_who_has_had_enough_sees_no_traceback(given):
    """As `vitcore models | head -1`: the reading end is closed before anything is written."""
    reading, writing = os.pipe()
    os.close(reading)
    script = "import sys; from vitcore.__main__ import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", script, *given], cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_verbs_flags_and_choices():
    pytest.importorskip("shtab", reason="the package shtab is not installed (requirements-dev.txt)")
    script = completion.completion_script(command_parser(), "bash")
    asked = [
        ["vitcore", "roll"],
        ["vitcore", "rollout", "--fus"],
        ["vitcore", "rollout", "--fusion", "m"],
        ["vitcore", "train", "cif"],
    ]
    lines = [script]
    for words in (["vitcore", *given] for given in asked):
        lines += [f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; COMPREPLY=()",
                  f"_shtab_vitcore vitcore {words[-1]} {words[-2]}", 'echo "${COMPREPLY[@]}"']  # fmt: skip
    done = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, text=True, check=False)
    found = [line.split() for line in done.stdout.splitlines()]
    assert found == [["rollout"], ["--fusion"], ["mean", "max", "min"], ["cifar10_tiny"]], done.stderr


def test_completion_without_its_package_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert capsys.readouterr().err == "vitcore: completion needs the package shtab: pip install inside-vit[completion].\n"

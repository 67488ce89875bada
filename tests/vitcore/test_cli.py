"""The shell: every verb writes its picture and its numbers, or one JSON object; whatever is wrong is one line and a 2."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import vitcore
from tests import picture_files
from tests.conftest import ROOT, SAMPLES
from tests.forked_python import shell
from vitcore.__main__ import main
from vitcore.analysis.position_embeddings import position_similarity
from vitcore.models import load_model
from vitcore.models.model_cards import DEFAULT_MODEL, MODEL_CARDS

CAT = SAMPLES / "cat.jpg"
KEPT = {  # verb: its arguments, and the arrays of its .npz with their shapes
    "patches": ([CAT], {"patches": (256, 8, 8, 3), "embeddings": (256, 192)}),
    "filters": ([], {"components": (192, 8, 8, 3), "variance": (192,)}),
    "positions": ([], {"similarity": (256, 256)}),
    "distance": ([CAT], {"distance_px": (12, 3)}),
    "rollout": ([CAT], {"rollout": (16, 16), "fused": (12, 257, 257), "logits": (1000,)}),
    "relevance": ([CAT, "--class", "tabby"], {"relevance": (16, 16)}),
    "attention": ([CAT, "--layer", "3"], {"attention": (3, 16, 16)}),
    "ablate": ([CAT, "--target", "tabby"], {"drop_of_logit": (12, 3)}),
}


def run(*argv):
    """Exit status of the command line, whoever decides it."""
    try:
        return main([str(arg) for arg in argv])
    except SystemExit as end:
        return end.code


@pytest.fixture(autouse=True)
def one_shipped_model(monkeypatch, shipped):
    """The shipped model is loaded once for all these tests; other names are loaded as always."""
    load = load_model.load
    monkeypatch.setattr(
        load_model, "load", lambda name=DEFAULT_MODEL, *a, **k: shipped if name == DEFAULT_MODEL else load(name, *a, **k)
    )


ANSWERS: dict[tuple[str, ...], str] = {}


def answer(capsys, *argv, anew: bool = False):
    """The JSON object a command prints; what was asked before, of the shipped model as always, is not asked again."""
    asked = tuple(map(str, argv))
    if anew or asked not in ANSWERS or "-" in asked:
        assert run(*argv, "--json") == 0
        ANSWERS[asked] = capsys.readouterr().out
    assert ANSWERS[asked].count("\n") == 1
    return json.loads(ANSWERS[asked])


def complaint(capsys, *argv):
    """The one line on standard error of a command that can't be done."""
    status, said = run(*argv), capsys.readouterr()
    assert status == 2 and said.out == ""
    assert said.err.startswith("vitcore: ") and said.err.endswith("\n") and said.err.count("\n") == 1, said.err
    return said.err


# Pictures and numbers


@pytest.mark.parametrize("verb", KEPT)
def test_a_verb_writes_its_picture_and_its_numbers(verb, tmp_path, capsys):
    given, arrays = KEPT[verb]
    out = tmp_path / "new" / "folder"
    assert run(verb, *given, "--out", out) == 0
    said = capsys.readouterr()
    assert said.err == "" and f"{verb}.png" in said.out and f"{verb}.npz" in said.out
    assert sorted(f.name for f in out.iterdir()) == [f"{verb}.npz", f"{verb}.png"]
    image = Image.open(out / f"{verb}.png")
    image.load()
    assert image.format == "PNG" and image.width > 300 and image.height > 300
    assert len(np.unique(np.asarray(image.convert("L")))) > 10, "an empty picture"
    with np.load(out / f"{verb}.npz", allow_pickle=False) as kept:
        assert {name: kept[name].shape for name in kept} == arrays
        assert all(np.isfinite(kept[name]).all() for name in kept)


@pytest.mark.parametrize("verb", KEPT)
def test_json_says_which_model_and_grid(verb, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = answer(capsys, verb, *KEPT[verb][0], anew=True)
    facts = {"model": DEFAULT_MODEL, "grid": [16, 16], "patch_px": 8, "prefix_tokens": 1}
    assert {key: found[key] for key in facts} == facts
    assert list(tmp_path.iterdir()) == [], "--json writes no file"


def test_json_holds_the_numbers_of_each_verb(capsys, shipped):
    assert answer(capsys, "patches", CAT)["patches"] == 256
    share = answer(capsys, "filters", "--components", 5)["variance"]
    assert len(share) == 5 and share == sorted(share, reverse=True) and 0 < sum(share) < 1
    found = answer(capsys, "positions")
    assert np.allclose(found["similarity"], position_similarity(load_model.position_embeddings(shipped)), atol=1e-6)
    assert found["correlation_with_distance"] <= -0.4
    found, whole = answer(capsys, "distance", CAT), answer(capsys, "distance", CAT, "--cls", "renormalise")
    px = np.array(found["distance_px"])
    assert px.shape == (12, 3) and (px > 0).all() and (found["images"], found["cls"], whole["cls"]) == (1, "drop", "renormalise")
    assert (np.array(whole["distance_px"]) > px * (1 - 1e-6)).all() and (np.array(whole["distance_px"]) > px).any()
    found = answer(capsys, "rollout", CAT)
    mask, (labels, p) = np.array(found["rollout"]), zip(*found["top5"], strict=True)
    assert mask.shape == (16, 16) and mask.min() >= 0 and 0 < mask.sum() < 1
    assert all(isinstance(label, str) for label in labels) and list(p) == sorted(p, reverse=True) and 0 < sum(p) <= 1


def test_models_as_json_and_as_a_table(capsys):
    found = answer(capsys, "models")["models"]
    assert [row["name"] for row in found] == [card.name for card in MODEL_CARDS]
    assert all(row["licence"] and row["params_m"] > 0 for row in found)
    assert run("models") == 0
    for line, card in zip(capsys.readouterr().out.splitlines(), MODEL_CARDS, strict=True):
        assert line.startswith(card.name) and card.summary in line


# Settings


ROLLOUTS = [("--fusion", "max"), ("--fusion", "min"), ("--discard", 0.9), ("--residual", 0.1), ("--first-block", 6), ("--patch", 0)]


def test_rollout_without_outlier_tokens(capsys):
    plain, masked = (answer(capsys, "rollout", CAT, *flag) for flag in ([], ["--mask-outliers"]))
    assert plain["masked_patches"] == [] and masked["masked_patches"] == [0, 15, 240, 255]
    shown = np.array(masked["rollout"]).ravel()
    assert (shown[[0, 15, 240, 255]] == 0).all() and (np.array(plain["rollout"]) > 0).all()


@pytest.mark.parametrize("setting", ROLLOUTS, ids=str)
def test_settings_of_rollout(setting, capsys, rec, shipped):
    found = np.array(answer(capsys, "rollout", SAMPLES / "astronaut.jpg", *setting)["rollout"])
    key = setting[0].removeprefix("--").replace("-", "_").replace("discard", "discard_ratio")
    expected = rec.rollout(1) if key == "patch" else rec.rollout(**{key: setting[1]})
    assert np.allclose(found, expected, rtol=1e-6)
    assert not np.allclose(found, rec.rollout(), rtol=1e-3)


def test_the_papers_style(tmp_path, capsys):
    for style in ("heat", "paper"):
        assert run("rollout", CAT, "--style", style, "--out", tmp_path / style) == 0
    assert (tmp_path / "heat/rollout.png").read_bytes() != (tmp_path / "paper/rollout.png").read_bytes()


def test_distance_is_averaged_over_photos_and_folders(tmp_path, capsys):
    for name in ("cat.jpg", "crab.jpg"):
        shutil.copy(SAMPLES / name, tmp_path / name)
    alone = [np.array(answer(capsys, "distance", tmp_path / name)["distance_px"]) for name in ("cat.jpg", "crab.jpg")]
    folder = answer(capsys, "distance", "--images", tmp_path)
    both = answer(capsys, "distance", tmp_path / "cat.jpg", tmp_path / "crab.jpg")
    assert folder["images"] == both["images"] == 2 and folder["distance_px"] == both["distance_px"]
    assert np.allclose(folder["distance_px"], np.mean(alone, 0), rtol=1e-6)


def test_a_damaged_photo_among_good_ones_is_named_and_left_out(tmp_path, capsys):
    shutil.copy(CAT, tmp_path / "a.jpg")
    (tmp_path / "b.jpg").write_bytes(b"")
    assert run("distance", "--images", tmp_path, "--json") == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["images"] == 1 and "b.jpg is empty." in said.err


def test_what_was_done_to_a_photo_is_said(tmp_path, capsys):
    (tmp_path / "moving.gif").write_bytes(picture_files.animated())
    assert run("rollout", tmp_path / "moving.gif", "--json") == 0
    assert "moving.gif: 3 frames: the first one is shown." in capsys.readouterr().err


def test_hybrids_show_their_root_convolution_and_say_so(hybrid, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(load_model, "load", lambda *_, **__: hybrid)
    assert run("filters", "--out", tmp_path) == 0
    assert "hybrid" in capsys.readouterr().err
    with np.load(tmp_path / "filters.npz") as kept:
        assert kept["components"].shape == (64, 7, 7, 3)


# Whatever is wrong


WRONG = [
    ["rollout", "nowhere.jpg"], ["patches", "."], ["distance"], ["distance", "--images", "nowhere"], ["distance", "--images", "."],
    ["rollout", CAT, "--discard", 1], ["rollout", CAT, "--discard", -1], ["rollout", CAT, "--discard", "nan"],
    ["rollout", CAT, "--residual", 2], ["rollout", CAT, "--first-block", 12], ["rollout", CAT, "--first-block", -13],
    ["rollout", CAT, "--patch", 256], ["rollout", CAT, "--patch", -1], ["rollout", CAT, "--fusion", "median"],
    ["rollout", CAT, "--discard", "much"], ["rollout", CAT, "--style", "oil"], ["patches", CAT, "--gutter", -1],
    ["patches", CAT, "--gutter", "nan"], ["patches", CAT, "--gutter", "inf"], ["patches", CAT, "--gutter", 1e9],
    ["filters", "--components", 0], ["filters", "--components", 193], ["filters", "--components", "all"],
    ["distance", CAT, "--cls", "zero"], ["rollout"], ["patches"], [], ["dance"], ["models", "--colour"], ["quiz", CAT, CAT],
    ["positions", "--model", "no_such_model"], ["filters", "--model", "a\nb"], ["positions", "--model", "nowhere.safetensors"],
    ["positions", "--model", "vit_tiny_patch16_224.no_such_tag"], ["rollout", "nul\x00l.jpg"], ["rollout", "x" * 5000],
    ["compare", "no-such-model", "other", "none.jpg"],
]  # fmt: skip


@pytest.mark.parametrize("argv", WRONG, ids=lambda argv: ascii(" ".join(str(a) for a in argv[:4]))[:60])
def test_wrong_commands(argv, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    complaint(capsys, *argv)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "out").write_text("a file")
    complaint(capsys, "positions", "--out", tmp_path / "out")


def test_a_folder_with_damaged_photos_only(tmp_path, capsys):
    (tmp_path / "a.jpg").write_bytes(b"")
    assert "a.jpg is empty" in complaint(capsys, "distance", "--images", tmp_path)


def test_models_without_what_a_verb_shows(make_vit, capsys, monkeypatch):
    vit = make_vit(pos_embed="none")
    monkeypatch.setattr(load_model, "load", lambda *_, **__: vit)
    assert "no learned absolute position" in complaint(capsys, "positions")


def test_models_that_attend_otherwise(capsys, monkeypatch):
    """What is not defined is said in a sentence; filters are there."""
    import timm

    odd = vitcore.wrap(timm.create_model("test_resnet", pretrained=False), name="test_resnet")
    monkeypatch.setattr(load_model, "load", lambda *_, **__: odd)
    for verb in ("distance", "rollout", "patches", "report"):
        assert "test_resnet" in complaint(capsys, verb, CAT)
    assert run("filters", "--json") == 0 and '"variance"' in capsys.readouterr().out


def test_what_a_model_is_made_of(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("the network was used"))
    assert run("models", "R26+S/32", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["name"], found["blocks"], found["tokens"], found["params"]) == ("R26+S/32", 12, 50, 36_431_912)
    assert run("models", "test_vit", "--px", "160", "--out", str(tmp_path)) == 0
    assert capsys.readouterr().out.startswith("test_vit: 6 blocks, width 64")
    drawn = (tmp_path / "architecture.svg").read_text(encoding="utf-8")
    assert all(word in drawn for word in ("patch_embed", "blocks.0", "norm1", "attn", "head"))
    assert "not a model of the paper" in complaint(capsys, "models", "nonsense")


def test_stopping_with_control_c(capsys, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(load_model, "load", stopped)
    assert run("positions") == 130 and capsys.readouterr().err == "vitcore: stopped.\n"


# As a person types it


def test_from_a_shell_with_a_broken_photo(tmp_path):
    (tmp_path / "broken.tif").write_bytes(picture_files.bad()["broken.tif"])
    done = shell("-m", "vitcore", "rollout", "broken.tif", cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("vitcore: broken.tif is damaged") and done.stderr.count("\n") == 1


def test_verbs_are_listed_without_numpy_and_the_menu_without_torch():
    script = (
        "import sys; from vitcore import __main__ as entry; entry.command_parser(); heavy = 'numpy' in sys.modules;"
        "sys.exit(heavy or entry.main(['models', '--json']) or 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and len(json.loads(done.stdout)["models"]) == len(MODEL_CARDS), done.stderr


def test_relevance_asks_for_a_class_by_its_name(capsys):
    by_name, by_index = (
        answer(capsys, "relevance", CAT, flag, given) for flag, given in (("--target", "tabby"), ("--class", "281"))
    )
    assert by_name == by_index and by_name["class_index"] == 281 and np.array(by_name["relevance"]).shape == (16, 16)
    assert "nearest are" in complaint(capsys, "relevance", CAT, "--class", "taby")
    assert "layers are from 0 to 11" in complaint(capsys, "attention", CAT, "--layer", 12)


def test_every_head_is_tried_and_the_strongest_named(capsys, shipped):
    for flags, way, target in (([], "zero", None), (["--by", "uniform", "--target", "281"], "uniform", 281)):
        told = answer(capsys, "ablate", CAT, *flags)
        drops = -vitcore.head_ablation(shipped, CAT, target, way)
        assert np.allclose(told["drop_of_logit"], drops, atol=1e-5) and target in (None, told["class_index"])
        strongest = told["strongest"]
        assert drops[strongest["layer"], strongest["head"]] == drops.max()
    assert "nearest are" in complaint(capsys, "ablate", CAT, "--target", "taby")


def test_a_photo_may_come_by_standard_input(capsys, monkeypatch):
    named = answer(capsys, "rollout", CAT)
    for verb, key in (("rollout", "top5"), ("distance", "distance_px")):
        with CAT.open("rb") as file:
            monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": file}))
            given = answer(capsys, verb, "-")
        assert given[key] == (named[key] if verb == "rollout" else answer(capsys, verb, CAT)[key])


def test_the_version_is_told(capsys):
    assert run("--version") == 0 and capsys.readouterr().out == f"vitcore {vitcore.__version__}\n"

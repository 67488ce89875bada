"""The training verbs of the shell: flags are the recipe's fields, and train → evaluate → few-shot → export is one walk."""

import json

import numpy as np
import pytest
import timm
import torch

import vitcore
from tests.model_files import model_file
from vitcore.__main__ import main
from vitcore.cli.training import train
from vitcore.train import run_folder
from vitcore.train.recipe import recipe_fields

QUICK = ["--image-px", "16", "--patch-px", "4", "--width", "24", "--blocks", "1", "--steps", "4", "--batch", "8",
         "--warmup-steps", "1", "--snapshots", "2", "--evaluate-every-steps", "2", "--save-every-steps", "4"]  # fmt: skip


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_folder, "RUNS_FOLDER", tmp_path / "runs")
    return tmp_path


def said(capsys):
    return json.loads(capsys.readouterr().out)


def test_help_names_every_field_and_preset(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    text = capsys.readouterr().out
    for field in recipe_fields():
        assert f"--{field.name.replace('_', '-')}" in text
    for name in ("paper_pretraining", "paper_finetuning", "masked_patches", "cifar10_tiny", "image_folder_tiny", "distillation"):
        assert f"{name}:" in text and "Command:" in text


def test_flags_become_the_recipe():
    import argparse

    parser = argparse.ArgumentParser()
    train.add_training_verbs(parser.add_subparsers())
    args = parser.parse_args(["train", "image_folder_tiny", "--lr-peak", "0.5", "--no-flip", "--task", "masked"])
    recipe = train._recipe(args)
    assert (recipe.lr_peak, recipe.flip, recipe.task, recipe.blocks) == (0.5, False, "masked", 4)


@pytest.mark.parametrize("kind", ["a file", "timm's folder"])
def test_a_trained_model_sets_the_shape(home, digits, capsys, kind):
    torch.manual_seed(2)
    shape = {"img_size": 32, "patch_size": 8, "embed_dim": 48, "depth": 3, "num_heads": 4, "mlp_ratio": 3}
    if kind == "a file":
        file = home / "trained.safetensors"
        module = model_file(file, **shape, num_classes=7)
    else:
        module = timm.create_model("vit_tiny_patch16_224", **shape, num_classes=7)
        timm.models.save_for_hf(module, file := home / "trained", safe_serialization=True)
    start = ["train", "image_folder_tiny", "--data", str(digits), "--start-from", str(file), "--image-px", "16", "--steps", "1",
             "--batch", "4", "--id", "tuned"]  # fmt: skip
    assert main([*start, "--width", "192"]) == 2 and "--width is 192, but 48 in" in capsys.readouterr().err
    assert main([*start, "--lr-peak", "1e-9", "--warmup-steps", "0"]) == 0  # the refused run has not taken the name
    recipe = run_folder.read_recipe(run_folder.find_run("tuned"))
    assert (recipe.patch_px, recipe.width, recipe.blocks, recipe.heads, recipe.mlp_ratio) == (8, 48, 3, 4, 3)
    tuned = vitcore.load("runs/tuned").module.blocks[2].mlp.fc1.weight
    torch.testing.assert_close(tuned, module.blocks[2].mlp.fc1.weight, rtol=0, atol=1e-6)


def test_from_training_to_timm(home, digits, capsys):
    assert main(["train", "image_folder_tiny", "--data", str(digits), "--id", "mine", *QUICK, "--few-shot-every-steps", "4",
                 "--few-shots", "2", "--log-with", "tensorboard" if has_tensorboard() else ""]) == 0  # fmt: skip
    last = run_folder.read_log(run_folder.find_run("mine"))[-1]
    assert last["step"] == 4 and 0 <= last["few_shot"] <= 100 and 0 <= last["top1"] <= 100
    capsys.readouterr()
    assert main(["runs", "--json"]) == 0
    assert [(r["id"], r["state"]) for r in said(capsys)["runs"]] == [("mine", "finished")]
    assert main(["evaluate", "--model", "runs/mine", "--data", str(digits), "--json"]) == 0
    found = said(capsys)
    assert found["photos"] == 80 and found["top1"] <= found["top5"]
    assert main(["few-shot", "--model", "runs/mine", "--data", str(digits), "--shots", "1", "5", "--json"]) == 0
    found = said(capsys)
    assert found["5-shot"] > 15  # even random features tell digits apart better than chance
    assert main(["export", "runs/mine", "--out", "hub"]) == 0
    module = timm.create_model(f"local-dir:{home / 'hub'}", pretrained=True).eval()
    pixels = torch.from_numpy(np.random.default_rng(0).normal(size=(1, 3, 16, 16)).astype(np.float32))
    with torch.inference_mode():
        torch.testing.assert_close(module(pixels), vitcore.load("runs/mine").module(pixels))


def has_tensorboard():
    from accelerate.utils import is_tensorboard_available

    return is_tensorboard_available()


@pytest.mark.parametrize(("args", "words"), [
    (["train"], "name a preset"), (["train", "image_folder_tiny"], "--data is missing"),
    (["train", "image_folder_tiny", "--data", "nowhere"], "nowhere"),
    (["train", "image_folder_tiny", "--data", "samples", "--id", "a/b"], "can't be a run's name"),
    (["train", "image_folder_tiny", "--data", "samples", "--heads", "5"], "evenly among 5 heads"),
    (["train", "--resume", "nobody"], "no run 'nobody'"), (["evaluate", "--data", "nowhere"], "nowhere"),
    (["export", "nobody", "--out", "x"], "nobody"),
])  # fmt: skip
def test_what_can_not_be_done_is_one_sentence(home, capsys, args, words):
    assert main(args) == 2
    err = [line for line in capsys.readouterr().err.splitlines() if line.startswith("vitcore: ")]
    assert len(err) == 1 and words in err[0]


def test_an_empty_and_a_one_class_folder_are_refused(home, capsys):
    (home / "empty").mkdir()
    assert main(["train", "image_folder_tiny", "--data", "empty"]) == 2
    from vitcore.assets import SAMPLES

    (home / "one" / "cats").mkdir(parents=True)
    for i in range(3):
        (home / "one" / "cats" / f"{i}.jpg").write_bytes((SAMPLES / "cat.jpg").read_bytes())
    assert main(["train", "image_folder_tiny", "--data", "one", "--id", "one"]) == 2
    assert "cats" in capsys.readouterr().err

"""What is exported, plain timm opens: the same logits, the same preprocessing, the same names of classes."""

import json

import pytest
import timm
import torch
from timm.data import resolve_model_data_config

from tests.model_files import model_file, run_folder
from vitcore.models import load_model
from vitcore.models.load_model import load
from vitcore.models.model_cards import DEFAULT_MODEL, ModelError
from vitcore.train.export import export

NAMES = [f"kind {i}" for i in range(10)]


def reopened(folder):
    return timm.create_model(f"local-dir:{folder}", pretrained=True).eval()


@torch.inference_mode()
def apart(vit, module):
    x = torch.randn(2, 3, *vit.grid.image_px, generator=torch.Generator().manual_seed(0))
    return float((vit.module(x) - module(x)).abs().max())


def same_input(vit, module):
    made = timm.data.create_transform(**resolve_model_data_config(module))
    return str(made) == str(vit.transform)


def test_the_shipped_model(tmp_path, shipped):
    assert export(DEFAULT_MODEL, tmp_path / "new" / "hub") == tmp_path / "new" / "hub"
    assert sorted(f.name for f in (tmp_path / "new/hub").iterdir()) == ["config.json", "model.safetensors"]
    module = reopened(tmp_path / "new/hub")
    assert apart(shipped, module) < 1e-6 and same_input(shipped, module)
    said = json.loads((tmp_path / "new/hub/config.json").read_text())
    assert said["architecture"] == "vit_tiny_patch16_224" and said["num_classes"] == 1000
    assert said["model_args"]["patch_size"] == 8 and said["model_args"]["img_size"] == [128, 128]
    assert tuple(said["label_names"]) == load_model.wordnet_ids(shipped)
    assert said["label_descriptions"]["n01440764"] == "tench"
    assert said["pretrained_cfg"]["license"] == "Apache-2.0"
    assert "augreg" not in json.dumps(said), "timm's own weights are not these"


KINDS = [
    {}, {"reg_tokens": 2, "class_token": True}, {"global_pool": "avg", "class_token": False}, {"num_classes": 0},
    {"img_size": (32, 48)}, {"embed_dim": 384, "num_heads": 6}, {"qkv_bias": False, "init_values": 0.1},
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_runs_of_every_kind(tmp_path, kind):
    run_folder(tmp_path / "run", **kind)
    export(tmp_path / "run", tmp_path / "hub")
    vit, module = load(tmp_path / "run"), reopened(tmp_path / "hub")
    assert apart(vit, module) < 1e-6 and same_input(vit, module)


def test_a_runs_names_of_classes_go_along(tmp_path):
    run_folder(tmp_path / "run", labels=NAMES)
    module = reopened(export(tmp_path / "run", tmp_path / "hub"))
    assert module.pretrained_cfg["label_names"] == NAMES


def test_a_file_with_its_card(tmp_path):
    model_file(tmp_path / "mine.safetensors", labels=NAMES)
    export(tmp_path / "mine.safetensors", tmp_path / "hub")
    assert apart(load(tmp_path / "mine.safetensors"), reopened(tmp_path / "hub")) < 1e-6


def test_the_pre_training_head_is_refused(tmp_path):
    run_folder(tmp_path / "run", mlp_head=True)
    with pytest.raises(ModelError, match="fine-tune it first"):
        export(tmp_path / "run", tmp_path / "hub")
    assert not (tmp_path / "hub").exists()


def test_what_cannot_be_written_or_read_is_said(tmp_path):
    run_folder(tmp_path / "run")
    (tmp_path / "hub").write_text("a file")
    with pytest.raises(ModelError, match="can't be written"):
        export(tmp_path / "run", tmp_path / "hub")
    with pytest.raises(ModelError):
        export("no_such_model", tmp_path / "other")

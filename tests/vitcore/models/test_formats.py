"""What is special about some libraries' checkpoints; that they answer as their own library does, `test_table_of_files.py` tests."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tests.checkpoints import smooth, transformers_model
from tests.conftest import lively, timm_vit
from vitcore.models import load_model, local_files

CLASSIC = {"embed_dim": 128, "num_heads": 2, "depth": 2}


def photos(high: int, wide: int) -> torch.Tensor:
    return torch.randn(2, 3, high, wide, generator=torch.Generator().manual_seed(1))


@torch.inference_mode()
def same(path: Path, x: torch.Tensor, theirs: torch.Tensor, **answers) -> load_model.Vit:
    """Load, and compare the answers; gives what was loaded."""
    vit = load_model.load(path, answers=answers)
    assert theirs.std() > 1e-3, "every answer is the same: nothing is compared"
    assert torch.allclose(vit.module(x), theirs, rtol=0, atol=1e-5), (vit.module(x) - theirs).abs().max()
    return vit


def placed(module: torch.nn.Module) -> torch.nn.Module:
    smooth(module.pos_embed, *module.patch_embed.grid_size)
    return module


# timm's names


@torch.inference_mode()
def test_the_other_models_of_a_checkpoint(tmp_path):
    module = timm_vit(**CLASSIC)
    state = module.state_dict()
    torch.save({"model_ema": {k: v + 1 for k, v in state.items()}, "model": state}, tmp_path / "a.pth")
    found = load_model.inspect(tmp_path / "a.pth", part="model")
    assert found.parts == ("model_ema", "model") and any("model_ema" in note for note in found.notes)
    assert torch.equal(load_model.open_inspected_checkpoint(found).module(photos(32, 32)), module(photos(32, 32)))


def test_what_came_before_timms_names(tmp_path):
    """torch.save's older pickle, DeiT-III's layer scale, DINOv2's blocks in chunks, a patch embedding as a layer."""
    module = timm_vit(**CLASSIC, init_values=1.0, no_embed_class=True)
    rules = {".ls1.gamma": ".gamma_1", ".ls2.gamma": ".gamma_2", "blocks.0.": "blocks.0.0.", "blocks.1.": "blocks.0.1."}
    state = module.state_dict()
    for ours, theirs in rules.items():
        state = {name.replace(ours, theirs): w for name, w in state.items()}
    state["patch_embed.proj.weight"] = state["patch_embed.proj.weight"].flatten(1)
    torch.save(state, tmp_path / "a.pth", _use_new_zipfile_serialization=False)
    x = photos(32, 32)
    with torch.inference_mode():
        same(tmp_path / "a.pth", x, module(x))


@torch.inference_mode()
def test_dinov2s_own_names(tmp_path):
    """Registers, a mask token, and SwiGLU by its names there."""
    module = lively(local_files.build_module({"num_classes": 0, "patch_size": 14, "reg_tokens": 4, "no_embed_class": True,
                                       "init_values": 1, "mlp": "swiglu packed", "mlp_ratio": 5.34375, **CLASSIC}, 56))  # fmt: skip
    state = module.state_dict()
    state["register_tokens"] = state.pop("reg_token")
    cls = torch.full((1, 1, 128), 0.5)
    state["pos_embed"], state["cls_token"] = torch.cat([cls, state["pos_embed"]], 1), state["cls_token"] - cls
    state["mask_token"] = torch.zeros(1, 128)
    torch.save({k.replace("mlp.fc1", "mlp.w12").replace("mlp.fc2", "mlp.w3"): v for k, v in state.items()}, tmp_path / "a.pth")
    x = photos(56, 56)
    vit = same(tmp_path / "a.pth", x, module(x))
    assert vit.grid.prefix == 5 and vit.mean[0] == 0.485


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")


def test_labels_and_colours_of_a_directory(tmp_path):
    module = transformers_model("ViTForImageClassification", labels=3)
    module.config.id2label = {0: "cat", 1: "dog", 2: "owl"}
    module.save_pretrained(tmp_path, max_shard_size="400KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    processor = {"image_mean": [0.1, 0.2, 0.3], "image_std": [0.4, 0.5, 0.6], "resample": 2, "size": {"height": 32, "width": 32}}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(processor))
    found = load_model.inspect(tmp_path)
    assert found.questions == () and found.problems == ()
    vit = load_model.open_inspected_checkpoint(found)
    assert vit.labels == ("cat", "dog", "owl") and (vit.mean, vit.std) == ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    x = photos(32, 32)
    with torch.inference_mode():
        assert torch.allclose(vit.module(x), module(x).logits, rtol=0, atol=1e-5)
    next(iter(tmp_path.glob("*.safetensors"))).unlink()
    with pytest.raises(load_model.ModelError, match="missing"):
        load_model.load(tmp_path)


@pytest.mark.parametrize("kind", [{}, {"distilled": True}, {"no_embed_class": True, "init_values": 1e-5}], ids=str)
def test_positions_are_resampled_to_another_size(kind, tmp_path):
    """A grid that is not square, to another that is not: by timm, as its `set_input_size` does."""
    module = placed(lively(local_files.build_module({"num_classes": 7, "patch_size": 8, **CLASSIC, **kind}, (32, 48))))
    save_file(module.state_dict(), tmp_path / "a.safetensors")
    vit = load_model.load(tmp_path / "a.safetensors", image_px=(64, 40))
    assert (vit.grid.rows, vit.grid.cols) == (8, 5)
    native = load_model.load(tmp_path / "a.safetensors")
    assert np.allclose(load_model.position_embeddings(vit), load_model.resample_positions(native, 8, 5, "timm"), atol=1e-6)
    papers = load_model.load(tmp_path / "a.safetensors", image_px=(64, 40), positions_by="paper")
    assert np.allclose(load_model.position_embeddings(papers), load_model.resample_positions(native, 8, 5, "paper"), atol=1e-6)
    assert papers.module.pos_embed.shape == vit.module.pos_embed.shape
    with torch.inference_mode():
        assert vit.module(photos(64, 40)).isfinite().all()

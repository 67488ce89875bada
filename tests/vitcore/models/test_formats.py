"""Other libraries' checkpoints: opened here they answer what their own library's forward pass answers."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tests.checkpoints import smooth, to_google, transformers_model
from tests.conftest import lively, timm_vit
from vitcore.models import load_model, local_files

CLASSIC = {"embed_dim": 128, "num_heads": 2, "depth": 2}
SIZES = [(8, (32, 32)), (14, (28, 42)), (16, (64, 32)), (32, (64, 128))]  # patch and input, px


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


KINDS = {
    "class token": {},
    "registers": {"reg_tokens": 4, "no_embed_class": True},
    "positions of patches only": {"no_embed_class": True, "init_values": 1e-5},
    "mean of patches": {"class_token": False, "global_pool": "avg"},
    "mean, normed before": {"class_token": False, "global_pool": "avg", "fc_norm": False},
    "mean beside a class token": {"global_pool": "avg"},
    "attention pool": {"class_token": False, "global_pool": "map", "num_classes": 0},
    "norm before and QK norm": {"pre_norm": True, "qk_norm": True, "norm_eps": 1e-5},
    "no biases": {"qkv_bias": False, "proj_bias": False, "norm": "rms"},
    "SwiGLU": {"mlp": "swiglu packed", "mlp_ratio": 5.34375},
    "SwiGLU of three matrices": {"mlp": "swiglu", "mlp_ratio": 2.671875},
    "DeiT distilled": {"distilled": True},
    "tanh head": {"mlp_head": True},
    "no head": {"num_classes": 0},
    "DINOv2's classifier": {"reads_class_and_mean": True, "init_values": 1.0},
}


@pytest.mark.parametrize("kind", KINDS)
@torch.inference_mode()
def test_timms_names_without_a_card(kind, tmp_path):
    shape = {"num_classes": 7, "patch_size": 8, **CLASSIC, **KINDS[kind]}
    module = placed(lively(local_files.build_module(shape, (32, 48))))
    save_file(module.state_dict(), tmp_path / "a.safetensors")
    x = photos(32, 48)
    told = {"head_activation": "tanh"} if kind == "tanh head" else {}
    vit = same(tmp_path / "a.safetensors", x, module(x), **told)
    assert (vit.grid.rows, vit.grid.cols, vit.heads, vit.grid.prefix) == (4, 6, 2, module.num_prefix_tokens)


@pytest.mark.parametrize("patch, size", SIZES, ids=str)
@pytest.mark.parametrize("width", [192, 384, 768])
@torch.inference_mode()
def test_widths_and_patches_of_the_paper(width, patch, size, tmp_path):
    module = placed(timm_vit(embed_dim=width, num_heads=width // 64, depth=1, patch_size=patch, img_size=size))
    torch.save(module.state_dict(), tmp_path / "a.pth")
    x = photos(*size)
    vit = same(tmp_path / "a.pth", x, module(x))
    assert vit.grid.image_px == size and vit.heads == width // 64


NESTED = {
    "flat": lambda s: s,
    "model": lambda s: {"model": s, "optimizer": {"state": {0: {"exp_avg": torch.zeros(2)}}}, "epoch": 3},
    "state_dict": lambda s: {"state_dict": {f"module.{k}": v for k, v in s.items()}, "args": None},
    "compiled and parallel": lambda s: {f"module._orig_mod.{k}": v for k, v in s.items()},
    "lightning": lambda s: {"state_dict": {f"model.{k}": v for k, v in s.items()} | {"loss.weight": torch.ones(3)}},
    "average": lambda s: {"model": {k: v + 1 for k, v in s.items()}, "model_ema": s},
    "timm's average": lambda s: {"state_dict": {k: v + 1 for k, v in s.items()}, "state_dict_ema": s},
    "DINO": lambda s: {
        "student": {f"module.backbone.{k}": v + 1 for k, v in s.items()} | {"module.head.mlp.0.weight": torch.ones(2, 2)},
        "teacher": {f"backbone.{k}": v for k, v in s.items()} | {"head.last_layer.weight_g": torch.ones(2, 1)},
    },
    "teacher in one": lambda s: {f"student.backbone.{k}": v + 1 for k, v in s.items()}
    | {f"teacher.backbone.{k}": v for k, v in s.items()},
    "MAE": lambda s: {"model": s | {"mask_token": torch.zeros(1, 1, 8), "decoder_pos_embed": torch.zeros(1, 17, 8)}},
}  # fmt: skip


@pytest.mark.parametrize("kind", NESTED)
@torch.inference_mode()
def test_training_checkpoints(kind, tmp_path):
    module = timm_vit(**CLASSIC, num_classes=0)
    torch.save(NESTED[kind](module.state_dict()), tmp_path / "a.pth")
    x = photos(32, 32)
    same(tmp_path / "a.pth", x, module(x))


@torch.inference_mode()
def test_the_other_models_of_a_checkpoint(tmp_path):
    module = timm_vit(**CLASSIC)
    state = module.state_dict()
    torch.save({"model_ema": {k: v + 1 for k, v in state.items()}, "model": state}, tmp_path / "a.pth")
    found = load_model.inspect(tmp_path / "a.pth", part="model")
    assert found.parts == ("model_ema", "model") and any("model_ema" in note for note in found.notes)
    assert torch.equal(load_model.open_inspected(found).module(photos(32, 32)), module(photos(32, 32)))


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


# Google


GOOGLE = {"plain": {}, "pooled": {"class_token": False, "global_pool": "avg", "fc_norm": False}, "tanh head": {"mlp_head": True},
          "features": {"num_classes": 0}}  # fmt: skip


@pytest.mark.parametrize("scan", [False, True])
@pytest.mark.parametrize("kind", GOOGLE)
@torch.inference_mode()
def test_googles_archives(kind, scan, tmp_path):
    module = placed(lively(local_files.build_module({"num_classes": 7, "patch_size": 16, **CLASSIC, **GOOGLE[kind]}, (32, 64))))
    to_google(module, tmp_path / "a.npz", scan)
    x = photos(32, 64)
    vit = same(tmp_path / "a.npz", x, module(x))
    assert vit.heads == 2 and vit.mean == (0.5,) * 3 and (vit.grid.rows, vit.grid.cols) == (2, 4)


@pytest.mark.parametrize("layers", [[], [1, 1, 1]], ids=["R+Ti", "R50+B"])
@torch.inference_mode()
def test_hybrids(layers, tmp_path):
    shape = {"num_classes": 7, "patch_size": 1 if layers else 8, "backbone": layers, **CLASSIC}
    module = lively(local_files.build_module(shape, 64))
    x = photos(64, 64)
    to_google(module, tmp_path / "a.npz")
    save_file(module.state_dict(), tmp_path / "b.safetensors")
    for name in ("a.npz", "b.safetensors"):
        vit = same(tmp_path / name, x, module(x))
        assert vit.hybrid and vit.grid.patch_px == (16 if layers else 32)


# transformers


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")


OF_TRANSFORMERS = [
    ("ViTForImageClassification", {}), ("ViTForImageClassification", {"image_size": (48, 32), "patch_size": 16, "qkv_bias": False}),
    ("ViTForImageClassification", {"hidden_act": "gelu_new", "num_attention_heads": 4}),
    ("DeiTForImageClassificationWithTeacher", {}), ("DeiTForImageClassification", {}),
    ("Dinov2ForImageClassification", {"patch_size": 14, "image_size": 42}),
    ("Dinov2ForImageClassification", {"use_swiglu_ffn": True}),
    ("Dinov2WithRegistersForImageClassification", {"patch_size": 14, "image_size": 42}), ("SiglipForImageClassification", {}),
]  # fmt: skip


@pytest.mark.parametrize("kind, changes", OF_TRANSFORMERS, ids=str)
@torch.inference_mode()
def test_classifiers_of_transformers(kind, changes, tmp_path):
    module = transformers_model(kind, **changes)
    module.save_pretrained(tmp_path / "m")
    size = changes.get("image_size", 32)
    x = photos(*(size if isinstance(size, tuple) else (size, size)))
    theirs = module(x).logits
    same(tmp_path / "m", x, theirs)
    known = json.loads((tmp_path / "m" / "config.json").read_text())
    (tmp_path / "m" / "config.json").unlink()  # without it, the same with the answers that it gave
    known = known.get("vision_config", known)
    answers = {"heads": known["num_attention_heads"], "eps": known.get("layer_norm_eps", 1e-6)}
    answers |= {"activation": "gelu_tanh"} if known["hidden_act"] == "gelu_new" else {}
    same(tmp_path / "m", x, theirs, **answers)


TOWERS = {"ViTModel": {}, "Dinov2Model": {}, "SiglipVisionModel": {}, "CLIPVisionModel": {}, "CLIPVisionModelWithProjection": {}}


@pytest.mark.parametrize("kind", TOWERS)
@torch.inference_mode()
def test_models_of_transformers_without_classes(kind, tmp_path):
    module = transformers_model(kind)
    module.save_pretrained(tmp_path / "m")
    x = photos(32, 32)
    said = module(x)
    answer = {"ViTModel": "last_hidden_state", "CLIPVisionModelWithProjection": "image_embeds"}.get(kind, "pooler_output")
    theirs = said[answer][:, 0] if kind == "ViTModel" else said[answer]
    same(tmp_path / "m", x, theirs)


def test_labels_and_colours_of_a_directory(tmp_path):
    module = transformers_model("ViTForImageClassification", labels=3)
    module.config.id2label = {0: "cat", 1: "dog", 2: "owl"}
    module.save_pretrained(tmp_path, max_shard_size="400KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    processor = {"image_mean": [0.1, 0.2, 0.3], "image_std": [0.4, 0.5, 0.6], "resample": 2, "size": {"height": 32, "width": 32}}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(processor))
    found = load_model.inspect(tmp_path)
    assert found.questions == () and found.problems == ()
    vit = load_model.open_inspected(found)
    assert vit.labels == ("cat", "dog", "owl") and (vit.mean, vit.std) == ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    x = photos(32, 32)
    with torch.inference_mode():
        assert torch.allclose(vit.module(x), module(x).logits, rtol=0, atol=1e-5)
    next(iter(tmp_path.glob("*.safetensors"))).unlink()
    with pytest.raises(load_model.ModelError, match="missing"):
        load_model.load(tmp_path)


# torchvision, OpenCLIP, timm's directories


@pytest.mark.parametrize("hidden", [None, 48])
@torch.inference_mode()
def test_torchvisions(hidden, tmp_path):
    from torchvision.models.vision_transformer import VisionTransformer

    module = lively(VisionTransformer(32, 8, 2, 2, 128, 256, num_classes=7, representation_size=hidden and 128))
    torch.nn.init.normal_(module.heads.head.weight)
    torch.save(module.state_dict(), tmp_path / "a.pth")
    x = photos(32, 32)
    same(tmp_path / "a.pth", x, module(x))


@pytest.mark.parametrize("changes", [{}, {"ls_init_value": 0.5}, {"no_ln_pre": True}], ids=str)
@pytest.mark.parametrize("prefix", ["", "visual."])
@torch.inference_mode()
def test_openclips_tower(changes, prefix, tmp_path):
    transformer = pytest.importorskip("open_clip.transformer")
    module = lively(transformer.VisionTransformer((32, 64), 8, 128, 2, 2, 4.0, output_dim=24, **changes))
    smooth(module.positional_embedding, 4, 8)
    text = {"transformer.resblocks.0.ln_1.weight": torch.ones(4), "logit_scale": torch.ones(())} if prefix else {}
    save_file({prefix + k: v for k, v in module.state_dict().items()} | text, tmp_path / "a.safetensors")
    x = photos(32, 64)
    same(tmp_path / "a.safetensors", x, module(x), **({"eps": 1e-5} if "no_ln_pre" in changes else {}))


@torch.inference_mode()
def test_a_timm_model_inside_openclip(tmp_path):
    module = timm_vit(**CLASSIC, class_token=False, global_pool="map", num_classes=0)
    state = {f"visual.trunk.{k}": v for k, v in module.state_dict().items()}
    save_file(state | {"text.x": torch.ones(2)}, tmp_path / "a.safetensors")
    x = photos(32, 32)
    same(tmp_path / "a.safetensors", x, module(x))


@torch.inference_mode()
def test_timms_own_directories(tmp_path):
    """Of any architecture whose every block attends over one grid: here one with rotary positions."""
    import timm
    from timm.models import save_for_hf

    for name, size in (("test_vit", 160), ("eva02_tiny_patch14_224", 224)):
        made = {"depth": 1} if name.startswith("eva") else {}
        module = lively(timm.create_model(name, num_classes=5, **made))
        save_for_hf(module, str(tmp_path / name), model_args=made, safe_serialization=True)
        x = photos(size, size)
        assert same(tmp_path / name, x, module(x)).card.title == name


# Other input sizes


@pytest.mark.parametrize("kind", ["class token", "DeiT distilled", "positions of patches only"])
def test_positions_are_resampled_to_another_size(kind, tmp_path):
    """A grid that is not square, to another that is not: by timm, as its `set_input_size` does."""
    module = placed(lively(local_files.build_module({"num_classes": 7, "patch_size": 8, **CLASSIC, **KINDS[kind]}, (32, 48))))
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

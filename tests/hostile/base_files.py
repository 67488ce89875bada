"""Small valid checkpoints, one a layout that people have: what hostile files are made of."""

import argparse
import json
import warnings
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from tests.checkpoints import to_google, transformers_model
from tests.conftest import timm_vit

SHAPE = {"embed_dim": 32, "num_heads": 2, "depth": 2, "patch_size": 8, "img_size": 32, "num_classes": 3}
SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2}
TRANSFORMERS = {
    "ViTForImageClassification": SIZE, "SiglipVisionModel": SIZE, "CLIPVisionModel": SIZE, "DINOv3ViTModel": SIZE,
    "Dinov2WithRegistersForImageClassification": {k: v for k, v in SIZE.items() if k != "intermediate_size"},
}  # fmt: skip
PROCESSOR = {"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32}, "image_mean": [0.5] * 3,
             "image_std": [0.5] * 3, "do_resize": True, "resample": 2}  # fmt: skip


def base_files(home: Path) -> list[Path]:
    """The checkpoints: files, and folders with their configuration."""
    home.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    module = timm_vit(**SHAPE)
    state = module.state_dict()
    save_file(state, home / "timm.safetensors", {"format": "pt"})
    torch.save({"model": state, "epoch": 3, "args": argparse.Namespace(lr=0.1)}, home / "nested.pth")
    torch.save({"state_dict": {f"module.{n}": w for n, w in state.items()}}, home / "old.pth", _use_new_zipfile_serialization=False)
    lightning = {"pytorch-lightning_version": "2.0", "hyper_parameters": {"lr": 0.1}, "optimizer_states": [{"state": {}}],
                 "state_dict": {f"model.{n}": w for n, w in state.items()}}  # fmt: skip
    torch.save(lightning, home / "lightning.ckpt")
    with warnings.catch_warnings(action="ignore"):
        torch.jit.trace(module, torch.zeros(1, 3, 32, 32), check_trace=False).save(str(home / "program.pt"))
    to_google(module, home / "google.npz")
    registers = timm_vit(**SHAPE, reg_tokens=2, init_values=1.0, qk_norm=True, no_embed_class=True, global_pool="avg", fc_norm=True)
    save_file(registers.state_dict(), home / "registers.safetensors")
    save_file(timm_vit(**SHAPE, class_token=False, global_pool="map").state_dict(), home / "map.safetensors")
    _torchvision(home / "torchvision.pth")
    for kind, changes in TRANSFORMERS.items():
        transformers_model(kind, 3, **changes).save_pretrained(home / kind)
        (home / kind / "preprocessor_config.json").write_text(json.dumps(PROCESSOR))
    _timm_folder(home / "timm_folder")
    _run_folder(home / "run", state)
    _shards(home / "shards", home / "ViTForImageClassification")
    _adapter(home / "adapter", home / "ViTForImageClassification")
    return sorted(home.iterdir())


def _torchvision(file: Path) -> None:
    import timm  # noqa: F401
    from torchvision.models.vision_transformer import VisionTransformer

    torch.save(VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=3).state_dict(), file)


def _timm_folder(folder: Path) -> None:
    import timm
    from timm.models import save_for_hf

    args = {"depth": 1, "img_size": 32, "embed_dim": 48}
    module = timm.create_model("vit_tiny_patch16_224", num_classes=3, **args)
    save_for_hf(module, str(folder), model_args=args, safe_serialization=True)


def _run_folder(folder: Path, state: dict[str, torch.Tensor]) -> None:
    folder.mkdir(exist_ok=True)
    save_file(state, folder / "model.safetensors")
    card = {"card": {"title": "a", "params_m": 1, "download_mb": 0, "licence": "", "note": ""}, "architecture": dict(SHAPE),
            "input": {"mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "crop_pct": 1.0}}  # fmt: skip
    (folder / "model.json").write_text(json.dumps(card))


def _shards(folder: Path, whole: Path) -> None:
    folder.mkdir(exist_ok=True)
    state = load_file(whole / "model.safetensors")
    where = {name: f"model-0000{i % 2 + 1}-of-00002.safetensors" for i, name in enumerate(state)}
    for shard in sorted(set(where.values())):
        save_file({name: w for name, w in state.items() if where[name] == shard}, folder / shard)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": where}))
    (folder / "config.json").write_text((whole / "config.json").read_text())


def _adapter(folder: Path, base: Path) -> None:
    """As PEFT saves one, with its base in the folder."""
    folder.mkdir(exist_ok=True)
    (folder / "base").mkdir(exist_ok=True)
    for file in base.iterdir():
        (folder / "base" / file.name).write_bytes(file.read_bytes())
    said = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["query"], "base_model_name_or_path": "base", "bias":
            "none", "use_rslora": False, "alpha_pattern": {"query": 3}, "init_lora_weights": True}  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(said))
    names = [
        n.removesuffix(".weight") for n in load_file(base / "model.safetensors") if n.endswith(("query.weight", "q_proj.weight"))
    ]
    matrices = {f"base_model.model.{n}.lora_{side}.weight": torch.randn(shape) for n in names for side, shape in
                (("A", (2, 32)), ("B", (32, 2)))}  # fmt: skip
    assert matrices
    save_file(matrices, folder / "adapter_model.safetensors")

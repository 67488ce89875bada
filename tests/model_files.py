"""Model files for tests: weights with their JSON card, beside each other or in a run's folder."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from tests.conftest import TINY, lively, timm_vit
from vitcore.models import local_files

CARD = {"title": "Mine", "params_m": 0.03, "download_mb": 0, "licence": "Apache-2.0", "good_for": "tests"}
INPUT = {"mean": [0.5] * 3, "std": [0.25] * 3, "interpolation": "bilinear", "crop_pct": 1.0, "crop_mode": "center"}


def model_file(file: Path, seed: int = 0, labels: list[str] | None = None, **changes) -> torch.nn.Module:
    """Write a small random ViT as `file`.safetensors with its card and give its module; `changes` override TINY."""
    shape = TINY | changes
    module = (
        lively(local_files.build_module(shape, shape["img_size"]), seed) if "mlp_head" in changes else timm_vit(seed, **changes)
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    save_file({k: v.contiguous() for k, v in module.state_dict().items()}, file)
    facts = {"card": CARD, "architecture": shape, "input": INPUT} | ({"labels": labels} if labels is not None else {})
    file.with_suffix(".json").write_text(json.dumps(facts))
    return module


def run_folder(folder: Path, **kinds) -> torch.nn.Module:
    """A run's folder as training leaves it, as far as `vitcore.load` looks."""
    module = model_file(folder / "model.safetensors", **kinds)
    (folder / "recipe.json").write_text("{}")
    return module

"""Shipping: a run's averaged weights and the facts measured on them, as a model file and its JSON card."""

import json
from pathlib import Path
from typing import Any

from vitcore.train.recipe import Distil


def ship(snapshot: Path, recipe: Distil, to: Path, card: dict[str, Any], trained: dict[str, Any]) -> None:
    """Copy a snapshot's weights to `to`.safetensors and write `to`.json: card, architecture, input, training, measures."""
    architecture = {
        "img_size": recipe.image_px, "patch_size": recipe.patch_px, "embed_dim": recipe.width, "depth": recipe.blocks,
        "num_heads": recipe.heads, "num_classes": recipe.classes,
    }  # fmt: skip
    facts = {
        "card": card, "architecture": architecture,
        "input": {"mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "crop_pct": 1.0, "crop_mode": "center"},
        "trained": trained,
    }  # fmt: skip
    to.parent.mkdir(parents=True, exist_ok=True)
    to.with_suffix(".safetensors").write_bytes(snapshot.read_bytes())
    to.with_suffix(".json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")

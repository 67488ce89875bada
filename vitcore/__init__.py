"""Inside ViT: look inside a Vision Transformer, exactly as the paper does (arXiv 2010.11929).

    vit = vitcore.load()
    rec = vitcore.record(vit, "photo.jpg")
    vitcore.figures.rollout(rec.rollout(), rec.model_input.pixels, rec.grid)

Nothing heavy is imported until it is used.
"""

import importlib
from typing import Any

from vitcore.models.torchvision_ops import declare_before_timm

declare_before_timm()

__version__ = "0.1.0"
__all__ = [
    "Activations",
    "Edits",
    "Grid",
    "ModelError",
    "PhotoError",
    "Recording",
    "Vit",
    "analysis",
    "cache",
    "edit",
    "figures",
    "film",
    "head_ablation",
    "inspect",
    "load",
    "open_photo",
    "record",
]

_HOME = {
    "Activations": "interventions.activations", "cache": "interventions.activations",
    "Edits": "interventions.edits", "edit": "interventions.edits",
    "Grid": "grid", "ModelError": "models.model_cards", "Vit": "models.load_model",
    "load": "models.load_model", "inspect": "models.load_model",
    "PhotoError": "images", "open_photo": "images",
    "film": "train.film.film_writer", "head_ablation": "interventions.head_ablation",
    "Recording": "forward.recording", "record": "forward.recording", "figures": "", "analysis": "",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'vitcore' has no attribute {name!r}")
    home = _HOME[name] or name
    module = importlib.import_module(f"vitcore.{home}")
    value = getattr(module, name) if _HOME[name] else module
    globals()[name] = value
    return value

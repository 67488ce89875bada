"""The model that is measured: by any name, its weights random, or a file of one's own, opened as its owner said."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vitcore.models import load_model
from vitcore.models.model_size import build_without_weights

ModelSource = str | Path | Mapping[str, Any]


def build_profiled_model(model: ModelSource, px: int | None = None) -> tuple[str, Any, tuple[int, int]]:
    """A model's name, its module on the CPU, and its image's height and width.

    model: a name as `build_without_weights` takes it, or of a file
    {"path", "part", "answers", "image_px", "positions_by", "called"}, all but
    the first as `inspect` and `open_inspected_checkpoint` of `load_model.py` take them, and perhaps missing.
    Raises: ModelError, for a name that is none, or a file that can't be opened so.
    """
    if not isinstance(model, Mapping):
        return build_without_weights(model, px, "cpu")
    names = {"answers": "answers", "image_px": "image_px", "called": "display_name", "positions_by": "positions_by"}
    more = {name: model[key] for key, name in names.items() if model.get(key)}
    if "image_px" in more:
        more["image_px"] = tuple(more["image_px"])
    vit = load_model.open_inspected_checkpoint(load_model.inspect(Path(model["path"]), model.get("part")), **more)
    return vit.display_name, vit.module.requires_grad_(True), vit.grid.image_px

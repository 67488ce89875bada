"""The model that is measured: by any name, its weights random, or a file of one's own, opened as its owner said."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vitcore.models import load_model
from vitcore.models.meta_models import shape_of

Asked = str | Path | Mapping[str, Any]


def built(asked: Asked, px: int | None = None) -> tuple[str, Any, tuple[int, int]]:
    """What it is called, a module on the CPU, and its image's height and width.

    asked: a name as `shape_of` takes it, or of a file {"path", "part", "answers", "image_px", "positions_by", "called"}, all but
    the first as `inspect` and `open_inspected` of `load_model.py` take them, and perhaps missing.
    Raises: ModelError, for a name that is none, or a file that can't be opened so.
    """
    if not isinstance(asked, Mapping):
        return shape_of(asked, px, "cpu")
    more = {key: asked[key] for key in ("answers", "image_px", "called", "positions_by") if asked.get(key)}
    if "image_px" in more:
        more["image_px"] = tuple(more["image_px"])
    vit = load_model.open_inspected(load_model.inspect(Path(asked["path"]), asked.get("part")), **more)
    return vit.called, vit.module.requires_grad_(True), vit.grid.image_px

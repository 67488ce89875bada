"""What a browser needs to know to run a model as Python does: how a frame is cut, and the pixels of a photo."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from PIL import Image

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording
    from vitcore.models.load_model import Vit


FILTERS = ("bicubic", "bilinear")  # of Pillow's, that the browser has


def cut_of(vit: Vit) -> dict[str, Any] | None:
    """The shorter side after resizing, by which filter, and the crop's height and width; None of other transforms.

    It has what most models have: the shorter side resized by a filter of Pillow's, then the centre cut out.
    """
    steps = {type(step).__name__: step for step in vit.transform.transforms[:2]}  # type: ignore[attr-defined]
    resize, crop = steps.get("Resize"), steps.get("CenterCrop")
    if not (resize and crop and isinstance(resize.size, int) and resize.interpolation.value in FILTERS):
        return None
    high, wide = crop.size
    return {"short": resize.size, "high": high, "wide": wide, "filter": resize.interpolation.value}


def input_png(rec: Recording) -> bytes:
    """The pixels that the model was given, without loss: a browser decodes some kinds of files otherwise than Python."""
    file = io.BytesIO()
    Image.fromarray(rec.model_input.pixels).save(file, "PNG", compress_level=1)
    return file.getvalue()

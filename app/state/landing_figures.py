"""The landing page's first picture, made beforehand for what the app starts with, so that it is there at once.

`python -m tests.shipping.landing_picture` makes `assets/first/picture.json` anew:
after the default model, the first sample photo or a drawing changed. A test compares it with what is computed now.
"""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import vitcore
from vitcore.assets import asset_path
from vitcore.figures.heat_overlay import darkened_colour_table, fine_detail
from vitcore.figures.theme_colours import HEAT, ON_PHOTO, SEQUENTIAL, Mode, colour_table, diverging_palette, file_to_data_uri
from vitcore.translation import translated_labels

PICTURE_FILE = asset_path("first/picture.json")


def precomputed_rollout_picture(model: str | None, photo: str | None) -> dict[str, Any] | None:
    """The picture made beforehand, if it is of this model and this sample photo."""
    spec: dict[str, Any] = json.loads(PICTURE_FILE.read_text(encoding="utf-8"))
    return spec if (model, photo) == (spec["model"], spec["photo"]) else None


def rollout_picture(rec: vitcore.Recording, photo: str, pooling_place: str, image: Image.Image) -> dict[str, Any]:
    """Rollout on the photo as `components.look` draws it before there is a model: addresses, colours, shares of the patches."""
    grid = rec.grid
    return {
        "model": rec.model,
        "photo": photo,
        "readout": pooling_place,
        "grid": {"rows": grid.rows, "cols": grid.cols, "prefix": grid.prefix, "step": list(grid.step_px)},
        "colours": encoded_colour_tables("light"),
        "image": _webp_data_uri(np.asarray(image), 78),
        "detail": _webp_data_uri(fine_detail(image, grid), 60),
        "values": [round(float(v), 6) for v in rec.rollout().ravel()],
        "answer": [(label, round(p, 4)) for label, p in rec.top_classes()],
        "classes": (-rec.logits).argsort()[:5].tolist(),
    }


def translated_top_classes(precomputed_picture: dict[str, Any]) -> list[tuple[str, float]]:
    """The answer of a picture made beforehand, in the visitor's language."""
    labels, shares = zip(*precomputed_picture["answer"], strict=True)
    return [*zip(translated_labels(labels, precomputed_picture["classes"]), shares, strict=True)]


def encoded_colour_tables(mode: Mode) -> dict[str, str]:
    """The colours of amounts and of similarity, on a photo, on their bars and on small maps: 256 times three bytes, base64."""
    signed = diverging_palette(mode)
    tables = {
        "bar": colour_table(HEAT),
        "heat": darkened_colour_table(SEQUENTIAL),
        "signed": colour_table(signed),
        "signedHeat": darkened_colour_table(signed),
        "signedBar": colour_table(signed + ON_PHOTO),
    }
    return {name: base64.b64encode(table.tobytes()).decode() for name, table in tables.items()}


def _webp_data_uri(pixels: NDArray[np.uint8], quality: int) -> str:
    """(H, W) or (H, W, 3) bytes as a data address, lossy with a `quality` up to 100."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "WEBP", quality=quality, method=2)
    return file_to_data_uri(file.getvalue(), "image/webp")

"""The landing page's first picture, made beforehand for what the app starts with, so that it is there at once.

`python -m app.state.landing_figures` makes `assets/first/picture.json` anew:
after the default model, the first sample photo or a drawing changed. A test compares it with what is computed now.
"""

from __future__ import annotations

import base64
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.assets import asset
from vitcore.figures.attention import resize_for_figure
from vitcore.figures.heat_overlay import darkened_lut, fine_detail
from vitcore.figures.theme import HEAT, ON_PHOTO, SEQUENTIAL, Mode, diverging_scale, file_to_data_uri, lut
from vitcore.images import sharp_crop
from vitcore.translation import translated_labels

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording

PICTURE_FILE = asset("first/picture.json")


def precomputed_picture(model: str | None, photo: str | None) -> dict[str, Any] | None:
    """The picture made beforehand, if it is of this model and this sample photo."""
    spec: dict[str, Any] = json.loads(PICTURE_FILE.read_text(encoding="utf-8"))
    return spec if (model, photo) == (spec["model"], spec["photo"]) else None


def rollout_picture(rec: Recording, photo: str, readout: str, image: Image.Image) -> dict[str, Any]:
    """Rollout on the photo as `components.look` draws it before there is a model: addresses, colours, shares of the patches."""
    grid = rec.grid
    return {
        "model": rec.model, "photo": photo, "readout": readout,
        "grid": {"rows": grid.rows, "cols": grid.cols, "prefix": grid.prefix, "step": list(grid.step_px)},
        "colours": look_colours("light"), "image": webp(np.asarray(image), 78), "detail": webp(fine_detail(image, grid), 60),
        "values": [round(float(v), 6) for v in rec.rollout().ravel()],
        "answer": [(label, round(p, 4)) for label, p in rec.top_classes()], "classes": (-rec.logits).argsort()[:5].tolist(),
    }  # fmt: skip


def translated_answer(ready: dict[str, Any]) -> list[tuple[str, float]]:
    """The answer of a picture made beforehand, in the visitor's language."""
    labels, shares = zip(*ready["answer"], strict=True)
    return [*zip(translated_labels(labels, ready["classes"]), shares, strict=True)]


def look_colours(mode: Mode) -> dict[str, str]:
    """The colours of amounts and of similarity, on a photo, on their bars and on small maps: 256 times three bytes, base64."""
    signed = diverging_scale(mode)
    tables = {
        "bar": lut(HEAT), "heat": darkened_lut(SEQUENTIAL), "signed": lut(signed), "signedHeat": darkened_lut(signed),
        "signedBar": lut(signed + ON_PHOTO),
    }  # fmt: skip
    return {name: base64.b64encode(table.tobytes()).decode() for name, table in tables.items()}


def webp(pixels: NDArray[np.uint8], quality: int) -> str:
    """(H, W) or (H, W, 3) bytes as a data address, lossy with a `quality` up to 100."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "WEBP", quality=quality, method=2)
    return file_to_data_uri(file.getvalue(), "image/webp")


def compute_picture() -> dict[str, Any]:
    """The picture as it is computed now, for the model and the photo the app starts with."""
    from app.state.photos import sample_photos
    from vitcore.forward.recording import record
    from vitcore.models import load_model

    name = sample_photos.samples()[0]["id"]
    vit = load_model.load()
    rec = record(vit, sample_photos.SAMPLES / f"{name}.jpg")
    return rollout_picture(rec, name, vit.pooling, resize_for_figure(sharp_crop(rec.photo, rec.model_input)))


if __name__ == "__main__":
    PICTURE_FILE.parent.mkdir(exist_ok=True)
    PICTURE_FILE.write_text(json.dumps(compute_picture(), indent=None, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{PICTURE_FILE} · {PICTURE_FILE.stat().st_size / 1e3:.0f} kB")

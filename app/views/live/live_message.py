"""The message to the component of Live: the files that the browser runs, facts of the model, and the server's answer."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from app.components.component_files import media_url, worker_script
from app.server import live_files
from app.state import landing_figures
from app.state.models import live_input
from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.translation import percent, say, translated_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from app.state.visit.visit import Visit

SHOWN_CLASSES = 5
TEXT_KEYS = (
    "frame", "canvas", "answer", "sources", "camera", "file", "photo here", "freeze", "go on", "mirror", "turn", "rollout", "layer",
    "keep", "keep help", "kept", "keys", "loading", "preparing",
    "asking", "insecure", "no camera", "not allowed", "not read", "no simd", "broken",
    "differs", "checked", "opened", "servers", "rate", "time", "times", "map rollout", "map layer", "patch rollout", "patch layer",
)  # fmt: skip


def live_message(visit: Visit) -> dict[str, Any]:
    """What the component is given."""
    text, rec, grid, vit = visit.texts, visit.recording, visit.grid, visit.vit
    cut = live_input.cut_of(vit)
    names = {"worker": live_files.WORKER, "library": live_files.LIBRARY, "wasm": live_files.WASM, "graph": live_files.GRAPH,
             "weights": live_files.WEIGHTS}  # fmt: skip
    return {
        "key": f"{vit.name} {visit.photo.key}", "runs": vit.name, "problem": _problem(visit),
        "files": live_files.address(worker_script()),
        "model": names, "labels": list(translated_labels(vit.labels)), "cut": cut, "mean": list(vit.mean), "std": list(vit.std),
        "grid": {"rows": grid.rows, "cols": grid.cols, "prefix": grid.prefix, "step": list(grid.step_px)}, "blocks": vit.blocks,
        "readout": [token for token, weight in enumerate(rec.pooling_weights) if weight > 0], "readoutName": say(visit.readout),
        "photo": visit.photo_url, "detail": visit.detail_url,
        "pixels": media_url(live_input.input_png(rec), "image/png", "live"),
        "server": {"logits": _floats(rec.logits), "rollout": _floats(rec.rollout()), "answer": [
            {"label": label, "share": round(p, 4), "shown": percent(p)}
            for label, p in rec.top_classes(SHOWN_CLASSES, translated=True)]},
        "colours": landing_figures.look_colours(visit.mode), "words": {key: text[key] for key in TEXT_KEYS},
    }  # fmt: skip


def _problem(visit: Visit) -> str:
    """Why no browser can run this page's model, as a sentence; empty where one can."""
    if visit.vit.name != DEFAULT_MODEL:
        return visit.texts["other model"].format(model=live_input.shipped_title(), name=visit.vit.display_name)
    return visit.texts["missing"] if live_files.missing_files() else ""


def _floats(values: NDArray) -> str:
    return base64.b64encode(values.astype("<f4").tobytes()).decode()

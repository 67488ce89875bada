"""The message to the component of Live: the files that the browser runs, facts of the model, and the server's answer."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.components.component_files import live_worker_script, media_url
from app.server import live_own_models, live_shipped_files
from app.state import landing_figures
from app.state.memory import memory_cache, visitor_storage
from app.state.model_ref import ModelRef
from app.state.models import live_onnx_graph, uploaded_model
from app.state.recordings import look_bytes_for_browser
from app.state.visit import live_settings
from app.state.visit.visit import Visit
from vitcore.errors import RefusalError
from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.translation import percent, say, translated_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHOWN_CLASSES = 5
TEXT_KEYS = (
    "frame", "canvas", "answer", "sources", "camera", "file", "photo here",
    "freeze", "go on", "mirror", "turn", "cover", "clear", "heads", "head", "a head", "heads off", "all on",
    "clip", "step back", "step on", "film", "filming", "filmed", "film cut", "not filmed", "frame of", "rollout", "layer",
    "keep", "keep help", "kept", "keys", "loading", "preparing",
    "asking", "insecure", "no camera", "not allowed", "not read", "still", "usual rate", "no recorder", "no simd", "broken",
    "gone", "differs", "checked", "opened", "servers", "rate", "time", "times",
    "map rollout", "map layer", "patch rollout", "patch layer",
)  # fmt: skip


def live_message(visit: Visit) -> dict[str, Any]:
    """The message to the component of Live: files, facts of the model, the server's answer."""
    text, rec, vit = visit.texts, visit.recording, visit.vit
    files, problem = _files(visit)
    return {
        **live_settings.live_model_spec(vit, rec),
        "key": live_settings.live_answers_key(vit, visit.photo),
        "runs": vit.name,
        "problem": problem,
        "files": files,
        "labels": list(translated_labels(vit.labels)),
        "readoutName": say(visit.readout),
        "photo": visit.photo_url,
        "detail": visit.detail_url,
        "pixels": media_url(look_bytes_for_browser.input_png(rec), "image/png", "live"),
        "server": {
            "logits": _floats(rec.logits),
            "rollout": _floats(rec.rollout()),
            "answer": [
                {"label": label, "share": round(p, 4), "shown": percent(p)}
                for label, p in rec.top_classes(SHOWN_CLASSES, translated=True)
            ],
        },
        "colours": landing_figures.encoded_colour_tables(visit.mode),
        "words": {key: text[key] for key in TEXT_KEYS} | {"region": texts.prose("common")["region"]},
    }


def _files(visit: Visit) -> tuple[dict[str, str], str]:
    """Where the files are that the browser runs, relative to the page, and why it can't run this page's model: empty where it can.

    `named`: what the graph calls the file of its weights.
    """
    if live_shipped_files.missing_live_files():
        return {}, visit.texts["missing"]
    files, vit = live_shipped_files.shipped_model_urls(live_worker_script()), visit.vit
    if vit.name == DEFAULT_MODEL:
        return files, ""
    try:
        with st.spinner(visit.texts["comparing"]):
            made = live_onnx_graph.make_live_graph(vit)
    except (RefusalError, memory_cache.MemoryBudgetError) as error:
        return {}, visit.texts.join_sentences([str(error) or texts.prose("common")["no room now"], visit.texts["so server"]])
    own = ModelRef.parse(vit.name).name == uploaded_model.MODEL_ID
    at = live_own_models.grant_model_url(vit.name, made, visitor_storage.session_id() if own else None)
    return files | {"graph": at + live_own_models.GRAPH, "weights": at + live_own_models.WEIGHTS, "named": made.weights.name}, ""


def _floats(values: NDArray) -> str:
    return base64.b64encode(values.astype("<f4").tobytes()).decode()

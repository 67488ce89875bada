"""The message to the Look page's component: words, numbers, and URLs of pictures and of attention as bytes."""

from __future__ import annotations

from typing import Any

import vitcore
from app import texts
from app.components.component_files import media_url
from app.components.look.look import LABELS
from app.shell import lecture_mode
from app.state import landing_figures, reports
from app.state.recordings import attention_bytes_for_browser, cached_outliers, look_bytes_for_browser
from app.state.visit.visit import Visit
from app.widgets import attention_urls, outlier_masking
from vitcore.translation import percent, say

TEXT_KEYS = (
    *LABELS, "mean", "head", "stop", "patch", "mean of heads", "one head", "painted rollout", "painted step", "painted attention",
    "painted position", "most", "here", "most to", "here to", "circle", "gives", "here cosine", "times", "times or more", "cosine",
    "patches caption", "filters caption", "positions caption", "distance caption", "distance hollow", "distance one",
    "rollout caption", "layer axis", "readout short",
)  # fmt: skip


def early_message(precomputed_picture: dict[str, Any], text: texts.Prose, mode: str) -> dict[str, Any]:
    """What can be shown before there is a model: the photo, its rollout and the answer, as they were computed beforehand."""
    nobody = {"patches": [], "one_in": 1, "masked": "", "called": {"": []}, "attended": "", "other": ""}
    return {
        "early": True,
        "mode": mode,
        "grid": precomputed_picture["grid"],
        "photo": precomputed_picture["image"],
        "detail": precomputed_picture["detail"],
        "values": precomputed_picture["values"],
        "answer": _answer(landing_figures.translated_top_classes(precomputed_picture)),
        "answer note": "",
        "blocks": 1,
        "heads": 1,
        "maps": [],
        "span": 1,
        "middle": 0,
        "undefined": dict.fromkeys(reports.LOOK, ""),
        "outliers": nobody,
        "state": _state(None, None, None, False),
        "colours": precomputed_picture["colours"],
        "words": _words(text, say(precomputed_picture["readout"])),
    }


def look_message(visit: Visit, layer: int | None, outliers_masked: bool) -> dict[str, Any]:
    """What the component is given; `layer` None: all layers, that is rollout."""
    vit, rec, text = visit.vit, outlier_masking.recording_masked_if_on(visit), visit.texts
    grid = rec.grid if vit.is_global else vit.patches or rec.grid
    outliers = cached_outliers.find_outlier_tokens(visit.recording).patches.tolist() if vit.is_global else []
    cut = vit.patches is not None and (vit.patches.rows, vit.patches.cols) == (grid.rows, grid.cols)
    filters = look_bytes_for_browser.filter_tiles_png(vit.name) if cut else None
    positions = _positions(visit) if vit.is_global else None
    why = {name: texts.escape_markdown(vit.why_undefined(text[f"{name} what"])) for name in ("patches", "distance", "rollout")}
    undefined = {
        "patches": "" if cut else why["patches"],
        "filters": "" if filters else text["filters none"],
        "positions": "" if positions else text["positions none"],
        "distance": "" if vit.is_global else why["distance"],
        "rollout": "" if vit.is_global else why["rollout"],
    }
    return {
        "early": False,
        "mode": visit.mode,
        "lecture": lecture_mode.is_lecture(),
        "grid": {"rows": grid.rows, "cols": grid.cols, "prefix": grid.prefix, "step": list(grid.step_px)},
        "photo": visit.photo_url,
        "detail": visit.detail_url,
        "answer": _answer(rec.top_classes(translated=True)),
        "pixels": media_url(look_bytes_for_browser.input_png(rec), "image/png", "pixels") if cut else None,
        "embedding": _embedding(rec) if cut else None,
        "sequence": text.join_sentences((text.fill("patches empty", count=grid.prefix) if grid.prefix else "", text["from 0"])),
        "filters": _filters(rec, filters) if filters else None,
        "positions": positions,
        "distance": _distance(rec) if vit.is_global else None,
        "blocks": vit.blocks,
        "heads": vit.heads,
        "span": attention_bytes_for_browser.BYTE_OCTAVES,
        "outliers": outlier_masking.outlier_message(outliers, outliers_masked),
        "undefined": undefined,
        "answer note": "" if rec.top_classes() else text["answer none"],
        "colours": landing_figures.encoded_colour_tables(visit.mode),
        "state": _state(visit.patch, layer, visit.head, outliers_masked),
        "words": _words(text, visit.readout),
        "middle": grid.middle,
    } | (_attention(rec, visit, layer) if vit.is_global else {"maps": []})


def _state(patch: int | None, layer: int | None, head: int | None, masked: bool) -> dict[str, Any]:
    return {"patch": patch, "layer": layer, "head": head, "mask": masked}


def _attention(rec: vitcore.Recording, visit: Visit, layer: int | None) -> dict[str, Any]:
    """Where each block's attention is, None for what isn't at hand, and where rollout is."""
    vit, patch = visit.vit, visit.patch
    pinned = () if patch is None else (rec.grid.prefix + patch,)
    queries = attention_bytes_for_browser.sent_query_tokens(rec, pinned, vit.heads)
    return {
        "maps": attention_urls.attention_urls(rec, vit.blocks, layer, queries),
        "readouts": None if look_bytes_for_browser.reads_class_token(rec) else _readouts(rec, vit.blocks),
        "steps": {"url": media_url(look_bytes_for_browser.rollout_per_layer_bytes(rec), attention_urls.BYTES, "steps")},
        "rollout": attention_urls.rollout_url(rec, look_bytes_for_browser.sent_patch_tokens(rec, patch)),
        "exact": _exact(rec, layer, pinned),
    }  # fmt: skip


def _exact(rec: vitcore.Recording, layer: int | None, pinned: tuple[int, ...]) -> dict[str, Any] | None:
    """Where the weights that lie on the photo at rest are, exact; rollout to where the answer is read is so already."""
    if layer is None:
        return attention_urls.exact_url(rec, None, pinned) if pinned else None
    answer = 0 if look_bytes_for_browser.reads_class_token(rec) else attention_bytes_for_browser.ANSWER
    return attention_urls.exact_url(rec, layer, pinned or (answer,))


def _readouts(rec: vitcore.Recording, blocks: int) -> list[dict[str, Any] | None]:
    found = {block: look_bytes_for_browser.readout_head_bytes(rec, block) for block in rec.maps}
    return [{"url": media_url(found[b], attention_urls.BYTES, f"readout{b}")} if b in found else None for b in range(blocks)]


def _embedding(rec: vitcore.Recording) -> dict[str, Any]:
    data, dims = look_bytes_for_browser.embedding_bytes(rec)
    return {"url": media_url(data, attention_urls.BYTES, "embedding"), "dims": dims}


def _filters(rec: vitcore.Recording, sheet: look_bytes_for_browser.FilterTilesPng) -> dict[str, Any]:
    parts = look_bytes_for_browser.component_part_bytes(rec, sheet.shown)
    return {
        "sheet": {"url": media_url(sheet.png, "image/png", "filters"), "count": sheet.shown, "cols": sheet.cols},
        "parts": parts and {"url": media_url(parts, attention_urls.BYTES, "parts")},
    }


def _positions(visit: Visit) -> dict[str, Any] | None:
    """Where the similarity of positions is; None for a model without a table of them."""
    from app.state.models import model_weights

    if model_weights.position_similarity(visit.vit.name) is None:
        return None
    rec = visit.recording
    tiles, side = look_bytes_for_browser.evenly_spread_patches(rec.grid)
    some = look_bytes_for_browser.sent_patch_tokens(rec, visit.patch)
    tokens = (
        None if some is None else sorted({*(one for one in some if one >= rec.grid.prefix), *(rec.grid.prefix + t for t in tiles)})
    )
    data = look_bytes_for_browser.position_cosine_bytes(
        visit.vit.name, None if tokens is None else tuple(t - rec.grid.prefix for t in tokens)
    )
    return {"url": media_url(data, attention_urls.BYTES, "positions"), "queries": tokens, "tiles": tiles, "side": side}


def _distance(rec: vitcore.Recording) -> dict[str, Any]:
    """Every head's mean distance, what it gives to tokens that are no patches, and the distance of even attention."""
    return {
        "px": [[round(float(value), 2) for value in heads] for heads in rec.distance_px],
        "prefix": [[round(float(value), 3) for value in heads] for heads in rec.prefix_attention_share]
        if rec.grid.prefix
        else None,
        "uniform": look_bytes_for_browser.uniform_distance_px(rec.grid),
    }


def _answer(likeliest: list[Any]) -> list[tuple[str, float, str]]:
    return [(label, share, percent(share)) for label, share in likeliest]


def _words(text: texts.Prose, readout: str) -> dict[str, str]:
    own = {"readout": text["the readout"].format(readout=readout), "region": texts.prose("common")["region"]}
    return {key: text[key] for key in TEXT_KEYS} | own

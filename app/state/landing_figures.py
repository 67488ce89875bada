"""The landing page's figures, cached; the first is made beforehand for what the app starts with, so that it is there at once.

`python -m app.state.landing_figures` makes `assets/first/picture.json` anew:
after the default model, the first sample photo or a drawing changed. A test compares it with what is computed now.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from app.state.memory import memory_cache
from vitcore.assets import asset

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

    from vitcore.forward.recording import Recording
    from vitcore.models.load_model import Vit

PICTURE_FILE = asset("first/picture.json")
CHART_HEIGHT_PX = 330  # charts whose height is their own choice


@memory_cache.cached
def cached_figures(part: str, source: Recording | str, mode: str, lang: str, _make: Callable[[], Any]) -> Any:
    """What `_make` made for this part of the landing page, recording or model, theme and language; nobody writes to it."""
    return _make()


def precomputed_picture(model: str | None, photo: str | None) -> dict[str, Any] | None:
    """The picture made beforehand, if it is of this model and this sample photo."""
    spec: dict[str, Any] = json.loads(PICTURE_FILE.read_text(encoding="utf-8"))
    return spec if (model, photo) == (spec["model"], spec["photo"]) else None


def rollout_picture(rec: Recording, photo: str, readout: str, image: Image.Image) -> dict[str, Any]:
    """Rollout on the photo as `components.picture` draws it: addresses, percentages per patch, and its scale."""
    import numpy as np

    from vitcore.analysis.outlier_tokens import outliers_in_map
    from vitcore.figures.heat_overlay import fine_detail, heat_colour_scale, heat_colours, scale_top
    from vitcore.figures.theme import gradient_stops
    from vitcore.forward.mask_outliers import outliers_in_recording

    mask, grid, patches = rec.rollout(), rec.grid, outliers_in_recording(rec).patches
    top = scale_top(mask)
    scale = heat_colour_scale(mask, top, "")
    return {
        "model": rec.model, "photo": photo, "readout": readout, "rows": grid.rows, "cols": grid.cols, "cell": list(grid.step_px),
        "image": webp(np.asarray(image), 78), "overlay": webp(heat_colours(mask, top)),
        "detail": webp(fine_detail(image, grid), 60),
        "values": [round(100 * float(v), 4) for v in mask.ravel()], "top": round(scale.high, 8), "more": bool(top < mask.max()),
        "colours": gradient_stops(scale.colours), "answer": [(label, round(p, 4)) for label, p in rec.top_classes(2)],
        "outliers": outliers_in_map(mask, patches).tolist(), "outliers_of": len(patches),
    }  # fmt: skip


def webp(pixels: NDArray[np.uint8], quality: int | None = None) -> str:
    """(H, W), (H, W, 3 or 4) bytes as a data address, a third of a PNG's size: exact, or lossy with a `quality` up to 100."""
    from PIL import Image

    from vitcore.figures.theme import file_to_data_uri

    file = io.BytesIO()
    how: dict[str, Any] = {"lossless": True, "method": 0} if quality is None else {"quality": quality, "method": 2}
    Image.fromarray(pixels).save(file, "WEBP", **how)
    return file_to_data_uri(file.getvalue(), "image/webp")


def model_previews(vit: Vit, mode: Any) -> dict[str, Any]:
    """Specs for `components.chart` of what depends on the model alone: filters, positions, None where there are none.

    "near": how much alike near positions are, the correlation with distance.
    """
    from app.state.models import model_weights
    from vitcore import figures
    from vitcore.analysis.filters import components_as_picture
    from vitcore.analysis.position_embeddings import correlation_with_distance
    from vitcore.figures.filters import COLUMNS

    filters, cosine = model_weights.filter_components(vit.name), model_weights.position_similarity(vit.name)
    filters_figure = (
        None if filters is None else figures.filters(components_as_picture(filters.vectors[: COLUMNS**2]), filters.variance, mode)
    )
    positions_figure = None if cosine is None else figures.position_similarity(cosine, vit.grid, mode, side_px=520)
    near = 0.0 if cosine is None else correlation_with_distance(cosine, vit.grid)
    return {
        "filters": filters_figure and _small_spec(filters_figure),
        "positions": positions_figure and _small_spec(positions_figure),
        "near": near,
    }


def photo_previews(vit: Vit, rec: Recording, mode: Any) -> dict[str, Any]:
    """Specs of what depends on the photo too: patches, heads of a few layers, distances, the answer (None without a head)."""
    from vitcore import figures
    from vitcore.analysis.attention_distance import uniform_distance_px

    figures_by_page: dict[str, Any] = {}
    sentences: dict[str, str] = {}
    if vit.patches is not None:
        figures_by_page["patches"] = figures.patches(rec.model_input.pixels, vit.patches, mode=mode)
    if vit.is_global:
        figures_by_page["attention"], sentences["attention outliers"] = _sampled_heads(vit, rec, mode)
        figures_by_page["distance"] = figures.attention_distance(
            rec.distance_px,
            rec.grid,
            uniform_distance_px(rec.grid),
            mode=mode,
            prefix_attention_share=rec.prefix_attention_share if rec.grid.prefix else None,
        )
    if rec.top_classes():
        figures_by_page["answer"] = figures.predictions(rec.top_classes(), mode)
    specs = {name: _small_spec(fig) for name, fig in figures_by_page.items()}
    return dict.fromkeys(("patches", "attention", "distance", "answer")) | specs | sentences


def sampled_blocks(rec: Recording) -> list[int]:
    """The first, the middle and the last block, those of them whose maps were kept."""
    blocks = len(rec.distance_px)
    return [block for block in sorted({0, blocks // 2, blocks - 1}) if block in rec.maps]


def _sampled_heads(vit: Vit, rec: Recording, mode: Any) -> tuple[Any, str]:
    """Up to three heads of a few layers, a layer a row; and what is said of outlier tokens that hold much of them."""
    import numpy as np

    from vitcore.analysis.outlier_tokens import outliers_in_map
    from vitcore.figures.attention import attention_heads
    from vitcore.figures.outlier_frames import frame_outliers_in_maps
    from vitcore.forward.mask_outliers import outliers_in_recording
    from vitcore.outlier_sentences import outlier_sentence
    from vitcore.translation import say

    blocks, some = sampled_blocks(rec), min(3, vit.heads)
    maps = np.concatenate([rec.head_maps(block)[:some] for block in blocks])
    names = [say("layer {layer}, head {head}", layer=b, head=h) for b in blocks for h in range(some)]
    title = say("Attention of the {readout}", readout=say(vit.pooling))
    fig, patches = (attention_heads(maps, rec.grid, title, mode, names=names, columns=some), outliers_in_recording(rec).patches)
    marks = [outliers_in_map(one, patches).tolist() for one in maps]
    return frame_outliers_in_maps(fig, marks, rec.grid, some), outlier_sentence(
        sorted({patch for one in marks for patch in one}), rec.grid
    )


def _small_spec(fig: Any) -> dict[str, Any]:
    """A figure as the browser draws it without Plotly, at one height, its pictures as exact WebP, or PNG where that is smaller."""
    from app.components.chart.chart import chart_spec
    from vitcore.figures.theme import pixels_to_data_uri

    return chart_spec(fig, lambda pixels: min(pixels_to_data_uri(pixels), webp(pixels), key=len)) | {"height": CHART_HEIGHT_PX}


def compute_picture() -> dict[str, Any]:
    """The picture as it is computed now, for the model and the photo the app starts with."""
    from app.state.photos import sample_photos
    from vitcore.figures.attention import resize_for_figure
    from vitcore.forward.recording import record
    from vitcore.images import sharp_crop
    from vitcore.models import load_model

    name = sample_photos.samples()[0]["id"]
    vit = load_model.load()
    rec = record(vit, sample_photos.SAMPLES / f"{name}.jpg")
    return rollout_picture(rec, name, vit.pooling, resize_for_figure(sharp_crop(rec.photo, rec.model_input)))


if __name__ == "__main__":
    PICTURE_FILE.parent.mkdir(exist_ok=True)
    PICTURE_FILE.write_text(json.dumps(compute_picture(), indent=None, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{PICTURE_FILE} · {PICTURE_FILE.stat().st_size / 1e3:.0f} kB")

"""The numbers of a report: arrays for NPZ and CSV, and one JSON object that a program reads and a test compares."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vitcore
from vitcore.analysis.attention_distance import uniform_distance_px
from vitcore.analysis.outlier_tokens import outliers_in_map
from vitcore.forward.mask_outliers import mask_outlier_tokens, outliers_in_recording
from vitcore.forward.recording import Recording
from vitcore.models.load_model import Vit
from vitcore.report.html_page import EmbeddedImage
from vitcore.report.model_facts import ModelFacts
from vitcore.report.report_settings import ReportSettings


def _mask_outlier_attention_if_set(rec: Recording, settings: ReportSettings) -> Recording:
    """What rollout and the maps of heads are read from: the recording, its outlier tokens masked where that was asked."""
    return mask_outlier_tokens(rec) if settings.mask_outliers else rec


def masked_outlier_patches(rec: Recording, settings: ReportSettings) -> list[int]:
    """The patches whose tokens are masked."""
    return outliers_in_recording(rec).patches.tolist() if settings.mask_outliers else []


def outlier_patches_in_map(rec: Recording, values: NDArray) -> list[int]:
    """The outlier tokens (patches) that hold much of a map (rows, cols); none where they are masked in it."""
    return [int(patch) for patch in outliers_in_map(values, outliers_in_recording(rec).patches)]


def rollout_map(rec: Recording, settings: ReportSettings) -> NDArray[np.float64]:
    """Rollout on the grid, (rows, cols)."""
    return _mask_outlier_attention_if_set(rec, settings).rollout(
        settings.query_token(rec.grid), settings.fusion, **settings.rollout_arguments()
    )


def rollout_per_layer(rec: Recording, settings: ReportSettings) -> NDArray[np.float64]:
    """Rollout through the blocks from the first to each: (L − first, rows, cols)."""
    begin: Any = settings.query_token(rec.grid)
    return _mask_outlier_attention_if_set(rec, settings).rollout_per_layer(begin, settings.fusion, **settings.rollout_arguments())[
        settings.first_block :
    ]


def all_heads_attention_from_or_to_token(rec: Recording, settings: ReportSettings) -> NDArray[np.float32]:
    """(H, T) what each head of the layer gives all tokens, from the token that is asked; if `received`, what all give to it.

    Raises: KeyError, if the layer's heads were not kept.
    """
    maps = _mask_outlier_attention_if_set(rec, settings).maps[settings.block(len(rec.distance_px))].astype(np.float32)
    token = settings.attending_token(rec.grid)
    if token is not None:
        return maps[:, :, token] if settings.received else maps[:, token]
    return np.einsum("t,hkt->hk" if settings.received else "t,htk->hk", rec.pooling_weights, maps)


def chosen_attention(rec: Recording, settings: ReportSettings) -> NDArray[np.float32]:
    """(T,) attention from the token that is asked, of the head that was chosen, or the mean of all."""
    heads = all_heads_attention_from_or_to_token(rec, settings)
    return heads.mean(0) if settings.head is None else heads[settings.head]


def _attention_numbers(rec: Recording, settings: ReportSettings) -> dict[str, Any] | None:
    """The attention that was chosen: of which layer, head and token (by its place), and each token's share."""
    if not settings.chooses_attention:
        return None
    shares, grid = chosen_attention(rec, settings), rec.grid
    return {
        "layer": settings.block(len(rec.distance_px)), "head": settings.head, "token": settings.attending_token(grid),
        "received": settings.received, "prefix": shares[: grid.prefix].tolist(), "patches": grid.to_map(shares).tolist(),
    }  # fmt: skip


def report_arrays(rec: Recording, settings: ReportSettings) -> dict[str, NDArray]:
    """The arrays of a photo, by name, as they go into `numbers.npz`."""
    return {
        "rollout": rollout_map(rec, settings), "rollout_by_layer": rollout_per_layer(rec, settings),
        "layer_heads": rec.grid.to_map(all_heads_attention_from_or_to_token(rec, settings)),
        "distance_px": rec.distance_px, "distance_renormalised_px": rec.distance_renormalised_px, "logits": rec.logits,
    }  # fmt: skip


def model_arrays(model_facts: ModelFacts) -> dict[str, NDArray]:
    """The arrays of a model, by name; fewer where something isn't defined for it."""
    named: dict[str, NDArray] = {}
    if model_facts.components is not None:
        named |= {"components": model_facts.components.vectors, "variance": model_facts.components.variance}
    return named if model_facts.cosine is None else named | {"similarity": model_facts.cosine}


def report_numbers(vit: Vit, rec: Recording, settings: ReportSettings, model_facts: ModelFacts) -> dict[str, Any]:
    """Every number a handout prints, in units its keys name, with what is needed to make it again."""
    grid, parts = rec.grid, model_facts.components
    return {
        "photo": {"name": rec.photo.name, "digest": rec.photo.digest, "size_px": list(rec.photo.image.size),
                  "crop_px": [float(edge) for edge in rec.model_input.box]},
        "model": {"name": vit.display_name, "title": vit.card.title, "parameters": model_facts.params, "licence": vit.card.licence,
                  "sha256": model_facts.digest, "blocks": vit.blocks, "heads": vit.heads, "readout": vit.pooling}
        | ({"assumed": dict(vit.assumed)} if vit.assumed else {}),
        "grid": {"rows": grid.rows, "cols": grid.cols, "patch_px": list(grid.step_px), "prefix_tokens": grid.prefix},
        "settings": {"fusion": settings.fusion, "discard_ratio": settings.discard, "residual": settings.residual,
                     "first_block": settings.first_block, "patch": settings.patch, "pin": settings.pin,
                     "layer": settings.block(vit.blocks), "head": settings.head, "token": settings.token,
                     "received": settings.received, "masked_patches": masked_outlier_patches(rec, settings)},
        "top5": [[label, share] for label, share in rec.top_classes()],
        "distance_px": rec.distance_px.tolist(),
        "distance_renormalised_px": rec.distance_renormalised_px.tolist(),
        "uniform_distance_px": uniform_distance_px(grid),
        "rollout": rollout_map(rec, settings).tolist(),
        "attention": _attention_numbers(rec, settings),
        "filters_variance": None if parts is None else parts.variance[: settings.components].tolist(),
        "positions_correlation_with_distance": model_facts.correlation,
        "versions": package_versions(),
    }  # fmt: skip


def package_versions() -> Mapping[str, str]:
    """Of this package and of what its numbers depend on."""
    return {"vitcore": vitcore.__version__, "python": platform.python_version()} | {
        name: _version(name) for name in ("torch", "timm", "numpy", "pillow")
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "?"


def current_time_text() -> str:
    """The time, as a person writes it."""
    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")


@dataclass(frozen=True, eq=False)
class PhotoReport:
    """All of a photo, not yet put anywhere: its files by name, and what the index says of it."""

    title: str
    name: str  # of the photo's file
    digest: str
    top: tuple[str, float] | None
    called: str  # the class of `top` in the reader's language
    small: EmbeddedImage | None  # rollout on the photo
    distance_px: NDArray[np.float32]
    files: dict[str, bytes] = field(repr=False)
    folder: str = ""  # where it was put


def mean_distance_px(photos: Sequence[PhotoReport]) -> NDArray[np.float64]:
    """(L, H) mean attention distance over photos."""
    return np.mean([one.distance_px for one in photos], axis=0, dtype=np.float64)

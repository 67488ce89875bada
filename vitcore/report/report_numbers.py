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
from vitcore.report.html_page import Embedded
from vitcore.report.model_facts import ModelSide
from vitcore.report.report_settings import Settings


def read(rec: Recording, settings: Settings) -> Recording:
    """What rollout and the maps of heads are read from: the recording, its outlier tokens masked where that was asked."""
    return mask_outlier_tokens(rec) if settings.mask_outliers else rec


def left_out(rec: Recording, settings: Settings) -> list[int]:
    """The patches whose tokens are masked."""
    return outliers_in_recording(rec).patches.tolist() if settings.mask_outliers else []


def marked(rec: Recording, values: NDArray) -> list[int]:
    """The outlier tokens (patches) that hold much of a map (rows, cols); none where they are masked in it."""
    return [int(patch) for patch in outliers_in_map(values, outliers_in_recording(rec).patches)]


def mask(rec: Recording, settings: Settings) -> NDArray[np.float64]:
    """Rollout on the grid, (rows, cols)."""
    return read(rec, settings).rollout(settings.start(rec.grid), settings.fusion, **settings.of_rollout())


def layers(rec: Recording, settings: Settings) -> NDArray[np.float64]:
    """Rollout through the blocks from the first to each: (L − first, rows, cols)."""
    begin: Any = settings.start(rec.grid)
    return read(rec, settings).rollout_per_layer(begin, settings.fusion, **settings.of_rollout())[
        settings.first_block :
    ]


def last_heads(rec: Recording, settings: Settings) -> NDArray[np.float32]:
    """(H, rows, cols) attention in the last block of the token that was asked. Raises: KeyError, if it was not kept."""
    return read(rec, settings).head_maps(len(rec.distance_px) - 1, settings.start(rec.grid))


def arrays(rec: Recording, settings: Settings) -> dict[str, NDArray]:
    """The arrays of a photo, by name, as they go into `numbers.npz`."""
    return {
        "rollout": mask(rec, settings), "rollout_by_layer": layers(rec, settings), "last_layer": last_heads(rec, settings),
        "distance_px": rec.distance_px, "distance_renormalised_px": rec.distance_renormalised_px, "logits": rec.logits,
    }  # fmt: skip


def model_arrays(side: ModelSide) -> dict[str, NDArray]:
    """The arrays of a model, by name; fewer where something isn't defined for it."""
    named: dict[str, NDArray] = {}
    if side.components is not None:
        named |= {"components": side.components.vectors, "variance": side.components.variance}
    return named if side.cosine is None else named | {"similarity": side.cosine}


def numbers(vit: Vit, rec: Recording, settings: Settings, side: ModelSide) -> dict[str, Any]:
    """Every number a handout prints, in units its keys name, with what is needed to make it again."""
    grid, parts = rec.grid, side.components
    return {
        "photo": {"name": rec.photo.name, "digest": rec.photo.digest, "size_px": list(rec.photo.image.size),
                  "crop_px": [float(edge) for edge in rec.model_input.box]},
        "model": {"name": vit.called, "title": vit.card.title, "parameters": side.params, "licence": vit.card.licence,
                  "sha256": side.digest, "blocks": vit.blocks, "heads": vit.heads, "readout": vit.readout},
        "grid": {"rows": grid.rows, "cols": grid.cols, "patch_px": list(grid.step_px), "prefix_tokens": grid.prefix},
        "settings": {"fusion": settings.fusion, "discard_ratio": settings.discard, "residual": settings.residual,
                     "first_block": settings.first_block, "patch": settings.patch, "pin": settings.pin,
                     "masked_patches": left_out(rec, settings)},
        "top5": [[label, share] for label, share in rec.top_classes()],
        "distance_px": rec.distance_px.tolist(),
        "distance_renormalised_px": rec.distance_renormalised_px.tolist(),
        "uniform_distance_px": uniform_distance_px(grid),
        "rollout": mask(rec, settings).tolist(),
        "filters_variance": None if parts is None else parts.variance[: settings.components].tolist(),
        "positions_correlation_with_distance": side.correlation,
        "versions": versions(),
    }  # fmt: skip


def versions() -> Mapping[str, str]:
    """Of this package and of what its numbers depend on."""
    return {"vitcore": vitcore.__version__, "python": platform.python_version()} | {
        name: _version(name) for name in ("torch", "timm", "numpy", "pillow")
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "?"


def now() -> str:
    """The time, as a person writes it."""
    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")


@dataclass(frozen=True, eq=False)
class Made:
    """All of a photo, not yet put anywhere: its files by name, and what the index says of it."""

    title: str
    name: str  # of the photo's file
    digest: str
    top: tuple[str, float] | None
    small: Embedded | None  # rollout on the photo
    distance_px: NDArray[np.float32]
    files: dict[str, bytes] = field(repr=False)
    folder: str = ""  # where it was put


def mean_distance_px(photos: Sequence[Made]) -> NDArray[np.float64]:
    """(L, H) mean attention distance over photos."""
    return np.mean([one.distance_px for one in photos], axis=0, dtype=np.float64)

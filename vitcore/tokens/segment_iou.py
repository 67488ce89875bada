"""Do segments of patch tokens fit outlines that people drew? Their IoU, beside that of rollout and of the picture's middle.

IoU is the area that two regions share, divided by the area of both together (Jaccard), 0 to 1, counted in pixels of the outline; a
patch is taken whole. The best of several segments is chosen by the outline, and so is the threshold of a map, photo by photo, of
all that there are: a map has more tries than segments have. One object and the foreground are taken as they are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.csv_and_npz import number_for_csv, rows_of_csv, table_as_csv
from vitcore.faithfulness.method_maps import MIDDLE, method_maps
from vitcore.faithfulness.photo_masks import PhotoWithMask, record_with_masks, with_whole_photo_transform
from vitcore.faithfulness.plausibility import bootstrap_interval
from vitcore.forward.recording import Recording
from vitcore.models.vit import Vit
from vitcore.tokens.patch_tokens import patch_tokens
from vitcore.tokens.pca import pca
from vitcore.tokens.photo_search import default_search_layer
from vitcore.tokens.segments import segments

MAPS = ("rollout", MIDDLE)  # each at the threshold that fits a photo best


class SegmentIou(NamedTuple):
    """Mean IoU with outlines over photos, of a model's segments after a layer, or of a map."""

    model: str
    name: str  #: "kmeans", "normalised_cut", "foreground", or of `MAPS`
    layer: int | None  #: whose tokens were grouped; None of a map
    segment_count: int | None  #: segments, of which the best is taken, at most; None of what is taken as it is, and of maps
    photos: int
    iou: float
    low: float  #: of its 95 % interval, by bootstrap over photos
    high: float


@dataclass(frozen=True, eq=False)
class OutlinedPatches:
    """How many pixels of each patch are counted, and how many of those are the object's: what an IoU is made of; both (N,)."""

    counted: NDArray[np.float64]
    object: NDArray[np.float64]

    @classmethod
    def of_mask(cls, shape: tuple[int, int], mask: NDArray[np.bool_], counted: NDArray[np.bool_] | None = None) -> Self:
        """Of a grid of `shape` (rows, cols) on a mask (H, W); `counted` pixels alone, else all."""
        patches = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape)
        at = np.asarray(Image.fromarray(patches).resize(mask.shape[::-1], Image.Resampling.NEAREST)).ravel()
        which = np.ones(mask.size) if counted is None else counted.ravel().astype(float)
        return cls(*(np.bincount(at, weights, patches.size).astype(float) for weights in (which, which * mask.ravel())))

    def iou(self, groups: NDArray) -> NDArray[np.float64]:
        """(G,): IoU of each group of patches with the object; `groups` (G, N) of 0 and 1."""
        shared = groups @ self.object
        return np.asarray(shared / (groups @ self.counted + self.object.sum() - shared))

    def best_segment_iou(self, labels: NDArray[np.integer]) -> float:
        """IoU of the best of the segments (N,); patches below 0 are in none."""
        return float(self.iou((labels == np.unique(labels[labels >= 0])[:, None]).astype(float)).max())

    def best_threshold_iou(self, heat: NDArray) -> float:
        """IoU of the patches whose value is at a threshold or above it, for the best of all thresholds; `heat` (N,)."""
        return float(self.iou((heat >= np.unique(heat)[:, None]).astype(float)).max())


def segment_ious(
    vit: Vit, masked_photos: Iterable[PhotoWithMask], *, kind: str = "residual", layer: int | None = None, count: int = 5,
    seed: int = 0,
) -> list[SegmentIou]:  # fmt: skip
    """Mean IoU of segments with outlines, photo by photo: the best of `count` by k-means, one object, the foreground, both maps.

    `kind` and `layer` are as of `patch_tokens` (default: three quarters of the way up). Each photo is squashed to the model's
    square, as by `plausibility_scores`. Raises: ValueError, where no photo has a mask that covers a part of it, and for a layer
    that there is not; ModelError, for a model without one attention over its patches in each block.
    """
    chosen = default_search_layer(vit) if layer is None else layer
    rows = [
        _of_photo(vit, rec, OutlinedPatches.of_mask((rec.grid.rows, rec.grid.cols), mask, counted), kind, chosen, count, seed)
        for rec, mask, counted in record_with_masks(with_whole_photo_transform(vit), masked_photos)
    ]
    found = []
    most = min(count, max(made for _, made in rows))
    for name in rows[0][0]:
        values = np.array([row[name] for row, _ in rows])
        facts = vit.name, name, None if name in MAPS else chosen % vit.blocks, most if name == "kmeans" else None, len(rows)
        found.append(SegmentIou(*facts, float(values.mean()), *bootstrap_interval(values, seed)))
    return found


def _of_photo(
    vit: Vit, rec: Recording, masked: OutlinedPatches, kind: str, layer: int, count: int, seed: int
) -> tuple[dict[str, float], int]:
    """The IoU of each region, and how many patches there are to group."""
    tokens = patch_tokens(vit, rec.model_input, kind, [layer])
    kept = int((~tokens.left_out).sum())
    found = {
        "kmeans": masked.best_segment_iou(segments(tokens, count=min(count, kept), seed=seed)[0]),
        "normalised_cut": float(masked.iou((segments(tokens, method="normalised_cut")[:1] == 1).astype(float))[0]),
        "foreground": float(masked.iou(pca(tokens).foreground()[:1].astype(float))[0]),
    }
    return found | {name: masked.best_threshold_iou(heat.ravel()) for name, heat in method_maps(vit, rec, MAPS).items()}, kept


def segment_iou_csv(rows: Sequence[SegmentIou], made_by: str) -> str:
    """The shares as a table, below what made it."""
    return table_as_csv(SegmentIou._fields, [(*row[:5], *map(number_for_csv, row[5:])) for row in rows], made_by)


def read_segment_iou_csv(text: str) -> list[SegmentIou]:
    """What `segment_iou_csv` wrote."""
    return [
        SegmentIou(row["model"], row["name"], int(row["layer"]) if row["layer"] else None,
                   int(row["segment_count"]) if row["segment_count"] else None, int(row["photos"]),
                   float(row["iou"]), float(row["low"]), float(row["high"]))
        for row in rows_of_csv(text)
    ]  # fmt: skip

"""Plausibility: how well maps agree with outlines that people drew, beside the middle of the picture and an even map.

It says whether a map lies where people see the object. It is not faithfulness, whether the model used it: that is `deletion`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.faithfulness.method_maps import MAPS, MIDDLE, map_title, method_maps
from vitcore.faithfulness.photo_masks import MASK_PX, PhotoWithMask, record_with_masks, with_whole_photo_transform
from vitcore.forward.recording import Recording
from vitcore.models.vit import Vit
from vitcore.translation import say

EVEN = "even"  # the map that prefers no patch
RESAMPLES = 2000


class MaskAgreement(NamedTuple):
    """How one map agrees with one outline: pixel AUC, whether its strongest patch lies on the object, its share there; 0 to 1."""

    auc: float
    pointing: float
    mass: float


MEASURES = MaskAgreement._fields


def pixel_auc(heat: NDArray, mask: NDArray[np.bool_], counted_pixels: NDArray[np.bool_] | None = None) -> float:
    """Area under the ROC curve of a map (rows, cols), bilinear to the mask's size, as a score of "is foreground".

    `counted_pixels`: the pixels that are asked about, else all.
    """
    from sklearn.metrics import roc_auc_score

    size = mask.shape[1], mask.shape[0]
    large = np.asarray(Image.fromarray(heat.astype(np.float32)).resize(size, Image.Resampling.BILINEAR))
    which = np.ones(mask.shape, bool) if counted_pixels is None else counted_pixels
    return float(roc_auc_score(mask[which], large[which]))


def pointing_game(heat: NDArray, mask: NDArray[np.bool_]) -> float:
    """The pointing game (Zhang et al., arXiv 1608.00507), without their tolerance of 15 px: 1 where the middle of the strongest
    patch lies on the mask (H, W), else 0; of several equally strong patches, the share that does."""
    strongest = np.argwhere(heat == heat.max())
    at = ((strongest + 0.5) * np.array(mask.shape) / np.array(heat.shape)).astype(int)
    return float(mask[at[:, 0], at[:, 1]].mean())


def mass_on_mask(heat: NDArray, mask: NDArray[np.bool_], counted_pixels: NDArray[np.bool_] | None = None) -> float:
    """Share of a map's positive values on the mask (H, W), 0 to 1 (Wang et al., arXiv 1910.01279); NaN where none is positive.

    A patch's value is spread evenly over its pixels. An even map has the object's share of the picture.
    """
    size = mask.shape[1], mask.shape[0]
    large = np.asarray(Image.fromarray(np.maximum(heat, 0).astype(np.float32)).resize(size, Image.Resampling.NEAREST), np.float64)
    which = np.ones(mask.shape, bool) if counted_pixels is None else counted_pixels
    total = float(large[which].sum())
    return float(large[which & mask].sum()) / total if total > 0 else float("nan")


def mask_agreement(heat: NDArray, mask: NDArray[np.bool_], counted_pixels: NDArray[np.bool_] | None = None) -> MaskAgreement:
    """All measures of one map (rows, cols) and one mask (H, W)."""
    return MaskAgreement(pixel_auc(heat, mask, counted_pixels), pointing_game(heat, mask), mass_on_mask(heat, mask, counted_pixels))


def centre_prior_map(side: int = MASK_PX) -> NDArray[np.float64]:
    """Minus the distance from the middle: what a map must beat."""
    at = np.arange(side) - (side - 1) / 2
    return -np.hypot(at[:, None], at[None, :])


@dataclass(frozen=True, eq=False, kw_only=True)
class PlausibilityScore:
    """How one method agrees with outlines, over photos."""

    name: str  #: of `method_maps.MAPS`, or "even"
    values: NDArray[np.float64]  #: (photos, 3): pixel AUC, pointing, mass; NaN where a map has no mass

    def mean(self, measure: str) -> float:
        """Mean over photos of "auc", "pointing" or "mass"."""
        return float(np.nanmean(self.values[:, MEASURES.index(measure)]))

    def interval(self, measure: str, seed: int = 0) -> tuple[float, float]:
        """95 % interval of the mean, by bootstrap over photos: percentiles of `RESAMPLES` samples drawn from `seed`."""
        return bootstrap_interval(self.values[:, MEASURES.index(measure)], seed)


def bootstrap_interval(values: NDArray[np.float64], seed: int = 0) -> tuple[float, float]:
    """95 % interval of a mean (N,), NaN left out: the 2.5 and 97.5 percentiles of `RESAMPLES` means of N drawn with replacement."""
    known = values[~np.isnan(values)]
    drawn = np.random.default_rng(seed).integers(0, len(known), (RESAMPLES, len(known)))
    low, high = np.percentile(known[drawn].mean(1), (2.5, 97.5))
    return float(low), float(high)


def plausibility_scores(
    vit: Vit, masked_photos: Iterable[PhotoWithMask], names: Sequence[str] = MAPS, whole_photos: bool = True
) -> list[PlausibilityScore]:
    """Pixel AUC, pointing and mass of methods over photos with masks, the largest mean AUC first, each for the likeliest class.

    "middle" is the centre prior: a cone for its mass. "even" is a map that prefers no patch. `whole_photos`: each is squashed to
    the model's square, which keeps all of its background, else cropped as the model's transform does.
    Raises: ValueError, where no photo has a mask that covers a part of it; what `record` raises.
    """
    names, seen = tuple(names), with_whole_photo_transform(vit) if whole_photos else vit
    rows = [_agreements(vit, rec, names, mask, counted) for rec, mask, counted in record_with_masks(seen, masked_photos)]
    scores = [PlausibilityScore(name=name, values=np.array([row[name] for row in rows])) for name in rows[0]]
    return sorted(scores, key=lambda score: -score.mean("auc"))


def _agreements(
    vit: Vit, rec: Recording, names: Sequence[str], mask: NDArray[np.bool_], counted_pixels: NDArray[np.bool_]
) -> dict[str, MaskAgreement]:
    maps = method_maps(vit, rec, names) | {EVEN: np.ones((rec.grid.rows, rec.grid.cols))}
    if MIDDLE in maps:
        maps[MIDDLE] = maps[MIDDLE] - maps[MIDDLE].min()
    return {name: mask_agreement(values, mask, counted_pixels) for name, values in maps.items()}


def score_title(name: str) -> str:
    """What a row of the table is called, in the reader's language."""
    return say("even map") if name == EVEN else map_title(name)

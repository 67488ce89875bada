"""How well maps agree with outlines that people drew: pixel AUC, bilinear to 224 px, beside the centre prior, which needs no model.

That is plausibility: whether a map lies where people see the object. It is not faithfulness, whether the model used it.
"""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import timm  # noqa: F401
from numpy.typing import NDArray
from PIL import Image
from timm.data import create_transform
from tqdm import tqdm

from vitcore.forward.mask_outliers import mask_outlier_tokens
from vitcore.forward.recording import Recording, record
from vitcore.images import open_photo
from vitcore.models.load_model import Vit
from vitcore.train.shipping.pet_photos import Pet

MASK_PX = 224


class PhotoWithMask(NamedTuple):
    """A photo and its mask, whose values are 0 beside the object, or of a `trimap` 1 object, 2 background, 3 neither."""

    photo: Path
    mask: Path
    trimap: bool = False


def photos_of_manifest(folder: Path) -> list[PhotoWithMask]:
    """The photos of a manifest.csv with the columns image and mask."""
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as file:
        return [PhotoWithMask(folder / row["image"], folder / row["mask"]) for row in csv.DictReader(file)]


def photos_of_pets(pets: Iterable[Pet]) -> list[PhotoWithMask]:
    """Photos of Oxford-IIIT Pet with their trimaps."""
    return [PhotoWithMask(pet.photo, pet.trimap, True) for pet in pets]


def pixel_auc(heat: NDArray, mask: NDArray[np.bool_], counted: NDArray[np.bool_] | None = None) -> float:
    """Area under the ROC curve of a map (rows, cols), bilinear to the mask's size, as a score of "is foreground".

    `counted`: the pixels that are asked about, else all.
    """
    from sklearn.metrics import roc_auc_score

    size = mask.shape[1], mask.shape[0]
    large = np.asarray(Image.fromarray(heat.astype(np.float32)).resize(size, Image.Resampling.BILINEAR))
    which = np.ones(mask.shape, bool) if counted is None else counted
    return float(roc_auc_score(mask[which], large[which]))


def centre_prior(side: int = MASK_PX) -> NDArray[np.float64]:
    """Minus the distance from the middle: what a map must beat."""
    at = np.arange(side) - (side - 1) / 2
    return -np.hypot(at[:, None], at[None, :])


def with_whole_photo_transform(vit: Vit) -> Vit:
    """The model with a transform that resizes the whole photo to its square, bicubic, and crops nothing."""
    size = (3, *vit.grid.image_px)
    whole = create_transform(size, is_training=False, interpolation="bicubic", crop_mode="squash", crop_pct=1.0)
    return replace(vit, transform=whole)


def record_with_masks(
    vit: Vit, outlined: Iterable[PhotoWithMask]
) -> Iterator[tuple[Recording, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Recordings, with the mask cut as the transform cuts the photo, and which of its pixels count; others are left out."""
    for one in tqdm(outlined, desc="masks"):
        photo = open_photo(one.photo)
        rec = record(vit, photo)
        whole = Image.open(one.mask).convert("L").resize(photo.image.size, Image.Resampling.NEAREST)
        cut = np.asarray(whole.resize((MASK_PX, MASK_PX), Image.Resampling.NEAREST, box=rec.model_input.box))
        mask, counted = (cut == 1, cut != 3) if one.trimap else (cut > 0, cut >= 0)
        if 0 < mask[counted].mean() < 1:
            yield rec, mask, counted


def localisation(vit: Vit, outlined: Iterable[PhotoWithMask], whole: bool = True) -> dict[str, float]:
    """Mean pixel AUC of the rollout (also with outlier tokens masked), of the last block's attention and of the centre prior.

    "rollout_above_half" is the share of photos whose rollout has more than 0.5.

    `whole`: each photo is squashed to the model's square, which keeps all of its background. Otherwise it is cropped as
    the model's transform does; that leaves less background to tell the object from, so every score falls, the prior's too.
    """
    scores = []
    for rec, mask, counted in record_with_masks(with_whole_photo_transform(vit) if whole else vit, outlined):
        maps = {"rollout": rec.rollout(), "last_block": rec.grid.to_map(rec.pooling_weights @ rec.attention_per_layer()[-1]),
                "centre_prior": centre_prior(), "rollout_without_outliers": mask_outlier_tokens(rec).rollout()}  # fmt: skip
        scores.append({f"{name}_auc": pixel_auc(values, mask, counted) for name, values in maps.items()})
    means = {name: round(float(np.mean([one[name] for one in scores])), 3) for name in scores[0]}
    above = np.mean([one["rollout_auc"] > 0.5 for one in scores])
    return {"photos": len(scores), **means, "rollout_above_half": round(float(above), 3)}

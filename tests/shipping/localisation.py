"""How well maps agree with outlines that people drew: pixel AUC, bilinear to 224 px, beside the centre prior, which needs no model.

That is plausibility: whether a map lies where people see the object. It is not faithfulness, whether the model used it.
Oxford-IIIT Pet (Parkhi et al., "Cats and Dogs", CVPR 2012) lies as its authors lay it out: `images/NAME.jpg`,
`annotations/list.txt` (name, class, species, breed) and `annotations/trimaps/NAME.png` (1 the animal, 2 background, 3 unclear).
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from vitcore.faithfulness.photo_masks import PhotoWithMask, record_with_masks, with_whole_photo_transform
from vitcore.faithfulness.plausibility import centre_prior_map, pixel_auc
from vitcore.forward.mask_outliers import mask_outlier_tokens
from vitcore.models.load_model import Vit

SPECIES = {"1": "cats", "2": "dogs"}


class Pet(NamedTuple):
    """One photo: its file, "cats" or "dogs", its breed's number, and the file of its trimap."""

    photo: Path
    kind: str
    breed: str
    trimap: Path


def list_pets(folder: Path, breeds: Sequence[str] = ()) -> list[Pet]:
    """Every photo that the list names, in its order, or those of some breeds, by the numbers that it gives them."""
    found = []
    for line in (folder / "annotations" / "list.txt").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            name, breed, species, _ = line.split()
            trimap = folder / "annotations" / "trimaps" / f"{name}.png"
            found.append(Pet(folder / "images" / f"{name}.jpg", SPECIES[species], breed, trimap))
    return [pet for pet in found if not breeds or pet.breed in breeds]


def photos_of_pets(pets: Iterable[Pet]) -> list[PhotoWithMask]:
    """Photos of Oxford-IIIT Pet with their trimaps."""
    return [PhotoWithMask(pet.photo, pet.trimap, True) for pet in pets]


def localisation(vit: Vit, outlined: Iterable[PhotoWithMask], whole: bool = True) -> dict[str, float]:
    """Mean pixel AUC of the rollout (also with outlier tokens masked), of the last block's attention and of the centre prior.

    "rollout_above_half" is the share of photos whose rollout has more than 0.5.

    `whole`: each photo is squashed to the model's square, which keeps all of its background. Otherwise it is cropped as
    the model's transform does; that leaves less background to tell the object from, so every score falls, the prior's too.
    """
    scores = []
    for rec, mask, counted in record_with_masks(with_whole_photo_transform(vit) if whole else vit, tqdm(outlined, desc="masks")):
        maps = {"rollout": rec.rollout(), "last_block": rec.grid.to_map(rec.pooling_weights @ rec.attention_per_layer()[-1]),
                "centre_prior": centre_prior_map(), "rollout_without_outliers": mask_outlier_tokens(rec).rollout()}  # fmt: skip
        scores.append({f"{name}_auc": pixel_auc(values, mask, counted) for name, values in maps.items()})
    means = {name: round(float(np.mean([one[name] for one in scores])), 3) for name in scores[0]}
    above = np.mean([one["rollout_auc"] > 0.5 for one in scores])
    return {"photos": len(scores), **means, "rollout_above_half": round(float(above), 3)}

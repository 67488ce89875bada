"""`python -m vitcore.train.shipping.measure MODEL …`: the facts a model's card states, measured on photos of yours.

Accuracy is over all classes of the model, for photos labelled with WordNet ids or its names; "finds the object" is the
pixel AUC of a map, bilinear to 224 px, against a foreground mask, beside the centre prior, which needs no model. Cats and
dogs are counted as right when the first answer is the name of any cat or of any dog.
"""

import argparse
import copy
import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import timm  # noqa: F401
import torch
from numpy.typing import NDArray
from PIL import Image
from timm.data import create_transform
from tqdm import tqdm

from vitcore.analysis.positions import correlation_with_distance, similarity
from vitcore.assets import SAMPLES
from vitcore.forward.outliers import without_outliers
from vitcore.forward.recording import Recording, record, to_input
from vitcore.images import open_photo, see
from vitcore.models.zoo import Vit, load, positions, wordnet_ids
from vitcore.train.data.parquet import rows
from vitcore.train.data.photos import Photos
from vitcore.train.judging.evaluate import accuracy
from vitcore.train.learning.layers import LayerByLayer, hidden_errors
from vitcore.train.recipes.recipe import Recipe

MASK_PX = 224
KINDS = {"cats": range(281, 286), "dogs": range(151, 269)}  # ImageNet's domestic ones, by index


def labelled(photos: list[tuple[bytes, str]], name: str) -> Photos:
    """(encoded photo, class name) pairs as Photos."""
    classes, labels = np.unique([label for _, label in photos], return_inverse=True)
    return Photos(name, [photo for photo, _ in photos], labels.astype(np.int64), tuple(classes.tolist()))


def pixel_auc(heat: NDArray, mask: NDArray[np.bool_]) -> float:
    """Area under the ROC curve of a map (rows, cols), bilinear to the mask's size, as a score of "is foreground"."""
    from sklearn.metrics import roc_auc_score

    size = mask.shape[1], mask.shape[0]
    large = np.asarray(Image.fromarray(heat.astype(np.float32)).resize(size, Image.Resampling.BILINEAR))
    return float(roc_auc_score(mask.ravel(), large.ravel()))


def centre_prior(side: int = MASK_PX) -> NDArray[np.float64]:
    """Minus the distance from the middle: what a map must beat."""
    at = np.arange(side) - (side - 1) / 2
    return -np.hypot(at[:, None], at[None, :])


def squashing(vit: Vit) -> Vit:
    """The model with a transform that resizes the whole photo to its square, bicubic, and crops nothing."""
    size = (3, *vit.grid.image_px)
    whole = create_transform(size, is_training=False, interpolation="bicubic", crop_mode="squash", crop_pct=1.0)
    return replace(vit, transform=whole)


def masked(vit: Vit, folder: Path) -> Iterator[tuple[Recording, NDArray[np.bool_]]]:
    """Recordings of the photos of a manifest.csv (image, mask) with the mask cut as the transform cuts the photo."""
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as file:
        pairs = [(row["image"], row["mask"]) for row in csv.DictReader(file)]
    for image, mask in tqdm(pairs, desc="masks"):
        photo = open_photo(folder / image)
        rec = record(vit, photo)
        whole = Image.open(folder / mask).convert("L").resize(photo.image.size, Image.Resampling.NEAREST)
        cut = whole.resize((MASK_PX, MASK_PX), Image.Resampling.NEAREST, box=rec.seen.box)
        if 0 < np.asarray(cut).astype(bool).mean() < 1:
            yield rec, np.asarray(cut) > 0


def localisation(vit: Vit, folder: Path, whole: bool = True) -> dict[str, float]:
    """Mean pixel AUC of the rollout (also with outlier tokens masked), of the last block's attention and of the centre prior.

    "rollout_above_half" is the share of photos whose rollout has more than 0.5.

    `whole`: each photo is squashed to the model's square, which keeps all of its background. Otherwise it is cropped as
    the model's transform does; that leaves less background to tell the object from, so every score falls, the prior's too.
    """
    scores = []
    for rec, mask in masked(squashing(vit) if whole else vit, folder):
        last = rec.grid.to_map(rec.readout @ rec.of_blocks()[-1])
        drawn = (rec.rollout(), last, centre_prior(), without_outliers(rec).rollout())
        scores.append([pixel_auc(values, mask) for values in drawn])
    table = np.array(scores)
    names = ("rollout_auc", "last_block_auc", "centre_prior_auc", "rollout_without_outliers_auc")
    means = {name: round(float(v), 3) for name, v in zip(names, table.mean(0), strict=True)}
    return {"photos": len(table), **means, "rollout_above_half": round(float((table[:, 0] > 0.5).mean()), 3)}


def reach(vit: Vit, photos: list[bytes]) -> dict[str, Any]:
    """Mean attention distance of block 0's heads over photos, in px and as a share of the image width."""
    px = np.mean([record(vit, photo, fusions=()).distance_px[0] for photo in tqdm(photos, desc="distance")], 0)
    share = px / vit.grid.image_px[1]
    return {
        "photos": len(photos),
        "px": [round(float(v), 1) for v in px],
        "share_of_width": [round(float(v), 3) for v in share],
    }


def gallery(vit: Vit, folder: Path = SAMPLES) -> dict[str, Any]:
    """How often an ImageNet model names the photos that ship (credits.json says their WordNet ids), and rollout's largest share.

    {"photos", "first", "among_five", "missed", "largest_patch": mean over the photos of rollout's brightest patch}.
    """
    known = {name: i for i, name in enumerate(wordnet_ids(vit))}
    first, five, missed, largest = 0, 0, [], []
    listed = json.loads((folder / "credits.json").read_text(encoding="utf-8"))
    for row in listed:
        rec = record(vit, folder / f"{row['id']}.jpg")
        top = np.argsort(-rec.logits)[:5].tolist()
        right = {known[name] for name in row["classes"]}
        first, five = first + (top[0] in right), five + bool(right & set(top))
        missed += [] if right & set(top) else [row["id"]]
        largest.append(float(rec.rollout().max() / rec.rollout().sum()))
    return {"photos": len(listed), "first": first, "among_five": five, "missed": missed,
            "largest_patch": round(float(np.mean(largest)), 4)}  # fmt: skip


def kinds(vit: Vit, photos: list[tuple[bytes, str]]) -> dict[str, Any]:
    """Of photos of cats (dogs) by WordNet id: how many there are, and % whose first answer is some cat (some dog)."""
    ids, groups = wordnet_ids(vit), {}
    for kind, indices in KINDS.items():
        names = {ids[i] for i in indices}
        some = [open_photo(photo) for photo, name in photos if name in names]
        right = [int(np.argmax(record(vit, photo, fusions=()).logits)) in indices for photo in tqdm(some, desc=kind)]
        if right:
            groups[kind] = {"photos": len(right), "called_so": round(100 * float(np.mean(right)), 1)}
    return groups


def followed(vit: Vit, teacher: str, photos: list[bytes]) -> dict[str, Any]:
    """‖student − teacher‖² / ‖teacher‖² of hidden states after each block, and their mean over blocks."""
    module: Any = copy.copy(vit.module)
    module.pretrained_cfg = {"mean": vit.mean, "std": vit.std}
    side = vit.grid.image_px[0]
    recipe = Recipe(task="layers", teacher=teacher, image_px=side, patch_px=vit.grid.patch_px, width=module.embed_dim,
                    blocks=vit.blocks, heads=vit.heads)  # fmt: skip
    inputs = (to_input(vit, see(open_photo(photo).image, vit.transform, vit.grid).pixels) for photo in tqdm(photos))
    errors = hidden_errors(LayerByLayer(module, recipe), inputs)
    return {"photos": len(photos), "blocks": [round(e, 4) for e in errors], "mean": round(float(np.mean(errors)), 4)}


def spread(photos: list[tuple[bytes, str]], most: int) -> list[tuple[bytes, str]]:
    """At most `most` of the photos, evenly spaced."""
    return photos[:: max(1, len(photos) // most)][:most]


def measure(vit: Vit, args: argparse.Namespace) -> dict[str, Any]:
    """Everything that the given photos allow."""
    facts: dict[str, Any] = {"model": vit.name}
    table = positions(vit)
    if table is not None:
        facts["position_correlation"] = round(correlation_with_distance(similarity(table), vit.grid), 3)
    for file in args.labelled:
        photos = rows([file], "val")
        if args.names and photos[0][1].isdigit():
            names = dict(line.split("\t")[:2] for line in args.names.read_text(encoding="utf-8").splitlines())
            photos = [(photo, names[label]) for photo, label in photos]
        right = accuracy(vit, labelled(spread(photos, args.most), file.stem))
        facts[f"accuracy {file.stem}"] = {name: right[name] for name in ("photos", "top1", "top5")}
        facts |= {f"{kind} {file.stem}": said for kind, said in kinds(vit, spread(photos, args.most)).items()}
        some = [photo for photo, _ in spread(photos, 128)]
        facts.setdefault("block_0_distance", reach(vit, some))
        if args.teacher and "hidden_states" not in facts:
            facts["hidden_states"] = followed(vit, args.teacher, some)
    if wordnet_ids(vit):
        facts["gallery"] = gallery(vit)
    if args.masks:
        facts["localisation"] = localisation(vit, args.masks)
    return facts


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser("python -m vitcore.train.shipping.measure", description=__doc__)
    parser.add_argument("model", help="a name or a .safetensors file with its card")
    parser.add_argument("--labelled", nargs="*", type=Path, default=[], help="Parquet files of photos and WordNet ids")
    parser.add_argument("--names", type=Path, help="TSV of label number and WordNet id, for files that use numbers")
    parser.add_argument("--masks", type=Path, help="folder with manifest.csv, photos and foreground masks")
    parser.add_argument("--teacher", default="", help="the model whose hidden states it learned to have")
    parser.add_argument("--most", type=int, default=10**6, help="photos of each file, evenly spaced")
    args = parser.parse_args()
    torch.set_num_threads(2)
    print(json.dumps(measure(load(args.model), args), indent=1))


if __name__ == "__main__":
    main()

"""`python -m tests.shipping.measure MODEL …`: the facts a model's card states, measured on photos of yours.

It prints every figure of the card, as the card has it. Accuracy is over all classes of the model, for photos labelled with
WordNet ids or its names. Cats and dogs are counted as right when the first answer is the name of any cat or of any dog.
"""

import argparse
import copy
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from tests.shipping.localisation import Pet, list_pets, localisation, photos_of_pets
from vitcore.analysis.position_embeddings import correlation_with_distance, position_similarity
from vitcore.assets import SAMPLES
from vitcore.faithfulness.photo_masks import photos_in_manifest
from vitcore.forward.recording import record, to_model_input
from vitcore.images import crop_for_model, open_photo
from vitcore.models.load_model import Vit, load, position_embeddings, wordnet_ids
from vitcore.train.data.photos import Photos
from vitcore.train.evaluation.accuracy import match_classes, predict_classes
from vitcore.train.learning.layer_distillation import LayerDistillation, embed_pixels
from vitcore.train.recipe import Recipe

MAX_DISTANCE_PHOTOS = 128  # photos of the first file on which distance and hidden states are measured
KINDS = {"cats": range(281, 286), "dogs": range(151, 269)}  # ImageNet's domestic ones, by index


def labelled_photos(photos: list[tuple[bytes, str]], name: str) -> Photos:
    """(encoded photo, class name) pairs as Photos."""
    classes, labels = np.unique([label for _, label in photos], return_inverse=True)
    return Photos(name, [photo for photo, _ in photos], labels.astype(np.int64), tuple(classes.tolist()))


def first_layer_distance(vit: Vit, photos: list[bytes]) -> dict[str, Any]:
    """Mean attention distance of block 0's heads over photos, in px and as a share of the image width."""
    px = np.mean([record(vit, photo, fusions=()).distance_px[0] for photo in tqdm(photos, desc="distance")], 0)
    share = px / vit.grid.image_px[1]
    return {"photos": len(photos), "px": [round(float(v), 1) for v in px], "share_of_width": [round(float(v), 3) for v in share]}


def gallery_accuracy(vit: Vit, folder: Path = SAMPLES) -> dict[str, Any]:
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


def kind_accuracy(first: NDArray[np.int64], kind_of_photos: Sequence[str]) -> dict[str, Any]:
    """Of photos of "cats", of "dogs" and of neither (""): % whose first answer (n,) is the name of any cat, or any dog.

    "false_cats": of the photos without a cat, % that are called one.
    """
    shown, called = np.array(kind_of_photos), {kind: np.isin(first, list(classes)) for kind, classes in KINDS.items()}
    asked = {kind: (shown == kind, called[kind]) for kind in KINDS} | {"false_cats": (shown != "cats", called["cats"])}
    return {name: {"photos": int(which.sum()), "called_so": round(100 * float(hit[which].mean()), 2)}
            for name, (which, hit) in asked.items() if which.any()}  # fmt: skip


def labelled_accuracy(vit: Vit, photos: list[tuple[bytes, str]], most: int, name: str) -> dict[str, Any]:
    """{"accuracy": …, "kinds": …} of at most `most` photos labelled with WordNet ids or the model's names; others are of no kind.

    Cats are few: of them every one is asked about.
    """
    some = labelled_photos(evenly_spaced_photos(photos, most), name)
    opened, top = predict_classes(vit, some)
    wanted = match_classes(vit, some.classes, name)[some.labels[opened]]
    hits = top[wanted >= 0] == wanted[wanted >= 0, None]
    accuracy: dict[str, float] = {"photos": len(hits)}
    accuracy |= {f"top{n}": round(100 * float(hits[:, :n].any(1).mean()), 2) for n in (1, 5)}
    ids = wordnet_ids(vit)
    if not ids:
        return {"accuracy": accuracy}
    found = kind_accuracy(top[:, 0], [_kind(index) for index in wanted])
    cats = [(photo, label) for photo, label in photos if label in {ids[index] for index in KINDS["cats"]}]
    if cats:
        first = predict_classes(vit, labelled_photos(cats, name), 1)[1][:, 0]
        found |= kind_accuracy(first, ["cats"] * len(first))
    return {"accuracy": accuracy, "kinds": found}


def _kind(index: int) -> str:
    return next((kind for kind, classes in KINDS.items() if index in classes), "")


def species_accuracy(vit: Vit, pets: list[Pet]) -> dict[str, Any]:
    """Of photos of Oxford-IIIT Pet: how often the species is right, of how many breeds, and localisation."""
    photos = labelled_photos([(pet.photo.read_bytes(), pet.kind) for pet in pets], "pets")
    opened, top = predict_classes(vit, photos, 1)
    found = kind_accuracy(top[:, 0], [photos.classes[label] for label in photos.labels[opened]])
    breeds = {kind: len({pet.breed for pet in pets if pet.kind == kind}) for kind in KINDS}
    return {**found, "breeds": breeds, "localisation": localisation(vit, photos_of_pets(pets))}


def teacher_hidden_state_errors(vit: Vit, teacher: str, photos: list[bytes]) -> dict[str, Any]:
    """‖student − teacher‖² / ‖teacher‖² of hidden states after each block, and their mean over blocks."""
    module: Any = copy.copy(vit.module)
    module.pretrained_cfg = {"mean": vit.mean, "std": vit.std}
    side = vit.grid.image_px[0]
    recipe = Recipe(task="layers", teacher=teacher, image_px=side, patch_px=vit.grid.patch_px, width=module.embed_dim,
                    blocks=vit.blocks, heads=vit.heads)  # fmt: skip
    inputs = (to_model_input(vit, crop_for_model(open_photo(photo).image, vit.transform).pixels) for photo in tqdm(photos))
    errors = hidden_state_errors(LayerDistillation(module, recipe), inputs)
    return {"photos": len(photos), "blocks": [round(e, 4) for e in errors], "mean": round(float(np.mean(errors)), 4)}


def parquet_rows(files: Sequence[Path], split: str = "train") -> list[tuple[bytes, str]]:
    """(encoded photo, label) of every row of the split; files without a `split` column count whole."""
    photos: list[tuple[bytes, str]] = []
    for file in files:
        table = pq.read_table(file).to_pydict()
        splits = table.get("split", [split] * len(table["image"]))
        photos += [(i, str(y)) for i, y, s in zip(table["image"], table["label"], splits, strict=True) if s == split]
    return photos


@torch.inference_mode()
def hidden_state_errors(objective: LayerDistillation, batches: Iterable[Tensor]) -> list[float]:
    """‖student − teacher‖² / ‖teacher‖² of the hidden states after each block, over all tokens of batches (B, 3, px, px)."""
    objective.eval()
    top = torch.zeros(len(objective.spans))
    bottom = torch.zeros(len(objective.spans))
    for pixels in batches:
        module: Any = objective.teacher.module
        taught, z = embed_pixels(module, objective.teacher.adapt_pixels(pixels))[1], embed_pixels(objective.vit, pixels)[1]
        for i, (block, span) in enumerate(zip(objective.vit.blocks, objective.spans, strict=True)):
            z = block(z)
            for at in span:
                taught = module.blocks[at](taught)
            wanted = objective.common_tokens(taught)
            top[i] += (objective.to_teacher_width(z) - wanted).square().sum().cpu()
            bottom[i] += wanted.square().sum().cpu()
    return (top / bottom).tolist()


def evenly_spaced_photos(photos: list[tuple[bytes, str]], most: int) -> list[tuple[bytes, str]]:
    """At most `most` of the photos, evenly spaced."""
    return photos[:: max(1, len(photos) // most)][:most]


def with_wordnet_ids(photos: list[tuple[bytes, str]], names: Path | None) -> list[tuple[bytes, str]]:
    """(encoded photo, label) pairs with the ids that a TSV `names` has for labels that are numbers."""
    if not names or not photos[0][1].isdigit():
        return photos
    table = dict(line.split("\t")[:2] for line in names.read_text(encoding="utf-8").splitlines())
    return [(photo, table[label]) for photo, label in photos]


def measure_model(vit: Vit, args: argparse.Namespace) -> dict[str, Any]:
    """Everything that the given photos allow."""
    facts: dict[str, Any] = {"model": vit.name}
    table = position_embeddings(vit)
    if table is not None:
        facts["position_correlation"] = round(correlation_with_distance(position_similarity(table), vit.grid), 3)
    for file in args.labelled:
        photos = with_wordnet_ids(parquet_rows([file], "val"), args.names)
        facts |= {f"{what} {file.stem}": found for what, found in labelled_accuracy(vit, photos, args.most, file.stem).items()}
        some = [photo for photo, _ in evenly_spaced_photos(photos, MAX_DISTANCE_PHOTOS)]
        facts.setdefault("block_0_distance", first_layer_distance(vit, some))
        if args.teacher and "hidden_states" not in facts:
            facts["hidden_states"] = teacher_hidden_state_errors(vit, args.teacher, some)
    if wordnet_ids(vit):
        facts["gallery"] = gallery_accuracy(vit)
    if args.masks:
        facts["localisation"] = localisation(vit, photos_in_manifest(args.masks))
    if args.pets:
        facts["pets"] = species_accuracy(vit, list_pets(args.pets, args.breeds))
    return facts


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser("python -m tests.shipping.measure", description=__doc__)
    parser.add_argument("model", help="a name or a .safetensors file with its card")
    parser.add_argument("--labelled", nargs="*", type=Path, default=[], help="Parquet files of photos and WordNet ids")
    parser.add_argument("--names", type=Path, help="TSV of label number and WordNet id, for files that use numbers")
    parser.add_argument("--masks", type=Path, help="folder with manifest.csv, photos and foreground masks")
    parser.add_argument("--teacher", default="", help="the model whose hidden states it learned to have")
    parser.add_argument("--most", type=int, default=10**6, help="photos of each file, evenly spaced, and every cat")
    parser.add_argument("--pets", type=Path, help="folder of Oxford-IIIT Pet: images, annotations")
    parser.add_argument("--breeds", nargs="*", default=[], help="numbers of its breeds (default: all)")
    args = parser.parse_args()
    torch.set_num_threads(2)
    print(json.dumps(measure_model(load(args.model), args), indent=1))


if __name__ == "__main__":
    main()

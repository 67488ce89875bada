"""`python -m tests.shipping.refit MODEL …`: a model's last linear layer, fitted to its teacher once more.

No other weight is touched, so every picture of attention stays as it is: only what is answered changes. The student's features
and the teacher's answers are computed once for crops of photos, and a regression on them starts from the layer as it is and is
held near it. For photos of a kind that is named (cats, say) the teacher is asked which of that kind it sees, and not whether.
"""

import argparse
import copy
import io
import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torchvision.transforms import v2

from tests.shipping.measure import KINDS, parquet_rows, with_wordnet_ids
from vitcore.models.load_model import Vit, load, wordnet_ids
from vitcore.train import run_folder

BATCH_SIZE, CROP_AREA = 16, 0.35  # crops at a time, and the smallest share of a photo that one takes
HELD_OUT = 8  # all crops of one photo in so many are only asked about


class StudentFeaturesAndTeacherLogits(NamedTuple):
    """For N crops: the student's features (N, D), the teacher's logits (N, C), the WordNet id or name of each photo, and which
    photo each is of, (N,): equal bytes are one photo."""

    features: Tensor
    logits: Tensor
    names: list[str]
    photos: Tensor


def compute_distillation_features(
    student: Vit, teacher: Vit, photos: Sequence[tuple[bytes, str]]
) -> StudentFeaturesAndTeacherLogits:
    """A random crop of each (encoded photo, name), seen by the student, and enlarged by the teacher, in the order given."""
    side, large = student.grid.image_px[0], teacher.grid.image_px[0]
    cut = v2.Compose([
        v2.ToImage(), v2.RandomResizedCrop(side, (CROP_AREA, 1), interpolation=v2.InterpolationMode.BICUBIC, antialias=True),
        v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True),
    ])  # fmt: skip
    kept, asked = [], []
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(0)
        for start in range(0, len(photos), BATCH_SIZE):
            opened = (Image.open(io.BytesIO(photo)).convert("RGB") for photo, _ in photos[start : start + BATCH_SIZE])
            crops = torch.stack([cut(image) for image in opened])
            enlarged = F.interpolate(crops, large, mode="bicubic", antialias=True).clamp(0, 1)
            hidden = student.module.forward_features(_normalised(student, crops))
            kept.append(student.module.forward_head(hidden, pre_logits=True))
            asked.append(teacher.module(_normalised(teacher, enlarged)))
    numbers: dict[bytes, int] = {}
    of = torch.tensor([numbers.setdefault(photo, len(numbers)) for photo, _ in photos])
    return StudentFeaturesAndTeacherLogits(torch.cat(kept).clone(), torch.cat(asked).clone(), [name for _, name in photos], of)


def _normalised(vit: Vit, crops: Tensor) -> Tensor:
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in (vit.mean, vit.std))
    return (crops - mean) / std


def refit_targets(given: StudentFeaturesAndTeacherLogits, kinds: Iterable[tuple[set[str], range]] = ()) -> tuple[Tensor, Tensor]:
    """(N, C) the teacher's probabilities, within its kind alone for a photo named as one; (N,) whether it is such a photo.

    `kinds`: the names of photos of each kind, and its classes.
    """
    wanted, special = given.logits.float().softmax(-1), torch.zeros(len(given.names), dtype=torch.bool)
    for names, classes in kinds:
        mine = torch.tensor([name in names for name in given.names])
        within = torch.zeros(wanted.shape[1])
        within[list(classes)] = 1
        inside = wanted * within
        wanted = torch.where(mine[:, None], inside / inside.sum(-1, keepdim=True), wanted)
        special |= mine
    return wanted, special


def split_crops(photos: Tensor, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Which crops are only asked about and which are learned from, given the photo (N,) that each is of: no photo is in both."""
    which, of = photos.unique(return_inverse=True)
    shuffled = torch.randperm(len(which), generator=torch.Generator().manual_seed(seed))
    left_out = torch.zeros(len(which), dtype=torch.bool)
    left_out[shuffled[: len(which) // HELD_OUT]] = True
    return left_out[of].nonzero()[:, 0], (~left_out[of]).nonzero()[:, 0]


def fit_head(
    head: nn.Linear, given: StudentFeaturesAndTeacherLogits, wanted: Tensor, special: Tensor, weight: float = 0.3,
    hold: float = 1e-3, epochs: int = 5,
    rate: float = 2e-3, seed: int = 0,
) -> tuple[nn.Linear, dict[str, float]]:  # fmt: skip
    """A copy of the layer, fitted; and the cross-entropy of crops of photos that it was not fitted to, before and after.

    A crop of a special kind weighs `weight` of another; `hold` times the squared distance from the layer as it was is added.
    """
    asked, learned = split_crops(given.photos, seed)
    new, share = copy.deepcopy(head).float().requires_grad_(True), torch.where(special, weight, 1.0)
    was = new.weight.detach().clone()
    optimiser = torch.optim.Adam(new.parameters(), lr=rate)
    order = torch.Generator().manual_seed(seed + 1)
    features = given.features.float()
    for _ in range(epochs):
        for rows_ in learned[torch.randperm(len(learned), generator=order)].split(256):
            told = -(wanted[rows_] * new(features[rows_]).log_softmax(-1)).sum(-1)
            loss = (share[rows_] * told).sum() / share[rows_].sum() + hold * (new.weight - was).square().sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    new.requires_grad_(False)
    before, after = (-(wanted[asked] * layer.float()(features[asked]).log_softmax(-1)).sum(-1).mean() for layer in (head, new))
    return new, {"before": round(float(before), 4), "after": round(float(after), 4)}


def main() -> None:
    """Write the model with its new layer, in float16, and its card as it was."""
    parser = argparse.ArgumentParser("python -m tests.shipping.refit", description=__doc__)
    parser.add_argument("model", help="a name or a .safetensors file with its card")
    parser.add_argument("--teacher", required=True)
    parser.add_argument("--teacher-px", type=int, default=256, help="the side the crop is enlarged to")
    parser.add_argument("--data", nargs="+", type=Path, required=True, help="Parquet files of photos and WordNet ids")
    parser.add_argument("--names", type=Path, help="TSV of label number and WordNet id, for files that use numbers")
    parser.add_argument("--kind", choices=sorted(KINDS), default="cats")
    parser.add_argument("--views", type=int, default=4, help="crops of each photo of the kind")
    parser.add_argument("--others", type=int, default=5000, help="other photos, drawn at random")
    parser.add_argument("--weight", type=float, default=0.3, help="of a crop of the kind, beside another's 1")
    parser.add_argument("--hold", type=float, default=1e-3, help="how firmly the layer is held where it was")
    parser.add_argument("--lessons", type=Path, help="a file that keeps what was computed, to be used again")
    parser.add_argument("--to", type=Path, required=True, help="the model's path without its ending")
    args = parser.parse_args()
    student = load(args.model)
    names = {ids for i, ids in enumerate(wordnet_ids(student)) if i in KINDS[args.kind]}
    if args.lessons and args.lessons.exists():
        given = StudentFeaturesAndTeacherLogits(*torch.load(args.lessons, weights_only=True))
    else:
        photos = [pair for file in args.data for pair in with_wordnet_ids(parquet_rows([file]), args.names)]
        mine, rest = ([pair for pair in photos if (pair[1] in names) is inside] for inside in (True, False))
        drawn = random.Random(0).sample(rest, min(args.others, len(rest))) + mine * args.views
        random.Random(1).shuffle(drawn)
        given = compute_distillation_features(student, load(args.teacher, args.teacher_px), drawn)
        if args.lessons:
            torch.save(tuple(given), args.lessons)
    wanted, special = refit_targets(given, [(names, KINDS[args.kind])])
    layer, told = fit_head(student.module.head, given, wanted, special, args.weight, args.hold)
    source = Path(args.model) if args.model.endswith(".safetensors") else args.to.with_suffix(".safetensors")
    weights = load_file(source) | {"head.weight": layer.weight.half(), "head.bias": layer.bias.half()}
    card = source.with_suffix(".json").read_text(encoding="utf-8")
    run_folder.replace_file_atomically(args.to.with_suffix(".safetensors"), lambda file: save_file(weights, file))
    run_folder.write_file_atomically(args.to.with_suffix(".json"), card)
    counts = {"crops": len(given.names), "photos": len(given.photos.unique()), f"of {args.kind}": int(special.sum())}
    print(json.dumps(counts | {"cross-entropy of photos it was not fitted to": told}))


if __name__ == "__main__":
    main()

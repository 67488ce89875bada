"""Lessons: what a student's features and its teacher's answers are for crops of photos, computed once."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.transforms import v2

from vitcore.models.load_model import Vit
from vitcore.train.data.parquet import decode_photos

BATCH_SIZE = 16  # crops at a time


class StudentFeaturesAndTeacherLogits(NamedTuple):
    """For N crops: the student's features (N, D), the teacher's logits (N, C), the WordNet id or name of each photo, and which
    photo each is of, (N,): equal bytes are one photo."""

    features: Tensor
    logits: Tensor
    names: list[str]
    photos: Tensor


def compute_distillation_features(
    student: Vit, teacher: Vit, photos: Sequence[tuple[bytes, str]], area: float = 0.35, seed: int = 0
) -> StudentFeaturesAndTeacherLogits:
    """A random crop of each (encoded photo, name), seen by the student, and enlarged by the teacher, in the order given."""
    side, large = student.grid.image_px[0], teacher.grid.image_px[0]
    cut = v2.Compose([
        v2.ToImage(), v2.RandomResizedCrop(side, (area, 1), interpolation=v2.InterpolationMode.BICUBIC, antialias=True),
        v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True),
    ])  # fmt: skip
    kept, asked = [], []
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(seed)
        for start in range(0, len(photos), BATCH_SIZE):
            crops = torch.stack([cut(photo) for photo in decode_photos(photo for photo, _ in photos[start : start + BATCH_SIZE])])
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

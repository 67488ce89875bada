"""How well a model does on photos with labels: its answers over its own classes, and its features for few-shot accuracy.

Every photo goes through the model's own transform, one batch at a time. Shapes: N photos, D features, C classes of theirs.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from vitcore.forward.onednn_linear import with_faster_modules
from vitcore.forward.recording import to_model_input
from vitcore.images import PhotoError, crop_for_model
from vitcore.models.load_model import Vit, wordnet_ids
from vitcore.models.vit import plain_class_name
from vitcore.train.data.photos import DataError, Photos

BATCH_SIZE = 64


@torch.inference_mode()
def measure_accuracy(vit: Vit, photos: Photos, batch: int = BATCH_SIZE) -> dict[str, float]:
    """{"photos", "top1", "top5", "left_out"}: how many were asked about, and % whose class is the first or among five.

    The model answers over all its classes; where they are five or fewer, there is no "top5".
    Left out: photos without a label, of a class the model lacks, or broken.
    Raises: DataError, when no class of the photos is one of the model's, or nothing is left.
    """
    to_model = match_classes(vit, photos.classes, photos.name)
    known = np.flatnonzero((photos.labels >= 0) & (to_model[photos.labels] >= 0))
    rows, top = predict_classes(vit, photos.subset(known), batch=batch)
    if not len(rows):
        raise DataError("None of the {count} {count:photo|photos} of {name} can be tested.", count=len(photos), name=photos.name)
    correct = top == to_model[photos.labels[known[rows]]][:, None]
    found = {"photos": len(correct), "top1": round(100 * float(correct[:, 0].mean()), 2)}
    five = {"top5": round(100 * float(correct.any(1).mean()), 2)} if len(vit.labels) > correct.shape[1] else {}
    return found | five | {"left_out": len(photos) - len(correct)}


@torch.inference_mode()
def predict_classes(
    vit: Vit, photos: Photos, top_count: int = 5, batch: int = BATCH_SIZE
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which photos could be opened, (n,), and the `top_count` likeliest classes of each, (n, top_count), the likeliest first."""
    top_count = min(top_count, len(vit.labels))
    empty = np.zeros((0, top_count), np.int64)
    return _ask_batches(vit, photos, batch, True, lambda module, x: module(x).topk(top_count).indices, empty)


@torch.inference_mode()
def extract_features(vit: Vit, photos: Photos, batch: int = BATCH_SIZE) -> NDArray[np.float32]:
    """What the head reads of every photo, (N, D): timm's pre-logits. Raises: PhotoError, naming a broken photo."""
    return _features(vit, photos, batch, skip_broken=False)[1]


@torch.inference_mode()
def extract_readable_features(vit: Vit, photos: Photos) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Which photos have a label and could be opened, (n,), and `extract_features` of each, (n, D)."""
    labelled = np.flatnonzero(photos.labels >= 0)
    rows, features = _features(vit, photos.subset(labelled), BATCH_SIZE, skip_broken=True)
    return labelled[rows], features


def _features(vit: Vit, photos: Photos, batch: int, skip_broken: bool) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    empty = np.zeros((0, vit.module.num_features), np.float32)
    read = lambda module, x: module.forward_head(module.forward_features(x), pre_logits=True).float()  # noqa: E731
    return _ask_batches(vit, photos, batch, skip_broken, read, empty)


def _ask_batches(
    vit: Vit, photos: Photos, batch: int, skip_broken: bool, ask: Callable[[Any, Tensor], Tensor], empty: NDArray
) -> tuple[NDArray[np.int64], NDArray]:
    """Which photos could be opened, (n,), and what `ask` reads of the module and each of them; `empty` where none could."""
    module = with_faster_modules(vit.module)
    found = [(rows, ask(module, x).cpu().numpy()) for rows, x in _batches(vit, photos, batch, skip_broken)]
    if not found:
        return np.zeros(0, np.int64), empty
    rows, given = zip(*found, strict=True)
    return np.concatenate(rows), np.concatenate(given)


def match_classes(vit: Vit, classes: Sequence[str], source: str = "these photos") -> NDArray[np.int64]:
    """The model's class of each of the photos' classes, (C,); -1 where the model lacks it.

    By WordNet id if the model is an ImageNet one and the photos have such ids, else by name: capitals, underscores and
    hyphens make no difference, and a name that the model uses twice (ImageNet's crane) means nothing.
    Raises: DataError, when none is found.
    """
    at = {name: i for i, name in enumerate(wordnet_ids(vit))}
    wanted = list(classes)
    if not any(name in at for name in wanted):
        plain, wanted = [plain_class_name(label) for label in vit.labels], [plain_class_name(name) for name in wanted]
        often = Counter(plain)
        at = {name: i for i, name in enumerate(plain) if often[name] == 1}
    places = np.array([at.get(name, -1) for name in wanted], np.int64)
    if not (places >= 0).any():
        facts = {"name": vit.name, "source": source, "labels": _few(vit.labels), "classes": _few(classes)}
        raise DataError("{name} has no class of {source}: it has {labels}; they have {classes}.", **facts)
    return places


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "") if names else "no classes"


def _batches(vit: Vit, photos: Photos, batch: int, skip_broken: bool) -> Iterator[tuple[NDArray[np.int64], Tensor]]:
    """Which photos, and what the model takes of them: (b,) and (b, 3, H, W)."""
    for first in tqdm(range(0, len(photos), batch), unit="batch", disable=len(photos) <= batch):
        rows, inputs = [], []
        for i in range(first, min(first + batch, len(photos))):
            try:
                image = photos.open(i)
            except PhotoError:
                if not skip_broken:
                    raise
                continue
            rows.append(i)
            inputs.append(to_model_input(vit, crop_for_model(image, vit.transform).pixels))
        if rows:
            yield np.array(rows), torch.cat(inputs)

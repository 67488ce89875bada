"""What a run is worth at a moment: loss and accuracy on held-out photos, and few-shot accuracy of its features."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from vitcore.train.data.photo_sources import Photos
from vitcore.train.data.photo_tensors import EvaluationBatches
from vitcore.train.evaluation.few_shot import SEEDS, choose_shots, ridge_predictions
from vitcore.train.learning.masked_patches import MaskedPatches
from vitcore.train.learning.training_loop import TrainingState


def open_held_out_photos(run: TrainingState, photos: Photos) -> EvaluationBatches | None:
    """This process's share of the held-out photos, decoded once; None where nothing is held out.

    Where weights are sharded, only the first process has them whole, and looks at all photos.
    """
    if not len(photos):
        return None
    machine, config = run.accelerator, run.kept_objective().vit.pretrained_cfg
    rank, world = machine.process_index, machine.num_processes
    mine = photos.subset(range(rank, len(photos), world) if run.unsharded_copy is None else range(len(photos) if rank == 0 else 0))
    return EvaluationBatches(mine, run.recipe.image_px, config["mean"], config["std"], machine.device, run.recipe.batch)


@torch.no_grad()
def evaluate_run(run: TrainingState, held_out: EvaluationBatches) -> dict[str, float]:
    """{"val_loss"} over "val_photos"; "top1" and "top5" in % where classes are learned, "val_colours" where colours are."""
    machine, kept = run.accelerator, run.kept_objective()
    kept.eval()
    total = torch.zeros(4, device=machine.device)  # photos, loss, first, among five
    torch.manual_seed(run.recipe.seed)  # the same patches are masked each time
    for pixels, labels in held_out:
        with machine.autocast():
            batch = _masked(kept, pixels) if isinstance(kept, MaskedPatches) else _classified(kept.vit, pixels, labels)
        total += batch.to(total)
    photos, loss, first, five = machine.reduce(total, "sum").tolist()
    counted, photos = {"val_photos": int(photos)}, max(photos, 1.0)
    if isinstance(kept, MaskedPatches):
        return counted | {"val_loss": loss / photos, "val_colours": 100 * first / photos}
    return counted | {"val_loss": loss / photos, "top1": 100 * first / photos, "top5": 100 * five / photos}


def _classified(vit: Any, pixels: Tensor, labels: Tensor) -> Tensor:
    logits = vit(pixels).float()
    known = labels >= 0
    logits, labels = logits[known], labels[known]
    hits = logits.topk(min(5, logits.shape[1])).indices == labels[:, None]
    return torch.stack([known.sum(), F.cross_entropy(logits, labels, reduction="sum"), hits[:, 0].sum(), hits.sum()])


def _masked(kept: MaskedPatches, pixels: Tensor) -> Tensor:
    parts = kept(SimpleNamespace(pixels=pixels))
    right = parts.get("colours_right", torch.zeros(()))
    return len(pixels) * torch.stack([torch.ones(()), parts["loss"].cpu(), right.cpu(), torch.zeros(())])


@torch.no_grad()
def evaluate_few_shot(run: TrainingState, held_out: EvaluationBatches) -> dict[str, float]:
    """{"few_shot"}: linear accuracy in % from `few_shots` held-out photos of each class, tested on the rest; mean of 3 draws.

    Classes with no more photos than that are left out; {} where fewer than two remain.
    """
    kept, machine = run.kept_objective(), run.accelerator
    kept.eval()
    features, labels = [], []
    for pixels, label in held_out:
        with machine.autocast():
            tokens = kept.vit.forward_features(pixels)
            features.append(kept.vit.forward_head(tokens, pre_logits=True).float())
        labels.append(label)
    parts = (machine.pad_across_processes(torch.cat(v), pad_index=-1) for v in (features, labels))
    x, y = (machine.gather(part).cpu().numpy() for part in parts)
    shots, names = run.recipe.few_shots, np.unique(y[y >= 0])
    known = np.isin(y, [name for name in names if (y == name).sum() > shots])
    x, y = x[known], y[known]
    if len(np.unique(y)) < 2:
        return {}
    right = []
    for seed in range(SEEDS):
        rows = choose_shots(y, shots, seed)
        rest = np.setdiff1d(np.arange(len(y)), rows)
        right.append(np.mean(ridge_predictions(x[rows], y[rows], x[rest]) == y[rest]))
    return {"few_shot": 100 * float(np.mean(right))}

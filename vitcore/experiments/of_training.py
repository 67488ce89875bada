"""Experiments about how a model is trained: without labels first, with which optimiser, at what resolution, at what cost."""

from __future__ import annotations

import math
from statistics import mean, median
from typing import Any

import numpy as np

from vitcore.experiments.experiment import Cell, Claim, Experiment, Values
from vitcore.experiments.of_models import FULL, QUICK, RESNET, base
from vitcore.train.recipes.recipe import Recipe, changed

# Masked patch prediction

LABELS = {True: (50, 100, 200), False: (1000, 5000)}


def _masked_base(quick: bool) -> Recipe:
    return changed(QUICK, {"steps": 100, "lr_peak": 5e-3}) if quick else changed(FULL, {"steps": 2000})


def _masked(quick: bool) -> list[Cell]:
    long = {"task": "masked", "steps": 500 if quick else 20_000, "lr_peak": 0.01 if quick else 1e-3}
    curves = {"from scratch": "", "masked first": "masked"}
    return [Cell("masked", (), long)] + [
        Cell(f"{curve.replace(' ', '-')}-{most}", ((curve, str(most)),), {"learn_most": most}, after)
        for most in LABELS[quick] for curve, after in curves.items()
    ]  # fmt: skip


def _helped(values: Values) -> list[float]:
    counts = {x for _, x in values}
    return [mean(values["masked first", x] - values["from scratch", x] for x in counts)]


MASKED = Experiment(
    name="masked", title="Masked patches before labels", where=("Section {number}", "4.6"),
    finding="Predicting masked patches first gains 2 points over training from scratch (79.9 % on ImageNet), and stays 4 behind "
            "supervised pre-training.",
    measured="Accuracy on held-out pictures after learning from a few labelled ones, from scratch or from a model that predicted "
             "masked patches of all pictures, without labels.",
    small="The pictures without labels are of the same kind as the labelled; supervised pre-training on other classes is left out.",
    x_title="labelled pictures", seeds=3, numbers=True, base=_masked_base, cells=_masked,
    claims=(Claim("Masked patches first is better than from scratch.", _helped),),
)  # fmt: skip


# Adam or SGD

OPTIMISERS = {  # each with its usual decay (SGD: that of BiT, arXiv 1912.11370)
    "Adam": ({"optimiser": "adamw", "weight_decay": 0.05}, (3e-4, 1e-3, 3e-3)),
    "SGD": ({"optimiser": "sgd", "weight_decay": 1e-4}, (0.03, 0.1, 0.3)),
}  # fmt: skip
LEVELS = ("low", "middle", "high")


def _optimiser_base(quick: bool) -> Recipe:
    if quick:
        return changed(QUICK, RESNET | {"steps": 60})
    return changed(FULL, {"family": "resnet", "resnet": "R26", "width": 64, "patch_px": 32})


def _optimiser(quick: bool) -> list[Cell]:
    return [
        Cell(f"{name.lower()}-{level}", ((name, level),), fields | {"lr_peak": rate})
        for name, (fields, rates) in OPTIMISERS.items() for level, rate in zip(LEVELS, rates, strict=True)
    ]  # fmt: skip


def _adam_ahead(values: Values) -> list[float]:
    best = {name: max(values[name, level] for level in LEVELS) for name in OPTIMISERS}
    return [best["Adam"] - best["SGD"]]


OPTIMISER = Experiment(
    name="optimiser", title="Adam or SGD for ResNets", where=("Appendix {number}", "D.1"), table="optimiser",
    finding="ResNets pre-trained with Adam are better on most data sets and on average than with the usual SGD, though both are "
            "fine-tuned with SGD.",
    measured="Accuracy on held-out pictures of a small ResNet trained with Adam or with SGD, each at the best of three rates.",
    small="Trained from scratch and not fine-tuned on another task: whether features travel better is not tested.",
    x_title="learning rate (Adam 0.0003, 0.001, 0.003; SGD 0.03, 0.1, 0.3)",
    base=_optimiser_base, cells=_optimiser,
    claims=(Claim("Adam at its best is better than SGD at its best.", _adam_ahead),),
)  # fmt: skip


# Higher resolution


def _resolution_base(quick: bool) -> Recipe:
    tuned = {"optimiser": "sgd", "lr_peak": 0.03, "weight_decay": 0.0, "warmup_steps": 10, "steps": 100, "patch_px": 4}
    if quick:
        return changed(QUICK, tuned | {"patch_init_std": 0.15, "momentum": 0.9})
    return changed(FULL, tuned | {"steps": 2000, "warmup_steps": 100})


def _resolution(quick: bool) -> list[Cell]:
    whole = base(quick)
    first = {"optimiser": whole.optimiser, "lr_peak": whole.lr_peak, "weight_decay": whole.weight_decay,
             "momentum": whole.momentum, "warmup_steps": whole.warmup_steps, "steps": whole.steps}  # fmt: skip
    px = _resolution_base(quick).image_px
    return [
        Cell("first", (), first),
        Cell("same", (("fine-tuned", "same resolution"),), {}, "first"),
        Cell("double", (("fine-tuned", "double resolution"),), {"image_px": 2 * px}, "first"),
    ]  # fmt: skip


RESOLUTION = Experiment(
    name="resolution", title="Fine-tuning at a higher resolution", where=("Section {number}", "3.2"),
    finding="It is often beneficial to fine-tune at a higher resolution: more patches of the same size, positions interpolated.",
    measured="Accuracy on held-out pictures after fine-tuning at the resolution of pre-training, or at double, with four times the "
             "patches.",
    small="The pictures have 8×8 pixels: double resolution shows nothing new, and a patch then holds a quarter of what it "
    "held before.",
    x_title="fine-tuned at", seeds=3, base=_resolution_base, cells=_resolution,
    claims=(
        Claim("Double resolution is better than the same.",
              lambda s: [s["fine-tuned", "double resolution"] - s["fine-tuned", "same resolution"]]),
    ),
)  # fmt: skip


# Compute

LENGTHS = {
    True: {"ViT": (50, 100, 200), "ResNet": (20, 40, 80)},
    False: {"ViT": (2000, 4000, 8000), "ResNet": (2000, 4000, 8000)},
}
SIZES = {True: ((48, 1, 16), (96, 2, 16)), False: ((192, 6, 16), (384, 8, 8))}  # D, L, px of a patch


def _compute_base(quick: bool) -> Recipe:
    own = {"image_px": 32, "warmup_steps": 5, "lr_peak": 0.02}
    return changed(QUICK, own) if quick else changed(FULL, {"image_px": 64})


def _compute(quick: bool) -> list[Cell]:
    shapes: dict[tuple[str, str], dict[str, Any]] = {
        ("ViT", f"{wide}×{deep}/{px}"): {"width": wide, "blocks": deep, "patch_px": px}
        | ({"patch_init_std": 0.6 / px} if quick else {})
        for wide, deep, px in SIZES[quick]
    }  # fmt: skip
    resnet = RESNET if quick else {"family": "resnet", "width": 64, "patch_px": 32}
    shapes |= {("ResNet", depth): resnet | {"resnet": depth} for depth in ("R14", "R26")}
    return [
        Cell(f"{family}-{size.replace('×', 'x').replace('/', '-')}-{steps}".lower(), ((family, f"{size}, {steps}"),),
             fields | {"steps": steps})
        for (family, size), fields in shapes.items() for steps in LENGTHS[quick][family]
    ]  # fmt: skip


def _saved(values: Values, gflop: Values) -> list[float]:
    """Decades of compute that a ResNet costs beyond a ViT that is as good: the median over the fronts of both families.

    Each run of a front (none that cost less is better) is compared with the other's front, where it reaches that accuracy; both
    ways alike, and with as many runs of both, so that noise favours neither.
    """
    fronts: dict[str, list[tuple[float, float]]] = {"ViT": [], "ResNet": []}
    for at in sorted(values, key=gflop.__getitem__):
        front = fronts[at[0]]
        if not front or values[at] > front[-1][0]:
            front.append((values[at], math.log10(gflop[at])))
    gaps = []
    for name, other, sign in (("ResNet", "ViT", 1), ("ViT", "ResNet", -1)):
        accuracies, costs = zip(*fronts[other], strict=True)
        gaps += [sign * (cost - float(np.interp(accuracy, accuracies, costs)))
                 for accuracy, cost in fronts[name] if accuracies[0] <= accuracy <= accuracies[-1]]  # fmt: skip
    return [median(gaps) if gaps else math.nan]


COMPUTE = Experiment(
    name="compute", title="Accuracy against compute", where=("Figure {number}", "5"), table="compute",
    finding="For the same accuracy a ViT costs 2 to 4 times less compute than a ResNet.",
    measured="Accuracy on held-out pictures of ViTs and ResNets of several sizes and lengths of training, over the operations "
             "that their training took. A sign is called by width×layers/patch of a ViT, or depth of a ResNet, and steps.",
    small="Trained from scratch and tested on the same kind of pictures, with nothing transferred; digits enlarged to 32×32 "
          "pixels, which ViTs cut into 4 patches and ResNets halve five times; Muon trains the ViTs, Adam the ResNets.",
    x_title="operations of the training (10⁹)", others=("val_loss", "training_gflop"), x_measure="training_gflop",
    seeds=3, base=_compute_base, cells=_compute,
    claims=(Claim("A ResNet costs more than a ViT that is as good.", _saved, unit="decades", along="training_gflop"),),
)  # fmt: skip

"""Experiments about how a model is trained: without labels first, with which optimiser, at what resolution, at what cost."""

import math
from statistics import mean, median
from typing import Any

import numpy as np

from vitcore.experiments.architecture_experiments import (
    FULL_RECIPE,
    FULL_RESNET,
    LEARNING_RATES,
    QUICK_RECIPE,
    RESNET,
    shared_base_recipe,
)
from vitcore.experiments.experiment import SYNTHETIC_DATA, Claim, Experiment, ExperimentCell, Values, with_twice_the_steps
from vitcore.train.recipe import Recipe, with_changes

# Masked patch prediction

LABELS = {True: (100,), False: (1000, 5000)}
BEFORE = {True: 300, False: 20_000}  # steps without labels


def _masked_base(quick: bool) -> Recipe:
    return with_changes(QUICK_RECIPE, {"steps": 300}) if quick else with_changes(FULL_RECIPE, {"steps": 2000})


def _masked(quick: bool) -> list[ExperimentCell]:
    start = _masked_base(quick)
    longer = {"steps": start.steps + BEFORE[quick]}  # as long in all
    cells = [ExperimentCell("masked", (), {"task": "masked", "steps": BEFORE[quick]})]
    for most in LABELS[quick]:
        learn = {"learn_most": most}
        cells += [
            scratch := ExperimentCell(
                f"from-scratch-{most}", (("from scratch", str(most)),), learn | longer, learning_rates=LEARNING_RATES[quick]
            ),
            ExperimentCell(
                f"masked-first-{most}", (("masked first", str(most)),), learn, "masked", learning_rates=LEARNING_RATES[quick]
            ),
            with_twice_the_steps(scratch, start),
        ]
    return cells


def _helped(values: Values) -> float:
    counts = {x for curve, x in values if curve == "masked first"}
    return mean(values["masked first", x] - values["from scratch", x] for x in counts)


MASKED = Experiment(
    name="masked", title="Masked patches before labels", where=("Section {number}", "4.6"),
    finding="Predicting masked patches first gains 2 points over training from scratch (79.9 % on ImageNet), and stays 4 behind "
            "supervised pre-training.",
    measured="Accuracy on test pictures after learning from a few labelled ones. One model first predicted masked patches of all "
        "pictures without labels, the other learned from scratch. Both have as many steps in all, and each has the best of "
        "as many learning rates.",
    untested="That supervised pre-training is 4 points better. The pictures without labels are of the same kind as the labelled.",
    x_title="labelled pictures", numbers=True, base=_masked_base, cells=_masked,
    claims=(Claim("Masked patches first is better than from scratch, with the same total number of steps.", _helped, paper=(2.0,
        2.0),
                  source="Section 4.6"),),
)  # fmt: skip


# Adam or SGD

OPTIMISERS: dict[str, tuple[dict[str, Any], tuple[float, ...]]] = {  # each with its usual decay (SGD: BiT's, arXiv 1912.11370)
    "Adam": ({"optimiser": "adamw", "weight_decay": 0.05}, (1e-3, 3e-3)),
    "SGD": ({"optimiser": "sgd", "weight_decay": 1e-4}, (0.03, 0.1)),
}


def _optimiser_base(quick: bool) -> Recipe:
    return with_changes(QUICK_RECIPE, RESNET | {"momentum": 0.9, "steps": 90}) if quick else with_changes(FULL_RECIPE, FULL_RESNET)


def _optimiser(quick: bool) -> list[ExperimentCell]:
    cells = [
        ExperimentCell(name.lower(), (("ResNet", name),), fields, learning_rates=rates)
        for name, (fields, rates) in OPTIMISERS.items()
    ]
    return [*cells, *(with_twice_the_steps(cell, _optimiser_base(quick)) for cell in cells)]


OPTIMISER = Experiment(
    name="optimiser", first=30, title="Adam or SGD for ResNets", where=("Appendix {number}", "D.1"), table="optimiser",
    finding="ResNets pre-trained with Adam are better than with the usual SGD, on most data sets and on average. Both are "
        "fine-tuned with SGD.",
    measured="Accuracy on test pictures of a small ResNet trained with Adam or with SGD, each with the best of as many learning "
        "rates.",
    untested="Whether features transfer better. Here nothing is pre-trained and then fine-tuned on another task, so the paper's "
        "0.3 to 0.5 points can't be compared.",
    x_title="optimiser", base=_optimiser_base, cells=_optimiser,
    claims=(
        Claim("A ResNet trained with Adam is better than one trained with SGD.",
              lambda s: s["ResNet", "Adam"] - s["ResNet", "SGD"]),
    ),
)  # fmt: skip


# Higher resolution


def _resolution_base(quick: bool) -> Recipe:
    if quick:
        return with_changes(QUICK_RECIPE, {"steps": 100, "warmup_steps": 10})
    return with_changes(FULL_RECIPE, {"image_px": 32, "patch_px": 4, "steps": 2000, "warmup_steps": 100})


def _resolution(quick: bool) -> list[ExperimentCell]:
    start, whole = _resolution_base(quick), shared_base_recipe(quick)
    first = ExperimentCell(
        "first", (("pre-trained", "same resolution"),), {"steps": whole.steps, "warmup_steps": whole.warmup_steps}
    )
    same = ExperimentCell("same", (("fine-tuned", "same resolution"),), {}, "first", learning_rates=LEARNING_RATES[quick])
    double = {"image_px": 2 * start.image_px}
    return [
        first, same, with_twice_the_steps(same, start),
        ExperimentCell("double", (("fine-tuned", "double resolution"),), double, "first", learning_rates=LEARNING_RATES[quick]),
    ]  # fmt: skip


RESOLUTION = Experiment(
    name="resolution", title="Fine-tuning at a higher resolution", where=("Section {number}", "3.2"),
    finding="It is often beneficial to fine-tune at a higher resolution, as Touvron et al. (2019) and Kolesnikov et al. (2020) "
        "found. The patches keep their size and become more, and positions are interpolated.",
    measured="Accuracy on test pictures after more steps at half of their resolution, that of pre-training, or at full resolution "
        "with four times the patches. Both have as many steps, and each has the best of as many learning rates.",
    untested="Another task after pre-training, and SGD. The paper prints no number of its own for this.",
    x_title="resolution", drawn=SYNTHETIC_DATA.replace("px=16", "px=32"), base=_resolution_base, cells=_resolution,
    claims=(
        Claim("Fine-tuning at double resolution is better than as many steps at the same.",
              lambda s: s["fine-tuned", "double resolution"] - s["fine-tuned", "same resolution"]),
    ),
)  # fmt: skip


# Compute

LENGTHS = {True: {"ViT": (150, 300, 600), "ResNet": (6, 12, 24)}, False: dict.fromkeys(("ViT", "ResNet"), (2000, 4000, 8000))}
SIZES = {True: ((48, 2, 4),), False: ((192, 6, 16), (384, 8, 8))}  # D, L, px of a patch
DEPTHS = {True: ("R14",), False: ("R14", "R26")}


def _compute_base(quick: bool) -> Recipe:
    return with_changes(QUICK_RECIPE, {"warmup_steps": 4}) if quick else with_changes(FULL_RECIPE, {"image_px": 64})


def _compute(quick: bool) -> list[ExperimentCell]:
    shapes: dict[tuple[str, str], dict[str, Any]] = {
        ("ViT", f"{wide}×{deep}/{px}"): {"width": wide, "blocks": deep, "patch_px": px} for wide, deep, px in SIZES[quick]
    }
    resnet = RESNET if quick else FULL_RESNET
    shapes |= {("ResNet", depth): resnet | {"resnet": depth} for depth in DEPTHS[quick]}
    cells = []
    for (family, size), fields in shapes.items():
        name = f"{family}-{size.replace('×', 'x').replace('/', '-')}".lower()
        every = LENGTHS[quick][family]
        cells += [
            ExperimentCell(f"{name}-{steps}", ((family, f"{size}, {steps}"),), fields | {"steps": steps},
                 learning_rates=LEARNING_RATES[quick] if steps == every[-1] else (),
                 learning_rate_of="" if steps == every[-1] else f"{name}-{every[-1]}")
            for steps in every
        ]  # fmt: skip
    return cells


def _saved(values: Values, gflop: Values) -> float:
    """Decades of compute that a ResNet costs beyond a ViT that is as good: the median over the fronts of both families.

    Each run of a front (none that cost less is better) is compared with the other's front, where it reaches that accuracy; both
    ways alike, and with as many runs of both, so that noise favours neither. Not a number where the fronts have no accuracy in
    common.
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
    return median(gaps) if gaps else math.nan


COMPUTE = Experiment(
    name="compute", title="Accuracy against compute", where=("Figure {number}", "5"), table="compute",
    finding="A ViT needs 2 to 4 times less compute than a ResNet for the same accuracy.",
    measured="Accuracy on test pictures of ViTs and ResNets of several sizes and lengths of training, over the operations of "
        "their training. Each has the best of as many learning rates. A sign is named by a ViT's width×layers/patch, or a "
        "ResNet's depth, and the steps.",
    untested="Pre-training on hundreds of millions of pictures, and transfer to other tasks. The length varies, so trainings need "
        "not reach their plateau. The optimiser's own operations are not counted.",
    x_title="operations of the training (10⁹)", others=("top1", "training_gflop"), x_measure="training_gflop",
    base=_compute_base, cells=_compute,
    claims=(
        Claim("A ResNet needs more compute than a ViT of the same accuracy.", _saved, unit="times the compute",
              along="training_gflop", paper=(2.0, 4.0), source="Section 4.4"),
    ),
)  # fmt: skip

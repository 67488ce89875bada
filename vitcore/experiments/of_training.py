"""Experiments about how a model is trained: without labels first, with which optimiser, at what resolution, at what cost."""

from __future__ import annotations

import math
from statistics import mean, median

from vitcore.experiments.experiment import ALL, Cell, Claim, Experiment, Seen
from vitcore.experiments.of_models import FULL, QUICK, base
from vitcore.train.recipes.recipe import Recipe, changed

# Masked patch prediction

LABELS = {True: (50, 100, 200), False: (1000, 5000)}


def _masked_base(quick: bool) -> Recipe:
    return changed(QUICK, {"steps": 150, "batch": 32, "lr_peak": 1e-3}) if quick else changed(FULL, {"steps": 2000})


def _masked(quick: bool) -> list[Cell]:
    long = {"task": "masked", "steps": 600 if quick else 20_000, "lr_peak": 2e-3 if quick else 1e-3}
    curves = {"from scratch": "", "masked first": "masked"}
    return [Cell("masked", (), long)] + [
        Cell(f"{curve.replace(' ', '-')}-{most}", ((curve, str(most)),), {"learn_most": most}, after)
        for most in LABELS[quick] for curve, after in curves.items()
    ]  # fmt: skip


def _helped(seen: Seen) -> list[float]:
    counts = {x for _, x in seen}
    return [mean(seen["masked first", x] - seen["from scratch", x] for x in counts)]


MASKED = Experiment(
    name="masked", title="Masked patches before labels", where=("Section {number}", "4.6"),
    finding="Predicting masked patches first gains 2 points over training from scratch (79.9 % on ImageNet), and stays 4 behind "
            "supervised pre-training.",
    measured="Accuracy on held-out pictures after learning from a few labelled ones, from scratch or from a model that predicted "
             "masked patches of all pictures, without labels.",
    small="The pictures without labels are of the same kind as the labelled; supervised pre-training on other classes is left out.",
    x_title="labelled pictures", numbers=True, base=_masked_base, cells=_masked,
    claims=(Claim("Masked patches first is better than from scratch.", _helped),),
)  # fmt: skip


# Adam or SGD

OPTIMISERS = {"Adam": ("adamw", (3e-4, 1e-3, 3e-3)), "SGD": ("sgd", (0.01, 0.03, 0.1))}
LEVELS = ("low", "middle", "high")


def _optimiser_base(quick: bool) -> Recipe:
    shape = {
        "family": "resnet",
        "patch_px": 32,
        "image_px": 32,
        "resnet": "R14" if quick else "R26",
        "width": 32 if quick else 64,
    }
    return changed(base(quick), shape | ({"steps": 150, "batch": 32} if quick else {}))


def _optimiser(quick: bool) -> list[Cell]:
    return [
        Cell(f"{name.lower()}-{level}", ((name, level),), {"optimiser": kind, "lr_peak": rate})
        for name, (kind, rates) in OPTIMISERS.items() for level, rate in zip(LEVELS, rates, strict=True)
    ]  # fmt: skip


def _adam_ahead(seen: Seen) -> list[float]:
    best = {name: max(seen[name, level] for level in LEVELS) for name in OPTIMISERS}
    return [best["Adam"] - best["SGD"]]


OPTIMISER = Experiment(
    name="optimiser", title="Adam or SGD for ResNets", where=("Appendix {number}", "D.1"), table="optimiser",
    finding="ResNets pre-trained with Adam are better than with the usual SGD, though fine-tuned with SGD both times.",
    measured="Accuracy on held-out pictures of a small ResNet trained with Adam or with SGD, each at the best of three rates.",
    small="Trained from scratch and not fine-tuned on another task: whether features travel better is not tested.",
    x_title="learning rate (Adam 0.0003 to 0.003, SGD 0.01 to 0.1)", base=_optimiser_base, cells=_optimiser,
    claims=(Claim("Adam at its best is better than SGD at its best.", _adam_ahead),),
)  # fmt: skip


# Higher resolution


def _resolution_base(quick: bool) -> Recipe:
    tuned = {"optimiser": "sgd", "lr_peak": 0.03, "weight_decay": 0.0, "warmup_steps": 10, "steps": 150, "patch_px": 4}
    return changed(QUICK, tuned) if quick else changed(FULL, tuned | {"steps": 2000, "warmup_steps": 100})


def _resolution(quick: bool) -> list[Cell]:
    whole = base(quick)
    first = {"optimiser": "adamw", "lr_peak": whole.lr_peak, "weight_decay": 0.05, "warmup_steps": whole.warmup_steps,
             "steps": whole.steps}  # fmt: skip
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
    small="The pictures have 8×8 pixels: double resolution shows nothing new, it is the same pictures in finer pieces.",
    x_title="fine-tuned at", base=_resolution_base, cells=_resolution,
    claims=(
        Claim("Double resolution is better than the same.",
              lambda s: [s["fine-tuned", "double resolution"] - s["fine-tuned", "same resolution"]]),
    ),
)  # fmt: skip


# Compute

SIZES = {"ViT": {"small": (24, 2), "middle": (48, 3), "large": (96, 4)}, "ResNet": {"small": "R14", "large": "R26"}}
LENGTHS = (60, 120, 240)


def _compute_base(quick: bool) -> Recipe:
    own = {"image_px": 32, "patch_px": 8, "batch": 32, "lr_peak": 1e-3, "warmup_steps": 20}
    return changed(QUICK, own) if quick else changed(FULL, {"image_px": 64, "patch_px": 8})


def _compute(quick: bool) -> list[Cell]:
    times = 1 if quick else 40
    shapes = {
        ("ViT", size): {"width": wide * (1 if quick else 4), "blocks": deep}
        for size, (wide, deep) in SIZES["ViT"].items()
    }
    shapes |= {("ResNet", size): {"family": "resnet", "resnet": depth, "width": 32 if quick else 64, "patch_px": 32}
               for size, depth in SIZES["ResNet"].items()}  # fmt: skip
    return [
        Cell(f"{family}-{size}-{steps}".lower(), ((family, f"{size}, {steps * times}"),), {**fields, "steps": steps * times})
        for (family, size), fields in shapes.items() for steps in LENGTHS
    ]  # fmt: skip


def _saved(seen: Seen) -> list[float]:
    """Decades of compute that a ResNet costs beyond a ViT that is as good: the median over those that can be compared."""
    from vitcore.paper.tables import Run, savings

    runs = [Run(f"{curve} {x}", 1, seen["top1", curve, x], seen["training_gflop", curve, x])
            for measure, curve, x in seen if measure == "top1"]  # fmt: skip
    ratios = [math.log10(one.ratio) for one in savings(runs)]
    return [median(ratios) if ratios else math.nan]


COMPUTE = Experiment(
    name="compute", title="Accuracy against compute", where=("Figure {number}", "5"), table="compute",
    finding="For the same accuracy a ViT costs 2 to 4 times less compute than a ResNet.",
    measured="Accuracy on held-out pictures of ViTs and ResNets of several sizes and lengths of training, over the operations "
             "that their training took.",
    small="Trained from scratch and tested on the same kind of pictures, with nothing transferred; that is where ResNets do well.",
    x_title="operations of the training (10⁹)", others=("training_gflop",), x_measure="training_gflop",
    seeds=3, base=_compute_base, cells=_compute,
    claims=(Claim("A ResNet costs more than a ViT that is as good.", _saved, unit="decades", measure=ALL),),
)  # fmt: skip

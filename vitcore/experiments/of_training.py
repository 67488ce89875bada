"""Experiments about how a model is trained: without labels first, and at a higher resolution afterwards."""

from __future__ import annotations

from statistics import mean

from vitcore.experiments.experiment import Cell, Claim, Experiment, Seen
from vitcore.experiments.of_models import FULL, QUICK, base
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
    x_title="labelled pictures", seeds=3, numbers=True, base=_masked_base, cells=_masked,
    claims=(Claim("Masked patches first is better than from scratch.", _helped),),
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

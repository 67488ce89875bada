"""Experiments about what a model is made of: how it knows places, where its answer is read, convolutions against attention."""

from __future__ import annotations

import itertools
import math
from statistics import mean
from typing import Any

from vitcore.experiments.experiment import Cell, Claim, Experiment, Values
from vitcore.train.recipes.recipe import Recipe, changed

QUICK = Recipe(  # digits of 8×8 px in 16 patches; a digit in the mirror is no digit, so nothing is flipped
    image_px=8, patch_px=2, width=48, blocks=2, heads=3, steps=250, batch=32, optimiser="muon", lr_peak=0.01, momentum=0.95,
    warmup_steps=25, crop_area=1.0, flip=False, patch_init_std=0.3, precision="fp32", evaluate_every_steps=0, save_every_steps=100,
    snapshots=0,
)  # fmt: skip  # with Adam the same takes three times the steps
RESNET = {"family": "resnet", "resnet": "R14", "width": 32, "image_px": 32, "patch_px": 32, "optimiser": "adamw",
          "lr_peak": 1e-3, "momentum": 0.9}  # it halves the picture five times, so it is given the same one enlarged  # fmt: skip
FULL = Recipe(  # CIFAR-10, or any folder of small photographs
    image_px=32, patch_px=4, width=192, blocks=6, heads=3, steps=10_000, batch=256, lr_peak=1e-3, warmup_steps=500,
    label_smoothing=0.1, crop_area=0.4, evaluate_every_steps=0, save_every_steps=500, snapshots=16,
)  # fmt: skip


def base(quick: bool) -> Recipe:
    """What the cells of most experiments share."""
    return QUICK if quick else FULL


# Position embeddings

KINDS = {"1-D": "1d", "2-D": "2d", "relative": "relative"}


def _positions(quick: bool) -> list[Cell]:
    none = Cell("none", (("stem", "none"),), {"positions": "none"})
    return [none] + [
        Cell(f"{kind}-{at}", ((place, name),), {"positions": kind, "positions_at": at})
        for place, at in (("stem", "stem"), ("every layer", "blocks")) for name, kind in KINDS.items()
    ]  # fmt: skip


def _gains(values: Values) -> list[float]:
    return [values["stem", kind] - values["stem", "none"] for kind in KINDS]


def _alike(values: Values) -> list[float]:
    """Half of what positions gain, less how far any two kinds are apart, one way and the other."""
    half = mean(_gains(values)) / 2
    return [
        half + sign * (values["stem", a] - values["stem", b])
        for a, b in itertools.combinations(KINDS, 2)
        for sign in (1, -1)
    ]


POSITIONS = Experiment(
    name="positions", title="Position embeddings", where=("Table {number}", "8"), table="positions",
    finding="Without positions accuracy falls; whether they are 1-D, 2-D or relative hardly matters.",
    measured="Accuracy on held-out pictures after training from scratch, with each kind of position embedding.",
    small="16 patches instead of 196: a learned table has little to learn, and without positions a digit is a bag of 16 pieces.",
    x_title="position embedding", base=base, cells=_positions,
    claims=(
        Claim("Any kind is better than none.", _gains, unit="points above none, for the kind that gains least"),
        Claim("Two kinds differ by less than half of what positions gain.", _alike,
              unit="points by which half of the gain exceeds the largest difference"),
    ),
)  # fmt: skip


# Data size against architecture

PARTS = {True: (60, 200, 600, 1400), False: (500, 5000, 50_000)}
SHAPES: dict[bool, dict[str, dict[str, Any]]] = {
    True: {"ViT": {"steps": 250, "few_shot_every_steps": 250}, "ResNet": RESNET},
    False: {
        "ViT": {}, "ResNet": {"family": "resnet", "resnet": "R26", "width": 64, "patch_px": 32},
        "hybrid": {"resnet": "R14/16", "patch_px": 16},
    },
}  # fmt: skip


def _data_base(quick: bool) -> Recipe:
    steps = 100 if quick else FULL.steps  # of the ResNet, which learns digits in fewer
    own = {"steps": steps, "few_shot_every_steps": steps, "few_shots": 5}
    return changed(QUICK, own) if quick else changed(FULL, own | {"image_px": 64, "patch_px": 8})


def _data(quick: bool) -> list[Cell]:
    return [
        Cell(f"{name.lower()}-{most}", ((name, str(most)),), {**fields, "learn_most": most})
        for most in PARTS[quick] for name, fields in SHAPES[quick].items()
    ]  # fmt: skip


def _lead(values: Values, end: int) -> float:
    """How far the ResNet is ahead of the ViT with the least (0) or the most (-1) photographs."""
    most = sorted({int(x) for _, x in values})[end]
    return values["ResNet", str(most)] - values["ViT", str(most)]


DATA = Experiment(
    name="data", title="Size of the data against architecture", where=("Figure {number}", "3, 4"), table="data",
    finding="With little data ResNets are ahead; the more data, the better ViTs do, until they overtake.",
    measured="Accuracy on held-out pictures of a ViT and a ResNet that learned from growing parts of the data, each for as many "
             "steps whatever the part, and few-shot linear accuracy of their features.",
    small="The most there are here are 1,400 pictures, far below the 90 million at which ViTs overtook: only the slope is tested.",
    x_title="pictures to learn from", seeds=3, others=("few_shot", "val_loss"), numbers=True,
    base=_data_base, cells=_data,
    claims=(
        Claim("With the least data the ResNet is ahead.", lambda values: [_lead(values, 0)]),
        Claim("Its lead is smaller with the most data.", lambda values: [_lead(values, 0) - _lead(values, -1)],
              unit="points by which its lead with the least data exceeds that with the most"),
    ),
)  # fmt: skip


# Class token or pooling

RATES = {True: ("0.01", "0.02", "0.04", "0.08"), False: ("0.0001", "0.0003", "0.001", "0.003")}
READOUTS = {"class token": "class", "mean of patches": "mean"}


def _readout_base(quick: bool) -> Recipe:
    return changed(QUICK, {"steps": 200}) if quick else FULL


def _readout(quick: bool) -> list[Cell]:
    return [
        Cell(f"{kind}-{rate}", ((name, rate),), {"readout": kind, "lr_peak": float(rate)})
        for name, kind in READOUTS.items() for rate in RATES[quick]
    ]  # fmt: skip


def _peak(values: Values, curve: str) -> tuple[float, float]:
    """The best accuracy of a curve, and the rate in decades at which the parabola through it and its neighbours peaks."""
    points = sorted((math.log10(float(rate)), value) for (name, rate), value in values.items() if name == curve)
    best = max(range(len(points)), key=lambda i: points[i][1])
    at, value = points[best]
    if 0 < best < len(points) - 1:
        (_, before), (after_at, after) = points[best - 1], points[best + 1]
        at += (after_at - at) * (after - before) / (2 * max(2 * value - before - after, 1e-9))
    return value, at


def _peaks_apart(values: Values) -> tuple[float, float]:
    """How far the class token's peak is above that of the mean, and at how many decades a higher rate."""
    ours, theirs = _peak(values, "class token"), _peak(values, "mean of patches")
    return ours[0] - theirs[0], ours[1] - theirs[1]


READOUT = Experiment(
    name="readout", title="Class token or average", where=("Figure {number}", "9"),
    finding="A class token and the average of all patches do equally well, but need different learning rates.",
    measured="Accuracy on held-out pictures over learning rates, read from a class token or from the mean of the patches. "
             "The best rate is where a parabola through the best of the four and its two neighbours peaks.",
    small="200 steps of Muon in place of a long pre-training with Adam: the best rates, and how far apart they are, are "
          "Muon's here.",
    x_title="peak learning rate", numbers=True, base=_readout_base, cells=_readout,
    claims=(
        Claim("At their best rates the two are less than 2 points apart.", lambda s: [_peaks_apart(s)[0]],
              unit="points, class token less average", kind="near", margin=2.0),
        Claim("Their best rates differ.", lambda s: [_peaks_apart(s)[1]], unit="factors of 10, class token less average",
              kind="apart", margin=0.1),
    ),
)  # fmt: skip


# Shape

TIMES = (1, 2, 4)


def _shape_base(quick: bool) -> Recipe:
    own = {
        "blocks": 1,
        "width": 24,
        "mlp_ratio": 1.0,
        "patch_px": 4,
        "patch_init_std": 0.15,
        "steps": 200,
        "lr_peak": 0.02,
    }
    return changed(QUICK, own) if quick else changed(FULL, {"blocks": 3, "mlp_ratio": 1.0, "patch_px": 8})


def _shape(quick: bool) -> list[Cell]:
    start = _shape_base(quick)
    grown = {
        "layers": lambda n: {"blocks": start.blocks * n}, "width": lambda n: {"width": start.width * n},
        "MLP": lambda n: {"mlp_ratio": start.mlp_ratio * n},
        "smaller patches": lambda n: {  # a filter has n² times fewer weights, so each begins n times as large
            "patch_px": start.patch_px // n, "patch_init_std": start.patch_init_std * n,
        },
    }  # fmt: skip
    common = Cell("start", tuple((curve, "1") for curve in grown))
    return [common] + [
        Cell(f"{curve.replace(' ', '-').lower()}-{n}", ((curve, str(n)),), fields(n))
        for curve, fields in grown.items() for n in TIMES[1:]
    ]  # fmt: skip


SHAPE = Experiment(
    name="shape", title="Depth, width, MLP or patches", where=("Figure {number}", "8"),
    finding="More layers help most, width helps least; smaller patches help without any parameter more.",
    measured="Accuracy on held-out pictures when one measure of a small ViT is doubled and doubled again, the rest left alone.",
    small="From one layer to four, not from eight to sixty-four; patches a quarter as wide are single pixels, 64 tokens "
          "instead of 4; and the paper measures few-shot accuracy on ImageNet.",
    x_title="times as many (layers, width, MLP), or as small (patches)",
    others=("val_loss", "training_gflop"), numbers=True, base=_shape_base, cells=_shape,
    claims=(
        Claim("Four times the layers help more than four times the width.", lambda s: [s["layers", "4"] - s["width", "4"]]),
        Claim("Patches a quarter as wide help.", lambda s: [s["smaller patches", "4"] - s["smaller patches", "1"]]),
    ),
)  # fmt: skip

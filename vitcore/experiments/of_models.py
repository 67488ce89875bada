"""Experiments about what a model is made of: how it knows places, and convolutions against attention as the data grow."""

from __future__ import annotations

import itertools
from statistics import mean
from typing import Any

from vitcore.experiments.experiment import Cell, Claim, Experiment, Seen
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


def _gains(seen: Seen) -> list[float]:
    return [seen["stem", kind] - seen["stem", "none"] for kind in KINDS]


def _alike(seen: Seen) -> list[float]:
    """Half of what positions gain, less how far any two kinds are apart, one way and the other."""
    half = mean(_gains(seen)) / 2
    return [
        half + sign * (seen["stem", a] - seen["stem", b])
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
        Claim("Any kind is better than none.", _gains),
        Claim("Two kinds differ by less than half of what positions gain.", _alike),
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


def _lead(seen: Seen, end: int) -> float:
    """How far the ResNet is ahead of the ViT with the least (0) or the most (-1) photographs."""
    most = sorted({int(x) for _, x in seen})[end]
    return seen["ResNet", str(most)] - seen["ViT", str(most)]


DATA = Experiment(
    name="data", title="Size of the data against architecture", where=("Figure {number}", "3, 4"), table="data",
    finding="With little data ResNets are ahead; the more data, the better ViTs do, until they overtake.",
    measured="Accuracy on held-out pictures of a ViT and a ResNet that learned from growing parts of the data, each for as many "
             "steps whatever the part, and few-shot linear accuracy of their features.",
    small="The most there are here are 1,400 pictures, far below the 90 million at which ViTs overtook: only the slope is tested.",
    x_title="pictures to learn from", seeds=3, others=("few_shot", "val_loss"), numbers=True,
    base=_data_base, cells=_data,
    claims=(
        Claim("With the least data the ResNet is ahead.", lambda seen: [_lead(seen, 0)]),
        Claim("Its lead is smaller with the most data.", lambda seen: [_lead(seen, 0) - _lead(seen, -1)]),
    ),
)  # fmt: skip

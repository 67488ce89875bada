"""Experiments about what a model is made of: how it knows places, where its answer is read, convolutions against attention."""

import math
from statistics import mean
from typing import Any

from vitcore.experiments.experiment import Claim, Experiment, ExperimentCell, Values, with_twice_the_steps
from vitcore.train.recipe import Recipe, with_changes

QUICK_RECIPE = Recipe(  # 16 patches; a mirror keeps the class of a drawn picture, a crop would not
    image_px=16, patch_px=4, width=48, blocks=2, heads=3, steps=600, batch=32, optimiser="muon", lr_peak=0.02, momentum=0.95,
    warmup_steps=40, crop_area=1.0, flip=False, patch_init_std=0.15, precision="fp32", evaluate_every_steps=0,
    save_every_steps=400, snapshots=0, test_share=0.6,
)  # fmt: skip
FULL_RECIPE = Recipe(  # CIFAR-10, or any folder of small photographs
    image_px=32, patch_px=4, width=192, blocks=6, heads=3, steps=10_000, batch=256, lr_peak=1e-3, warmup_steps=500,
    label_smoothing=0.1, crop_area=0.4, evaluate_every_steps=0, save_every_steps=500, snapshots=0, test_share=0.5,
)  # fmt: skip
LEARNING_RATES = {
    True: (0.01, 0.03),
    False: (3e-4, 1e-3, 3e-3),
}  # Muon's in the quick form, AdamW's in the full one; for all models
RESNET = {"family": "resnet", "resnet": "R14", "width": 32, "patch_px": 32, "image_px": 32, "steps": 24, "warmup_steps": 4}
FULL_RESNET = {"family": "resnet", "resnet": "R26", "width": 64, "patch_px": 32}


def shared_base_recipe(quick: bool) -> Recipe:
    """What the cells of most experiments share."""
    return QUICK_RECIPE if quick else FULL_RECIPE


# Position embeddings

POSITION_KINDS = {"1-D": "1d", "2-D": "2d", "relative": "relative"}
LIKE = 0.5  # share of the gain by which two kinds may differ


def _positions(quick: bool) -> list[ExperimentCell]:
    cells = [ExperimentCell(kind, (("stem", name),), {"positions": kind}, learning_rates=LEARNING_RATES[quick])
             for name, kind in {"none": "none", **POSITION_KINDS}.items()]  # fmt: skip
    return [*cells, with_twice_the_steps(cells[0], shared_base_recipe(quick))]


def _gain(values: Values, shuffled: Values) -> float:
    """Three kinds on average above none, or above 1-D shuffled, whichever is better: so what is gained is of places."""
    return mean(values["stem", kind] for kind in POSITION_KINDS) - max(values["stem", "none"], shuffled["stem", "1-D"])


def _alike(values: Values) -> float:
    """Half of what positions gain, less how far the best kind is from the worst."""
    each = [values["stem", kind] for kind in POSITION_KINDS]
    return LIKE * (mean(each) - values["stem", "none"]) - (max(each) - min(each))


POSITIONS = Experiment(
    name="positions", title="Position embeddings", where=("Table {number}", "8"), table="positions",
    finding="Accuracy falls without position embeddings. Whether they are 1-D, 2-D or relative hardly matters.",
    measured="Accuracy on test pictures after training from scratch, with each kind of position embedding.",
    untested="Here are 16 patches instead of 196, and accuracy after training instead of 5-shot accuracy after pre-training. "
        "Positions in every layer are left out. Relative positions are 1-D offsets, as in the paper.",
    x_title="position embedding", others=("top1", "shuffled_top1"), base=shared_base_recipe, cells=_positions,
    claims=(
        Claim("Accuracy is higher with position embeddings than without, and higher than with shuffled ones.", _gain, paper=(2.62,
            2.82),
              source="Table 8", along="shuffled_top1"),
        Claim("The kinds differ by less than half of that gain.", _alike,
              unit="points by which half of the gain exceeds the largest difference"),
    ),
)  # fmt: skip


# Data size against architecture

DATA_SIZES = {True: (40, 1500), False: (500, 5000, 50_000)}
SHAPES: dict[bool, dict[str, dict[str, Any]]] = {
    True: {"ViT": {}, "ResNet": RESNET},
    False: {"ViT": {}, "ResNet": FULL_RESNET, "hybrid": {"resnet": "R14/16", "patch_px": 16}},
}


def _data_base(quick: bool) -> Recipe:
    return QUICK_RECIPE if quick else with_changes(FULL_RECIPE, {"image_px": 64, "patch_px": 8})


def _data(quick: bool) -> list[ExperimentCell]:
    cells = [
        ExperimentCell(
            f"{name.lower()}-{most}", ((name, str(most)),), {**fields, "learn_most": most}, learning_rates=LEARNING_RATES[quick]
        )
        for most in DATA_SIZES[quick]
        for name, fields in SHAPES[quick].items()
    ]
    return [
        *cells,
        *(with_twice_the_steps(cell, _data_base(quick)) for cell in cells if cell.fields["learn_most"] == DATA_SIZES[quick][-1]),
    ]


def _lead(values: Values, end: int) -> float:
    """How far the ResNet is ahead of the ViT with the least (0) or the most (-1) photographs."""
    most = sorted({int(x) for _, x in values})[end]
    return values["ResNet", str(most)] - values["ViT", str(most)]


DATA = Experiment(
    name="data", title="Size of the data against architecture", where=("Figure {number}", "3, 4"), table="data",
    finding="A ResNet is ahead when pre-trained on 9 million pictures. A ViT is ahead on 90 million and more (Figure 4).",
    measured="Accuracy on test pictures of a ViT and a ResNet that learned from a small and a large part of the data. All have as "
        "many steps, and each has the best of as many learning rates.",
    untested="The crossing itself: it lies between 9 and 90 million pictures, and the most here are thousands. The paper "
             "pre-trains and then tests few-shot; here the same classes are learned and tested.",
    x_title="pictures to learn from", numbers=True, base=_data_base, cells=_data,
    claims=(
        Claim("With the least data the ResNet is ahead of the ViT.", lambda s: _lead(s, 0)),
        Claim("Its lead is smaller with the most data.", lambda s: _lead(s, 0) - _lead(s, -1),
              unit="points by which its lead with the least data exceeds that with the most"),
        Claim("With the most data the ViT is ahead of the ResNet.", lambda s: -_lead(s, -1)),
    ),
)  # fmt: skip


# Class token or average

READ_RATES = {True: (0.005, 0.01, 0.02, 0.04), False: (1e-4, 3e-4, 1e-3, 3e-3)}
READOUTS = {"class token": "class", "mean of patches": "mean"}


def _readout(quick: bool) -> list[ExperimentCell]:
    cells = [
        ExperimentCell(f"{kind}-{rate:g}", ((name, f"{rate:g}"),), {"readout": kind, "lr_peak": rate})
        for name, kind in READOUTS.items() for rate in READ_RATES[quick]
    ]  # fmt: skip
    return [*cells, with_twice_the_steps(cells[len(READ_RATES[quick]) // 2], shared_base_recipe(quick))]


def _at_best(values: Values, validation: Values) -> float:
    """Class token less average on test pictures, each at the rate that is best on validation pictures."""
    ours, theirs = (values[max((at for at in validation if at[0] == name), key=validation.__getitem__)] for name in READOUTS)
    return ours - theirs


def _best_rate(values: Values, curve: str) -> float:
    """The logarithm of the rate at which the parabola through the best rate and its neighbours peaks."""
    points = sorted((math.log10(float(rate)), value) for (name, rate), value in values.items() if name == curve)
    best = max(range(len(points)), key=lambda i: points[i][1])
    at, value = points[best]
    if 0 < best < len(points) - 1:
        (_, before), (after_at, after) = points[best - 1], points[best + 1]
        at += (after_at - at) * (after - before) / (2 * max(2 * value - before - after, 1e-9))
    return at


READOUT = Experiment(
    name="readout", title="Class token or average", where=("Figure {number}", "9"),
    finding="A class token and the average of all patches perform equally well, but the average needs a lower learning rate: "
        "0.0003 instead of 0.0008.",
    measured="Accuracy on test pictures over learning rates, read from a class token or from the mean of the patches. The best "
        "rate is the peak of a parabola through the best point and its two neighbours.",
    untested="A short training with Muon replaces long pre-training with Adam, so the rates are Muon's. Accuracy after training "
        "replaces 5-shot accuracy.",
    x_title="peak learning rate", numbers=True, base=shared_base_recipe, cells=_readout,
    claims=(
        Claim("At their best rates the two are less than 2 points apart.", _at_best, unit="points, class token minus average",
              kind="near", margin=2.0, along="top1"),
        Claim("The class token's best rate is higher than that of the average.",
              lambda s: _best_rate(s, "class token") - _best_rate(s, "mean of patches"), unit="times the rate",
              paper=(8 / 3, 8 / 3), source="Figure 9"),
    ),
)  # fmt: skip


# Shape

TIMES = 4
START = {True: {"blocks": 1, "width": 32, "mlp_ratio": 1.0, "heads": 2}, False: {"blocks": 3, "mlp_ratio": 1.0, "patch_px": 8}}


def _shape_base(quick: bool) -> Recipe:
    return with_changes(shared_base_recipe(quick), START[quick])


def _shape(quick: bool) -> list[ExperimentCell]:
    start = _shape_base(quick)
    grown: dict[str, dict[str, Any]] = {
        "layers": {"blocks": start.blocks * TIMES}, "width": {"width": start.width * TIMES},
        "smaller patches": {"patch_px": start.patch_px // 2},  # half as wide: four times as many
    }  # fmt: skip
    first = ExperimentCell("start", tuple((curve, "1") for curve in grown), learning_rates=LEARNING_RATES[quick])
    cells = [
        ExperimentCell(curve.replace(" ", "-"), ((curve, "4"),), fields, learning_rates=LEARNING_RATES[quick])
        for curve, fields in grown.items()
    ]
    return [first, *cells, with_twice_the_steps(first, start)]


SHAPE = Experiment(
    name="shape", title="Depth, width or patches", where=("Figure {number}", "8"),
    finding="More layers help most, up to 64, and width helps least. Smaller patches help without more parameters.",
    measured="Accuracy on test pictures of a small ViT with four times the layers, four times the width, or patches a quarter as "
        "large. The rest stays the same, and each has the best of as many learning rates.",
    untested="The layers go from one to four, not from eight to sixty-four. The width of the MLP is left out. The paper shows "
        "few-shot accuracy on ImageNet as curves without numbers.",
    x_title="times as many (layers, width, patches)", others=("top1", "training_gflop"), numbers=True,
    base=_shape_base, cells=_shape,
    claims=(
        Claim("Four times the layers help.", lambda s: s["layers", "4"] - s["layers", "1"]),
        Claim("Four times the layers help more than four times the width.", lambda s: s["layers", "4"] - s["width", "4"]),
        Claim("Four times as many, smaller patches help.", lambda s: s["smaller patches", "4"] - s["smaller patches", "1"]),
    ),
)  # fmt: skip

"""Experiments about what trained models show inside: which positions are alike, and how far the first layer's heads look."""

from __future__ import annotations

from vitcore.experiments.experiment import Cell, Claim, Experiment, Values
from vitcore.experiments.of_models import FULL, QUICK
from vitcore.train.recipes.recipe import Recipe, changed

# Similarity of positions

SETTINGS = {  # times the steps, times the rate, weight decay: as Fig. 10's 7, 7 and 14 epochs, 2, 4 and 4e-4, .01, .1 and .1
    "short, low rate": (1, 1, 0.01), "short, high rate": (1, 2, 0.1), "long, high rate": (2, 2, 0.1),
}  # fmt: skip


def _similarity_base(quick: bool) -> Recipe:
    own = {
        "image_px": 16,
        "patch_init_std": 0.15,
        "width": 24,
        "steps": 150,
    }  # enlarged: patches resemble those beside them
    return changed(QUICK, own) if quick else FULL


def _similarity(quick: bool) -> list[Cell]:
    start = _similarity_base(quick)
    return [
        Cell(name.replace(", ", "-").replace(" ", "-"), (("positions", name),),
             {"steps": start.steps * long, "lr_peak": start.lr_peak * rate, "weight_decay": decay})
        for name, (long, rate, decay) in SETTINGS.items()
    ]  # fmt: skip


def _most_apart(values: Values) -> list[float]:
    """How far the settings are apart that are drawn farthest apart by the paper's order: the shortest less the longest."""
    return [values["positions", "short, low rate"] - values["positions", "long, high rate"]]


SIMILARITY = Experiment(
    name="similarity", title="Similarity of positions", where=("Figure {number}", "10"),
    finding="Positions that are near each other have similar embeddings, yet the pattern of similarity depends on how the model "
            "was trained.",
    measured="Correlation of the cosine of two learned positions with their distance, after training with three settings: "
             "−1 where nearer is always more alike, 0 where distance does not matter.",
    small="8×8 positions on digits enlarged to 16×16 pixels, learned in a few hundred steps: the pattern has only begun, and one "
          "number says less than the paper's maps.",
    x_title="training", measure="position_correlation", others=("top1",), base=_similarity_base, cells=_similarity,
    claims=(
        Claim("In all three, nearer positions are more alike.", lambda s: [-s["positions", name] for name in SETTINGS],
              unit="correlation of cosine with nearness, the least of the three"),
        Claim("The longest training leaves another correlation than the shortest.", _most_apart,
              unit="correlation, shortest less longest", kind="apart", margin=0.02),
    ),
)  # fmt: skip


# Attention distance

HYBRID = {
    "resnet": "R14/16",
    "lr_peak": 0.005,
    "steps": 120,
    "batch": 16,
    "warmup_steps": 10,
}  # few pictures do: each costs more


def _distance_base(quick: bool) -> Recipe:
    own = {"image_px": 64, "patch_px": 16, "patch_init_std": 0.04, "readout": "mean", "steps": 200, "lr_peak": 0.02}
    return changed(QUICK, own) if quick else changed(FULL, {"image_px": 128, "patch_px": 16})


def _distance(quick: bool) -> list[Cell]:
    hybrid = HYBRID if quick else {"resnet": "R14/16"}
    return [Cell("vit", (("layer 0", "ViT"),)), Cell("hybrid", (("layer 0", "hybrid"),), hybrid)]


def _farther(values: Values) -> list[float]:
    return [values["layer 0", "hybrid"] - values["layer 0", "ViT"]]


DISTANCE = Experiment(
    name="distance", title="Attention distance of ViT and hybrid", where=("Figure {number}", "11"),
    finding="In the lowest layers of a ViT some heads look only near; in a hybrid, behind convolutions, that is less pronounced.",
    measured="Distance at which the nearest head of layer 0 looks, in % of what attending to all patches alike would read, over 32 "
             "held-out pictures; without the class token.",
    small="4×4 patches of enlarged digits, three heads and two layers: no two patches are far apart, and there is little to "
          "choose. Heads begin by attending to all alike, and the hybrid learns for fewer steps: it had less time to look near. "
          "The answer is read from the mean of the patches.",
    x_title="model", measure="nearest_head", others=("mean_head", "top1"), base=_distance_base, cells=_distance,
    claims=(Claim("The nearest head of the hybrid looks farther than that of the ViT.", _farther),),
)  # fmt: skip

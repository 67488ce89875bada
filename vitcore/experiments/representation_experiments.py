"""Experiments about what trained models show inside: which positions are alike, and how far the first layer's heads look."""

from vitcore.experiments.architecture_experiments import FULL_RECIPE, LEARNING_RATES, QUICK_RECIPE
from vitcore.experiments.experiment import Claim, Experiment, ExperimentCell, with_twice_the_steps
from vitcore.train.recipe import Recipe, with_changes

# Similarity of positions


def _fine(quick: bool) -> Recipe:
    """25 patches of the pictures, enlarged, or 64: enough for near and far, rows and columns."""
    return with_changes(QUICK_RECIPE, {"image_px": 20, "steps": 1200}) if quick else FULL_RECIPE


def _similarity(quick: bool) -> list[ExperimentCell]:
    vit = ExperimentCell("vit", (("positions", "ViT"),))
    return [vit, with_twice_the_steps(vit, _fine(quick))]


SIMILARITY = Experiment(
    name="similarity", first=30, title="Similarity of positions", where=("Figure {number}", "7, 10"),
    finding="Positions that are near each other learn similar embeddings, and so do positions of one row or column. The pattern "
        "depends on the training.",
    measured="The correlation of two learned positions' cosine with their nearness: 0 before training, 1 if nearer is always more "
        "similar. The second measure is how far the cosine within a row or column exceeds that of other pairs at the same "
        "distance.",
    untested="That the pattern depends on the training, because any difference would show it. One number says less than the "
        "paper's maps.",
    x_title="model", measure="nearness", others=("row_column", "test_top1", "top1"), base=_fine, cells=_similarity,
    claims=(
        Claim("Nearer positions are more similar.", lambda s: s["positions", "ViT"], unit="correlation"),
        Claim("Positions of one row or column are more similar than other pairs at the same distance.",
              lambda s, along: along["positions", "ViT"], unit="of the cosine", along="row_column"),
    ),
)  # fmt: skip


# Attention distance


def _distance_base(quick: bool) -> Recipe:
    return with_changes(_fine(quick), {"readout": "mean"} | ({} if quick else {"image_px": 128, "patch_px": 16}))


def _distance(quick: bool) -> list[ExperimentCell]:
    vit = ExperimentCell("vit", (("layer 0", "ViT"),), learning_rates=() if quick else LEARNING_RATES[quick])
    hybrid = ExperimentCell("hybrid", (("layer 0", "hybrid"),), {"resnet": "R14/16"}, learning_rates=LEARNING_RATES[quick])
    return [vit, *([] if quick else [hybrid]), with_twice_the_steps(vit, _distance_base(quick))]


DISTANCE = Experiment(
    name="distance", first=30, title="Attention distance of ViT and hybrid", where=("Figure {number}", "7, 11"),
    finding="In the lowest layers of a ViT, some heads attend only locally. In a hybrid, after convolutions, this is less "
        "pronounced.",
    measured="The smallest attention distance of a head of layer 0, in % of that of uniform attention. It is measured on 32 test "
        "pictures without the class token, before the first step and after the last.",
    untested="That other heads already attend far, and all layers above. The output is read from the mean of the patches.",
    x_title="model", measure="nearest_head", others=("untrained_head", "test_top1", "top1"), base=_distance_base, cells=_distance,
    claims=(
        Claim("Training makes the most local head of a ViT's layer 0 more local.",
              lambda s, before: before["layer 0", "ViT"] - s["layer 0", "ViT"], along="untrained_head",
              unit="points of the uniform distance, untrained minus trained"),
        Claim("The most local head of a hybrid attends farther than that of a ViT.",
              lambda s: s["layer 0", "hybrid"] - s["layer 0", "ViT"], unit="points of the uniform distance",
              quick="A hybrid with enough patches for near and far needs large pictures and a GPU: the full form has it."),
    ),
)  # fmt: skip

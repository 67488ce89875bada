"""What is measured of a finished run: what it logged at its last step, what it cost, and what its model shows inside."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vitcore.analysis import position_embeddings as analysis
from vitcore.analysis.attention_distance import uniform_distance_px
from vitcore.experiments.experiment import ExperimentError
from vitcore.forward.recording import record
from vitcore.images import photo_from_image
from vitcore.models import load_model
from vitcore.models.embeddings import can_permute_positions, position_embeddings, with_permuted_positions
from vitcore.train import run_folder
from vitcore.train.data.photo_sources import open_photo_source
from vitcore.train.evaluation.accuracy import measure_accuracy
from vitcore.train.learning.model_from_recipe import build_from_recipe
from vitcore.train.learning.training_cost import params_and_forward_flop
from vitcore.train.trainer.run_training import split_validation_and_test

PHOTO_COUNT = 32  # of the held-out ones, over which attention distance is averaged


def measure_run(folder: run_folder.RunFolder, names: Sequence[str]) -> dict[str, float]:
    """{name: value} of a finished run. Raises: ExperimentError, when its log lacks one of the names."""
    log = run_folder.read_log(folder)
    known: dict[str, Any] = dict(log[-1]) if log else {}
    for name in names:
        if name not in known and name in MODEL_MEASURES:
            known |= MODEL_MEASURES[name](folder)
        if name not in known:
            raise ExperimentError("the log of run {id} has no {what} at its end.", id=folder.id, what=name)
    return {name: float(known[name]) for name in names}


def _cost(folder: run_folder.RunFolder) -> dict[str, float]:
    """Operations of the whole training in 10⁹: a backward pass costs two forward ones."""
    recipe = run_folder.read_recipe(folder)
    classes = len(open_photo_source(run_folder.read_source(folder), seed=recipe.seed)[0].classes)
    return {"training_gflop": 3 * params_and_forward_flop(recipe, classes)[1] * recipe.batch * recipe.steps / 1e9}


def _positions(folder: run_folder.RunFolder) -> dict[str, float]:
    """Correlation of the cosine of two positions with their nearness, and how much more alike one row or column is."""
    vit = load_model.load(folder.path)
    table: Any = position_embeddings(vit)
    cosine = analysis.position_similarity(table)
    return {
        "nearness": -analysis.correlation_with_distance(cosine, vit.grid),
        "row_column": analysis.same_line_excess_cosine(cosine, vit.grid),
    }


def _distance(folder: run_folder.RunFolder) -> dict[str, float]:
    """The nearest head of block 0, in % of what attending to all patches alike reads: trained, and before its first step.

    Divided by what is left when the class token is dropped, so that a head that rests on the class token does not count as near.
    """
    vit = load_model.load(folder.path)
    recipe = run_folder.read_recipe(folder)
    untrained = replace(vit, module=build_from_recipe(recipe, len(vit.labels)).eval())
    photos = _held_out(folder)
    return {"nearest_head": _nearest(vit, photos), "untrained_head": _nearest(untrained, photos)}


def _nearest(vit: Any, photos: Any) -> float:
    some = [photo_from_image(photos.open(i), photos.title(i)) for i in range(min(PHOTO_COUNT, len(photos)))]
    heads_px = np.mean([record(vit, photo, fusions=()).distance_renormalised_px[0] for photo in some], 0)
    return float(100 * heads_px.min() / uniform_distance_px(vit.grid))


def _shuffled(folder: run_folder.RunFolder) -> dict[str, float]:
    """Accuracy when positions have changed places, alike for every picture: what they told of places is gone."""
    vit = load_model.load(folder.path)
    if can_permute_positions(vit):
        order = np.random.default_rng(run_folder.read_recipe(folder).seed).permutation(vit.grid.patches)
        vit = replace(vit, module=with_permuted_positions(vit, order))
    return {"shuffled_top1": measure_accuracy(vit, _held_out(folder))["top1"]}


def _held_out(folder: run_folder.RunFolder) -> Any:
    recipe = run_folder.read_recipe(folder)
    return split_validation_and_test(open_photo_source(run_folder.read_source(folder), seed=recipe.seed)[1], recipe.test_share)[1]


MODEL_MEASURES: dict[str, Callable[[run_folder.RunFolder], dict[str, float]]] = {
    "training_gflop": _cost, "nearness": _positions, "row_column": _positions, "nearest_head": _distance,
    "untrained_head": _distance, "shuffled_top1": _shuffled,
}  # fmt: skip

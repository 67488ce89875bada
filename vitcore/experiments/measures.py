"""What is measured of a finished run: what it logged at its last step, what it cost, and what its model shows inside."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vitcore.experiments.experiment import ExperimentError
from vitcore.train import run_folder

PHOTOS = 32  # of the held-out ones, over which attention distance is averaged


def measure(folder: run_folder.RunFolder, names: Sequence[str]) -> dict[str, float]:
    """{name: value} of a finished run. Raises: ExperimentError, when its log lacks one of the names."""
    log = run_folder.records(folder)
    known: dict[str, Any] = dict(log[-1]) if log else {}
    for name in names:
        if name not in known and name in LOOKED_AT:
            known |= LOOKED_AT[name](folder)
        if name not in known:
            raise ExperimentError("the log of run {id} has no {what} at its end.", id=folder.id, what=name)
    return {name: float(known[name]) for name in names}


def _cost(folder: run_folder.RunFolder) -> dict[str, float]:
    """Operations of the whole training in 10⁹: a backward pass costs two forward ones."""
    from vitcore.train.data.photo_sources import open_photos
    from vitcore.train.learning.training_cost import shape

    recipe = run_folder.recipe_of(folder)
    classes = len(open_photos(run_folder.source_of(folder), seed=recipe.seed)[0].classes)
    return {"training_gflop": 3 * shape(recipe, classes)[1] * recipe.batch * recipe.steps / 1e9}


def _positions(folder: run_folder.RunFolder) -> dict[str, float]:
    """Correlation of the cosine of two positions with their nearness, and how much more alike one row or column is."""
    from vitcore.analysis import position_embeddings as analysis
    from vitcore.models import load_model
    from vitcore.models.embeddings import positions

    vit = load_model.load(folder.path)
    table: Any = positions(vit)
    cosine = analysis.position_similarity(table)
    return {
        "nearness": -analysis.correlation_with_distance(cosine, vit.grid),
        "row_column": analysis.row_and_column_similarity(cosine, vit.grid),
    }


def _distance(folder: run_folder.RunFolder) -> dict[str, float]:
    """The nearest head of block 0, in % of what attending to all patches alike reads: trained, and before its first step.

    Divided by what is left when the class token is dropped, so that a head that rests on the class token does not count as near.
    """
    from vitcore.models import load_model
    from vitcore.train.learning.model_from_recipe import build

    vit = load_model.load(folder.path)
    recipe = run_folder.recipe_of(folder)
    untrained = replace(vit, module=build(recipe, len(vit.labels)).eval())
    photos = _held_out(folder)
    return {"nearest_head": _nearest(vit, photos), "untrained_head": _nearest(untrained, photos)}


def _nearest(vit: Any, photos: Any) -> float:
    from vitcore.analysis.attention_distance import uniform_distance_px
    from vitcore.forward.recording import record
    from vitcore.images import photo_from_image

    some = [photo_from_image(photos.open(i), photos.title(i)) for i in range(min(PHOTOS, len(photos)))]
    heads_px = np.mean([record(vit, photo, fusions=()).distance_renormalised_px[0] for photo in some], 0)
    return float(100 * heads_px.min() / uniform_distance_px(vit.grid))


def _shuffled(folder: run_folder.RunFolder) -> dict[str, float]:
    """Accuracy when positions have changed places, alike for every picture: what they told of places is gone."""
    from vitcore.models import load_model
    from vitcore.models.embeddings import can_move_positions, with_positions_moved
    from vitcore.train.evaluation.accuracy import accuracy

    vit = load_model.load(folder.path)
    if can_move_positions(vit):
        order = np.random.default_rng(run_folder.recipe_of(folder).seed).permutation(vit.grid.patches)
        vit = replace(vit, module=with_positions_moved(vit, order))
    return {"shuffled_top1": accuracy(vit, _held_out(folder))["top1"]}


def _held_out(folder: run_folder.RunFolder) -> Any:
    """The test pictures of a run."""
    from vitcore.train.data.photo_sources import open_photos
    from vitcore.train.trainer.run_training import apart

    recipe = run_folder.recipe_of(folder)
    return apart(open_photos(run_folder.source_of(folder), seed=recipe.seed)[1], recipe.test_share)[1]


LOOKED_AT: dict[str, Callable[[run_folder.RunFolder], dict[str, float]]] = {
    "training_gflop": _cost, "nearness": _positions, "row_column": _positions, "nearest_head": _distance,
    "untrained_head": _distance, "shuffled_top1": _shuffled,
}  # fmt: skip

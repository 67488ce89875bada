"""What is measured of a finished run: what it logged at its last step, and what its model shows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vitcore.experiments.experiment import ExperimentError
from vitcore.train.recipes.recipe import Recipe
from vitcore.train.runs import files
from vitcore.translation import say

PHOTOS = 32  # of the held-out ones, over which attention distance is averaged


def measure(folder: files.RunFolder, recipe: Recipe, names: Sequence[str]) -> dict[str, float]:
    """{name: value} of a finished run. Raises: ExperimentError, when its log lacks one of the names."""
    log = files.records(folder)
    last = log[-1] if log else {}
    found: dict[str, float] = {}
    for name in names:
        if name in LOOKED_AT:
            found |= LOOKED_AT[name](folder, recipe)
        elif name in last:
            found[name] = float(last[name])
        else:
            raise ExperimentError(say("the log of run {id} has no {what} at its end.", id=folder.id, what=name))
    return found


def _cost(folder: files.RunFolder, recipe: Recipe) -> dict[str, float]:
    """Operations of the whole training in 10⁹, and parameters in thousands."""
    from vitcore.train.data.sources import open_photos
    from vitcore.train.learning.cost import shape

    classes = len(open_photos(files.source_of(folder), seed=recipe.seed)[0].classes)
    params, forward = shape(recipe, classes)
    return {"training_gflop": 3 * forward * recipe.batch * recipe.steps / 1e9, "params_k": params / 1e3}


def _positions(folder: files.RunFolder, recipe: Recipe) -> dict[str, float]:
    """Correlation of the cosine of two positions with their distance: -1 where nearer is more alike throughout."""
    from vitcore.analysis.positions import correlation_with_distance, similarity
    from vitcore.models import zoo

    vit = zoo.load(folder.path)
    table: Any = zoo.positions(vit)
    return {"position_correlation": correlation_with_distance(similarity(table), vit.grid)}


def _distance(folder: files.RunFolder, recipe: Recipe) -> dict[str, float]:
    """Of block 0, in shares of what uniform attention reads: the nearest head's distance, and the mean over heads.

    Divided by what is left when the class token is dropped, so that a head that rests on the class token does not count as near.
    """
    from vitcore.analysis.distance import uniform_distance_px
    from vitcore.forward.recording import record
    from vitcore.images import photo_of
    from vitcore.models import zoo
    from vitcore.train.data.sources import open_photos

    vit = zoo.load(folder.path)
    held_out = open_photos(files.source_of(folder), seed=recipe.seed)[1]
    photos = [photo_of(held_out.open(i), held_out.title(i)) for i in range(min(PHOTOS, len(held_out)))]
    first = np.mean([record(vit, photo, fusions=()).distance_renormalised_px[0] for photo in photos], 0)
    share = first / uniform_distance_px(vit.grid)
    return {"nearest_head": 100 * float(share.min()), "mean_head": 100 * float(share.mean())}


LOOKED_AT: dict[str, Callable[[files.RunFolder, Recipe], dict[str, float]]] = {
    "training_gflop": _cost, "position_correlation": _positions, "nearest_head": _distance,
}  # fmt: skip

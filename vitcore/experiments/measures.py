"""What is measured of a finished run: what it logged at its last step, what it cost, and what its model shows inside."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vitcore.experiments.experiment import ExperimentError
from vitcore.train.runs import files
from vitcore.translation import say

PHOTOS = 32  # of the held-out ones, over which attention distance is averaged


def measure(folder: files.RunFolder, names: Sequence[str]) -> dict[str, float]:
    """{name: value} of a finished run. Raises: ExperimentError, when its log lacks one of the names."""
    log = files.records(folder)
    known: dict[str, Any] = dict(log[-1]) if log else {}
    for name in names:
        if name not in known and name in LOOKED_AT:
            known |= LOOKED_AT[name](folder)
        if name not in known:
            raise ExperimentError(say("the log of run {id} has no {what} at its end.", id=folder.id, what=name))
    return {name: float(known[name]) for name in names}


def _cost(folder: files.RunFolder) -> dict[str, float]:
    """Operations of the whole training in 10⁹: a backward pass costs two forward ones."""
    from vitcore.train.data.sources import open_photos
    from vitcore.train.learning.cost import shape

    recipe = files.recipe_of(folder)
    classes = len(open_photos(files.source_of(folder), seed=recipe.seed)[0].classes)
    return {"training_gflop": 3 * shape(recipe, classes)[1] * recipe.batch * recipe.steps / 1e9}


def _positions(folder: files.RunFolder) -> dict[str, float]:
    """Correlation of the cosine of two positions with their distance: -1 where nearer is more alike throughout."""
    from vitcore.analysis.positions import correlation_with_distance, similarity
    from vitcore.models import zoo
    from vitcore.models.embeddings import positions

    vit = zoo.load(folder.path)
    table: Any = positions(vit)
    return {"position_correlation": correlation_with_distance(similarity(table), vit.grid)}


def _distance(folder: files.RunFolder) -> dict[str, float]:
    """Of block 0, in % of what attending to all patches alike reads: the nearest head's distance, and the mean over heads.

    Divided by what is left when the class token is dropped, so that a head that rests on the class token does not count as near.
    """
    from vitcore.analysis.distance import uniform_distance_px
    from vitcore.forward.recording import record
    from vitcore.images import photo_of
    from vitcore.models import zoo
    from vitcore.train.data.sources import open_photos

    vit = zoo.load(folder.path)
    held_out = open_photos(files.source_of(folder), seed=files.recipe_of(folder).seed)[1]
    photos = [photo_of(held_out.open(i), held_out.title(i)) for i in range(min(PHOTOS, len(held_out)))]
    heads_px = np.mean([record(vit, photo, fusions=()).distance_renormalised_px[0] for photo in photos], 0)
    share = 100 * heads_px / uniform_distance_px(vit.grid)
    return {"nearest_head": float(share.min()), "mean_head": float(share.mean())}


LOOKED_AT: dict[str, Callable[[files.RunFolder], dict[str, float]]] = {
    "training_gflop": _cost, "position_correlation": _positions, "nearest_head": _distance, "mean_head": _distance,
}  # fmt: skip

"""What is measured of a finished run: what it logged at its last step, and what its model shows."""

from collections.abc import Callable, Sequence
from typing import Any

from vitcore.experiments.experiment import ExperimentError
from vitcore.train.recipes.recipe import Recipe
from vitcore.train.runs import files
from vitcore.translation import say


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
    """Operations of the whole training in 10⁹: a multiplication and an addition are two."""
    from vitcore.train.data.sources import open_photos
    from vitcore.train.learning.cost import shape

    classes = len(open_photos(files.source_of(folder), seed=recipe.seed)[0].classes)
    return {"training_gflop": 3 * shape(recipe, classes)[1] * recipe.batch * recipe.steps / 1e9}


def _positions(folder: files.RunFolder, recipe: Recipe) -> dict[str, float]:
    """Correlation of the cosine of two positions with their distance: -1 where nearer is more alike throughout."""
    from vitcore.analysis.positions import correlation_with_distance, similarity
    from vitcore.models import zoo

    vit = zoo.load(folder.path)
    table: Any = zoo.positions(vit)
    return {"position_correlation": correlation_with_distance(similarity(table), vit.grid)}


LOOKED_AT: dict[str, Callable[[files.RunFolder, Recipe], dict[str, float]]] = {
    "training_gflop": _cost, "position_correlation": _positions,
}  # fmt: skip

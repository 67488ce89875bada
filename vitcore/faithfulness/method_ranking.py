"""Which map orders the patches best: deletion and insertion of all methods on one photo, and their ranking over photos."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitcore.analysis.attention_distance import mean_interval
from vitcore.faithfulness.covered_patches import BATCH, Progress, no_progress
from vitcore.faithfulness.deletion import RANDOM_ORDERS, STEPS, DeletionCurve, deletion_curves, random_maps, share_of_lower_values
from vitcore.faithfulness.method_maps import CHANCE, MAPS, NO_METHODS, map_title, method_maps
from vitcore.forward.recording import Recording, record
from vitcore.models.vit import Vit
from vitcore.translation import say

FILL_TITLES = {
    "removed": "patches removed", "mean": "patches in the mean colour", "blur": "patches blurred", "noise": "patches as noise",
    "neighbour": "patches as their nearest neighbour",
}  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class PhotoDeletion:
    """Deletion and insertion of one photo by all methods, for one class and one fill."""

    photo: str
    label: str  #: of the class
    fill: str
    curves: Mapping[str, DeletionCurve]  #: by method; "chance" is the mean of the random orders
    places: Mapping[str, float]  #: of each method's gap among the random orders', 0 to 1

    @property
    def ranked(self) -> list[str]:
        """The curves' names, the largest gap of insertion and deletion first."""
        return sorted(self.curves, key=lambda name: -self.curves[name].gap)

    @property
    def best(self) -> str:
        """The first of them that is a method; "" where baselines alone were tested."""
        return next((name for name in self.ranked if name not in NO_METHODS), "")


def photo_deletion(
    vit: Vit, rec: Recording, names: Iterable[str] = MAPS, *, target: int | None = None, fill: str = "removed", steps: int = STEPS,
    random_orders: int = RANDOM_ORDERS, seed: int = 0, batch: int = BATCH, on_progress: Progress = no_progress,
) -> PhotoDeletion:  # fmt: skip
    """Curves of one recorded photo by every method, and each method's place among orders by chance.

    `target` is a class by its index (default: the likeliest); the rest is as of `deletion_curves`, and so is what it raises.
    """
    maps, drawn = method_maps(vit, rec, names, target), random_maps(vit, random_orders, seed)
    curves = deletion_curves(
        vit, rec.model_input, {**maps, **drawn}, target=target, fill=fill, steps=steps, seed=seed, batch=batch,
        on_progress=on_progress,
    )  # fmt: skip
    label = vit.labels[next(iter(curves.values())).target]
    own = {name: curves[name] for name in maps}
    found = PhotoDeletion(photo=rec.photo.name, label=label, fill=fill, curves=own, places={})
    return _beside_chance(found, [curves[name] for name in drawn])


def add_random_orders(
    vit: Vit, rec: Recording, photo_result: PhotoDeletion, *, random_orders: int = RANDOM_ORDERS, seed: int = 0, batch: int = BATCH,
    on_progress: Progress = no_progress,
) -> PhotoDeletion:  # fmt: skip
    """What was found without random orders, with them: the orders alone are run, for the class and the fill that it has.

    The result is what `photo_deletion` gives with as many orders at once. Raises: what `deletion_curves` raises; ValueError,
    for no order, and for curves of other steps than this model's.
    """
    first = next(iter(photo_result.curves.values()))
    if random_orders < 1:
        raise ValueError(f"random_orders is 1 or more, not {random_orders}")
    drawn = random_maps(vit, random_orders, seed)
    curves = deletion_curves(
        vit, rec.model_input, drawn, target=first.target, fill=photo_result.fill, steps=len(first.shares) - 1, seed=seed,
        batch=batch, on_progress=on_progress,
    )  # fmt: skip
    chance = list(curves.values())
    if not np.allclose(chance[0].shares, first.shares, atol=1e-3):
        raise ValueError("the curves are of other steps than this model's")
    return _beside_chance(photo_result, chance)


def _beside_chance(found: PhotoDeletion, chance: Sequence[DeletionCurve]) -> PhotoDeletion:
    """With the mean of orders by chance as a curve, and each method's place among them; as it is, without any."""
    if not chance:
        return found
    own = {name: curve for name, curve in found.curves.items() if name != CHANCE}
    mean = DeletionCurve(
        shares=chance[0].shares, strongest_first=np.mean([one.strongest_first for one in chance], 0),
        weakest_first=np.mean([one.weakest_first for one in chance], 0), target=chance[0].target, fill=found.fill,
    )  # fmt: skip
    gaps = [one.gap for one in chance]
    return replace(
        found, curves={**own, CHANCE: mean}, places={name: share_of_lower_values(curve.gap, gaps) for name, curve in own.items()}
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class MethodDeletionScores:
    """How one method did over photos, in the gap of insertion and deletion (−1 to 1; 0 for orders by chance)."""

    name: str
    gaps: NDArray[np.float64]  # (photos,)
    deletions: NDArray[np.float64]  # (photos,): areas, lower is better
    insertions: NDArray[np.float64]  # (photos,): areas, higher is better
    places: NDArray[np.float64]  # (photos,): share of random orders whose gap is smaller; NaN where none were drawn

    @property
    def gap(self) -> float:
        """Mean over photos."""
        return float(self.gaps.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the mean gap over photos, by Student's t; endless for one photo."""
        return t_confidence_interval(self.gaps)


def compare_methods(
    vit: Vit, photos: Iterable[Any], names: Iterable[str] = MAPS, *, fill: str = "removed", steps: int = STEPS,
    random_orders: int = RANDOM_ORDERS, seed: int = 0,
) -> list[MethodDeletionScores]:  # fmt: skip
    """Methods by their mean gap of insertion and deletion over photos (anything `record` takes), best first.

    Each photo asks for its own likeliest class. `random_orders` orders by chance stand beside each photo's.
    Raises: what `deletion_curves` and `record` raise; ValueError, without a photo.
    """
    names = tuple(names)
    options: dict[str, Any] = {"fill": fill, "steps": steps, "random_orders": random_orders, "seed": seed}
    return rank_methods([photo_deletion(vit, record(vit, photo), names, **options) for photo in photos])


def rank_methods(results: Sequence[PhotoDeletion]) -> list[MethodDeletionScores]:
    """Methods by their mean gap over photos, best first, of photos tested by one model and one fill.

    Raises: ValueError, without a photo, and for photos of several fills.
    """
    if not results:
        raise ValueError("there is no photo to compare methods on")
    if len({one.fill for one in results}) > 1:
        raise ValueError("photos of several fills can't be compared")
    names = [name for name in results[0].curves if name != CHANCE]
    scores = [
        MethodDeletionScores(
            name=name, gaps=np.array([one.curves[name].gap for one in results]),
            deletions=np.array([one.curves[name].deletion for one in results]),
            insertions=np.array([one.curves[name].insertion for one in results]),
            places=np.array([one.places.get(name, np.nan) for one in results]),
        )
        for name in names
    ]  # fmt: skip
    return sorted(scores, key=lambda score: -score.gap)


def best_method(scores: Sequence[MethodDeletionScores]) -> tuple[str, str]:
    """The best method's name and the best, method or baseline, that is not significantly worse, "" for none.

    Differences are paired by photo (Student's t, 95 %), so that hard photos do not hide them: worse is what they keep above 0.
    """
    best = (_methods(scores) or scores)[0]
    others = [one for one in scores if one is not best]
    if len(best.gaps) < 2:
        return best.name, others[0].name if others else ""
    for other in others:
        if t_confidence_interval(best.gaps - other.gaps)[0] <= 0:
            return best.name, other.name
    return best.name, ""


def ranking_sentence(scores: Sequence[MethodDeletionScores], fill: str) -> str:
    """Which method is best, on which measure and over how many photos, and whether another can be told from it."""
    best, tied = best_method(scores)
    score = next(one for one in scores if one.name == best)
    low, high = score.interval
    facts = {"photos": len(score.gaps), "fill": say(FILL_TITLES[fill]), "best": map_title(best), "gap": f"{score.gap:.2f}",
             "low": f"{low:.2f}", "high": f"{high:.2f}"}  # fmt: skip
    if len(scores) == 1:
        return say(
            "Only {best} was tested ({fill}): insertion minus deletion is {gap}, a mean of {photos} {photos:photo|photos}.", **facts
        )
    if facts["photos"] == 1:
        return say("Best on one photo ({fill}): {best}. Insertion minus deletion is {gap}.", **facts)
    if tied:
        sentence = say(
            "Best over {photos} {photos:photo|photos} ({fill}): {best}. Insertion minus deletion is {gap} "
            "(95 % interval: {low} to {high}). Paired over photos (t-test), {tied} is not significantly worse.",
            tied=map_title(tied), **facts,
        )  # fmt: skip
    else:
        sentence = say(
            "Best over {photos} {photos:photo|photos} ({fill}): {best}. Insertion minus deletion is {gap} "
            "(95 % interval: {low} to {high}). Paired over photos (t-test), every other method is significantly worse.",
            **facts,
        )
    return sentence


def rank_of_method_sentence(scores: Sequence[MethodDeletionScores], name: str) -> str:
    """Which place one method has among the methods of a ranking; "" where it is not in it, and for a baseline."""
    methods = _methods(scores)
    for place, score in enumerate(methods, start=1):
        if score.name == name:
            title = map_title(name)
            facts = {"method": title[:1].upper() + title[1:], "place": place, "count": len(methods), "gap": f"{score.gap:.2f}"}
            return say("{method} ranks {place} of {count}, with {gap}.", **facts)
    return ""


def _methods(scores: Sequence[MethodDeletionScores]) -> list[MethodDeletionScores]:
    return [score for score in scores if score.name not in NO_METHODS]


def t_confidence_interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """95 % interval of a mean by Student's t; endless for one value."""
    found = mean_interval(values)
    return (-np.inf, np.inf) if found.count < 2 else (float(found.low), float(found.high))

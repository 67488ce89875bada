"""Every map that claims to show what an answer rests on, and two that claim nothing: the middle of the picture, and chance."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitcore.analysis.attention_distance import mean_interval
from vitcore.analysis.relevance import METHODS
from vitcore.faithfulness.deletion import DeletionCurve, deletion_curves, place_among, random_order_maps
from vitcore.forward.recording import Recording, record
from vitcore.forward.relevance import relevance
from vitcore.models.vit import Vit

OF_ATTENTION = ("class_attention", "last_layer_attention")
MIDDLE = "middle"
MAPS = (*METHODS, *OF_ATTENTION, MIDDLE)


def method_maps(vit: Vit, rec: Recording, names: Iterable[str] = MAPS, target: int | None = None) -> dict[str, NDArray[np.float64]]:
    """Maps (rows, cols) of one recorded photo by name: the methods of `analysis.relevance.METHODS`, "class_attention" (attention
    of where the answer is read, mean over layers and heads), "last_layer_attention" (the same of the last layer alone) and
    "middle" (minus the distance from the middle, in pixels). `target` is a class by its index (default: the likeliest).

    Signed maps keep their sign: a patch that lowers the logit counts as weakest. What is not defined for this model is
    left out. Raises: ValueError, for a map that there is not.
    """
    found: dict[str, NDArray[np.float64]] = {}
    for name in names:
        if name not in MAPS:
            raise ValueError(f"a map is one of {', '.join(MAPS)}, not {name!r}")
        if name == MIDDLE:
            found[name] = -_from_the_middle(rec)
        elif name in OF_ATTENTION:
            if vit.is_global:
                layers = [vit.blocks - 1] if name == "last_layer_attention" else range(vit.blocks)
                found[name] = np.mean([rec.pooled_attention(layer) for layer in layers], 0)
        elif (vit.is_global or not METHODS[name].needs_attention) and (vit.labels or not METHODS[name].asks_class):
            chosen = target if METHODS[name].asks_class else None
            found[name] = relevance(vit, rec.model_input.pixels, name, chosen).maps
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class MethodScore:
    """How one method did over photos, in the gap of insertion and deletion (−1 to 1; 0 for orders by chance)."""

    name: str
    gaps: NDArray[np.float64]  # (photos,)
    deletions: NDArray[np.float64]  # (photos,): areas, lower is better
    insertions: NDArray[np.float64]  # (photos,): areas, higher is better
    places: NDArray[np.float64]  # (photos,): share of random orders whose gap is smaller

    @property
    def gap(self) -> float:
        """Mean over photos."""
        return float(self.gaps.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the mean gap over photos, by Student's t; endless for one photo."""
        return t_interval(self.gaps)


def compare_methods(
    vit: Vit, photos: Iterable[Any], names: Iterable[str] = MAPS, *, fill: str = "removed", steps: int = 10,
    random_orders: int = 50, seed: int = 0,
) -> list[MethodScore]:  # fmt: skip
    """Methods by their mean gap of insertion and deletion over photos (anything `record` takes), best first.

    Each photo asks for its own likeliest class. `random_orders` orders by chance stand beside each photo's.
    Raises: what `deletion_curves` and `record` raise; ValueError, without a photo.
    """
    names, rows = tuple(names), []
    for photo in photos:
        rec = record(vit, photo)
        rows.append(score_photo(vit, rec, names, fill=fill, steps=steps, random_orders=random_orders, seed=seed)[1])
    if not rows:
        raise ValueError("there is no photo to compare methods on")
    scores = [
        MethodScore(name=name, **{field: np.array([row[name][field] for row in rows]) for field in _FIELDS})
        for name in rows[0]
    ]  # fmt: skip
    return sorted(scores, key=lambda score: -score.gap)


_FIELDS = ("gaps", "deletions", "insertions", "places")


def score_photo(
    vit: Vit, rec: Recording, names: Iterable[str] = MAPS, *, target: int | None = None, fill: str = "removed", steps: int = 10,
    random_orders: int = 50, seed: int = 0,
) -> tuple[dict[str, DeletionCurve], dict[str, dict[str, float]]]:  # fmt: skip
    """Curves of one photo by method, and each method's numbers: gaps, deletions, insertions, and its place among random orders."""
    maps, drawn = method_maps(vit, rec, names, target), random_order_maps(vit, random_orders, seed)
    curves = deletion_curves(vit, rec.model_input.pixels, {**maps, **drawn}, target=target, fill=fill, steps=steps, seed=seed)
    chance = [curves[name].gap for name in drawn]
    own: Mapping[str, DeletionCurve] = {name: curves[name] for name in maps}
    numbers = {
        name: {"gaps": one.gap, "deletions": one.deletion, "insertions": one.insertion, "places": place_among(one.gap, chance)}
        for name, one in own.items()
    }
    return dict(own), numbers


def best_method_sentence(scores: list[MethodScore]) -> tuple[str, str]:
    """The best method's name and the best of those whose interval of paired differences with it holds 0, "" for none.

    Differences are paired by photo (Student's t, 95 %), so that hard photos do not hide them.
    """
    best, *others = scores
    if len(best.gaps) < 2:
        return best.name, others[0].name if others else ""
    for other in others:
        low, high = t_interval(best.gaps - other.gaps)
        if low <= 0 <= high:
            return best.name, other.name
    return best.name, ""


def t_interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """95 % interval of a mean by Student's t; endless for one value."""
    found = mean_interval(values)
    return (-np.inf, np.inf) if found.count < 2 else (float(found.low), float(found.high))


def _from_the_middle(rec: Recording) -> NDArray[np.float64]:
    centres = rec.grid.centres_px()
    return rec.grid.to_map(np.hypot(*(centres - np.array(rec.grid.image_px) / 2).T))

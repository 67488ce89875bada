"""Deletion and insertion: how an answer falls as patches go in the order of a map, and where chance stands beside it.

The strongest patches go first (MoRF, Samek et al., arXiv 1509.06321; "deletion", Petsiuk et al., arXiv 1806.07421), or the
weakest (LeRF). Insertion of the strongest into nothing is the second curve read backwards: after a share s of the weakest has
gone, the strongest 1 − s are there. Covered patches are a picture that the model was not trained on: the fill changes the
ranking (arXiv 2202.00449), so every curve says which.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitcore.errors import check_choice
from vitcore.faithfulness.covered_patches import BATCH, Progress, answer_reads_patches, logits_without_patches, no_progress
from vitcore.forward.recordings.model_inputs import open_for_model
from vitcore.images import InputKind, PhotoSource
from vitcore.models.vit import Vit, check_bands, class_index
from vitcore.probabilities import probabilities

STEPS = 10
RANDOM_ORDERS = 50
ORDERS = ("strongest", "weakest", "chance")


@dataclass(frozen=True, eq=False, kw_only=True)
class DeletionCurve:
    """How the probability of a class falls with the share of patches that are gone."""

    shares: NDArray[np.float64]  # (S + 1,): of all patches, 0 to 1
    strongest_first: NDArray[np.float64]  # (S + 1,): probability of the class; its area is "deletion": lower is better
    weakest_first: NDArray[np.float64]  # (S + 1,): its area is "insertion": higher is better
    target: int
    fill: str

    @property
    def deletion(self) -> float:
        """Area below `strongest_first`, 0 to 1 (trapezoids)."""
        return _area(self.shares, self.strongest_first)

    @property
    def insertion(self) -> float:
        """Area below `weakest_first`, 0 to 1 (trapezoids)."""
        return _area(self.shares, self.weakest_first)

    @property
    def gap(self) -> float:
        """Insertion minus deletion, −1 to 1: what the order is worth; 0 on average for orders by chance."""
        return self.insertion - self.deletion


def deletion_curves(
    vit: Vit, photo: PhotoSource, maps: Mapping[str, NDArray], *, target: int | str | None = None, fill: str = "removed",
    steps: int = STEPS, seed: int = 0, batch: int = BATCH, on_progress: Progress = no_progress,
    inputs: InputKind | None = None,
) -> dict[str, DeletionCurve]:  # fmt: skip
    """One curve for each map (rows, cols) of a photo, taken as `record` takes it (`inputs`, too): patches go in the order of the
    map's values.

    `target` is a class by its index or its name (default: the likeliest); `fill` as of `covered_patches.logits_without_patches`.
    Equal values go in an order drawn from `seed`. All maps are run together, each set of patches once, and `on_progress` hears
    how many of the sets are done. Where the answer is read from patches, removal leaves one.
    Raises: TypeError, for maps without names; ModelError, for a model without classes or whose tokens can't be removed, and for
    a name that none or several of its classes have; ValueError, for a map of another shape; PhotoError.
    """
    if not isinstance(maps, Mapping):
        raise TypeError(f'maps are arrays by name, {{"rollout": rec.rollout()}}, not {type(maps).__name__}')
    asked_class = class_index(vit, target)
    check_bands(vit, 3)
    orders = {name: _order(vit, name, values, seed) for name, values in maps.items()}
    counts = _counts(vit, fill, steps)
    both = [order for one in orders.values() for order in (one, one[::-1])]
    asked = [frozenset(), *(frozenset(order[:count].tolist()) for order in both for count in counts[1:])]
    place = {patches: i for i, patches in enumerate(dict.fromkeys(asked))}
    logits = logits_without_patches(
        vit, open_for_model(vit, photo, inputs)[1].numbers, [sorted(one) for one in place], fill, seed, batch, on_progress
    )
    values = probabilities(logits, vit.output)[[place[one] for one in asked]]
    chosen = int(values[0].argmax()) if asked_class is None else asked_class
    whole, rest = values[0, chosen], values[1:, chosen].reshape(len(orders), 2, len(counts) - 1)
    shares = np.array(counts) / vit.grid.patches
    return {
        name: DeletionCurve(
            shares=shares, strongest_first=np.r_[whole, first], weakest_first=np.r_[whole, last], target=chosen, fill=fill
        )
        for name, (first, last) in zip(orders, rest, strict=True)
    }


def patch_order(values: NDArray, first: str = "strongest", seed: int = 0) -> NDArray[np.intp]:
    """All N patches of a map (rows, cols), in the order in which they are covered.

    `first`: "strongest", the largest values first; "weakest", the smallest; "chance", an order drawn from `seed`, whatever the
    values. Equal values go in an order drawn from `seed`. The weakest first is the strongest first read backwards.
    Raises: ValueError, for another order, and for a map with values that are no numbers.
    """
    check_choice("first", first, ORDERS)
    flat = np.asarray(values, np.float64).ravel()
    if not np.isfinite(flat).all():
        raise ValueError("the map has values that are no numbers")
    drawn = np.random.default_rng(seed).random(flat.size)
    order = np.argsort(drawn) if first == "chance" else np.lexsort((drawn, -flat))
    return order[::-1] if first == "weakest" else order


def random_maps(vit: Vit, count: int = RANDOM_ORDERS, seed: int = 0) -> dict[str, NDArray]:
    """Maps (rows, cols) by chance, to be given to `deletion_curves` beside others: what no method at all reaches.

    Every second order is the one before read backwards, which is as random, and asks for the same sets of patches: half the
    passes, and of an even `count` a mean difference of insertion and deletion of exactly 0.
    """
    drawn = np.random.default_rng(seed).random((-(-count // 2), vit.grid.rows, vit.grid.cols))
    return {f"chance {i}": drawn[i // 2] if i % 2 == 0 else -drawn[i // 2] for i in range(count)}


def share_of_lower_values(value: float, others: Sequence[float]) -> float:
    """Share of `others` that are lower than `value`, equal ones counted half: 0 to 1, 0.5 for chance."""
    drawn = np.asarray(others)
    return float((drawn < value).mean() + (drawn == value).mean() / 2)


def _order(vit: Vit, name: str, values: NDArray, seed: int) -> NDArray[np.intp]:
    """Patches, strongest first."""
    if np.shape(values) != (vit.grid.rows, vit.grid.cols):
        raise ValueError(f"a map is ({vit.grid.rows}, {vit.grid.cols}), and {name} is {np.shape(values)}")
    if not np.isfinite(np.asarray(values, np.float64)).all():
        raise ValueError(f"the map {name} has values that are no numbers")
    return patch_order(values, seed=seed)


def _counts(vit: Vit, fill: str, steps: int) -> list[int]:
    """How many patches are gone at each step, from none to all."""
    most = vit.grid.patches - (fill == "removed" and answer_reads_patches(vit))
    if not 1 <= steps:
        raise ValueError(f"steps are 1 or more, not {steps}")
    return sorted({round(most * i / steps) for i in range(steps + 1)})


def _area(shares: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    return float(np.trapezoid(values, shares) / (shares[-1] - shares[0]))

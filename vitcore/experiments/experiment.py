"""An experiment: cells, each a recipe, the paper's finding as claims about them, and what is plainly different in small.

The experiments themselves are rows of `of_models.py`, `of_insides.py` and `of_training.py`. Sentences are English here and said
by whoever shows them (`vitcore.translation.say`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vitcore.train.recipes.recipe import Recipe

if TYPE_CHECKING:
    from vitcore.analysis.verdicts import Kind

At = tuple[str, str]  # a curve and a place on it
Values = Mapping[At, float]  # what one seed measured
MEASURES = {  # what they are, and their unit
    "top1": "accuracy (%)", "few_shot": "few-shot accuracy, 5 a class (%)", "val_loss": "loss on held-out pictures",
    "training_gflop": "operations of the training (10⁹)", "position_correlation": "correlation of similarity with distance",
    "nearest_head": "nearest head (% of uniform)", "mean_head": "mean over heads (% of uniform)",
}  # fmt: skip


class ExperimentError(ValueError):
    """An experiment that can't be run or read, with a sentence that says why and what is left."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One training of each seed: its name among the others, where it is drawn, the fields of its recipe, and what it goes on from.

    A cell that is drawn nowhere only prepares others, which name it in `after` and start from its model.
    """

    name: str
    at: tuple[At, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)
    after: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding as numbers of one seed: `contrasts` of what it measured, found to be above, near or apart (`verdicts.judge`)."""

    words: str
    contrasts: Callable[..., Sequence[float]]  # of what the experiment measures, and of what `along` names
    unit: str = "points"
    kind: Kind = "above"
    margin: float = 0.0
    along: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A row of the laboratory. `where` is the kind of place in the paper and its number; `base(quick)` is what cells share."""

    name: str
    title: str
    where: tuple[str, str]
    finding: str  # the paper's, in one sentence
    measured: str  # here
    small: str  # where small is plainly different
    x_title: str
    measure: str = "top1"
    others: tuple[str, ...] = ("val_loss",)  # also measured
    numbers: bool = False  # whether places are numbers, drawn by ratio
    x_measure: str = (
        ""  # what is measured to the right, by ratio, each place a name that says what was trained; "": places
    )
    seeds: int = 5
    base: Callable[[bool], Recipe]
    cells: Callable[[bool], Sequence[Cell]]
    claims: tuple[Claim, ...]
    table: str = ""  # the part of the page of the paper's tables with its numbers, where it prints any

    @property
    def measures(self) -> tuple[str, ...]:
        """All that is measured of a run, the chart's first."""
        return (self.measure, *self.others)

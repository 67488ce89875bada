"""An experiment: cells, each a recipe, the paper's finding as claims about them, and what is plainly different in small.

The experiments themselves are rows of `architecture_experiments.py`, `representation_experiments.py` and `training_experiments.py`.
Sentences are English here and said by whoever shows them (`vitcore.translation.say`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from vitcore.errors import RefusalError
from vitcore.train.recipe import Recipe

if TYPE_CHECKING:
    from vitcore.experiments.verdict_statistics import ClaimKind

ChartPlace = tuple[str, str]  # a curve and a place on it
Values = Mapping[ChartPlace, float]  # what one seed measured
TWICE_AS_LONG_SUFFIX = ", twice as long"  # ends the name of a curve of checks
SYNTHETIC_DATA = "drawn:classes=3,px=16,difficulty=0.25,photos=1500,validation=1000"  # a ViT learns them in seconds
FIRST_SEED = 20  # of those reported: steps were tried out on others
LEARNING_RATE_SEED = 100  # of the trainings that choose learning rates: their pictures are never reported
MEASURES = {  # what they are, and their unit
    "test_top1": "accuracy on test pictures (%)", "top1": "accuracy on validation pictures (%)",
    "training_gflop": "operations of the training (10⁹)", "nearness": "correlation of similarity with nearness",
    "row_column": "cosine within rows and columns, above other pairs at the same distance",
    "nearest_head": "most local head (% of uniform)", "untrained_head": "most local head, untrained (% of uniform)",
    "shuffled_top1": "accuracy with positions shuffled (%)",
}  # fmt: skip


class ExperimentError(RefusalError):
    """An experiment that can't be run or read, with a sentence that says why and what is left."""


@dataclass(frozen=True, slots=True)
class ExperimentCell:
    """One training of each seed: its name among the others, where it is drawn, the fields of its recipe, and what it goes on from.

    A cell that is drawn nowhere only prepares others, which name it in `continues_cell` and start from its model. Of
    `learning_rates` the best on validation pictures of `LEARNING_RATE_SEED` is taken; `learning_rate_of` names the cell whose
    choice this one takes over. `checks_plateau` marks the training of `learning_rate_of` made twice as long, which shows whether
    that had come to its plateau.
    """

    name: str
    chart_places: tuple[ChartPlace, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)
    continues_cell: str = ""
    learning_rates: tuple[float, ...] = ()
    learning_rate_of: str = ""
    checks_plateau: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """The sentence that is tested: `effect`, a number of what one seed measured, is above 0, or near it (`judge`).

    `paper` is the least and the largest effect that the paper prints, in `unit`, as `source` says; None where it prints none. An
    effect in `is_ratio` is computed as the logarithm to base 10. `quick` is why the quick form can't test it; "": it can.
    """

    sentence: str
    effect: Callable[..., float]
    unit: str = "points"
    kind: ClaimKind = "above"
    margin: float = 0.0
    along: str = ""  # what is measured that `effect` is also given
    paper: tuple[float, float] | None = None
    source: str = ""
    quick: str = ""

    @property
    def is_ratio(self) -> bool:
        """Whether the effect is a ratio."""
        return self.unit.startswith("times")


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A row of the laboratory. `where` is the kind of place in the paper and its number; `base(quick)` is what cells share."""

    name: str
    title: str
    where: tuple[str, str]
    finding: str  # the paper's, in one sentence
    measured: str  # here
    untested: str  # what of the finding is not tested here, and where small is plainly different
    x_title: str
    measure: str = "test_top1"
    others: tuple[str, ...] = ("top1",)  # also measured
    numbers: bool = False  # whether places are numbers, drawn by ratio
    x_measure: str = ""  # what is measured to the right, by ratio, each place a name that says what was trained; "": places
    seeds: int = 5  # fixed before the first training
    first: int = FIRST_SEED  # of the seeds; raised when steps had to be, since those before have been seen
    drawn: str = SYNTHETIC_DATA  # what the quick form learns from
    base: Callable[[bool], Recipe]
    cells: Callable[[bool], Sequence[ExperimentCell]]
    claims: tuple[Claim, ...]
    table: str = ""  # the part of the page of the paper's tables with its numbers, where it prints any

    @property
    def measures(self) -> tuple[str, ...]:
        """All that is measured of a run, the chart's first."""
        return (self.measure, *self.others)


def with_twice_the_steps(cell: ExperimentCell, base: Recipe) -> ExperimentCell:
    """The cell trained for twice the steps, at the same rate: the check of its plateau."""
    (curve, place), *_ = cell.chart_places
    steps, warmup = (2 * cell.fields.get(name, getattr(base, name)) for name in ("steps", "warmup_steps"))
    return replace(
        cell, name=f"{cell.name}-twice", chart_places=((curve + TWICE_AS_LONG_SUFFIX, place),), learning_rates=(),
        learning_rate_of=cell.name,
        checks_plateau=True, fields={**cell.fields, "steps": steps, "warmup_steps": warmup},
    )  # fmt: skip

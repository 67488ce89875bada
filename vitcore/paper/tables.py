"""Tables 1 to 9 of the paper as rows, and the findings of Figures 2, 3 and 5, which are made of them.

The files are `assets/paper/*.csv`; each row names its table. Accuracies are in % as printed, compute in exaFLOPs (Table 6) or
TPUv3-core-days (Table 2). Figures 4, 8, 9, 12 and 13 are printed as curves only: no numbers of theirs are here.
"""

import csv
import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from vitcore.assets import asset_path

TABLE_NAMES = ("1", "2", "2-compute", "3", "4", "5", "6", "7", "8", "9")
FIVE_DATASETS = ("ImageNet", "CIFAR-10", "CIFAR-100", "Pets", "Flowers")  # of Table 6; Table 7 prints the mean of these
MODEL_FAMILIES = ("ViT", "ResNet", "hybrid")
VTAB_GROUPS = ("Natural", "Specialized", "Structured")  # of VTAB's 19 tasks
PRETRAINING_SETS = ("ImageNet", "ImageNet-21k", "JFT-300M")  # by size
PRETRAINING_IMAGES_M = {"ImageNet": 1.3, "ImageNet-21k": 14, "JFT-300M": 303}  # million photographs, §4.1
Row = dict[str, str]


@lru_cache
def paper_table_rows(name: str) -> tuple[Row, ...]:
    """The rows of a table: `paper_table_rows("6")`, `paper_table_rows("2-compute")`; cells as printed, "" where the paper has none.

    Raises:
        KeyError: there is no such table.
    """
    if name not in TABLE_NAMES:
        raise KeyError(f"the paper's tables here are {', '.join(TABLE_NAMES)}, not {name!r}")
    with asset_path(f"paper/table{name}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def _model_family(model: str) -> str:
    """ "ViT", "ResNet" (BiT) or "hybrid", by the paper's name of a model."""
    if "+ViT" in model:
        return "hybrid"
    return "ViT" if model.startswith("ViT") else "ResNet"


class PretrainingRun(NamedTuple):
    """A pre-training on JFT-300M, a row of Table 6: accuracy in % after transfer, cost in exaFLOPs."""

    model: str
    epochs: int
    accuracy: float
    exaflops: float

    @property
    def family(self) -> str:
        """As `_model_family` of its name."""
        return _model_family(self.model)


def pretraining_runs(dataset: str = "mean") -> list[PretrainingRun]:
    """Table 6 for one data set of its columns, or the mean of `FIVE_DATASETS` (Figure 5, left)."""

    def accuracy(row: Row) -> float:
        names = FIVE_DATASETS if dataset == "mean" else (dataset,)
        return sum(float(row[name]) for name in names) / len(names)

    return [
        PretrainingRun(row["model"], int(row["epochs"]), accuracy(row), float(row["exaflops"])) for row in paper_table_rows("6")
    ]


class ComputeSaving(NamedTuple):
    """What a model costs for each exaFLOP that a ViT would need for the same accuracy."""

    run: PretrainingRun
    ratio: float


def compute_savings(runs: Sequence[PretrainingRun], family: str = "ResNet") -> list[ComputeSaving]:
    """How many times less compute ViT needs for the accuracy of each model `family` a family (§4.4).

    Between two ViTs of the front (the best accuracy for its compute) the logarithm of the compute is taken to be linear in
    the accuracy; models outside the front's range have no ratio.
    """
    front: list[PretrainingRun] = []
    for run in sorted((run for run in runs if run.family == "ViT"), key=lambda run: run.exaflops):
        if not front or run.accuracy > front[-1].accuracy:
            front.append(run)
    savings = []
    for run in runs:
        for low, high in itertools.pairwise(front):
            if run.family == family and low.accuracy <= run.accuracy < high.accuracy:
                along = (run.accuracy - low.accuracy) / (high.accuracy - low.accuracy)
                need = low.exaflops * math.exp(along * math.log(high.exaflops / low.exaflops))
                savings.append(ComputeSaving(run, run.exaflops / need))
    return savings


def accuracy_by_data_size(dataset: str = "ImageNet") -> dict[str, dict[str, float]]:
    """Figure 3 from Table 5: accuracy in % on a data set, by model and then by what it was pre-trained on."""
    accuracy: dict[str, dict[str, float]] = {}
    for row in paper_table_rows("5"):
        if row["dataset"] == dataset:
            for model in list(row)[3:]:
                if row[model]:
                    accuracy.setdefault(model, {})[row["pretraining"]] = float(row[model])
    return accuracy


class PrintedAccuracy(NamedTuple):
    """A ViT's accuracy on ImageNet in %, with what it was pre-trained on and the table that prints it."""

    model: str
    pretraining: str
    accuracy: float
    table: str


def imagenet_accuracies() -> list[PrintedAccuracy]:
    """Every number that Tables 2 and 5 print for a ViT on ImageNet's validation photos, the lowest first."""
    two = [PrintedAccuracy(row["model"], row["pretraining"], float(row["accuracy"]), "2")
           for row in paper_table_rows("2") if row["dataset"] == "ImageNet" and _model_family(row["model"]) == "ViT"]  # fmt: skip
    five = [PrintedAccuracy(model, data, value, "5") for model, by in accuracy_by_data_size().items() for data, value in by.items()]
    return sorted(two + five, key=lambda one: one.accuracy)


def min_pretraining_epochs() -> int:
    """How often a pre-training of the paper shows each photo, at the least (Table 3)."""
    return min(int(epochs) for row in paper_table_rows("3") for epochs in row["epochs"].split("/"))


def vtab_group_means(model: str, table: str = "9") -> dict[str, float]:
    """Mean accuracy in % over the tasks of each of VTAB's groups, and over all 19 as "all" (Figure 2's bars)."""
    tasks = [row for row in paper_table_rows(table) if row["group"]]
    mean: Callable[[list[Row]], float] = lambda some: sum(float(row[model]) for row in some) / len(some)  # noqa: E731
    return {"all": mean(tasks)} | {group: mean([row for row in tasks if row["group"] == group]) for group in VTAB_GROUPS}

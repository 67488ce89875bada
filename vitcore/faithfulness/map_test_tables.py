"""What the tests of maps found, as CSV tables and back: deletion.csv, weights.csv, stability.csv and plausibility.csv.

A table's first line says what made it, after "#". A row is a photo and a method (of deletion also a fill; of plausibility a
method alone), so that a spreadsheet reads it; curves are numbers apart by spaces.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vitcore.csv_and_npz import number_for_csv, rows_of_csv, table_as_csv
from vitcore.faithfulness.deletion import DeletionCurve
from vitcore.faithfulness.method_ranking import PhotoDeletion
from vitcore.faithfulness.plausibility import MEASURES, PlausibilityScore
from vitcore.faithfulness.stability import CHANGES, CLASS, StabilityTest
from vitcore.faithfulness.weight_randomisation import RandomisationTest

CURVE = ("shares", "strongest_first", "weakest_first")
DELETION = ("photo", "class", "fill", "method", "deletion", "insertion", "place", "target", *CURVE)
PROBABILITIES = {change: f"probability_{change}" for change in ("photo", *CHANGES)}
STABILITY = ("photo", "method", *CHANGES, CLASS, "target", "other", *PROBABILITIES.values())


class PlausibilityMeans(NamedTuple):
    """A method's means over photos with masks: of each measure its mean and the ends of its interval."""

    photos: int
    means: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]


def deletion_csv(results: Iterable[PhotoDeletion], made_by: str) -> str:
    """One row for each photo, fill and method; the method "chance" has no place. Areas are of the curves as they are written."""
    rows = []
    for one in results:
        for name, curve in one.curves.items():
            row = dict(zip(CURVE, map(_numbers, (curve.shares, curve.strongest_first, curve.weakest_first)), strict=True))
            written = _curve({**row, "target": str(curve.target), "fill": one.fill})
            rows.append((one.photo, one.label, one.fill, name, number_for_csv(written.deletion), number_for_csv(written.insertion),
                         number_for_csv(one.places.get(name, np.nan)), curve.target, *row.values()))  # fmt: skip
    return table_as_csv(DELETION, rows, made_by)


def read_deletion_csv(text: str) -> list[PhotoDeletion]:
    """What `deletion_csv` wrote, in its order."""
    found: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in rows_of_csv(text):
        found.setdefault((row["photo"], row["class"], row["fill"]), []).append(row)
    return [
        PhotoDeletion(photo=photo, label=label, fill=fill, curves={row["method"]: _curve(row) for row in rows},
                      places={row["method"]: float(row["place"]) for row in rows if row["place"]})
        for (photo, label, fill), rows in found.items()
    ]  # fmt: skip


def randomisation_csv(tests: Mapping[str, Mapping[str, RandomisationTest]], made_by: str) -> str:
    """One row for each photo and method: rank correlation after each part of the model is random, from the classifier down."""
    parts = next(iter(next(iter(tests.values())).values())).parts
    rows = [(photo, name, *map(number_for_csv, test.correlations)) for photo, one in tests.items() for name, test in one.items()]
    return table_as_csv(("photo", "method", *parts), rows, made_by)


def read_randomisation_csv(text: str) -> dict[str, dict[str, RandomisationTest]]:
    """What `randomisation_csv` wrote: tests by photo and method."""
    found: dict[str, dict[str, RandomisationTest]] = {}
    for row in rows_of_csv(text):
        parts = tuple(row)[2:]
        values = np.array([_value(row[part]) for part in parts])
        found.setdefault(row["photo"], {})[row["method"]] = RandomisationTest(parts=parts, correlations=values)
    return found


def stability_csv(tests: Mapping[str, StabilityTest], made_by: str) -> str:
    """One row for each photo and method: rank correlation with the map of the changed photo, and of another class."""
    rows = [
        (photo, name, *(number_for_csv(values[change]) for change in (*CHANGES, CLASS)), test.target, test.other,
         *(number_for_csv(test.probabilities[change]) for change in PROBABILITIES))
        for photo, test in tests.items() for name, values in test.correlations.items()
    ]  # fmt: skip
    return table_as_csv(STABILITY, rows, made_by)


def read_stability_csv(text: str) -> dict[str, StabilityTest]:
    """What `stability_csv` wrote: tests by photo."""
    correlations: dict[str, dict[str, dict[str, float]]] = {}
    last: dict[str, dict[str, str]] = {}
    for row in rows_of_csv(text):
        last[row["photo"]] = row
        correlations.setdefault(row["photo"], {})[row["method"]] = {change: _value(row[change]) for change in (*CHANGES, CLASS)}
    return {
        photo: StabilityTest(target=int(row["target"]), other=int(row["other"]), correlations=correlations[photo],
                             probabilities={change: float(row[column]) for change, column in PROBABILITIES.items()})
        for photo, row in last.items()
    }  # fmt: skip


def plausibility_csv(scores: Sequence[PlausibilityScore], made_by: str) -> str:
    """One row for each method: mean and 95 % interval of pixel AUC, pointing and mass."""
    names = [column for measure in MEASURES for column in (measure, f"{measure}_low", f"{measure}_high")]
    rows = [
        (score.name, len(score.values), *(number_for_csv(value) for measure in MEASURES
                                          for value in (score.mean(measure), *score.interval(measure))))
        for score in scores
    ]  # fmt: skip
    return table_as_csv(("method", "photos", *names), rows, made_by)


def read_plausibility_csv(text: str) -> dict[str, PlausibilityMeans]:
    """Means and intervals by method, in the table's order."""
    return {
        row["method"]: PlausibilityMeans(
            int(row["photos"]), {measure: float(row[measure]) for measure in MEASURES},
            {measure: (float(row[f"{measure}_low"]), float(row[f"{measure}_high"])) for measure in MEASURES},
        )
        for row in rows_of_csv(text)
    }  # fmt: skip


def command_of_table(text: str) -> str:
    """The command that made a table."""
    return text.partition("\n")[0].removeprefix("# ")


def _curve(row: Mapping[str, str]) -> DeletionCurve:
    shares, first, last = (np.array([float(one) for one in row[name].split()]) for name in CURVE)
    return DeletionCurve(shares=shares, strongest_first=first, weakest_first=last, target=int(row["target"]), fill=row["fill"])


def _numbers(values: NDArray[np.float64]) -> str:
    return " ".join(f"{value:.4g}" for value in values)


def _value(text: str) -> float:
    return float(text) if text else float("nan")

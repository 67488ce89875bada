"""The tidy CSV of an experiment: a row a run and evaluation, below one line that says how it came about; no torch here.

The first line is `# ` and a JSON object: version of the format, experiment, quick or full, data, seeds, the command, a mark of
the recipes, versions of the packages, hardware, and `overlap`, test/train pictures where seeds share theirs
(`verdicts.confidence_interval`). Values are written with all their digits. Rows of `CHOICE_SEED` are
the trainings that chose the learning rates.
"""

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from vitcore.assets import asset_path
from vitcore.csv_and_npz import table_as_csv
from vitcore.errors import first_error_line
from vitcore.experiments.experiment import LEARNING_RATE_SEED, ExperimentError, Values
from vitcore.train import run_folder
from vitcore.train.processor_and_memory import processor_name

RESULTS_FOLDER = Path("experiments")  # where results are written, unless named otherwise
VERSION = 2
COMPARED_FACTS = ("experiment", "quick", "data", "seeds", "recipes", "versions")  # what rows that are added must share


class MeasurementRow(NamedTuple):
    """One measurement of one run: which cell, where it is drawn, its seed, at what step, what, how much, and the run's name."""

    cell: str
    curve: str
    x: str
    seed: int
    step: int
    measure: str
    value: float
    run: str


@dataclass(frozen=True, slots=True)
class ExperimentResults:
    """What a CSV holds: the facts of its first line, its rows, and those of the trainings that chose the rates."""

    facts: dict[str, Any]
    rows: tuple[MeasurementRow, ...]
    trials: tuple[MeasurementRow, ...] = ()

    def seeds(self) -> list[int]:
        """The seeds that there are rows of."""
        return sorted({row.seed for row in self.rows})

    def values(self, measure: str) -> dict[int, Values]:
        """What each seed measured, by curve and place."""
        return {
            seed: {(row.curve, row.x): row.value for row in self.rows if (row.seed, row.measure) == (seed, measure)}
            for seed in self.seeds()
        }


def results_to_csv(facts: Mapping[str, Any], rows: Iterable[MeasurementRow]) -> str:
    """The file: the line of facts, the names of the columns, the rows."""
    written = ((*row[:6], repr(float(row.value)), row.run) for row in rows)
    return table_as_csv(MeasurementRow._fields, written, json.dumps({"version": VERSION, **facts}, ensure_ascii=False))


def write_results(file: Path, facts: Mapping[str, Any], rows: Iterable[MeasurementRow]) -> None:
    """Write the file in one step. Raises: ExperimentError, when that fails; the file is then what it was before."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        run_folder.write_file_atomically(file, results_to_csv(facts, rows))
    except OSError as error:
        raise ExperimentError(
            "{file} could not be written ({reason}); what was measured before is whole, and the same command goes on.",
            file=file,
            reason=error.strerror or first_error_line(error),
        ) from error


def read_results(file: Path) -> ExperimentResults:
    """The file's facts and rows. Raises: ExperimentError, for another version, or what is no such file."""
    try:
        first, _, rest = file.read_text(encoding="utf-8").partition("\n")
        facts = json.loads(first.removeprefix("# "))
        version = facts["version"]
        parsed = tuple(
            MeasurementRow(r["cell"], r["curve"], r["x"], int(r["seed"]), int(r["step"]), r["measure"], float(r["value"]), r["run"])
            for r in (csv.DictReader(io.StringIO(rest)) if version == VERSION else ())
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, csv.Error) as error:
        reason = first_error_line(error, 120)
        raise ExperimentError("{file} is no result of an experiment: {reason}.", file=file, reason=reason) from None
    if version != VERSION:
        raise ExperimentError(
            "{file} is of version {version}, and this vitcore reads version {ours}: move it away, or name another --out.",
            file=file, version=version, ours=VERSION,
        )  # fmt: skip
    reported = tuple(row for row in parsed if row.seed < LEARNING_RATE_SEED)
    return ExperimentResults(facts, reported, tuple(row for row in parsed if row.seed >= LEARNING_RATE_SEED))


def own_and_shipped_results(name: str) -> dict[str, ExperimentResults | str]:
    """Results of the experiment by where they come from, "own" or "shipped", or the sentence why they can't be read."""
    by_kind: dict[str, ExperimentResults | str] = {}
    for kind, home in (("own", RESULTS_FOLDER), ("shipped", asset_path("experiments"))):
        file = home / f"{name}.csv"
        if file.is_file():
            try:
                by_kind[kind] = read_results(file)
            except ExperimentError as error:
                by_kind[kind] = str(error)
    return by_kind


def existing_rows(file: Path, facts: Mapping[str, Any]) -> tuple[MeasurementRow, ...]:
    """The rows there are already. Raises: ExperimentError, when they were made by something else than `facts` say."""
    if not file.exists():
        return ()
    before = read_results(file)
    differ = [name for name in COMPARED_FACTS if before.facts.get(name) != facts[name]]
    if differ:
        raise ExperimentError(
            "{file} was made with other {what}: move it away, or name another --out.", file=file, what=", ".join(differ)
        )
    return before.rows + before.trials


def describe_hardware() -> dict[str, Any]:
    """The processor, what instructions of it torch uses (several kinds have one name), its cores, the device that trains."""
    import torch

    device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "cpu"
    instructions = torch.backends.cpu.get_cpu_capability()
    return {"cpu": processor_name(), "instructions": instructions, "cores": os.cpu_count(), "device": device}

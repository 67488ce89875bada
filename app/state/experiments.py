"""The results of experiments there are: those that come with the project, and those made on this machine."""

from __future__ import annotations

from vitcore.assets import asset
from vitcore.experiments import rows
from vitcore.experiments.experiment import ExperimentError

SHIPPED, OWN = "shipped", "own"


def results(name: str) -> dict[str, rows.Results | str]:
    """By where they come from, results of the experiment, or the sentence why they can't be read."""
    found: dict[str, rows.Results | str] = {}
    for kind, home in ((OWN, rows.OUT), (SHIPPED, asset("experiments"))):
        file = home / f"{name}.csv"
        if file.is_file():
            try:
                found[kind] = rows.read(file)
            except ExperimentError as error:
                found[kind] = str(error)
    return found

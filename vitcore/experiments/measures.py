"""What is measured of a finished run: what it logged at its last step."""

from collections.abc import Sequence

from vitcore.experiments.experiment import ExperimentError
from vitcore.train.runs import files
from vitcore.translation import say


def measure(folder: files.RunFolder, names: Sequence[str]) -> dict[str, float]:
    """{name: value} of a finished run. Raises: ExperimentError, when its log lacks one of the names."""
    log = files.records(folder)
    last = log[-1] if log else {}
    missing = [name for name in names if name not in last]
    if missing:
        raise ExperimentError(say("the log of run {id} has no {what} at its end.", id=folder.id, what=missing[0]))
    return {name: float(last[name]) for name in names}

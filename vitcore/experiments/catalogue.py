"""All experiments by name, and what their results say of the paper's findings."""

from vitcore.analysis.verdicts import Judgement, Verdict, judge, together
from vitcore.experiments import of_models, of_training
from vitcore.experiments.experiment import Claim, Experiment, ExperimentError
from vitcore.experiments.rows import Results
from vitcore.translation import say

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (of_models.POSITIONS, of_models.DATA, of_training.MASKED, of_training.RESOLUTION)
}  # fmt: skip


def find(name: str) -> Experiment:
    """The experiment of that name. Raises: ExperimentError, naming those there are."""
    if name not in EXPERIMENTS:
        raise ExperimentError(
            say("there is no experiment {name!r}: {names}.", name=name[:64], names=", ".join(EXPERIMENTS))
        )
    return EXPERIMENTS[name]


def judged(experiment: Experiment, results: Results) -> list[tuple[Claim, Judgement]]:
    """The verdict on each claim, from the seeds of which every cell is there."""
    return [(claim, _judged(experiment, claim, results)) for claim in experiment.claims]


def overall(found: list[tuple[Claim, Judgement]]) -> Verdict:
    """The verdict on the finding: as its claims together."""
    return together([judgement.verdict for _, judgement in found])


def _judged(experiment: Experiment, claim: Claim, results: Results) -> Judgement:
    cells = {at for cell in experiment.cells(bool(results.facts.get("quick"))) for at in cell.at}
    every = results.seen(experiment.measure)
    whole = [seen for seen in every.values() if cells <= seen.keys()]  # of seeds that are finished
    contrasts = [list(claim.contrasts(seen)) for seen in whole]
    if not contrasts:
        return Judgement("open", float("nan"), float("-inf"), float("inf"))
    return judge(contrasts, claim.kind, claim.margin)

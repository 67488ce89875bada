"""All experiments by name, and what their results say of the paper's findings."""

from vitcore.analysis.verdicts import Judgement, Verdict, judge, together
from vitcore.experiments import of_insides, of_models, of_training
from vitcore.experiments.experiment import Claim, Experiment, ExperimentError
from vitcore.experiments.rows import Results
from vitcore.translation import say

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        of_models.POSITIONS, of_models.DATA, of_models.READOUT, of_models.SHAPE, of_insides.SIMILARITY,
        of_insides.DISTANCE, of_training.MASKED,
        of_training.OPTIMISER, of_training.RESOLUTION, of_training.COMPUTE,
    )
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


def overall(verdicts: list[tuple[Claim, Judgement]]) -> Verdict:
    """The verdict on the finding: as its claims together."""
    return together([judgement.verdict for _, judgement in verdicts])


def _judged(experiment: Experiment, claim: Claim, results: Results) -> Judgement:
    cells = {at for cell in experiment.cells(bool(results.facts.get("quick"))) for at in cell.at}
    by_measure = [results.values(measure) for measure in (experiment.measure, claim.along) if measure]
    whole = [seed for seed in results.seeds() if all(cells <= every[seed].keys() for every in by_measure)]  # finished
    contrasts = [list(claim.contrasts(*(every[seed] for every in by_measure))) for seed in whole]
    if not contrasts:
        return Judgement("open", float("nan"), float("-inf"), float("inf"))
    return judge(contrasts, claim.kind, claim.margin)

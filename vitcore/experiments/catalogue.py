"""All experiments by name, and what their results say of the paper's findings."""

import math
from dataclasses import replace
from statistics import mean

from vitcore.experiments import architecture_experiments, representation_experiments, training_experiments
from vitcore.experiments.experiment import ChartPlace, Claim, Experiment, ExperimentError
from vitcore.experiments.results_csv import ExperimentResults
from vitcore.experiments.verdict_statistics import Judgement, is_at_plateau, judge_effects

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        architecture_experiments.POSITIONS, architecture_experiments.DATA, architecture_experiments.READOUT,
        architecture_experiments.SHAPE, representation_experiments.SIMILARITY, representation_experiments.DISTANCE,
        training_experiments.MASKED,
        training_experiments.OPTIMISER, training_experiments.RESOLUTION, training_experiments.COMPUTE,
    )
}  # fmt: skip


def find_experiment(name: str) -> Experiment:
    """The experiment of that name. Raises: ExperimentError, naming those there are."""
    if name not in EXPERIMENTS:
        raise ExperimentError("there is no experiment {name!r}: {names}.", name=name[:64], names=", ".join(EXPERIMENTS))
    return EXPERIMENTS[name]


def judge_claims(experiment: Experiment, results: ExperimentResults) -> list[tuple[Claim, Judgement]]:
    """The verdict on each claim, once every seed that was fixed beforehand has every cell; effects in the claim's unit."""
    return [(claim, _judged(experiment, claim, results)) for claim in experiment.claims]


def _judged(experiment: Experiment, claim: Claim, results: ExperimentResults) -> Judgement:
    if claim.quick and results.facts.get("quick"):
        return Judgement("untestable")
    paper = claim.paper
    if paper and claim.is_ratio:
        paper = math.log10(paper[0]), math.log10(paper[1])
    measured = [results.values(measure) for measure in (experiment.measure, claim.along) if measure]
    if len(_finished_seeds(experiment, results)) < results.facts["seeds"]:
        return Judgement("open", open_reason="seeds")
    effects = [claim.effect(*(every[seed] for every in measured)) for seed in _finished_seeds(experiment, results)]
    told = judge_effects(effects, claim.kind, claim.margin, paper, results.facts["overlap"])
    if told.open_reason != "seeds" and not is_at_plateau(list(plateau_gains(experiment, results).values())):
        told = replace(told, verdict="untestable", open_reason="plateau")
    if claim.is_ratio:
        told = replace(told, **{end: 10 ** getattr(told, end) for end in ("mean", "low", "high")})
    return told


def _finished_seeds(experiment: Experiment, results: ExperimentResults) -> list[int]:
    """The seeds of which every cell is there."""
    cells = {at for cell in experiment.cells(bool(results.facts.get("quick"))) for at in cell.chart_places}
    values = results.values(experiment.measure)
    return [seed for seed in results.seeds() if cells <= values[seed].keys()]


def plateau_gains(experiment: Experiment, results: ExperimentResults) -> dict[ChartPlace, float]:
    """By how many points each training that is checked is better after twice the steps, on average over the seeds."""
    values, seeds = results.values("test_top1"), _finished_seeds(experiment, results)
    pairs = _checked_places(experiment, results)
    return {at: mean(values[seed][longer] - values[seed][at] for seed in seeds) for at, longer in pairs.items() if seeds}


def plateau_check_accuracies(experiment: Experiment, results: ExperimentResults) -> dict[ChartPlace, float]:
    """How many % of the test pictures each of the same trainings predicts correctly, on average over the seeds."""
    values, seeds = results.values("test_top1"), _finished_seeds(experiment, results)
    return {at: mean(values[seed][at] for seed in seeds) for at in _checked_places(experiment, results) if seeds}


def _checked_places(experiment: Experiment, results: ExperimentResults) -> dict[ChartPlace, ChartPlace]:
    """Where each training that is checked is drawn, and where the same after twice the steps."""
    cells = {cell.name: cell for cell in experiment.cells(bool(results.facts.get("quick")))}
    return {cells[cell.learning_rate_of].chart_places[0]: cell.chart_places[0] for cell in cells.values() if cell.checks_plateau}

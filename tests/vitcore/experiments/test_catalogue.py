"""The grids are sound, their claims tell made-up results apart, and the shipped results are those of their commands."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from vitcore.assets import asset_path
from vitcore.experiments import results_csv, run_experiment
from vitcore.experiments.architecture_experiments import DATA_SIZES
from vitcore.experiments.catalogue import EXPERIMENTS, judge_claims
from vitcore.experiments.experiment_chart import chart_from_results
from vitcore.experiments.results_csv import ExperimentResults, MeasurementRow
from vitcore.train import run_folder

NAMES = list(EXPERIMENTS)
Level = Callable[[str, str, str], float]  # of a curve, a place and a measure


def made_up(
    name: str, seeds: int = 0, sd: float = 10.0, level: Level = lambda curve, x, measure: 50, draw: int = 0, quick: bool = True
) -> ExperimentResults:
    """Results of noise around a level of each place; after twice the steps nothing has changed but by noise."""
    one, noise = EXPERIMENTS[name], np.random.default_rng(draw)
    found = [
        MeasurementRow(cell.name, curve, x, seed, 1, measure,
            level(curve.removesuffix(", twice as long"), x, measure) + (0 if cell.checks_plateau else sd * noise.normal()),
            f"{cell.name}-{seed}")
        for seed in range(seeds or one.seeds) for cell in one.cells(quick) for curve,
        x in cell.chart_places for measure in one.measures
    ]  # fmt: skip
    return ExperimentResults({"quick": quick, "seeds": one.seeds, "overlap": 0.0}, tuple(found))


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_is_a_recipe_and_a_run(name):
    one = EXPERIMENTS[name]
    for quick in (True, False):
        every = [*run_experiment.learning_rate_tasks(one, quick, "digits"), *run_experiment.training_tasks(one, quick, "digits")]
        assert len({task.run for task in every}) == len(every) and all(run_folder.RUN_NAME.fullmatch(task.run) for task in every)
        names = [cell.name for cell in one.cells(quick)]
        for i, cell in enumerate(one.cells(quick)):
            assert not cell.continues_cell or cell.continues_cell in names[:i], "what a cell goes on from comes first"
            assert not cell.learning_rate_of or cell.learning_rate_of in names
            assert not cell.checks_plateau or run_experiment.training_tasks(one, quick, "digits")[i].recipe.steps == 2 * next(
                t.recipe.steps for t in every if t.cell.name == cell.learning_rate_of
            )
        assert run_experiment.unfinished_tasks(every, {t.row_key for t in every if t.cell.chart_places}) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_that_has_a_choice_of_rates_gets_one_and_no_other(name):
    """What only prepares a choice has no rows: a rate is told by its place."""
    for quick in (True, False):
        one = EXPERIMENTS[name]
        drawn = [task for task in run_experiment.learning_rate_tasks(one, quick, "digits") if task.cell.chart_places]
        made = [
            MeasurementRow(t.cell.name, *at, t.seed, 1, "top1", t.recipe.lr_peak, t.run)
            for t in drawn
            for at in t.cell.chart_places
        ]
        assert run_experiment.best_learning_rates(made) == {
            cell.name: max(cell.learning_rates) for cell in one.cells(quick) if cell.learning_rates
        }


@pytest.mark.parametrize("name", NAMES)
def test_both_families_and_all_arms_have_as_many_rates(name):
    for quick in (True, False):
        cells = EXPERIMENTS[name].cells(quick)
        assert len({len(cell.learning_rates) for cell in cells if cell.learning_rates}) <= 1
        optimisers = {t.recipe.optimiser for t in run_experiment.training_tasks(EXPERIMENTS[name], quick, "digits")}
        assert len(optimisers) == 1 or name == "optimiser"


def verdicts(name: str, results: ExperimentResults) -> list[str]:
    return [told.verdict for _, told in judge_claims(EXPERIMENTS[name], results)]


@pytest.mark.parametrize("name", NAMES)
def test_noise_has_no_direction(name):
    """20 draws of noise small enough for the plateau; one told as the paper's is allowed. (Two that are alike are near.)"""
    claims = [i for i, claim in enumerate(EXPERIMENTS[name].claims) if claim.kind == "above"]
    none = lambda curve, x, measure: 0 if measure in ("nearness", "row_column") else 50  # noqa: E731
    draws = [verdicts(name, made_up(name, sd=1.0, draw=draw, level=none)) for draw in range(20)]
    assert sum(found[i] in ("same", "as large", "other size") for found in draws for i in claims) <= 1


def test_a_seed_that_is_not_finished_does_not_count():
    one, results = EXPERIMENTS["positions"], made_up("positions")
    broken = ExperimentResults(results.facts, tuple(row for row in results.rows if (row.seed, row.x) != (2, "2-D")))
    assert all(told.open_reason == "seeds" and told.verdict == "open" for _, told in judge_claims(one, broken))
    assert all(told.open_reason == "seeds" for _, told in judge_claims(one, ExperimentResults(results.facts, ())))


def level(**at: float) -> Level:
    """A level for each curve or place that is named, with _ for a space, and 50 for the others."""
    known = {name.replace("_", " "): value for name, value in at.items()}
    return lambda curve, x, measure: known.get(f"{curve} {x}", known.get(x, known.get(curve, 50.0)))


def peaks(class_token: float, mean: float, lower: float = 0) -> Level:
    """A level for each curve that falls by 9 points for each factor of two away from its best rate; the class token's is lower."""
    best = {"class token": class_token, "mean of patches": mean}
    return lambda curve, x, measure: 95 - lower * (curve == "class token") - 9 * abs(math.log2(float(x) / best[curve]))


def costing(times: float) -> Level:
    """Accuracy that grows with a training's place, and a ResNet that costs so many times what a ViT as good does."""
    order = {at: i // 2 for i, at in enumerate(sorted({at for c in EXPERIMENTS["compute"].cells(True) for at in c.chart_places}))}

    def level(curve: str, x: str, measure: str) -> float:
        rank = sorted(at for at in order if at[0] == curve).index((curve, x))
        return 2000 * 2.0**rank * (times if curve == "ResNet" else 1) if measure == "training_gflop" else 50 + 5 * rank

    return level


def positions(none: float, one: float, two: float, relative: float, shuffled: float) -> Level:
    places = {"none": none, "1-D": one, "2-D": two, "relative": relative}
    return lambda curve, x, measure: shuffled if measure == "shuffled_top1" else places[x]


def inside(own: float, other: float, accuracy: float = 90) -> Level:
    """What an experiment measures inside a model, what it looks at besides, and the accuracy."""
    return lambda curve, x, measure: {"nearness": own, "nearest_head": own, "row_column": other, "untrained_head": other}.get(
        measure, accuracy
    )


FEW, MOST = (str(part) for part in DATA_SIZES[True])
MADE_UP = [  # an experiment, a level for each place, and the verdict on each of its claims: for, against, neither
    ("positions", positions(60, 62.7, 62.7, 62.7, 40), ["as large", "same"]),
    ("positions", positions(60, 90, 90, 90, 40), ["other size", "same"]),
    ("positions", positions(60, 90, 90, 90, 90), ["open", "same"]),  # what was gained was not of places
    ("positions", positions(95, 90, 90, 90, 40), ["opposite", "opposite"]),
    ("positions", positions(60, 90, 70, 90, 40), ["other size", "opposite"]),
    ("positions", positions(60, 60, 60, 60, 60), ["open", "open"]),
    ("data", lambda c, x, _: {("ResNet", FEW): 60, ("ViT", FEW): 50, ("ResNet", MOST): 80, ("ViT", MOST): 90}[c, x], ["same"] * 3),
    ("data", lambda c, x, _: {("ResNet", FEW): 50, ("ViT", FEW): 60, ("ResNet", MOST): 90, ("ViT", MOST): 80}[c, x],
     ["opposite"] * 3),
    ("data", level(), ["open"] * 3),
    ("readout", peaks(0.03, 0.0125), ["same", "as large"]),
    ("readout", peaks(0.0125, 0.03), ["same", "opposite"]),
    ("readout", peaks(0.02, 0.02, lower=20), ["opposite", "open"]),
    ("shape", level(layers_4=90, width_4=60, smaller_patches_4=70), ["same"] * 3),
    ("shape", level(layers_4=40, width_4=60, smaller_patches_4=30), ["opposite"] * 3),
    ("shape", level(), ["open"] * 3),
    ("similarity", inside(60, 60), ["same", "same"]),
    ("similarity", inside(-60, -60), ["opposite", "opposite"]),
    ("similarity", inside(0, 0), ["open", "open"]),
    ("distance", inside(60, 95), ["same", "untestable"]),
    ("distance", inside(95, 60), ["opposite", "untestable"]),
    ("distance", inside(90, 90), ["open", "untestable"]),  # a head at 90 % of uniform is an untrained head
    ("masked", level(masked_first=52), ["as large"]),
    ("masked", level(masked_first=90), ["other size"]),
    ("masked", level(masked_first=48), ["opposite"]),
    ("masked", level(), ["open"]),
    ("optimiser", level(Adam=92, SGD=90), ["same"]),
    ("optimiser", level(Adam=90, SGD=92), ["opposite"]),
    ("optimiser", level(), ["open"]),
    ("resolution", level(double_resolution=60), ["same"]),
    ("resolution", level(double_resolution=40), ["opposite"]),
    ("resolution", level(), ["open"]),
    ("compute", costing(3), ["as large"]),
    ("compute", costing(12), ["other size"]),
    ("compute", costing(0.25), ["opposite"]),
    ("compute", lambda curve, x, measure: 90 if curve == "ViT" else 50, ["open"]),  # no accuracy in common
]  # fmt: skip


@pytest.mark.parametrize(("name", "level", "told"), MADE_UP, ids=lambda some: some if isinstance(some, str) else "")
def test_the_claims_tell_results_apart(name, level, told):
    assert verdicts(name, made_up(name, sd=0.2, level=level)) == told


def test_every_claim_has_results_for_it_against_it_and_neither():
    for name, one in EXPERIMENTS.items():
        columns = list(zip(*(told for known, _, told in MADE_UP if known == name), strict=True))
        for claim, seen in zip(one.claims, columns, strict=True):
            missing = {"opposite", "open"} - set(seen)
            assert claim.quick or ((not missing or claim.kind == "near") and {"same", "as large", "other size"} & set(seen)), (
                claim.sentence
            )


def test_what_only_the_full_form_has_is_tested_there():
    farther = lambda curve, x, measure: {"hybrid": 99, "ViT": 80}[x] if measure == "nearest_head" else 95  # noqa: E731
    nearer = lambda curve, x, measure: {"hybrid": 80, "ViT": 99}[x] if measure == "nearest_head" else 95  # noqa: E731
    found = [verdicts("distance", made_up("distance", sd=0.2, level=one, quick=False))[1] for one in (farther, nearer)]
    assert found == ["same", "opposite"]


@pytest.mark.parametrize("name", [name for name in NAMES if any(cell.checks_plateau for cell in EXPERIMENTS[name].cells(True))])
def test_a_baseline_that_is_not_at_its_plateau_tells_nothing(name):
    results = made_up(name, sd=0.2)
    checked = {cell.name for cell in EXPERIMENTS[name].cells(True) if cell.checks_plateau}
    longer = [row._replace(value=row.value + 5) if row.cell in checked else row for row in results.rows]
    for claim, told in judge_claims(EXPERIMENTS[name], ExperimentResults(results.facts, tuple(longer))):
        assert (told.verdict, told.open_reason) == ("untestable", "" if claim.quick else "plateau")


def test_every_experiment_but_that_of_lengths_checks_a_plateau():
    unchecked = [name for name in NAMES if not any(cell.checks_plateau for cell in EXPERIMENTS[name].cells(True))]
    assert unchecked == ["compute"]


SHIPPED = sorted(asset_path("experiments").glob("*.csv"))


def test_every_experiment_ships_its_results():
    assert [file.stem for file in SHIPPED] == sorted(EXPERIMENTS)


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_shipped_results_are_whole_and_of_these_recipes(file):
    one, results = EXPERIMENTS[file.stem], results_csv.read_results(file)
    facts = run_experiment.csv_first_line_facts(one, True, one.drawn)
    assert [results.facts[what] for what in ("recipes", "data", "seeds")] == [facts[what] for what in ("recipes", "data", "seeds")]
    cells = [(cell.name, at) for cell in one.cells(True) for at in cell.chart_places]
    assert len(results.seeds()) == one.seeds >= 5
    assert len(results.trials) == len(
        [t for t in run_experiment.learning_rate_tasks(one, True, one.drawn) if t.cell.chart_places]
    ) * len(one.measures)
    assert len(results.rows) == len(results.seeds()) * len(cells) * len(one.measures)
    fig = chart_from_results(one, results)
    assert sum(len(trace.x) for trace in fig.to_plotly().data if trace.customdata is not None) == len(results.seeds()) * len(cells)


@pytest.mark.slow
def test_a_shipped_cell_run_again_is_its_row(tmp_path, monkeypatch):
    """To 1e-6 on a processor of the same kind, with the same versions; elsewhere rounding grows in training, to half as much
    again as seeds differ."""
    monkeypatch.setattr(run_folder, "RUNS_FOLDER", tmp_path)
    results = results_csv.read_results(asset_path("experiments") / "positions.csv")
    one = EXPERIMENTS["positions"]
    here = run_experiment.csv_first_line_facts(one, True, one.drawn)
    if here["versions"] != results.facts["versions"]:
        pytest.skip("made with other versions")
    task = run_experiment.training_tasks(one, True, one.drawn, rates=run_experiment.best_learning_rates(results.trials))[1]
    there = [row for row in results.rows if (row.cell, row.seed) == task.row_key]
    found = run_experiment.train_task(task)
    assert [row[:6] for row in found] == [row[:6] for row in there]
    if here["hardware"] == results.facts["hardware"]:
        assert [row.value for row in found] == pytest.approx([row.value for row in there], abs=1e-6)
    for row in found:
        seeds = [other.value for other in results.rows if (other.cell, other.measure) == (row.cell, row.measure)]
        assert abs(row.value - (max(seeds) + min(seeds)) / 2) <= 0.75 * (max(seeds) - min(seeds)), row

"""The grids are sound, their claims tell made-up results apart, and the shipped results are those of their commands."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from vitcore.assets import asset
from vitcore.experiments import rows, running
from vitcore.experiments.catalogue import EXPERIMENTS, judged, overall
from vitcore.experiments.drawing import chart
from vitcore.experiments.rows import Results, Row
from vitcore.train.runs import files

NAMES = list(EXPERIMENTS)
Level = Callable[[str, str, str], float]  # of a curve, a place and a measure


def made_up(
    name: str, seeds: int = 5, sd: float = 10.0, level: Level = lambda curve, x, measure: 50, draw: int = 0
) -> Results:
    """Results of pure noise around a level of each place."""
    one, noise = EXPERIMENTS[name], np.random.default_rng(draw)
    found = [
        Row(cell.name, curve, x, seed, 1, measure, level(curve, x, measure) + sd * noise.normal(), f"{cell.name}-{seed}")
        for seed in range(seeds) for cell in one.cells(True) for curve, x in cell.at for measure in one.measures
    ]  # fmt: skip
    return Results({"quick": True}, tuple(found))


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_is_a_recipe_and_a_run(name):
    one = EXPERIMENTS[name]
    for quick in (True, False):
        every = running.tasks(one, quick, "digits", 2)
        assert len({task.run for task in every}) == len(every) and all(files.NAME.fullmatch(task.run) for task in every)
        names = [cell.name for cell in one.cells(quick)]
        for i, cell in enumerate(one.cells(quick)):
            assert not cell.after or cell.after in names[:i], "what a cell goes on from comes first"
        assert running.undone(every, {t.done_by for t in every if t.cell.at}) == []


@pytest.mark.parametrize("name", NAMES)
def test_noise_never_agrees(name):
    verdicts = [overall(judged(EXPERIMENTS[name], made_up(name, draw=draw))) for draw in range(20)]
    assert "agrees" not in verdicts


def test_a_seed_that_is_not_finished_does_not_count():
    one, results = EXPERIMENTS["positions"], made_up("positions", 3)
    two = Results(results.facts, tuple(row for row in results.rows if row.seed < 2))
    broken = Results(results.facts, tuple(row for row in results.rows if (row.seed, row.x) != (2, "2-D")))
    assert judged(one, broken) == judged(one, two) != judged(one, results)
    assert all(told.verdict == "open" for _, told in judged(one, Results(results.facts, ())))


def peaks(curve_at: dict[str, float]) -> Level:
    """A level for each curve that falls by 9 points for each factor of two away from its best rate."""
    return lambda curve, x, measure: 95 - 9 * abs(math.log2(float(x) / curve_at[curve]))


def costing(times: float) -> Level:
    """Accuracy that grows with a training's steps, and a ResNet that costs so many times what a ViT as good does."""

    def level(curve: str, x: str, measure: str) -> float:
        steps = float(x.rpartition(" ")[2])
        log = math.log2(steps if curve == "ViT" else 2.2 * steps)
        return 2000 * 2**log * (times if curve == "ResNet" else 1) if measure == "training_gflop" else 50 + 5 * log

    return level


MADE_UP = [  # an experiment, a level for each place, and what each of its claims should be found to be
    ("positions", lambda curve, x, _: 60 if x == "none" else 90, ["agrees", "agrees"]),  # as the paper found it
    ("positions", lambda curve, x, _: 95 if x == "none" else 90, ["disagrees", "disagrees"]),
    ("positions", lambda curve, x, _: {"none": 60, "2-D": 70}.get(x, 90), ["agrees", "disagrees"]),
    ("readout", peaks({"class token": 0.02, "mean of patches": 0.04}), ["agrees", "agrees"]),
    ("readout", peaks({"class token": 0.02, "mean of patches": 0.02}), ["agrees", "disagrees"]),
    ("readout", lambda curve, x, _: 90 - 20 * (curve == "class token") - 9 * abs(math.log2(float(x) / 0.02)), ["disagrees"] * 2),
    ("shape", lambda curve, x, _: 80 + {"layers": 4, "smaller patches": 2}.get(curve, 1) * float(x), ["agrees", "agrees"]),
    ("shape", lambda curve, x, _: 80 + {"layers": 1, "smaller patches": -2}.get(curve, 4) * float(x), ["disagrees", "disagrees"]),
    ("optimiser", lambda curve, x, _: {"Adam": 92, "SGD": 90}[curve] - (x == "low"), ["agrees"]),
    ("optimiser", lambda curve, x, _: {"Adam": 90, "SGD": 92}[curve] - (x == "high"), ["disagrees"]),
    ("similarity", lambda curve, x, _: -60 if x.startswith("long") else -50, ["agrees", "agrees"]),
    ("similarity", lambda curve, x, _: 50, ["disagrees", "open"]),
    ("distance", lambda curve, x, _: {"hybrid": 99, "ViT": 80}[x], ["agrees"]),
    ("distance", lambda curve, x, _: {"hybrid": 80, "ViT": 99}[x], ["disagrees"]),
    ("compute", costing(4), ["agrees"]),
    ("compute", costing(0.25), ["disagrees"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "level", "verdicts"), MADE_UP, ids=lambda some: some if isinstance(some, str) else "")
def test_the_claims_tell_results_apart(name, level, verdicts):
    found = judged(EXPERIMENTS[name], made_up(name, sd=0.2, level=level))
    assert [told.verdict for _, told in found] == verdicts


SHIPPED = sorted(asset("experiments").glob("*.csv"))


def test_every_experiment_ships_its_results():
    assert [file.stem for file in SHIPPED] == sorted(EXPERIMENTS)


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_shipped_results_are_whole_and_of_these_recipes(file):
    one, results = EXPERIMENTS[file.stem], rows.read(file)
    assert results.facts["recipes"] == running.facts(one, True, "digits", 1)["recipes"], "run the command again"
    cells = [(cell.name, at) for cell in one.cells(True) for at in cell.at]
    assert len(results.seeds()) >= 3
    assert len(results.rows) == len(results.seeds()) * len(cells) * len(one.measures)
    fig = chart(one, results)
    assert sum(len(trace.x) for trace in fig.data if trace.customdata is not None) == len(results.seeds()) * len(cells)


@pytest.mark.slow
def test_a_shipped_cell_run_again_is_its_row(tmp_path, monkeypatch):
    """To 1e-6, on the machine and with the versions it was made with; elsewhere sums may differ in the last digit."""
    monkeypatch.setattr(files, "RUNS", tmp_path)
    results = rows.read(asset("experiments") / "positions.csv")
    here = running.facts(EXPERIMENTS["positions"], True, "digits", 1)
    if any(here[what] != results.facts[what] for what in ("versions", "hardware")):
        pytest.skip("made on another machine, or with other versions")
    task = running.tasks(EXPERIMENTS["positions"], True, "digits", 1)[1]
    there = [row for row in results.rows if (row.cell, row.seed) == task.done_by]
    found = running.train(task)
    assert [row[:6] for row in found] == [row[:6] for row in there]
    assert [row.value for row in found] == pytest.approx([row.value for row in there], abs=1e-6)

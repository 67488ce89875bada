"""The grids are sound, their claims tell made-up results apart, and the shipped results are those of their commands."""

import numpy as np
import pytest

from vitcore.assets import asset
from vitcore.experiments import rows, running
from vitcore.experiments.catalogue import EXPERIMENTS, judged, overall
from vitcore.experiments.drawing import chart
from vitcore.experiments.rows import Results, Row
from vitcore.train.runs import files

NAMES = list(EXPERIMENTS)
RNG = np.random.default_rng(0)


def made_up(name: str, seeds: int = 5, sd: float = 10.0) -> Results:
    """Results of pure noise."""
    one = EXPERIMENTS[name]
    found = [
        Row(cell.name, curve, x, seed, 1, measure, 50 + sd * RNG.normal(), f"{cell.name}-{seed}")
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
    verdicts = [overall(judged(EXPERIMENTS[name], made_up(name))) for _ in range(20)]
    assert "agrees" not in verdicts


def test_a_seed_that_is_not_finished_does_not_count():
    one, results = EXPERIMENTS["positions"], made_up("positions", 3)
    two = Results(results.facts, tuple(row for row in results.rows if row.seed < 2))
    broken = Results(results.facts, tuple(row for row in results.rows if (row.seed, row.x) != (2, "2-D")))
    assert judged(one, broken) == judged(one, two) != judged(one, results)
    assert all(told.verdict == "open" for _, told in judged(one, Results(results.facts, ())))


def positions(none: float, kinds: tuple[float, float, float]) -> Results:
    """Position embeddings with these accuracies at the stem, and half a point of noise."""
    levels = {"none": none} | dict(zip(("1-D", "2-D", "relative"), kinds, strict=True))
    found = [
        Row(f"{x}-{curve}", curve, x, seed, 1, "top1", levels[x] + 0.5 * RNG.normal(), "r")
        for seed in range(5) for curve in ("stem", "every layer") for x in levels
    ]  # fmt: skip
    return Results({"quick": True}, tuple(found))


def test_the_claims_tell_results_apart():
    """As the paper found it; without positions better; one kind far behind."""
    for none, kinds, verdicts in [
        (60, (90, 91, 90), ["agrees", "agrees"]),
        (95, (90, 91, 90), ["disagrees", "disagrees"]),
        (60, (90, 70, 90), ["agrees", "disagrees"]),
    ]:
        assert [told.verdict for _, told in judged(EXPERIMENTS["positions"], positions(none, kinds))] == verdicts


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

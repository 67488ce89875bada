"""Running an experiment: one cell after another through the training code, its CSV written after each; it goes on where it was.

A cell whose rows are in the CSV is never run again; one that was killed goes on from its run's own checkpoint, to the bit. The
runs lie where all runs do, so the app opens their models; the CSV is written by one process only.
"""

import hashlib
import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vitcore.experiments import results_csv
from vitcore.experiments.experiment import CHOICE_SEED, Cell, Experiment, ExperimentError
from vitcore.experiments.results_csv import Row
from vitcore.train import run_folder
from vitcore.train.data.synthetic_dataset import NAME, mark
from vitcore.train.recipe import Recipe, changed, to_json

FULL_DATA = "cifar10"
Finish = Callable[[list["Task"]], Iterable[tuple["Task", list[Row]]]]


@dataclass(frozen=True, slots=True)
class Task:
    """One training of an experiment: a cell with a seed, in a run folder of its own. It can travel to another process."""

    cell: Cell
    seed: int
    recipe: Recipe
    source: str
    run: str
    root: Path  # of the runs
    measures: tuple[str, ...]
    one_thread: bool

    @property
    def done_by(self) -> tuple[str, int]:
        """By what its rows are known."""
        return self.cell.name, self.seed


def tasks(experiment: Experiment, quick: bool, data: str, root: Path | None = None,
          rates: Mapping[str, float] | None = None) -> list[Task]:  # fmt: skip
    """Every training that is reported, seed by seed, each after the one it goes on from; `rates` as chosen, by cell."""
    cells = experiment.cells(quick)
    at_rate = [_at_rate(cell, (rates or {}).get(cell.rate_of or cell.name)) for cell in cells]
    make = _maker(experiment, quick, data, root)
    return [
        make(cell, seed) for seed in range(experiment.first, experiment.first + experiment.seeds) for cell in at_rate
    ]


def trials(experiment: Experiment, quick: bool, data: str, root: Path | None = None) -> list[Task]:
    """The trainings that choose learning rates: each cell with a choice at each of its rates, after what prepares it."""
    cells = experiment.cells(quick)
    prepare = {cell.after for cell in cells if cell.rates}
    make = _maker(experiment, quick, data, root)
    return [make(replace(cell, at=()), CHOICE_SEED) for cell in cells if cell.name in prepare] + [
        make(replace(_at_rate(cell, rate), name=f"{cell.name}-at-{rate:g}", at=((cell.name, f"{rate:g}"),)), CHOICE_SEED)
        for cell in cells for rate in cell.rates
    ]  # fmt: skip


def _at_rate(cell: Cell, rate: float | None) -> Cell:
    return cell if rate is None else replace(cell, fields={**cell.fields, "lr_peak": rate})


def _maker(experiment: Experiment, quick: bool, data: str, root: Path | None) -> Callable[[Cell, int], Task]:
    home = (root or run_folder.RUNS).resolve()
    name = lambda cell, seed: f"{experiment.name}-{'quick' if quick else 'full'}-{cell}-{seed}"  # noqa: E731

    def make(cell: Cell, seed: int) -> Task:
        given = {**cell.fields, "seed": seed} | (
            {"start_from": str(home / name(cell.after, seed))} if cell.after else {}
        )
        recipe = changed(experiment.base(quick), given)
        return Task(cell, seed, recipe, data, name(cell.name, seed), home, experiment.measures, one_thread=quick)

    return make


def facts(experiment: Experiment, quick: bool, data: str) -> dict[str, Any]:
    """The first line of the CSV: all that decides its rows, and the command that makes them."""
    every = [*trials(experiment, quick, data), *tasks(replace(experiment, seeds=1), quick, data)]
    recipes: list[Any] = [[t.cell.name, t.cell.after, to_json(changed(t.recipe, {"start_from": ""}))] for t in every]
    if data.partition(":")[0] == NAME:
        recipes.append(mark(data))
    return {
        "experiment": experiment.name, "quick": quick, "data": data, "seeds": experiment.seeds,
        "command": f"vitcore experiment {experiment.name}" + (" --quick" if quick else f" --data {data}"),
        "recipes": hashlib.sha256(json.dumps(recipes).encode()).hexdigest()[:16],
        "versions": run_folder.environment()["versions"], "hardware": results_csv.hardware() | ({"threads": 1} if quick else {}),
    }  # fmt: skip


def overlap(experiment: Experiment, quick: bool, data: str) -> float:
    """Test pictures a picture to learn from, where every seed draws on the same; 0 where each has pictures of its own."""
    from vitcore.train.data.photo_sources import open_photos

    if data.partition(":")[0] == NAME:
        return 0.0
    train, held_out = open_photos(data)
    return round(experiment.base(quick).test_share * len(held_out)) / len(train)


def run(experiment: Experiment, quick: bool, out: Path, data: str = "", show: Callable[[str], None] = print,
        finish: Finish | None = None, hardware: Callable[[], dict[str, Any]] = results_csv.hardware) -> Path:  # fmt: skip
    """Run what is not in `out/NAME.csv` yet: first what chooses learning rates, then every seed; the file, complete.

    `finish` runs tasks and yields each with its rows, in any order, on what `hardware` then says; default: one after another, here.
    Raises: ExperimentError, DataError, RunError, RecipeError, each with one sentence; KeyboardInterrupt, when asked to stop.
    """
    from accelerate import PartialState

    from vitcore.train.data.photo_sources import open_photos, require_classes
    from vitcore.train.learning.training_loop import several_on_cpu

    data = data or (experiment.drawn if quick else FULL_DATA)
    data = str(Path(data).resolve()) if Path(data).exists() else data
    file, said = out / f"{experiment.name}.csv", facts(experiment, quick, data)
    by_cell: dict[tuple[str, int], list[Row]] = {}
    for row in results_csv.known(file, said):
        by_cell.setdefault((row.cell, row.seed), []).append(row)
    require_classes(open_photos(data)[0])
    said["overlap"] = overlap(experiment, quick, data)
    main = PartialState(cpu=several_on_cpu()).is_main_process
    choosing, reported = trials(experiment, quick, data), tasks(experiment, quick, data)
    order = {task.done_by: i for i, task in enumerate([*choosing, *reported])}

    def complete(every: list[Task]) -> None:
        left = undone(every, set(by_cell))
        for count, (task, new) in enumerate((finish or one_by_one)(left), 1):
            told = ", ".join(f"{row.measure} {row.value:.4g}" for row in new)
            if main:
                show(f"[{count}/{len(left)}] {task.run}: {told or 'ready'}")
            if not new:
                continue
            by_cell[task.done_by] = new
            if main:
                said["hardware"] |= hardware()
                results_csv.write(
                    file, said, [row for key in sorted(by_cell, key=order.__getitem__) for row in by_cell[key]]
                )

    complete(choosing)
    rates = chosen([row for task in choosing for row in by_cell.get(task.done_by, [])])
    complete(tasks(experiment, quick, data, rates=rates))
    return file


def chosen(found: Iterable[Row]) -> dict[str, float]:
    """The learning rate of each cell that had a choice: the best on validation pictures, of two alike the lower."""
    best: dict[str, tuple[float, float]] = {}
    for row in found:
        if row.measure == "top1":
            best[row.curve] = max(best.get(row.curve, (-math.inf, 0.0)), (row.value, -float(row.x)))
    return {cell: -rate for cell, (_, rate) in best.items()}


def undone(every: list[Task], done: set[tuple[str, int]]) -> list[Task]:
    """The tasks whose rows are missing, and those that these go on from."""
    needed: set[tuple[str, int]] = set()
    for task in reversed(every):
        wanted = bool(task.cell.at) and task.done_by not in done
        if wanted or task.done_by in needed:
            needed.add(task.done_by)
            if task.cell.after:
                needed.add((task.cell.after, task.seed))
    return [task for task in every if task.done_by in needed]


def one_by_one(every: list[Task]) -> Iterator[tuple[Task, list[Row]]]:
    """Here, in this process (and, under torchrun, those beside it)."""
    for task in every:
        yield task, train(task)


def train(task: Task) -> list[Row]:
    """Train a task to its end, or go on, and measure it; no rows of one that only prepares. Raises as `run`."""
    from accelerate import PartialState

    from vitcore.experiments.measures import measure
    from vitcore.train.trainer.run_training import conduct

    state = PartialState()
    with state.main_process_first():
        folder = _folder(task)
    with threads(1 if task.one_thread else 0):
        if run_folder.status(folder)["state"] != "finished" and conduct(folder, lambda record: None) != "finished":
            raise KeyboardInterrupt
        if not task.cell.at:
            return []
        measured = measure(folder, task.measures)
    cell, step = task.cell, task.recipe.steps
    return [
        Row(cell.name, curve, x, task.seed, step, what, value, task.run)
        for curve, x in cell.at
        for what, value in measured.items()
    ]


def _folder(task: Task) -> run_folder.RunFolder:
    """The task's run: the one that is there, if it is of this recipe; one that never came to a checkpoint is begun anew."""
    path = task.root / task.run
    if (path / "frames").is_dir():  # made last
        folder = run_folder.find(task.run, task.root)
        if run_folder.recipe_of(folder) == task.recipe and run_folder.source_of(folder) == task.source:
            return folder
        if folder.has_checkpoint:
            raise ExperimentError(
                "run {id} is of another recipe or other photos: delete it, or rename its folder.", id=task.run
            )
    shutil.rmtree(path, ignore_errors=True)
    return run_folder.create(task.run, task.recipe, task.source, task.root)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Inside, torch uses so many threads (0: as many as before): sums are the same on every machine with as many."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)

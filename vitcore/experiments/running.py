"""Running an experiment: one cell after another through the training code, its CSV written after each; it goes on where it was.

A cell whose rows are in the CSV is never run again; one that was killed goes on from its run's own checkpoint, to the bit. The
runs lie where all runs do, so the app opens their models; the CSV is written by one process only.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vitcore.experiments import rows
from vitcore.experiments.experiment import Cell, Experiment, ExperimentError
from vitcore.experiments.rows import Row
from vitcore.train.recipes.recipe import Recipe, changed, to_json
from vitcore.train.runs import files
from vitcore.translation import say

DATA = "digits"  # what quick forms learn from
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


def tasks(experiment: Experiment, quick: bool, data: str, seeds: int, root: Path | None = None) -> list[Task]:
    """Every training, seed by seed, each after the one it goes on from."""
    home = (root or files.RUNS).resolve()
    kind = "quick" if quick else "full"
    name = lambda cell, seed: f"{experiment.name}-{kind}-{cell}-{seed}"  # noqa: E731
    made = []
    for seed in range(seeds):
        for cell in experiment.cells(quick):
            given = {**cell.fields, "seed": seed}
            if cell.after:
                given["start_from"] = str(home / name(cell.after, seed))
            recipe = changed(experiment.base(quick), given)
            made.append(
                Task(cell, seed, recipe, data, name(cell.name, seed), home, experiment.measures, one_thread=quick)
            )
    return made


def facts(experiment: Experiment, quick: bool, data: str, seeds: int) -> dict[str, Any]:
    """The first line of the CSV: all that decides its rows, and the command that makes them."""
    recipes = [[t.cell.name, t.cell.after, to_json(changed(t.recipe, {"start_from": ""}))]
               for t in tasks(experiment, quick, data, 1)]  # fmt: skip
    command = (
        f"vitcore experiment {experiment.name}" + (" --quick" if quick else f" --data {data}") + f" --seeds {seeds}"
    )
    return {
        "experiment": experiment.name, "quick": quick, "data": data, "seeds": seeds, "command": command,
        "recipes": hashlib.sha256(json.dumps(recipes).encode()).hexdigest()[:16],
        "versions": files.environment()["versions"], "hardware": rows.hardware() | ({"threads": 1} if quick else {}),
    }  # fmt: skip


def run(experiment: Experiment, quick: bool, seeds: int, out: Path, data: str = "", show: Callable[[str], None] = print,
        finish: Finish | None = None, hardware: Callable[[], dict[str, Any]] = rows.hardware) -> Path:  # fmt: skip
    """Run what is not in `out/NAME.csv` yet; the file, complete.

    `finish` runs tasks and yields each with its rows, in any order, on what `hardware` then says; default: one after another, here.
    Raises: ExperimentError, DataError, RunError, RecipeError, each with one sentence; KeyboardInterrupt, when asked to stop.
    """
    from accelerate import PartialState

    from vitcore.train.data.sources import open_photos, require_classes
    from vitcore.train.learning.loop import several_on_cpu

    if seeds < 1:
        raise ExperimentError(say("an experiment needs a seed at least, not {seeds}.", seeds=seeds))
    data = data or (DATA if quick else FULL_DATA)
    data = str(Path(data).resolve()) if Path(data).exists() else data
    file, said = out / f"{experiment.name}.csv", facts(experiment, quick, data, seeds)
    there = rows.known(file, said)
    require_classes(open_photos(data)[0])
    main = PartialState(cpu=several_on_cpu()).is_main_process
    every = tasks(experiment, quick, data, seeds)
    left = undone(every, {(row.cell, row.seed) for row in there})
    by_cell = {key: [row for row in there if (row.cell, row.seed) == key] for key in {(r.cell, r.seed) for r in there}}
    order = {task.done_by: i for i, task in enumerate(every)}
    said["seeds"] = max(seeds, 1 + max((row.seed for row in there), default=0))
    for count, (task, new) in enumerate((finish or one_by_one)(left), 1):
        told = ", ".join(f"{row.measure} {row.value:.4g}" for row in new)
        if main:
            show(f"[{count}/{len(left)}] {task.run}: {told or 'ready'}")
        if not new:
            continue
        by_cell[task.done_by] = new
        ordered = sorted(by_cell, key=lambda key: (order.get(key, len(order)), key))
        if main:
            said["hardware"] |= hardware()
            rows.write(file, said, [row for key in ordered for row in by_cell[key]])
    return file


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
    from vitcore.train.conducting.conduct import conduct

    state = PartialState()
    with state.main_process_first():
        folder = _folder(task)
    with threads(1 if task.one_thread else 0):
        if files.status(folder)["state"] != "finished" and conduct(folder, lambda record: None) != "finished":
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


def _folder(task: Task) -> files.RunFolder:
    """The task's run: the one that is there, if it is of this recipe; one that never came to a checkpoint is begun anew."""
    path = task.root / task.run
    if (path / "frames").is_dir():  # made last
        folder = files.find(task.run, task.root)
        if files.recipe_of(folder) == task.recipe and files.source_of(folder) == task.source:
            return folder
        if folder.has_checkpoint:
            raise ExperimentError(
                say("run {id} is of another recipe or other photos: delete it, or rename its folder.", id=task.run)
            )
    shutil.rmtree(path, ignore_errors=True)
    return files.create(task.run, task.recipe, task.source, task.root)


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

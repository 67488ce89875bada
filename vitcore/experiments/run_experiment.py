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
from vitcore.experiments.experiment import LEARNING_RATE_SEED, Experiment, ExperimentCell, ExperimentError
from vitcore.experiments.results_csv import MeasurementRow
from vitcore.train import run_folder
from vitcore.train.data.synthetic_dataset import SOURCE_NAME, synthetic_drawing_version
from vitcore.train.recipe import Recipe, recipe_to_json, with_changes

FULL_DATA = "cifar10"
TaskRunner = Callable[[list["TrainingTask"]], Iterable[tuple["TrainingTask", list[MeasurementRow]]]]


@dataclass(frozen=True, slots=True)
class TrainingTask:
    """One training of an experiment: a cell with a seed, in a run folder of its own. It can travel to another process."""

    cell: ExperimentCell
    seed: int
    recipe: Recipe
    source: str
    run: str
    root: Path  # of the runs
    measures: tuple[str, ...]
    one_thread: bool

    @property
    def row_key(self) -> tuple[str, int]:
        """By what its rows are known."""
        return self.cell.name, self.seed


def training_tasks(experiment: Experiment, quick: bool, data: str, rates: Mapping[str, float] | None = None) -> list[TrainingTask]:
    """Every training that is reported, seed by seed, each after the one it goes on from; `rates` as chosen, by cell."""
    cells = experiment.cells(quick)
    at_rate = [_at_rate(cell, (rates or {}).get(cell.learning_rate_of or cell.name)) for cell in cells]
    make = _maker(experiment, quick, data)
    return [make(cell, seed) for seed in range(experiment.first, experiment.first + experiment.seeds) for cell in at_rate]


def learning_rate_tasks(experiment: Experiment, quick: bool, data: str) -> list[TrainingTask]:
    """The trainings that choose learning rates: each cell with a choice at each of its rates, after what prepares it."""
    cells = experiment.cells(quick)
    prepare = {cell.continues_cell for cell in cells if cell.learning_rates}
    make = _maker(experiment, quick, data)
    return [make(replace(cell, chart_places=()), LEARNING_RATE_SEED) for cell in cells if cell.name in prepare] + [
        make(replace(_at_rate(cell, rate), name=f"{cell.name}-at-{rate:g}", chart_places=((cell.name, f"{rate:g}"),)),
        LEARNING_RATE_SEED)
        for cell in cells for rate in cell.learning_rates
    ]  # fmt: skip


def _at_rate(cell: ExperimentCell, rate: float | None) -> ExperimentCell:
    return cell if rate is None else replace(cell, fields={**cell.fields, "lr_peak": rate})


def _maker(experiment: Experiment, quick: bool, data: str) -> Callable[[ExperimentCell, int], TrainingTask]:
    home = run_folder.RUNS_FOLDER.resolve()
    name = lambda cell, seed: f"{experiment.name}-{'quick' if quick else 'full'}-{cell}-{seed}"  # noqa: E731

    def make(cell: ExperimentCell, seed: int) -> TrainingTask:
        start = {"start_from": str(home / name(cell.continues_cell, seed))} if cell.continues_cell else {}
        recipe = with_changes(experiment.base(quick), {**cell.fields, "seed": seed, **start})
        return TrainingTask(cell, seed, recipe, data, name(cell.name, seed), home, experiment.measures, one_thread=quick)

    return make


def csv_first_line_facts(experiment: Experiment, quick: bool, data: str) -> dict[str, Any]:
    """The first line of the CSV: all that decides its rows, and the command that makes them."""
    every = [*learning_rate_tasks(experiment, quick, data), *training_tasks(replace(experiment, seeds=1), quick, data)]
    recipes: list[Any] = [
        [t.cell.name, t.cell.continues_cell, recipe_to_json(with_changes(t.recipe, {"start_from": ""}))] for t in every
    ]
    if data.partition(":")[0] == SOURCE_NAME:
        recipes.append(synthetic_drawing_version(data))
    return {
        "experiment": experiment.name, "quick": quick, "data": data, "seeds": experiment.seeds,
        "command": f"vitcore experiment {experiment.name}" + (" --quick" if quick else f" --data {data}"),
        "recipes": hashlib.sha256(json.dumps(recipes).encode()).hexdigest()[:16],
        "versions": run_folder.run_environment()["versions"],
        "hardware": results_csv.describe_hardware() | ({"threads": 1} if quick else {}),
    }  # fmt: skip


def _test_pictures_per_training_picture(experiment: Experiment, quick: bool, data: str) -> float:
    """Test pictures a picture to learn from, where every seed draws on the same; 0 where each has pictures of its own."""
    from vitcore.train.data.photo_sources import open_photo_source

    if data.partition(":")[0] == SOURCE_NAME:
        return 0.0
    train, held_out = open_photo_source(data)
    return round(experiment.base(quick).test_share * len(held_out)) / len(train)


def run_experiment(
    experiment: Experiment, quick: bool, out: Path, data: str = "", on_progress: Callable[[str], None] = print,
    run_tasks: TaskRunner | None = None, hardware: Callable[[], dict[str, Any]] = results_csv.describe_hardware,
) -> Path:  # fmt: skip
    """Run what is not in `out/NAME.csv` yet: first what chooses learning rates, then every seed; the file, complete.

    `run_tasks` runs tasks and yields each with its rows, in any order, on what `hardware` then says; default: one after another,
    here.
    Raises: ExperimentError, DataError, RunError, RecipeError, each with one sentence; KeyboardInterrupt, when asked to stop.
    """
    from accelerate import PartialState

    from vitcore.train.data.photo_sources import check_has_classes, open_photo_source
    from vitcore.train.learning.training_loop import has_several_cpu_processes

    data = data or (experiment.drawn if quick else FULL_DATA)
    data = str(Path(data).resolve()) if Path(data).exists() else data
    file, said = out / f"{experiment.name}.csv", csv_first_line_facts(experiment, quick, data)
    by_cell: dict[tuple[str, int], list[MeasurementRow]] = {}
    for row in results_csv.existing_rows(file, said):
        by_cell.setdefault((row.cell, row.seed), []).append(row)
    check_has_classes(open_photo_source(data)[0])
    said["overlap"] = _test_pictures_per_training_picture(experiment, quick, data)
    main = PartialState(cpu=has_several_cpu_processes()).is_main_process
    choosing, reported = learning_rate_tasks(experiment, quick, data), training_tasks(experiment, quick, data)
    order = {task.row_key: i for i, task in enumerate([*choosing, *reported])}

    def complete(every: list[TrainingTask]) -> None:
        left = unfinished_tasks(every, set(by_cell))
        for count, (task, new) in enumerate((run_tasks or run_tasks_in_process)(left), 1):
            told = ", ".join(f"{row.measure} {row.value:.4g}" for row in new)
            if main:
                on_progress(f"[{count}/{len(left)}] {task.run}: {told or 'ready'}")
            if not new:
                continue
            by_cell[task.row_key] = new
            if main:
                said["hardware"] |= hardware()
                rows = [row for key in sorted(by_cell, key=order.__getitem__) for row in by_cell[key]]
                results_csv.write_results(file, said, rows)

    complete(choosing)
    rates = best_learning_rates([row for task in choosing for row in by_cell.get(task.row_key, [])])
    complete(training_tasks(experiment, quick, data, rates=rates))
    return file


def best_learning_rates(trial_rows: Iterable[MeasurementRow]) -> dict[str, float]:
    """The learning rate of each cell that had a choice: the best on validation pictures, of two alike the lower."""
    best: dict[str, tuple[float, float]] = {}
    for row in trial_rows:
        if row.measure == "top1":
            best[row.curve] = max(best.get(row.curve, (-math.inf, 0.0)), (row.value, -float(row.x)))
    return {cell: -rate for cell, (_, rate) in best.items()}


def unfinished_tasks(tasks: list[TrainingTask], finished_row_keys: set[tuple[str, int]]) -> list[TrainingTask]:
    """The tasks whose rows are missing, and those that these go on from."""
    needed: set[tuple[str, int]] = set()
    for task in reversed(tasks):
        wanted = bool(task.cell.chart_places) and task.row_key not in finished_row_keys
        if wanted or task.row_key in needed:
            needed.add(task.row_key)
            if task.cell.continues_cell:
                needed.add((task.cell.continues_cell, task.seed))
    return [task for task in tasks if task.row_key in needed]


def run_tasks_in_process(tasks: list[TrainingTask]) -> Iterator[tuple[TrainingTask, list[MeasurementRow]]]:
    """Run tasks in this process (and, under torchrun, those beside it)."""
    for task in tasks:
        yield task, train_task(task)


def train_task(task: TrainingTask) -> list[MeasurementRow]:
    """Train a task to its end, or go on, and measure it; no rows of one that only prepares. Raises as `run_experiment`."""
    from accelerate import PartialState

    from vitcore.experiments.measures import measure_run
    from vitcore.train.trainer.run_training import run_training

    state = PartialState()
    with state.main_process_first():
        folder = _folder(task)
    with limited_torch_threads(1 if task.one_thread else 0):
        if (
            run_folder.read_status_and_check_alive(folder)["state"] != "finished"
            and run_training(folder, lambda record: None) != "finished"
        ):
            raise KeyboardInterrupt
        if not task.cell.chart_places:
            return []
        measured = measure_run(folder, task.measures)
    cell, step = task.cell, task.recipe.steps
    places = ((curve, x, what, value) for curve, x in cell.chart_places for what, value in measured.items())
    return [MeasurementRow(cell.name, curve, x, task.seed, step, what, value, task.run) for curve, x, what, value in places]


def _folder(task: TrainingTask) -> run_folder.RunFolder:
    """The task's run: the one that is there, if it is of this recipe; one that never came to a checkpoint is begun anew."""
    path = task.root / task.run
    if (path / "frames").is_dir():  # made last
        folder = run_folder.find_run(task.run, task.root)
        if run_folder.read_recipe(folder) == task.recipe and run_folder.read_source(folder) == task.source:
            return folder
        if folder.has_checkpoint:
            raise ExperimentError("run {id} is of another recipe or other photos: delete it, or rename its folder.", id=task.run)
    shutil.rmtree(path, ignore_errors=True)
    return run_folder.create_run(task.run, task.recipe, task.source, task.root)


@contextmanager
def limited_torch_threads(count: int) -> Iterator[None]:
    """Inside, torch uses so many threads (0: as many as before): sums are the same on every machine with as many."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)

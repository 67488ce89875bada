"""Training runs as their folders tell: which there are, how far they are, their logs, and the models they have written."""

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app import texts
from app.state.memory import memory_cache
from app.state.model_ref import ModelRef
from app.state.training.training_processes import LIVE_STATES, add_starting_or_stopping, find_run
from vitcore.models.model_cards import ModelCard
from vitcore.train import run_folder
from vitcore.train.recipe import FILMED
from vitcore.train.run_folder import readable_time as readable_time

TAIL_BYTES = 4096  # of a log, in which its last record is
RunError = run_folder.RunError
VANISHED = 0, 0  # what `file_size_and_time` gives of a file that is not there any more


@dataclass(frozen=True)
class RunStatus:
    """A run at this moment; one that is only filmed has no `batch`, and can be neither stopped nor resumed here."""

    id: str
    state: str
    step: int
    steps: int
    batch: int
    task: str
    source: str
    message: str
    problems: tuple[str, ...]
    records: list[dict[str, Any]]
    resumable: bool
    has_film: bool
    has_model: bool
    validates_on_training_photos: bool

    @property
    def is_live(self) -> bool:
        return self.state in LIVE_STATES

    @property
    def is_filmed_elsewhere(self) -> bool:
        """Whether it is a training of somebody's own, which is only looked at."""
        return self.task == FILMED

    @property
    def images_per_s(self) -> float:
        """Speed of the last records, the mean."""
        speeds = [r["images_per_s"] for r in self.records[-10:] if r.get("images_per_s")]
        return sum(speeds) / len(speeds) if speeds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """At that speed; None where there is none yet."""
        speed = self.images_per_s
        return (self.steps - self.step) * self.batch / speed if speed and self.batch else None

    def last_value(self, *names: str) -> float | None:
        """The newest value logged under the first of the names that has one."""
        values = (r[name] for name in names for r in reversed(self.records) if name in r)
        return next(values, None)


def run_ids() -> list[str]:
    """Every run, newest first."""
    return [run.id for run in run_folder.all_runs() if run_folder.RUN_NAME.fullmatch(run.id)]


def run_status(run_id: str) -> RunStatus | None:
    """A run as its folder tells it; None when there is none."""
    run = find_run(run_id)
    if run is None:
        return None
    status, records = run_folder.read_status_and_check_alive(run), read_log(run)
    step = max(int(status.get("step") or 0), int(records[-1]["step"]) if records else 0)
    try:
        recipe, source = run_folder.read_recipe(run), run_folder.read_source(run)
        shared = run_folder.validates_on_training_photos(run)
        steps, task, problem = max(recipe.steps, step), recipe.task, ""
        batch = 0 if task == FILMED else recipe.batch
    except (run_folder.RunError, OSError, ValueError, KeyError) as error:
        steps, batch, task, source, shared, problem = max(step, 1), 0, "", "", False, str(error)
    message, problems = run_folder.translate_status(status)
    return RunStatus(
        run.id,
        add_starting_or_stopping(run, status["state"]),
        step,
        steps,
        batch,
        task,
        source,
        problem or message,
        problems,
        records,
        task != FILMED and (run.has_checkpoint or not records),
        any(run.frames.glob("[0-9]*.safetensors")),
        run.model.is_file(),
        shared,
    )


def read_log(run: run_folder.RunFolder) -> list[dict[str, Any]]:
    """The run's records, read again only when there are more."""
    try:
        stat = run.log.stat()
    except OSError:
        return []
    return _read_log(str(run.path), stat.st_size, stat.st_mtime_ns)


@memory_cache.cached
def _read_log(path: str, size: int, changed_ns: int) -> list[dict[str, Any]]:
    return run_folder.read_log(run_folder.RunFolder(Path(path)))


def last_logged_step(run: run_folder.RunFolder) -> int | None:
    """The last step in a run's log: the end of the file is read and no more, for the menu asks every run at every touch."""
    try:
        with run.log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            lines = file.read().splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        with suppress(ValueError, KeyError, TypeError):  # a line that is being written, or cut by the reading
            return int(json.loads(line)["step"])
    return None


def run_model_cards() -> dict[str, ModelCard]:
    """The models that runs have left so far, as rows of the menu: `runs/<id>`."""
    trained = [run for run in map(find_run, run_ids()) if run and run.model.is_file()]
    return {f"runs/{run.id}": _model_card(run) for run in trained}


def _model_card(run: run_folder.RunFolder) -> ModelCard:
    params_m = file_size_and_time(run.model)[0] / 4e6  # 4 bytes a parameter
    text = texts.prose("train")
    step = last_logged_step(run)
    good_for = text["learned"] if step is None else text.fill("taught", steps=step)
    return ModelCard(f"runs/{run.id}", f"runs/{run.id}", params_m, 0, "", good_for, text["trained here"])


def run_model_folder(name: str) -> Path | None:
    """The folder of `runs/<id>`, which `vitcore.load` takes, if that run has left a model; None for any other name."""
    run = find_run(name.removeprefix("runs/")) if name.startswith("runs/") else None
    return run.path if run and run.model.is_file() else None


def model_cache_key_with_write_time(name: str) -> str:
    """A run's model changes while it trains: its name with the time it was written. Other names as they are."""
    path = run_model_folder(name)
    return str(ModelRef(name, str(model_written_ns(path)))) if path else name


def model_written_ns(folder: Path) -> int:
    """When a folder's model was written; 0 where it has vanished since it was found."""
    return file_size_and_time(folder / "model.safetensors")[1]


def file_size_and_time(file: Path) -> tuple[int, int]:
    """A file's bytes, and when it was written (ns); `VANISHED` where it has vanished since it was found."""
    try:
        about = file.stat()
    except OSError:
        return VANISHED
    return about.st_size, about.st_mtime_ns

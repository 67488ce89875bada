"""The training runs of the app, as their folders tell: which there are, how far they are, what they cost, models and films.

Beside the session the only place that caches; what it keeps of a run it keeps under the time the files were written.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import mode, texts
from app.state.memory import budget
from app.state.model_ref import ModelRef
from app.state.processes import LIVE, folder, state
from vitcore.assets import asset
from vitcore.errors import refusal_reason
from vitcore.models.model_cards import DEFAULT, ModelCard
from vitcore.train import run_folder
from vitcore.train.recipe import FILMED

if TYPE_CHECKING:
    from vitcore.train.film_files import Accuracy, Film
    from vitcore.train.learning.training_cost import Cost

RECORDINGS = asset("recordings")
TAIL_BYTES = 4096  # of a log, in which its last record is
UNCOUNTED = 1000  # classes assumed of a data set that is not counted before it is trained on

RunError = run_folder.RunError


@dataclass(frozen=True)
class Watched:
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

    @property
    def shared(self) -> bool:
        """Whether it is measured on the photos that it learns from, as with the sample photos."""
        return self.source == "samples"

    @property
    def live(self) -> bool:
        """Whether a process works on it."""
        return self.state in LIVE

    @property
    def filmed(self) -> bool:
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

    def last(self, *names: str) -> float | None:
        """The newest value logged under the first of the names that has one."""
        values = (r[name] for name in names for r in reversed(self.records) if name in r)
        return next(values, None)


def ids() -> list[str]:
    """Every run, newest first."""
    return [run.id for run in run_folder.all_runs() if run_folder.NAME.fullmatch(run.id)]


def watch(run_id: str) -> Watched | None:
    """A run as its folder tells it; None when there is none."""
    run = folder(run_id)
    if run is None:
        return None
    said, records = run_folder.status(run), log(run)
    step = max(int(said.get("step") or 0), int(records[-1]["step"]) if records else 0)
    try:
        recipe, source = run_folder.recipe_of(run), run_folder.source_of(run)
        steps, task, problem = max(recipe.steps, step), recipe.task, ""
        batch = 0 if task == FILMED else recipe.batch
    except (run_folder.RunError, OSError, ValueError, KeyError) as error:
        steps, batch, task, source, problem = max(step, 1), 0, "", "", str(error)
    message, problems = run_folder.retold(said)
    return Watched(
        run.id, state(run, said["state"]), step, steps, batch, task, source, problem or message, problems, records,
        task != FILMED and (run.has_checkpoint or not records),
        any(run.frames.glob("[0-9]*.safetensors")), run.model.is_file(),
    )  # fmt: skip


def log(run: run_folder.RunFolder) -> list[dict[str, Any]]:
    """The run's records, read again only when there are more."""
    try:
        stat = run.log.stat()
    except OSError:
        return []
    return _log(str(run.path), stat.st_size, stat.st_mtime_ns)


@budget.kept
def _log(path: str, size: int, changed_ns: int) -> list[dict[str, Any]]:
    return run_folder.records(run_folder.RunFolder(Path(path)))


def last_step(run: run_folder.RunFolder) -> int | None:
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


def cards() -> dict[str, ModelCard]:
    """The models that runs have left so far, as rows of the menu: `runs/<id>`."""
    trained = [run for run in map(folder, ids()) if run and run.model.is_file()]
    return {f"runs/{run.id}": _card(run) for run in trained}


def _card(run: run_folder.RunFolder) -> ModelCard:
    params_m = run.model.stat().st_size / 4e6  # 4 bytes a parameter
    text = texts.prose("train")
    step = last_step(run)
    good_for = text["learned"] if step is None else text.fill("taught", steps=step)
    return ModelCard(f"runs/{run.id}", f"runs/{run.id}", params_m, 0, "", good_for, text["trained here"])


def model_of(name: str) -> Path | None:
    """The folder of `runs/<id>`, which `vitcore.load` takes, if that run has left a model; None for any other name."""
    run = folder(name.removeprefix("runs/")) if name.startswith("runs/") else None
    return run.path if run and run.model.is_file() else None


def version_of(name: str) -> str:
    """A run's model changes while it trains: its name with the time it was written. Other names as they are."""
    path = model_of(name)
    return str(ModelRef(name, str((path / "model.safetensors").stat().st_mtime_ns))) if path else name


# Before it starts


@dataclass(frozen=True)
class Photographs:
    """What is known of a source: how many photos, held-out ones and classes; or why they can't be had."""

    counted: bool = False
    photos: int = 0
    held_out: int = 0
    classes: int = UNCOUNTED
    shared: bool = False  # what is measured on is what was learned from
    problem: str = ""


def look_into(source: str, task: str) -> Photographs:
    """Count the photos of the samples or of a folder; data sets that would be downloaded are left for the run."""
    known, text = {"cifar10": 10, "cifar100": 100}, texts.prose("train")
    if not mode.allows("paths") and source != "samples":
        return Photographs(problem=mode.why("paths"))
    if source in known or source.startswith("hf:"):
        return Photographs(classes=known.get(source, UNCOUNTED))
    if not source.strip():
        return Photographs(problem=text["name one"])
    with st.spinner(text["counting"]):
        photographs = _look_into(source, texts.language())
    if task == "classify" and photographs.counted and not photographs.classes:
        return Photographs(problem=text["no classes"].format(source=source))
    return photographs


@st.cache_data(max_entries=16, ttl=60, show_spinner=False)
def _look_into(source: str, lang: str) -> Photographs:
    from vitcore.train.data.photo_sources import DataError, open_photos

    try:
        train, held_out = open_photos(source)
    except (DataError, OSError) as error:
        return Photographs(problem=str(error))
    return Photographs(True, len(train), len(held_out), len(train.classes), train is held_out)


def shape(recipe_json: str, classes: int) -> tuple[int, float] | str:
    """Parameters of a recipe's model, and floating-point operations of a step; or why it can't be built."""
    if not mode.allows("paths"):  # a recipe may name a teacher's file
        return mode.why("trainings")
    try:
        return _shape(recipe_json, classes, texts.language())
    except Exception as error:  # timm and torch each complain in their own way; not kept, it may be out of memory
        return refusal_reason(error)


def measured(recipe_json: str, classes: int) -> Cost | str:
    """What a run costs on this machine, timed; or why that can't be said."""
    if not mode.allows("trainings"):
        return mode.why("trainings")
    with st.spinner(texts.prose("train")["measuring"]):
        try:
            return _measured(recipe_json, classes, texts.language())
        except Exception as error:  # out of memory, most likely: not kept, for the next time there may be more
            return refusal_reason(error)


@st.cache_data(max_entries=64, show_spinner=False)
def _shape(recipe_json: str, classes: int, lang: str) -> tuple[int, float]:
    from vitcore.train.learning import training_cost
    from vitcore.train.recipe import from_json

    recipe = from_json(recipe_json)
    params, forward = training_cost.shape(recipe, classes)
    return params, 3 * forward * recipe.batch


@st.cache_data(max_entries=32, show_spinner=False)
def _measured(recipe_json: str, classes: int, lang: str) -> Cost:
    from vitcore.train.learning.training_cost import cost
    from vitcore.train.recipe import from_json

    return cost(from_json(recipe_json), classes)


# Films


def films(lang: str | None = None) -> dict[str, str]:
    """Title by name of what can be watched: the recordings that ship, the default model's first, then `runs/<id>`, newest first.

    The titles are in the visitor's language, or in `lang`.
    """
    words = texts.table(lang)
    files_there = sorted(RECORDINGS.glob("*.safetensors"), key=lambda file: (file.stem != DEFAULT, file.stem))
    titles = {file.stem: _title(str(file), file.stat().st_mtime_ns) for file in files_there}
    shipped = {name: words.get(title, title) for name, title in titles.items()}
    filmed = [run for run in map(folder, ids()) if run and any(run.frames.glob("[0-9]*.safetensors"))]
    return shipped | {f"runs/{run.id}": f"runs/{run.id}" for run in filmed}


@st.cache_data(max_entries=32, show_spinner=False)
def _title(file: str, changed_ns: int) -> str:
    try:
        return str(json.loads(Path(file).with_suffix(".json").read_text(encoding="utf-8"))["title"])
    except (OSError, ValueError, KeyError, TypeError):
        return Path(file).stem


def ending(name: str) -> Accuracy | None:
    """What the film of a model that ships ends with; None where there is no such film, or it does not say of how many photos."""
    file = RECORDINGS / f"{name}.json"
    return _ending(str(file), file.stat().st_mtime_ns) if file.is_file() else None


@st.cache_data(max_entries=8, show_spinner=False)
def _ending(file: str, changed_ns: int) -> Accuracy | None:
    from vitcore.train.film_files import last_accuracy

    found = last_accuracy(json.loads(Path(file).read_text(encoding="utf-8"))["log"])
    return found if found and found.photos else None


def film(name: str) -> tuple[str, Film]:
    """A film and the key its pictures are kept under, which changes when frames are added. Raises: RunError."""
    run = folder(name.removeprefix("runs/")) if name.startswith("runs/") else None
    if run is None:
        if name not in films():
            raise run_folder.RunError(texts.prose("learn")["gone"])
        path = RECORDINGS / f"{name}.safetensors"
        key = f"{name}@{path.stat().st_mtime_ns}"
    else:
        frames = [file.stat().st_mtime_ns for file in run.frames.glob("*")]
        path, key = run.path, f"{name}@{len(frames)}-{max(frames, default=0)}"
    with st.spinner(texts.prose("learn")["opening"]):
        return key, _film(str(path), key)


@budget.kept
def _film(path: str, key: str) -> Film:
    from vitcore.train import film_files

    return film_files.open_film(Path(path)) if path.endswith(".safetensors") else film_files.of_run(path)


@budget.kept
def drawn(key: str, part: str, frame: int, photo: int, theme: str, lang: str, _film: Film) -> dict[str, Any]:
    """The pictures of one frame as `app.components.chart.chart` takes them, by name: of the "weights", or of a "photo"."""
    from app.components.chart.chart import plain
    from app.state import film_frame

    make = film_frame.weights if part == "weights" else film_frame.photo
    return {name: plain(fig) for name, fig in make(_film, frame, photo, theme).items()}


@budget.kept
def firsts(key: str, _film: Film) -> dict[str, int | None]:
    """The step of the first snapshot of a film in which filters, positions and parted heads are there, or None."""
    from vitcore.analysis.training_film import frames_of_emergence

    frames = frames_of_emergence(_film.arrays, _film.grid)
    return {name: None if frame is None else int(_film.steps[frame]) for name, frame in frames.items()}


@budget.kept
def drawn_curves(
    key: str, records: int, last: int, theme: str, lang: str, _log: list[dict[str, Any]]
) -> dict[str, Any]:
    """The curves of a film as `app.components.chart.chart` takes them; the marker of the frame is added by `chart`."""
    from app.components.chart.chart import plain
    from app.state import film_frame

    return {name: plain(fig) for name, fig in film_frame.curves(_log, theme, last=last, log_steps=True).items()}

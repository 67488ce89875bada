"""Runs as files: what `runs/<id>/` holds, written atomically, read by the app, the shell and a resumed run (no torch here).

recipe.json, source.json (where the photos are, and those to validate on), environment.json, log.jsonl (a record a line),
status.json, checkpoint/ and the one before it, model.safetensors with model.json (what `vitcore.load` opens), frames/ (Watch it
learn), lock, and stop (somebody asks the run to save and stop).
"""

import contextlib
import json
import math
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from vitcore.errors import RefusalError, first_error_line
from vitcore.train.recipe import Recipe, RecipeError, recipe_from_json, recipe_to_json
from vitcore.translation import say, sentence_as_json, sentence_from_json

RUNS_FOLDER = Path(os.environ.get("VITCORE_RUNS", "runs"))
RUN_NAME = re.compile(  # of a folder on any system: Windows keeps some names for itself and drops a dot at the end
    r"(?!(?i:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9_-])?"
)
RECORDED_PACKAGES = ("inside-vit", "torch", "timm", "accelerate", "numpy")


class RunError(RefusalError):
    """A run that can't start, go on or be read, with a sentence that says why and what is left."""


class RunFolder:
    """Paths of one run; `id` is its name."""

    def __init__(self, path: Path) -> None:
        self.path, self.id = path, path.name
        self.checkpoint = path / "checkpoint"  # the newest state to go on from
        self.previous_checkpoint = path / "checkpoint-before"  # the one before that, should the newest be damaged
        self.frames = path / "frames"  # snapshots for Watch it learn, one file each
        self.model = path / "model.safetensors"  # the weights that `vitcore.load` opens
        self.stop_file = path / "stop"  # asks the process training this run to save and stop, where no signal can
        self.log = path / "log.jsonl"  # a JSON record a line

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is something to go on from."""
        return self.checkpoint.is_dir() or self.previous_checkpoint.is_dir()


def create_run(run_id: str, recipe: Recipe, source: str, root: Path | None = None, validation: str = "") -> RunFolder:
    """A new run's folder with its recipe, sources and environment. Raises: RunError when the name is taken or no name."""
    if not RUN_NAME.fullmatch(run_id):
        raise RunError("{name!r} can't be a run's name: letters, digits, dots, dashes and underscores, please.", name=run_id[:64])
    folder = RunFolder((root or RUNS_FOLDER) / run_id)
    try:
        folder.path.mkdir(parents=True, exist_ok=False)
    except FileExistsError:
        raise RunError("there is a run {run_id!r} already: choose another name, or resume it.", run_id=run_id) from None
    with explain_write_errors(folder, say("its recipe")):
        write_file_atomically(folder.path / "recipe.json", recipe_to_json(recipe))
        write_file_atomically(folder.path / "source.json", json.dumps({"data": source, "validation": validation}))
        write_file_atomically(folder.path / "environment.json", json.dumps(run_environment(), indent=1))
        folder.frames.mkdir()
    return folder


def find_run(run_id: str | Path, root: Path | None = None) -> RunFolder:
    """The run of that name, or in that folder. Raises: RunError."""
    for path in ((root or RUNS_FOLDER) / run_id, Path(run_id)):
        if (path / "recipe.json").is_file():
            return RunFolder(path)
    raise RunError("there is no run {name!r} in {folder}.", name=str(run_id), folder=root or RUNS_FOLDER)


def all_runs(root: Path | None = None) -> list[RunFolder]:
    """Every run, newest first."""
    runs = [RunFolder(file.parent) for file in (root or RUNS_FOLDER).glob("*/recipe.json")]
    return sorted(runs, key=lambda run: (run.path / "recipe.json").stat().st_mtime, reverse=True)


def read_recipe(folder: RunFolder) -> Recipe:
    """The recipe a run was started with. Raises: RunError, also for one of another version."""
    try:
        return recipe_from_json((folder.path / "recipe.json").read_text(encoding="utf-8"))
    except (OSError, RecipeError) as error:
        raise RunError("the recipe of run {id} can't be read: {error}", id=folder.id, error=error) from None


def read_source(folder: RunFolder) -> str:
    """Where the run's photos are."""
    return str(_sources(folder)["data"])


def read_validation_source(folder: RunFolder) -> str:
    """Where the photos are that the run is validated on; "": some of `read_source`."""
    return str(_sources(folder).get("validation", ""))


def validates_on_training_photos(folder: RunFolder) -> bool:
    """Whether a run is measured on the photos that it learns from, as with the sample photos."""
    sources = _sources(folder)
    return sources["data"] == "samples" and not sources.get("validation")


def _sources(folder: RunFolder) -> dict[str, Any]:
    return dict(json.loads((folder.path / "source.json").read_text(encoding="utf-8")))


def read_status_and_check_alive(folder: RunFolder) -> dict[str, Any]:
    """What the run last said of itself: {"state", "step", "message", "pid", "problems", "parts"}.

    A dead "running" is "broken off".
    """
    try:
        said: dict[str, Any] = json.loads((folder.path / "status.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        said = {"state": "starting", "step": 0, "message": ""}
    if said["state"] in ("running", "starting") and not is_training(folder):
        if said["state"] == "running" or _age_s(folder.path / "recipe.json") > 60:
            said = said | {"state": "broken off"}
    return said


def _age_s(file: Path) -> float:
    """How old a file is, whichever way the clock was set meanwhile; without an end where it is gone."""
    try:
        return abs(datetime.now(UTC).timestamp() - file.stat().st_mtime)
    except OSError:
        return float("inf")


def write_status(folder: RunFolder, state: str, step: int, message: str = "", **more: Any) -> None:
    """Leave word: "running", "stopped", "finished" or "failed".

    "message" and "problems" are finished sentences; "parts" has the same with sentence and facts apart, to be translated.
    """
    facts = {"state": state, "step": step, "message": message, "pid": os.getpid(), "time": _now(), **more}
    apart = {"message": sentence_as_json(message), "problems": [sentence_as_json(one) for one in more.get("problems", ())]}
    write_file_atomically(folder.path / "status.json", json.dumps(facts | {"parts": apart}), sync=False)


def translate_status(status: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The message and the problems of a status in the reader's language; an older run's as they were said."""
    apart = status if not isinstance(status.get("parts"), dict) else status["parts"]
    return sentence_from_json(apart.get("message") or ""), tuple(map(sentence_from_json, apart.get("problems") or ()))


def read_log(folder: RunFolder) -> list[dict[str, Any]]:
    """The log so far; a line that is being written is left out, and a step logged twice counts as last logged."""
    by_step: dict[int, dict[str, Any]] = {}
    with contextlib.suppress(FileNotFoundError):
        for line in folder.log.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                record = json.loads(line)
                by_step[record["step"]] = record
    return [by_step[step] for step in sorted(by_step)]


def is_training(folder: RunFolder) -> bool:
    """Whether a process is training this run now."""
    try:
        with FileLock(folder.path / "lock", timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False


@contextlib.contextmanager
def hold_run_lock(folder: RunFolder) -> Iterator[None]:
    """Hold the run. Raises: RunError when another process does."""
    lock = FileLock(folder.path / "lock", timeout=1)
    try:
        lock.acquire()
    except Timeout:
        raise RunError("run {id} is being trained by another process.", id=folder.id) from None
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def explain_write_errors(folder: RunFolder, what: str, errors: tuple[type[Exception], ...] = (OSError,)) -> Iterator[None]:
    """Turn what goes wrong in writing (disk full, folder gone) into a RunError that says what is left."""
    try:
        yield
    except RunError:
        raise
    except errors as error:
        left = say("the checkpoint before it is whole") if folder.has_checkpoint else say("there was no checkpoint yet")
        reason = getattr(error, "strerror", None) or first_error_line(error)
        raise RunError(
            "{what} of run {id} could not be written ({reason}); {left}.", what=what, id=folder.id, reason=reason, left=left
        ) from error


def write_file_atomically(file: Path, content: str | bytes, sync: bool = True) -> None:
    """Write a file in one step: readers see the old one or the new one; with `sync` also after a power cut."""
    data = content.encode() if isinstance(content, str) else content
    replace_file_atomically(file, lambda to: to.write_bytes(data), sync)


def replace_file_atomically(file: Path, write: Callable[[Path], Any], sync: bool = True) -> None:
    """Let `write` write a new file beside `file`, then put it in its place; nothing is left behind when it fails."""
    new = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        write(new)
        if sync:
            with new.open("rb+") as written:
                os.fsync(written.fileno())
        new.chmod(0o644)  # some writers make files only they can read
        _put(new, file)
    finally:
        new.unlink(missing_ok=True)


def _put(new: Path, file: Path) -> None:
    """Put a file in another's place; Windows refuses while that one is being read, which does not take long."""
    for wait_s in (0.01, 0.1, 0.5, 1.0) if os.name == "nt" else ():
        with contextlib.suppress(PermissionError):
            new.replace(file)
            return
        time.sleep(wait_s)
    new.replace(file)


def run_environment() -> dict[str, Any]:
    """What the run ran on: versions, machine, command."""
    return {
        "python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count(),
        "versions": {name: version(name) for name in RECORDED_PACKAGES}, "command": sys.argv, "started": _now(),
    }  # fmt: skip


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def readable_time(seconds: float) -> str:
    """Seconds as a person says them: "40 s", "12 min", "3.5 h", "9 days"."""
    if seconds >= 2 * 86400:
        return say("{days:.0f} days", days=seconds / 86400)
    if seconds >= 1.5 * 3600:
        return say("{hours:.1f} h", hours=seconds / 3600)
    if seconds >= 1.5 * 60:
        return say("{minutes:.0f} min", minutes=seconds / 60)
    return say("{seconds} s", seconds=math.ceil(seconds))

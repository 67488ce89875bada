"""The processes that train: one a run, on its own, so that closing a tab, or the server, leaves it alone."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, STDOUT, Popen
from typing import Any

import vitcore
from app import permissions, texts
from vitcore.train import run_folder
from vitcore.train.recipe import FILMED, Recipe
from vitcore.translation import say

VITCORE_ROOT = Path(vitcore.__file__).resolve().parents[1]  # where a new process finds vitcore
NICENESS = 5  # a training yields to the pages
LIVE_STATES = ("starting", "running", "stopping")
OUTPUT_FILE = "output.txt"  # what the process printed, beside its log

StatusMark = tuple[int, int] | None  # which writing of a run's status this is: the clock may be set while it trains

_started_at: dict[str, StatusMark] = {}  # the runs that this server started and that still live, and their status before that
_stopping: set[str] = set()


def find_run(run_id: str) -> run_folder.RunFolder | None:
    """The run of that name; None for anything else, such as a path that came with an address."""
    run = run_folder.RunFolder(Path(run_folder.RUNS_FOLDER).resolve() / run_id) if run_folder.RUN_NAME.fullmatch(run_id) else None
    return run if run and (run.path / "recipe.json").is_file() else None


def add_starting_or_stopping(run: run_folder.RunFolder, recorded_state: str) -> str:
    """What a run does, from what its folder says: "starting", "running", "stopping", "stopped", "finished", "failed", …"""
    if run.id in _started_at and not _has_reported(run, _started_at[run.id]):
        return "starting"
    if recorded_state not in LIVE_STATES:
        _stopping.discard(run.id)
        return recorded_state
    return "stopping" if run.id in _stopping else recorded_state


def _status_mark(run: run_folder.RunFolder) -> StatusMark:
    try:
        about = (run.path / "status.json").stat()
    except OSError:
        return None
    return about.st_ino, about.st_mtime_ns


def _has_reported(run: run_folder.RunFolder, before: StatusMark) -> bool:
    """Whether the run's process has said anything of itself since its status was that."""
    return _status_mark(run) not in (None, before)


def printed_output(run_id: str, lines: int = 12) -> str:
    """The last lines the run's process printed."""
    run = find_run(run_id)
    try:
        with (run.path / OUTPUT_FILE).open("rb") as file:  # type: ignore[union-attr]
            file.seek(max(0, file.seek(0, os.SEEK_END) - 8000))
            text = file.read().decode(errors="replace")
    except (OSError, AttributeError):
        return ""
    return "\n".join(text.splitlines()[-lines:])


def start_run(run_id: str, recipe: Recipe, source: str) -> str:
    """Make a run and its process; returns what went wrong, or nothing. Raises: NotAllowedError."""
    permissions.require_allowed("trainings")
    try:
        run = run_folder.create_run(run_id, recipe, source)
    except (run_folder.RunError, OSError) as error:
        return str(error)
    return _start_process(run_folder.RunFolder(run.path.resolve()))


def resume_run(run_id: str) -> str:
    """Go on with a run where it stopped; returns what went wrong, or nothing. Raises: NotAllowedError."""
    permissions.require_allowed("trainings")
    run = find_run(run_id)
    if run is None or run.id in _started_at or run_folder.is_training(run) or _is_filmed_elsewhere(run):
        return ""
    return _start_process(run)


def _is_filmed_elsewhere(run: run_folder.RunFolder) -> bool:
    """Whether it is somebody's own training, whose process is not ours to start or to end."""
    try:
        return run_folder.read_recipe(run).task == FILMED
    except run_folder.RunError:
        return False


def delete_run(run_id: str) -> str:
    """Delete a run with all its files, unless a process is at it; returns what went wrong, or nothing. Raises: NotAllowedError."""
    permissions.require_allowed("trainings")
    run = find_run(run_id)
    if run is None:
        return ""
    if run.id in _started_at or run_folder.is_training(run):
        return texts.prose("train")["delete busy"].format(run=run.id)
    away = run.path.with_name(f".{run.id}.deleted")  # first out of sight, for taking it apart may take a while
    try:
        shutil.rmtree(away, ignore_errors=True)
        run.path.rename(away)
        shutil.rmtree(away)
    except FileNotFoundError:  # another server on this folder has deleted it meanwhile
        return ""
    except OSError as error:
        return texts.prose("train")["delete failed"].format(run=run.id, reason=error.strerror)
    return ""


def _start_process(run: run_folder.RunFolder) -> str:
    before = _started_at[run.id] = _status_mark(run)
    command = [sys.executable, "-m", "vitcore", "train", "--resume", run.id]
    env = process_environment() | {"VITCORE_RUNS": str(run.path.parent)}
    try:
        with (run.path / OUTPUT_FILE).open("ab") as out:
            # In the folder that the app works in: from there a person has named the photos.
            process = Popen(command, cwd=Path.cwd(), env=env, stdin=DEVNULL, stdout=out, stderr=STDOUT, **_detached_flags())
    except OSError as error:
        del _started_at[run.id]
        return texts.prose("train")["start failed"].format(reason=error.strerror)
    if sys.platform != "win32":  # there it was created so
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
    threading.Thread(target=_wait_for_process, args=(process, run, before), daemon=True).start()
    return ""


def process_environment() -> dict[str, str]:
    """Of this process, for one that finds the same vitcore."""
    path = os.pathsep.join(filter(None, [str(VITCORE_ROOT), os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": path, "PYTHONUTF8": "1"}


def _detached_flags() -> dict[str, Any]:
    """What lets a process outlive the server and the terminal it was started in."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.BELOW_NORMAL_PRIORITY_CLASS}
    return {"start_new_session": True}


def _wait_for_process(process: Popen[bytes], run: run_folder.RunFolder, before: StatusMark) -> None:
    """Wait for the process; if it failed before it could say so itself, say so for it, unless another server's trains the run."""
    code = process.wait()
    with suppress(OSError):
        if code and not _has_reported(run, before) and not run_folder.is_training(run):
            printed = printed_output(run.id, 1).removeprefix("vitcore: ")
            records = run_folder.read_log(run)
            message = printed or say("the process ended with code {code}", code=code)
            run_folder.write_status(run, "failed", records[-1]["step"] if records else 0, message)
    _started_at.pop(run.id, None)


def stop_run(run_id: str) -> str:
    """Ask the process that holds the run to save and stop; returns nothing. Raises: NotAllowedError."""
    permissions.require_allowed("trainings")
    run = find_run(run_id)
    if run is None or not run_folder.is_training(run) or _is_filmed_elsewhere(run):
        return ""
    pid = run_folder.read_status_and_check_alive(run).get("pid")
    if isinstance(pid, int) and pid > 1 and pid != os.getpid():
        _stopping.add(run.id)
        with suppress(OSError):
            if sys.platform == "win32":  # where that signal does not ask but ends
                run.stop_file.touch()
            else:
                os.kill(pid, signal.SIGTERM)
    return ""

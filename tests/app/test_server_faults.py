"""Faults beneath the app: a full or read-only disk, files that vanish, a second server, a clock that is set. One sentence."""

import errno
import io
import os
import shutil
import tempfile
import time
from types import SimpleNamespace

import pytest
from made_up_runs import STEPS, a_run, give_model
from visitor import App

from app.state.models import loaded_models, save_and_unzip_upload
from app.state.training import films, run_status, training_processes
from vitcore.errors import RefusalError
from vitcore.train import run_folder

DAY_S = 86_400


def upload(name: str = "model.safetensors", data: bytes = b"x" * 100) -> io.BytesIO:
    file = io.BytesIO(data)
    file.name, file.size, file.file_id = name, len(data), "1"  # type: ignore[attr-defined]
    return file


def test_no_room_and_no_folder_for_a_model_s_file(monkeypatch, tmp_path):
    at = {"folder": tmp_path}
    here = SimpleNamespace(
        gettempdir=lambda: at["folder"], mkdtemp=lambda prefix: tempfile.mkdtemp(prefix=prefix, dir=at["folder"])
    )
    monkeypatch.setattr(save_and_unzip_upload, "tempfile", here)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(save_and_unzip_upload.shutil, "copyfileobj", full)
        with pytest.raises(RefusalError, match="No space left on device"):
            save_and_unzip_upload.save_upload_to_folder(upload(), 10)
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"

    def nowhere() -> str:
        raise FileNotFoundError(errno.ENOENT, f"No usable temporary directory found in ['{tmp_path}']")

    with monkeypatch.context() as patch, pytest.raises(RefusalError, match="No such file or directory") as refused:
        patch.setattr(here, "gettempdir", nowhere)
        save_and_unzip_upload.save_upload_to_folder(upload(), 10)
    assert str(tmp_path) not in str(refused.value), "a visitor is told of no folder of the server's"
    for folder in ("gone", "read-only"):
        at["folder"] = tmp_path / folder
        if folder == "read-only":
            (tmp_path / folder).write_text("no folder: root may write where nobody else may")
        with pytest.raises(RefusalError, match=r"model\.safetensors"):
            save_and_unzip_upload.save_upload_to_folder(upload(), 10)
    assert App("patches").fine().at.title, "others go on"


def test_a_model_that_vanishes_between_pick_and_load(monkeypatch, make_module):
    run = a_run()
    give_model(run, make_module())
    found = run_status.run_model_folder
    folder = SimpleNamespace(gone=False)

    def vanish(name: str):
        path = found(name)
        if path and not folder.gone:
            folder.gone = True
            shutil.rmtree(run.path)
        return path

    with monkeypatch.context() as patch:
        patch.setattr(run_status, "run_model_folder", vanish)
        with pytest.raises(RefusalError) as refused:
            loaded_models.load_or_download("runs/demo", False, lambda *_: None)
        assert "demo" in str(refused.value) and folder.gone
    assert App("patches", model="runs/demo").fine().text("warning"), "it says that it shows another"


def test_a_frame_and_a_model_that_vanish_while_they_are_looked_at(make_module):
    """A link to nowhere is such a file: it is listed, and then it is not there."""
    run = a_run()
    give_model(run, make_module())
    (run.frames / "00000041.safetensors.tmp").symlink_to(run.frames / "gone")
    key, film = films.open_film("runs/demo")
    there = [file for file in run.frames.iterdir() if file.is_file()]
    assert key == f"runs/demo@{len(there)}-{max(file.stat().st_mtime_ns for file in there)}"
    assert len(film.steps) == len(STEPS)
    shutil.rmtree(run.frames)
    with pytest.raises(run_folder.RunError):
        films.open_film("runs/demo")
    assert (
        run_status.file_size_and_time(run.frames / "still.json") == (0, 0)
        and run_status.run_model_cards()["runs/demo"].params_m > 0
    )


def test_two_servers_on_one_folder(monkeypatch):
    run = a_run(state="stopped")
    for moment in ("rename", "rmtree"):  # another server deletes the run between our look and our step
        again = run_folder.RunFolder(run.path)
        find = training_processes.find_run
        with monkeypatch.context() as patch:
            patch.setattr(training_processes, "find_run", lambda run_id, again=again: again)
            if moment == "rename":
                shutil.move(run.path, run.path.with_name("elsewhere"))
            else:
                shutil.move(run.path.with_name("elsewhere"), run.path)
                take = shutil.rmtree

                def twice(path, ignore_errors=False, take=take):
                    take(path, ignore_errors=True)
                    take(path, ignore_errors=ignore_errors)

                patch.setattr(training_processes.shutil, "rmtree", twice)
            assert training_processes.delete_run("demo") == "", moment
        assert find("demo") is None
    other = a_run("other", state="running")
    with run_folder.hold_run_lock(other):  # the other server's process trains it; ours was too late and ended
        training_processes._wait_for_process(SimpleNamespace(wait=lambda: 1), other, training_processes._status_mark(other))
        assert run_folder.read_status_and_check_alive(other)["state"] == "running"
        assert training_processes.delete_run("other") and training_processes.resume_run("other") == ""
    assert run_folder.read_status_and_check_alive(other)["state"] == "broken off"


@pytest.mark.parametrize("jump_s", [-DAY_S, DAY_S])
def test_the_clock_is_set_while_a_run_begins(monkeypatch, jump_s):
    run = a_run(state="stopped")
    before = training_processes._started_at.setdefault("demo", training_processes._status_mark(run))
    try:
        assert training_processes.add_starting_or_stopping(run, "stopped") == "starting"
        run_folder.write_status(run, "running", 1)
        at = time.time() + jump_s
        os.utime(run.path / "status.json", (at, at))
        assert (
            training_processes._has_reported(run, before)
            and training_processes.add_starting_or_stopping(run, "running") == "running"
        )
    finally:
        del training_processes._started_at["demo"]
    (run.path / "status.json").unlink()
    at = time.time() + jump_s
    os.utime(run.path / "recipe.json", (at, at))
    assert run_folder.read_status_and_check_alive(run)["state"] == "broken off", "not for a day that it begins"

"""A disk that fills up while a run is being saved: a real one, a tmpfs of three megabytes, where the system lets us mount it."""

import shutil
import subprocess

import pytest

import vitcore
from tests.vitcore.train.conftest import TINY
from vitcore.train import run_folder
from vitcore.train.recipe import with_changes
from vitcore.train.trainer.run_training import run_training


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(disk)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no tmpfs can be mounted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_stops_the_run_and_loses_nothing(small_disk, digits, monkeypatch):
    monkeypatch.setattr(run_folder, "RUNS_FOLDER", small_disk / "runs")
    folder = run_folder.create_run(
        "r", with_changes(TINY, {"steps": 40, "save_every_steps": 2, "snapshots": 0, "evaluate_every_steps": 0}), str(digits)
    )
    filler = small_disk / "filler"

    def fill(record):
        if record["step"] == 4:  # leave less than a checkpoint needs
            free = shutil.disk_usage(small_disk).free
            filler.write_bytes(b"x" * max(0, free - 60_000))

    with pytest.raises(run_folder.RunError, match=r"could not be written .*the checkpoint before it is whole"):
        run_training(folder, fill)
    assert not list(folder.path.glob(".*"))  # nothing half-written stays behind
    filler.unlink()
    assert run_training(folder, lambda record: None) == "finished"
    assert [r["step"] for r in run_folder.read_log(folder)] == list(range(1, 41))
    assert vitcore.load(folder.path).blocks == TINY.blocks

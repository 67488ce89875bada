"""On a real Ray cluster of two workers, one of which is killed, an experiment ends with the CSV it has without one."""

import os
import signal
import threading
import time
from dataclasses import replace

import pytest

from tests.vitcore.experiments.conftest import SHORT
from vitcore.experiments import running
from vitcore.train.recipes.recipe import changed
from vitcore.train.runs import files

ray = pytest.importorskip("ray")
LONG = changed(SHORT, {"steps": 400, "save_every_steps": 20})  # long enough to be met at work

pytestmark = pytest.mark.slow  # a cluster takes seconds to start, each worker some to import torch


@pytest.fixture
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


def test_a_killed_worker_changes_nothing(tiny, tmp_path, monkeypatch, cluster):
    from vitcore.experiments.on_ray import on_ray

    longer = replace(tiny, base=lambda quick: LONG)
    killed = []

    def kill_one():
        end = time.monotonic() + 120
        while not killed and time.monotonic() < end:
            for folder in files.all_runs():
                if (said := files.status(folder))["state"] == "running" and folder.has_checkpoint and said["step"] > 30:
                    os.kill(said["pid"], signal.SIGKILL)
                    killed.append((folder.id, said["pid"]))
                    return
            time.sleep(0.01)

    watch = threading.Thread(target=kill_one)
    watch.start()
    spread = running.run(longer, True, 2, tmp_path / "ray", show=lambda line: None, finish=on_ray).read_bytes()
    watch.join()
    assert killed, "no worker was met at work"
    pids = {files.status(folder)["pid"] for folder in files.all_runs()}
    assert os.getpid() not in pids and killed[0][1] not in pids and len(pids) >= 2
    monkeypatch.setattr(files, "RUNS", tmp_path / "alone")
    assert running.run(longer, True, 2, tmp_path / "here", show=lambda line: None).read_bytes() == spread

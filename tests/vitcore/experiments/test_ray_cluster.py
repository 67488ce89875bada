"""On a real Ray cluster of two workers, one of which is killed, an experiment ends with the CSV it has by itself."""

import os
import signal
import socket
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import pytest

from tests.vitcore.experiments.conftest import SHORT
from vitcore.__main__ import main
from vitcore.experiments import ray_cluster, run_experiment
from vitcore.experiments.experiment import ExperimentError
from vitcore.experiments.ray_cluster import RayTaskRunner, check_ray_address_reachable, cores_and_gpus, describe_machines
from vitcore.experiments.results_csv import describe_hardware
from vitcore.experiments.run_experiment import TrainingTask
from vitcore.train import run_folder
from vitcore.train.recipe import with_changes

LONG = with_changes(SHORT, {"steps": 400, "save_every_steps": 20})  # long enough to be met at work


def test_without_ray_one_sentence_says_how_to_get_it(tiny, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["experiment", "tiny", "--quick", "--on", "ray"]) == 2
    assert capsys.readouterr().err == "vitcore: Ray is not installed: pip install ray.\n" and not run_folder.RUNS_FOLDER.exists()


def test_the_shell_hands_its_cells_to_ray(tiny, tmp_path, monkeypatch):
    class Recorder:
        handed: ClassVar[list[TrainingTask]] = []
        hardware = staticmethod(describe_hardware)

        def __call__(self, tasks):
            self.handed += tasks
            return run_experiment.run_tasks_in_process(tasks)

    monkeypatch.setattr(ray_cluster, "RayTaskRunner", Recorder)
    assert main(["experiment", "tiny", "--quick", "--on", "ray", "--out", str(tmp_path)]) == 0
    assert len(Recorder.handed) > 1 and (tmp_path / "tiny.csv").exists()


def test_a_cluster_that_does_not_answer_is_one_sentence(monkeypatch):
    ray = SimpleNamespace(is_initialized=lambda: False, init=pytest.fail)  # it would wait more than a minute, and end Python
    monkeypatch.setitem(sys.modules, "ray", ray)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        check_ray_address_reachable(address)
        check_ray_address_reachable(f"ray://{address}")
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(ExperimentError, match=rf"^No Ray cluster answers at {address}, .* unset RAY_ADDRESS\.$"):
        next(RayTaskRunner()([None]))
    for left_to_ray in ("", "auto", "local", "nonsense"):
        check_ray_address_reachable(left_to_ray)


def test_a_cell_asks_for_what_a_machine_has():
    small, large, two_gpus = {"CPU": 4.0}, {"CPU": 16.0, "memory": 1e9}, {"CPU": 24.0, "GPU": 2.0}
    assert cores_and_gpus([small, large], one_thread=True) == (1, 0) and cores_and_gpus([small, large], one_thread=False) == (4, 0)
    assert cores_and_gpus([{"CPU": 0.0}, small, two_gpus], one_thread=False) == (12, 1)
    assert cores_and_gpus([{"CPU": 0.0}, {}], one_thread=False) == (1, 0), "a cluster that has yet to grow"
    assert describe_machines([]) == {} and describe_machines([{"cores": 2}, {"cores": 2}]) == {"cores": 2}
    assert describe_machines([{"cpu": "A", "cores": 2}, {"cpu": "B", "cores": 2}]) == {"cpu": "A, B", "cores": 2}


@pytest.fixture
def two_workers():
    """A cluster of two machines with a core each, both here."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    RayTaskRunner()  # as the shell does first: it sets what Ray reads
    cluster = Cluster(True, True, head_node_args={"num_cpus": 1, "include_dashboard": False}, shutdown_at_exit=False)
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    yield ray
    ray.shutdown()
    cluster.shutdown()


def kill_one_at_work(killed: list[tuple[str, int, int]]) -> None:
    """The first process that is met training between two of its checkpoints: (its run, its id, the step)."""
    end = time.monotonic() + 120
    while not killed and time.monotonic() < end:
        for folder in run_folder.all_runs():
            if (
                (said := run_folder.read_status_and_check_alive(folder))["state"] == "running"
                and said["step"] > 30
                and folder.has_checkpoint
            ):
                os.kill(said["pid"], signal.SIGKILL)
                killed.append((folder.id, said["pid"], said["step"]))
                return
        time.sleep(0.01)


@pytest.mark.slow  # a cluster takes seconds to start, each worker some to import torch
def test_a_killed_worker_changes_nothing(tiny, tmp_path, monkeypatch, two_workers):
    longer, killed = replace(tiny, base=lambda quick: LONG), []
    watch = threading.Thread(target=kill_one_at_work, args=(killed,))
    watch.start()
    on_ray = RayTaskRunner()
    spread = run_experiment.run_experiment(
        longer, True, tmp_path / "ray", on_progress=lambda line: None, run_tasks=on_ray, hardware=on_ray.hardware
    ).read_bytes()
    watch.join()
    assert killed, "no worker was met at work"
    pids = {run_folder.read_status_and_check_alive(folder)["pid"] for folder in run_folder.all_runs()}
    assert os.getpid() not in pids and killed[0][1] not in pids and len(pids) >= 2
    monkeypatch.setattr(run_folder, "RUNS_FOLDER", tmp_path / "alone")
    assert run_experiment.run_experiment(longer, True, tmp_path / "here", on_progress=lambda line: None).read_bytes() == spread

    # what stops a cell is said as it is by itself, and what was measured is whole
    once = replace(longer, seeds=1)
    run_experiment.run_experiment(once, True, tmp_path / "more", on_progress=lambda line: None)
    monkeypatch.setattr(run_folder, "RUNS_FOLDER", tmp_path / "blocked")
    run_folder.RUNS_FOLDER.mkdir()
    (run_folder.RUNS_FOLDER / "tiny-quick-first-100").write_text("no folder", encoding="utf-8")
    with pytest.raises(ExperimentError, match=r"on Ray: .*tiny-quick-first-100"):
        run_experiment.run_experiment(longer, True, tmp_path / "again", on_progress=lambda line: None, run_tasks=on_ray)

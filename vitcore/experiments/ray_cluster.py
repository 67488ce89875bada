"""The same cells on a Ray cluster: Ray places them, and starts a cell again whose worker died; its run goes on where it was.

Runs and photos must lie where every worker finds them: on one machine they do, past one give `VITCORE_RUNS` and `--data` in
a folder that all share. Which cluster is Ray's own business: the one of `RAY_ADDRESS`, the one that runs on this machine, else
one that is started here on all its cores.
"""

import logging
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import vitcore
from vitcore.errors import first_error_line
from vitcore.experiments import results_csv
from vitcore.experiments.experiment import ExperimentError
from vitcore.experiments.results_csv import MeasurementRow
from vitcore.experiments.run_experiment import TrainingTask, train_task

MAX_TRIES = 5  # of a cell whose worker dies
PACKAGE_ROOT = str(Path(vitcore.__file__).resolve().parents[1])  # where workers of this machine find vitcore
RAY_ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0"}  # Ray would tell its makers
TIMEOUT_S = 5  # at the address of a cluster; Ray itself asks for more than a minute, and then ends the process
FORWARDED_VARIABLES = ("VITCORE_DATA", "VITCORE_MODELS", "VITCORE_PRECISION")  # what a worker must know of this process


class RayTaskRunner:
    """Runs tasks on Ray: `run_experiment(…, run_tasks=on_ray, hardware=on_ray.hardware)`, `on_ray = RayTaskRunner()`.

    Raises: ExperimentError, without Ray.
    """

    def __init__(self) -> None:
        os.environ.update(RAY_ENVIRONMENT)
        try:
            import ray
        except ImportError:
            raise ExperimentError("Ray is not installed: pip install ray.") from None
        self.ray = ray
        self.machines: list[dict[str, Any]] = []

    def hardware(self) -> dict[str, Any]:
        """Of the machines that cells ran on; as here, where none did."""
        return describe_machines(self.machines) or results_csv.describe_hardware()

    def __call__(self, tasks: Sequence[TrainingTask]) -> Iterator[tuple[TrainingTask, list[MeasurementRow]]]:
        """Each task with its rows as it is finished, in any order.

        Raises: ExperimentError; KeyboardInterrupt, when a run was stopped.
        """
        if not tasks:
            return
        ray, mine = self.ray, not self.ray.is_initialized()
        if mine:
            self._join()
        left: list[Any] = []
        try:
            refs = self._sent(tasks)
            left = list(refs)
            while left:
                (ready,), left = ray.wait(left)
                machine, new = ray.get(ready)
                self.machines.append(machine)
                yield refs[ready], new
        except ray.exceptions.TaskCancelledError:  # Ray's word for KeyboardInterrupt: somebody stopped the run
            raise KeyboardInterrupt from None
        except ray.exceptions.RayError as error:
            reason = first_error_line(getattr(error, "cause", None) or error)
            raise ExperimentError("a cell failed on Ray: {reason}", reason=reason) from None
        finally:
            for ref in left:
                ray.cancel(ref)
            if mine:
                ray.shutdown()

    def _join(self) -> None:
        check_ray_address_reachable(os.environ.get("RAY_ADDRESS", ""))
        known = {name: os.environ[name] for name in FORWARDED_VARIABLES if name in os.environ}
        known["PYTHONPATH"] = os.pathsep.join(("${PYTHONPATH}", PACKAGE_ROOT))  # Ray fills in the worker's own
        quiet: dict[str, Any] = {"log_to_driver": False, "include_dashboard": False, "logging_level": logging.WARNING}
        try:
            self.ray.init(runtime_env={"env_vars": known | RAY_ENVIRONMENT}, **quiet)
        except (OSError, RuntimeError, ValueError, SystemExit) as error:
            raise ExperimentError("Ray did not start: {reason}", reason=first_error_line(error)) from None

    def _sent(self, every: Sequence[TrainingTask]) -> dict[Any, TrainingTask]:
        """Each task by what Ray knows it by; those that others go on from come first in `every`."""
        cores, gpus = cores_and_gpus([n["Resources"] for n in self.ray.nodes() if n["Alive"]], every[0].one_thread)
        work: Any = self.ray.remote(num_cpus=cores, num_gpus=gpus, max_retries=MAX_TRIES)(_train)
        by_key: dict[tuple[str, int], Any] = {}
        for task in every:
            by_key[task.row_key] = work.remote(task, by_key.get((task.cell.continues_cell, task.seed)))
        return {by_key[task.row_key]: task for task in every}


def check_ray_address_reachable(address: str) -> None:
    """Raises: ExperimentError, where nothing answers at `host:port` or `ray://host:port`; any other address is Ray's to judge."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT_S).close()
    except (OSError, OverflowError) as error:
        raise ExperimentError(
            "No Ray cluster answers at {address}, the address in RAY_ADDRESS ({reason}): start one there, or unset RAY_ADDRESS.",
            address=address, reason=first_error_line(error),
        ) from None  # fmt: skip


def cores_and_gpus(machines: Sequence[Mapping[str, float]], one_thread: bool) -> tuple[int, int]:
    """(cores, GPUs) of a cell: a GPU with its share of the cores, where there are any; else a machine, or a core if one counts."""
    with_gpu = [one for one in machines if one.get("GPU", 0) >= 1]
    gpus = 1 if with_gpu else 0
    shares = [int(one.get("CPU", 0) // max(1, one.get("GPU", 0))) for one in with_gpu or machines]
    return 1 if one_thread else max(1, min((share for share in shares if share), default=1)), gpus


def describe_machines(machines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the machines have in common, and where they differ each that there is, named once."""
    different = {name: list(dict.fromkeys(one[name] for one in machines)) for one in machines for name in one}
    return {name: each[0] if len(each) == 1 else ", ".join(map(str, each)) for name, each in different.items()}


def _train(task: TrainingTask, before: Any) -> tuple[dict[str, Any], list[MeasurementRow]]:
    """On a worker; `before` is only waited for."""
    return results_csv.describe_hardware(), train_task(task)

"""The same cells on a Ray cluster: Ray places them, and starts a cell again whose worker died; its run goes on where it was.

The runs must lie where every worker finds them: on one machine they do, past one give VITCORE_RUNS a shared folder. Which cluster
is Ray's own business: the one of RAY_ADDRESS, else one that is started here on all cores.
"""

from collections.abc import Iterator
from typing import Any

from vitcore.errors import first_line
from vitcore.experiments.experiment import ExperimentError
from vitcore.experiments.rows import Row
from vitcore.experiments.running import Task, train
from vitcore.translation import say

TRIES = 5  # of a cell whose worker dies


def on_ray(every: list[Task]) -> Iterator[tuple[Task, list[Row]]]:
    """Each task with its rows as it is finished, in any order. Raises: ExperimentError, without Ray, or when a cell failed."""
    try:
        import ray
    except ImportError:
        raise ExperimentError(say("Ray is not installed: pip install ray.")) from None
    import torch

    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)
    gpus = 1 if torch.cuda.is_available() else 0
    cores = 1 if gpus or (every and every[0].one_thread) else max(1, int(ray.cluster_resources().get("CPU", 1)))
    work: Any = ray.remote(num_cpus=cores, num_gpus=gpus, max_retries=TRIES)(_train)
    refs: dict[Any, Task] = {}
    by_key: dict[tuple[str, int], Any] = {}
    for task in every:  # those that others go on from come first
        before = by_key.get((task.cell.after, task.seed))
        ref = work.remote(task, before)
        refs[ref], by_key[task.done_by] = task, ref
    left = list(refs)
    try:
        while left:
            (ready,), left = ray.wait(left)
            yield refs[ready], ray.get(ready)
    except (ray.exceptions.RayError, OSError) as error:
        reason = first_line(getattr(error, "cause", None) or error)
        raise ExperimentError(say("a cell failed on Ray: {reason}", reason=reason)) from None


def _train(task: Task, before: Any) -> list[Row]:
    """On a worker; `before` is only waited for."""
    return train(task)

"""The largest batch that fits into so much memory: found by trying, in a process of its own."""

import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from vitcore.models.model_cards import ModelError
from vitcore.profiling.process_memory import is_out_of_memory, process_memory_mb
from vitcore.profiling.profiled_model import ModelSource, build_profiled_model

RELATIVE_PRECISION = 0.05  # the largest batch is found to so much of itself
GB = 2**30
PACKAGE_ROOT = Path(__file__).parents[2]  # where the package is


def search_largest_batch(fits: Callable[[int], bool], precision: float = RELATIVE_PRECISION) -> int:
    """The largest batch for which `fits` says yes, to within `precision` of itself; 0 where one image does not fit."""
    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > max(1, precision * low):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def largest_batch(
    model: ModelSource, memory_gb: float, px: int | None = None, training: bool = False, precision: str = "fp32"
) -> int:
    """The largest batch of a model's pass that fits into `memory_gb` beside the program itself, weights counted in.

    Tried in a process of its own, whose memory the system limits (on CUDA: torch's share of the chip).
    Raises: ModelError, where the system sets no such limits, or for a name that is none.
    """
    if not torch.cuda.is_available() and sys.platform != "linux":
        raise ModelError("This system does not limit a process's memory, so the largest batch can't be looked for.")
    what = json.dumps([model, memory_gb, px, training, precision], default=str)
    done = subprocess.run(
        [sys.executable, "-m", "vitcore.profiling.largest_batch", what],
        stdout=subprocess.PIPE, text=True, encoding="utf-8", check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in (str(PACKAGE_ROOT),
        os.environ.get("PYTHONPATH")) if path)},
    )  # fmt: skip
    try:
        answer: int | str = json.loads(done.stdout)
    except ValueError:
        raise ModelError("The process that looked for the largest batch ended before it had an answer.") from None
    if isinstance(answer, str):
        raise ModelError(answer)
    return answer


def batch_fits_function(
    model: ModelSource, memory_gb: float, px: int | None, training: bool, precision: str
) -> Callable[[int], bool]:
    """Whether a batch fits into `memory_gb` beyond what this process had before there was a model, as a function of its size.

    On a CPU each batch is tried in a copy of this process, so that nothing an earlier one left behind counts.
    """
    from vitcore.profiling.throughput import MeasuredDevice, make_model_pass

    kind, threads = "cuda" if torch.cuda.is_available() else "cpu", torch.get_num_threads()
    if kind == "cpu":
        torch.set_num_threads(1)  # a copy has none of the threads that are waiting for work
    before = int((process_memory_mb("VmData") or 0) * 2**20)
    _, module, image_px = build_profiled_model(model, px)
    run = make_model_pass(module, image_px, MeasuredDevice(kind, kind, precision, threads, 0.0), training)
    run(1)  # whatever is wrong with the model itself is said here
    if kind == "cuda":
        torch.cuda.set_per_process_memory_fraction(min(1.0, memory_gb * GB / torch.cuda.mem_get_info()[1]))
        return lambda batch: _fits(run, batch)

    def fits(batch: int) -> bool:
        copy = multiprocessing.get_context("fork").Process(target=_try, args=(run, batch, threads, before + int(memory_gb * GB)))
        copy.start()
        copy.join()
        return copy.exitcode == 0

    return fits


def _try(run: Callable[[int], None], batch: int, threads: int, most: int) -> None:
    """Run a batch in this process, which may have `most` bytes, and end it with 0 if that went well."""
    import resource

    torch.set_num_threads(threads)
    resource.setrlimit(resource.RLIMIT_DATA, (most, resource.RLIM_INFINITY))
    os._exit(0 if _fits(run, batch) else 1)


def _fits(run: Callable[[int], None], batch: int) -> bool:
    try:
        run(batch)
    except (RuntimeError, MemoryError):  # of the allocator, or of a library that got nothing from it
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return False
    return True


def _search_for_batch(model: ModelSource, memory_gb: float, px: int | None, training: bool, precision: str) -> int | str:
    """The largest batch, or why it can't be looked for."""
    try:
        return search_largest_batch(batch_fits_function(model, memory_gb, px, training, precision))
    except ModelError as error:
        return str(error)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return 0  # not even the weights


if __name__ == "__main__":
    print(json.dumps(_search_for_batch(*json.loads(sys.argv[1]))))

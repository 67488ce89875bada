"""Many photos over several processes: each takes every W-th block of them, and all know what all found, in the order of the photos.

`torchrun --nproc_per_node W -m vitcore …` starts the processes; Hugging Face accelerate lets them speak. What is then
added up is added in the same order as by one process, so the result is the same to the bit.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def distributed_map(items: Sequence[T], function: Callable[[Sequence[T]], Iterable[R]], block: int = 1) -> list[R]:
    """One result of every item, in their order, in every process; results travel between processes, so keep them small.

    `function` gives the results of a process's own items: blocks of `block` items, every W-th, so that what is computed a block
    at a time is the same for any number of processes.
    """
    state = _processes()
    rank, world = (state.process_index, state.num_processes) if state else (0, 1)
    mine = [i for i in range(len(items)) if i // block % world == rank]
    done = list(zip(mine, function([items[i] for i in mine]), strict=True))
    if state:
        from accelerate.utils import gather_object

        done = gather_object(done)
    return [result for _, result in sorted(done, key=lambda pair: pair[0])]


def is_main_process() -> bool:
    """Whether this process prints and writes: the only one, or the first of several."""
    state = _processes()
    return not state or bool(state.is_main_process)


def _processes() -> Any:
    """accelerate's state where a launcher started several processes, on their CPUs; None for one process."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return None
    from accelerate import PartialState

    return PartialState(cpu=True)

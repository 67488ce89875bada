"""A measurement in a process of its own, told line by line as JSON: `python -m vitcore.profiling.profile_subprocess ORDER`.

Lines are {"batch": n} before a size is timed, {"profile": …, "device": …} whenever it has grown, {"looking": GB} before the
largest batch is looked for, and {"problem": …} (`vitcore.translation.sentence_as_json`) where something ends it or only that.
"""

import dataclasses
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vitcore.errors import first_error_line
from vitcore.models.model_cards import ModelError
from vitcore.profiling import largest_batch, throughput
from vitcore.profiling.profiled_model import ModelSource
from vitcore.profiling.throughput import BATCH_SIZES, BatchThroughput, MeasuredDevice, ThroughputProfile
from vitcore.translation import sentence_as_json

Line = dict[str, Any]


@dataclass(frozen=True)
class ProfileOrder:
    """What to measure of which model; without `memory_gb` no largest batch is looked for."""

    model: ModelSource
    training: bool = False
    batches: Sequence[int] = BATCH_SIZES
    memory_gb: float = 0.0


def run_profile_order(order: ProfileOrder, on_line: Callable[[Line], None]) -> None:
    """Measure; `on_line` is given each line as it comes about."""
    try:
        on = throughput.measure_device()
        whole: ThroughputProfile
        for whole in throughput.iterate_throughput(
            order.model, on, batches=order.batches, training=order.training, on_batch_size=lambda batch: on_line({"batch": batch})
        ):
            on_line(_profile(on, whole))
        if order.memory_gb:
            on_line({"looking": order.memory_gb})
            most = largest_batch.largest_batch(order.model, order.memory_gb, training=order.training, precision=on.precision)
            on_line(_profile(on, dataclasses.replace(whole, largest_batch=most, memory_gb=order.memory_gb)))
    except ModelError as error:
        on_line({"problem": sentence_as_json(error)})
    except (RuntimeError, MemoryError, OSError) as error:
        on_line({"problem": first_error_line(error)})


def _profile(on: MeasuredDevice, one: ThroughputProfile) -> Line:
    return {"device": dataclasses.asdict(on), "profile": dataclasses.asdict(one)}


def parse_profile(line: Line) -> tuple[MeasuredDevice, ThroughputProfile]:
    """What a line with a profile says."""
    one = dict(line["profile"])
    speeds = tuple(BatchThroughput(**speed) for speed in one.pop("speeds"))
    return MeasuredDevice(**line["device"]), ThroughputProfile(**one | {"image_px": tuple(one["image_px"]), "speeds": speeds})


if __name__ == "__main__":
    run_profile_order(ProfileOrder(**json.loads(sys.argv[1])), lambda line: print(json.dumps(line), flush=True))

"""A measurement in a process of its own, told line by line as JSON: `python -m vitcore.profiling.profile_subprocess ORDER`.

Lines are {"batch": n} before a size is timed, {"profile": …, "device": …} whenever it has grown, {"looking": GB} before the
largest batch is looked for, and {"problem": …} (`vitcore.translation.parts`) where something ends it or only that.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vitcore.errors import first_line
from vitcore.models.model_cards import ModelError
from vitcore.profiling import largest_batch, throughput
from vitcore.profiling.profiled_model import Asked
from vitcore.profiling.throughput import BATCHES, Device, Profile, Speed
from vitcore.translation import parts

Line = dict[str, Any]


@dataclass(frozen=True)
class Order:
    """What to measure of which model; without `memory_gb` no largest batch is looked for."""

    asked: Asked
    training: bool = False
    batches: Sequence[int] = BATCHES
    memory_gb: float = 0.0


def tell(order: Order, line: Callable[[Line], None]) -> None:
    """Measure; `line` is given each line as it comes about."""
    try:
        on = throughput.device()
        whole: Profile
        for whole in throughput.growing(
            order.asked, on, batches=order.batches, training=order.training, told=lambda batch: line({"batch": batch})
        ):
            line(_profile(on, whole))
        if order.memory_gb:
            line({"looking": order.memory_gb})
            most = largest_batch.largest_batch(
                order.asked, order.memory_gb, training=order.training, precision=on.precision
            )
            line(_profile(on, dataclasses.replace(whole, largest_batch=most, memory_gb=order.memory_gb)))
    except ModelError as error:
        line({"problem": parts(error)})
    except (RuntimeError, MemoryError, OSError) as error:
        line({"problem": first_line(error)})


def _profile(on: Device, one: Profile) -> Line:
    return {"device": dataclasses.asdict(on), "profile": dataclasses.asdict(one)}


def measured(line: Line) -> tuple[Device, Profile]:
    """What a line with a profile says."""
    one = dict(line["profile"])
    speeds = tuple(Speed(**speed) for speed in one.pop("speeds"))
    return Device(**line["device"]), Profile(**one | {"image_px": tuple(one["image_px"]), "speeds": speeds})


if __name__ == "__main__":
    tell(Order(**json.loads(sys.argv[1])), lambda line: print(json.dumps(line), flush=True))

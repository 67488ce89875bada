"""Measurements of speed: one at a time on this server, each in a process of its own, kept by model and by what it does.

The process is the shell's `vitcore profile` told line by line (`vitcore.profiling.profile_subprocess`); a thread reads what
it says. Numbers of the last few models are kept until the server ends.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from subprocess import DEVNULL, PIPE, Popen
from typing import TYPE_CHECKING, Any

from app import permissions
from app.state.model_ref import ModelRef
from app.state.models import uploaded_model
from app.state.training import run_status
from app.state.training.training_processes import process_environment
from vitcore.translation import say, sentence_as_json, sentence_from_json

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit
    from vitcore.profiling.profile_subprocess import ProfileOrder
    from vitcore.profiling.throughput import MeasuredDevice, ThroughputProfile

MAX_KEPT = 32  # measurements that are kept
Key = tuple[str, bool]  # what the model is kept under, and whether it is trained


@dataclass(eq=False)
class SpeedMeasurement:
    """One measurement, under way or ended; `profile` grows with every batch size."""

    title: str  # of the model
    sizes: Sequence[int]  # the batches that were asked for, the smallest first
    batch: int = 0  # that is timed now
    search_memory_gb: float = 0.0  # into which the largest batch is looked for now
    device: MeasuredDevice | None = None
    profile: ThroughputProfile | None = None
    problem_parts: Any = None  # of what went wrong: `vitcore.translation.sentence_as_json`
    is_running: bool = True
    stopped: bool = False
    process: Popen[str] | None = None

    @property
    def done_count(self) -> int:
        """How many batch sizes are timed."""
        return len(self.profile.speeds) if self.profile else 0

    @property
    def seconds_left(self) -> float | None:
        """About how long the batches that are left take, at the rate of the last one; None before there is one."""
        from vitcore.profiling.throughput import LEAST_CALLS, SECONDS_PER_BATCH_SIZE

        if not self.profile or not self.done_count:
            return None
        passes = [size / self.profile.speeds[-1].images_per_s for size in self.sizes[self.done_count :]]
        return sum(one + max(SECONDS_PER_BATCH_SIZE, LEAST_CALLS * one) for one in passes)  # the first warms up

    @property
    def problem(self) -> str:
        """What went wrong, in the reader's language; nothing where all went well."""
        return sentence_from_json(self.problem_parts) if self.problem_parts else ""


_measurements: dict[Key, SpeedMeasurement] = {}  # oldest first
_starting = threading.Lock()


def last_measurement(vit: Vit, training: bool) -> SpeedMeasurement | None:
    return _measurements.get((vit.name, training))


def running_measurement() -> SpeedMeasurement | None:
    return next((one for one in _measurements.values() if one.is_running), None)


def has_gpu() -> bool:
    """Whether this machine has a GPU."""
    import torch

    return torch.cuda.is_available()


def start_measurement(vit: Vit, training: bool, batches: list[int], memory_gb: float) -> None:
    """Measure, unless a measurement is under way: two at once would each slow the other. Raises: NotAllowedError; OSError."""
    permissions.require_allowed("measurements")
    from vitcore.profiling.profile_subprocess import ProfileOrder

    order = ProfileOrder(_model_source(vit), training, batches, memory_gb)
    with _starting:
        if running_measurement() is not None:
            return
        measurement = SpeedMeasurement(vit.card.title, batches)
        measurement.process = _start_process(order)
        _measurements.pop((vit.name, training), None)
        _measurements[vit.name, training] = measurement
        while len(_measurements) > MAX_KEPT:
            del _measurements[next(iter(_measurements))]
    threading.Thread(target=_read_output, args=(measurement,), daemon=True).start()


def stop_measurement() -> None:
    """End the measurement that is under way; what was measured stays. Raises: NotAllowedError."""
    permissions.require_allowed("measurements")
    _end_process()


def _model_source(vit: Vit) -> Any:
    """What a process opens that model by: `vitcore.profiling.profiled_model.ModelSource`."""
    ref = ModelRef.parse(vit.name)
    model = uploaded_model.current_uploaded_model() if ref.name == uploaded_model.MODEL_ID else None
    if model is not None and model.options is not None:
        return {"path": str(model.path), "part": model.part, "called": model.title} | asdict(model.options) | {"labels": None}
    return str(run_status.run_model_folder(ref.name)) if ref.checkpoint else vit.name


def _start_process(order: ProfileOrder) -> Popen[str]:
    command = [sys.executable, "-m", "vitcore.profiling.profile_subprocess", json.dumps(asdict(order))]
    apart: dict[str, Any] = {} if sys.platform == "win32" else {"start_new_session": True}  # ends with those it starts
    return Popen(command, env=process_environment(), stdin=DEVNULL, stdout=PIPE,
                 stderr=DEVNULL, text=True, encoding="utf-8", **apart)  # fmt: skip


def _read_output(measurement: SpeedMeasurement) -> None:
    """Take down what the process says, until it ends."""
    from vitcore.profiling.profile_subprocess import parse_profile

    assert measurement.process is not None and measurement.process.stdout is not None
    with measurement.process.stdout as lines:
        for text in lines:
            with suppress(ValueError):  # a line of some library's
                line = json.loads(text)
                measurement.batch, measurement.search_memory_gb = (line.get("batch", measurement.batch), line.get("looking", 0.0))
                measurement.problem_parts = line.get("problem", measurement.problem_parts)
                if "profile" in line:
                    measurement.device, measurement.profile = parse_profile(line)
    code = measurement.process.wait()
    if code and not measurement.stopped and not measurement.problem_parts:
        measurement.problem_parts = sentence_as_json(say("The process that measured ended before it was done."))
    measurement.process, measurement.is_running = None, False


@atexit.register
def _end_process() -> None:
    measurement = running_measurement()
    process = measurement.process if measurement else None
    if measurement is None or process is None or process.poll() is not None:
        return
    measurement.stopped = True
    with suppress(OSError):
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, signal.SIGTERM)

"""Images a second over batch sizes, and the limit that the device's own matrix products set (Figure 12 of the paper).

    profiled = profile("ViT-B/16", batches=(1, 8, 32))
    profiled.speeds[0].images_per_s, profiled.limit_images_per_s

Weights are random: speed does not ask what a model knows.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from vitcore.architectures.model_summary import to_meta_device
from vitcore.models.model_cards import ModelError
from vitcore.profiling.process_memory import PeakMemoryWatch, is_out_of_memory
from vitcore.profiling.profiled_model import ModelSource, build_profiled_model
from vitcore.train.learning.optimiser_and_weight_average import uses_bf16_on_this_machine
from vitcore.train.processor_and_memory import processor_name
from vitcore.translation import say

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)
SECONDS_PER_BATCH_SIZE = 1.0  # a batch size is timed for about as long
LEAST_CALLS = 3  # however long they take
MATRIX_SIDE = 2048  # of the square matrices by which a device is judged


@dataclass(frozen=True)
class MeasuredDevice:
    """What computes, in which precision, and how many operations a second its matrix products reach (two a MAC)."""

    name: str
    kind: str  # "cpu" or "cuda"
    precision: str  # "fp32" or "bf16"
    threads: int
    flop_per_s: float

    @property
    def description(self) -> str:
        """All of it in the reader's language."""
        facts = {"name": self.name, "precision": self.precision, "rate": f"{self.flop_per_s / 1e9:.4g}"}
        if self.kind != "cpu":
            return say("{name}, {precision}: {rate} GFLOP/s in matrix products", **facts)
        return say(
            "{name}, {threads} {threads:thread|threads}, {precision}: {rate} GFLOP/s in matrix products", threads=self.threads,
            **facts,
        )  # fmt: skip


@dataclass(frozen=True)
class BatchThroughput:
    """A batch size: the median of several passes, and the most memory one took beyond what the process had, where known."""

    batch: int
    images_per_s: float
    memory_mb: float | None


@dataclass(frozen=True)
class ThroughputProfile:
    """One model on one device; `limit_images_per_s` is the device's rate over the model's operations."""

    name: str
    image_px: tuple[int, int]
    params: int
    flop_per_image: float
    training: bool
    limit_images_per_s: float
    speeds: tuple[BatchThroughput, ...]
    too_large: int | None = None  # the first batch size that did not fit
    largest_batch: int | None = None
    memory_gb: float | None = None  # in which `largest_batch` was looked for


def measure_device(precision: str = "auto") -> MeasuredDevice:
    """This machine's GPU, else its CPU, with the rate of its matrix products measured; takes a second."""
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if kind == "cuda" else processor_name()
    bf16 = uses_bf16_on_this_machine(precision)
    dtype = torch.bfloat16 if bf16 else torch.float32
    one, other = (torch.randn(MATRIX_SIDE, MATRIX_SIDE, device=kind).to(dtype) for _ in range(2))
    best = min(_seconds_per_call(lambda: one @ other, kind, SECONDS_PER_BATCH_SIZE / 2))
    return MeasuredDevice(name, kind, "bf16" if bf16 else "fp32", torch.get_num_threads(), 2 * MATRIX_SIDE**3 / best)


def profile_throughput(
    model: ModelSource, device: MeasuredDevice | None = None, px: int | None = None, batches: Sequence[int] = BATCH_SIZES,
    training: bool = False,
    seconds: float | None = None, on_batch_size: Callable[[int], None] = lambda batch: None,
) -> ThroughputProfile:  # fmt: skip
    """Time a model of any name of the paper or of timm, a run or a file; `on_batch_size` hears of each batch size before it is
    timed.

    A batch that does not fit ends the row. Raises: ModelError, for a name that is none, or a batch below 1.
    """
    *_, whole = iterate_throughput(model, device, px, batches, training, seconds, on_batch_size)
    return whole


def iterate_throughput(
    model: ModelSource, device: MeasuredDevice | None = None, px: int | None = None, batches: Sequence[int] = BATCH_SIZES,
    training: bool = False,
    seconds: float | None = None, on_batch_size: Callable[[int], None] = lambda batch: None,
) -> Iterator[ThroughputProfile]:  # fmt: skip
    """The throughput profile as it grows: before any batch size is timed, and after each."""
    seconds = SECONDS_PER_BATCH_SIZE if seconds is None else seconds
    if not batches or min(batches) < 1:
        raise ModelError("A batch holds one image or more.")
    device, watch = device or measure_device(), PeakMemoryWatch()
    called, module, image_px = build_profiled_model(model, px)
    flop = _count_operations(module, image_px, training)
    params = sum(p.numel() for p in module.parameters())
    run = make_model_pass(module, image_px, device, training)
    so_far = ThroughputProfile(called, image_px, params, flop, training, device.flop_per_s / flop, ())
    yield so_far
    for batch in sorted(set(batches)):
        on_batch_size(batch)
        try:
            with watch as used:
                run(batch)  # the first pass of a size also warms up
                median = statistics.median(_seconds_per_call(lambda batch=batch: run(batch), device.kind, seconds))  # type: ignore[misc]
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            yield replace(so_far, too_large=batch)
            return
        so_far = replace(so_far, speeds=(*so_far.speeds, BatchThroughput(batch, batch / median, used.peak_mb)))
        yield so_far


def _count_operations(module: nn.Module, image_px: tuple[int, int], training: bool = False) -> float:
    """What torch's FlopCounterMode counts in one image's pass, matrix products and convolutions, on the meta device."""
    model = to_meta_device(module).train(training).requires_grad_(training)
    with FlopCounterMode(display=False) as counter, torch.set_grad_enabled(training), torch.device("meta"):
        answer: Tensor = model(torch.empty(1, 3, *image_px))
        if training:
            answer.square().mean().backward()
    return float(counter.get_total_flops())


def make_model_pass(module: nn.Module, image_px: tuple[int, int], device: MeasuredDevice, training: bool) -> Callable[[int], None]:
    """A function of the batch size that runs the model once over noise: forward, and backward where it is trained."""
    module.to(device.kind).train(training)

    def autocast() -> AbstractContextManager[Any]:
        return torch.autocast(device.kind, torch.bfloat16, enabled=device.precision == "bf16")

    def run(batch: int) -> None:
        pixels = torch.randn(batch, 3, *image_px, device=device.kind)
        with torch.set_grad_enabled(training), autocast():
            answer: Tensor = module(pixels)
        if training:
            answer.float().square().mean().backward()
            module.zero_grad(set_to_none=True)

    return run


def _seconds_per_call(run: Callable[[], Any], kind: str, seconds: float) -> list[float]:
    """Seconds of each of at least `LEAST_CALLS` calls, for about `seconds` in all."""
    taken: list[float] = []
    while len(taken) < LEAST_CALLS or (sum(taken) < seconds and len(taken) < 100):
        begun = time.perf_counter()
        run()
        if kind == "cuda":
            torch.cuda.synchronize()
        taken.append(time.perf_counter() - begun)
    return taken

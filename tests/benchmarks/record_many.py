"""Benchmark: `record_many` against plain timm in batches of 32, both with the faster linear layers, and its memory.

Run `python tests/benchmarks/record_many.py [--photos 64] [--pairs 5] [--stream 10000]`. Ways are timed in turn, A B C A B C …, on
pixels that are there already; ratios are medians of pair by pair, of wall time and of CPU time (a machine that others use tells
the truth in CPU time alone). The bar: 1.1. The stream is of tiny photos through a tiny model: recordings alive at once, and
how far resident memory rises between its tenth part and its end.
"""

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

import vitcore
from vitcore.forward.onednn_linear import onednn_is_faster, with_faster_modules
from vitcore.forward.recording import Recording, record, to_model_input
from vitcore.forward.recordings.record_many import BATCH, record_many

BAR = 1.1


def random_model(name: str, **shape: object) -> vitcore.Vit:
    """Speed does not depend on the weights."""
    import timm

    torch.manual_seed(0)
    return vitcore.wrap(timm.create_model(name, **shape), name=name, mean=(0.5,) * 3, std=(0.5,) * 3)


def pixels_of(vit: vitcore.Vit, count: int) -> np.ndarray:
    """Noise of the model's size."""
    high, wide = vit.grid.image_px
    return np.random.default_rng(0).integers(0, 256, (count, high, wide, 3), np.uint8)


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of one run."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def ratios(vit: vitcore.Vit, photos: int, pairs: int) -> list[str]:
    """A row for each way: what it takes a photo, and over plain timm."""
    pixels = pixels_of(vit, photos)
    inputs, module = torch.cat([to_model_input(vit, one) for one in pixels]), with_faster_modules(vit.module)

    def plain() -> None:
        with torch.inference_mode():
            for some in inputs.split(BATCH):
                module(some)

    def many(*keep: str) -> Callable[[], object]:
        return lambda: [None for _ in record_many(vit, inputs, keep=keep, progress=False)]

    ways = {
        "plain timm, batches of 32": plain, "record_many: distances": many("distance_px"),
        "record_many: distances, rollout": many("distance_px", "rollout"),
        "record, one after another": lambda: [record(vit, one).rollout() for one in pixels],
    }  # fmt: skip
    ways["record_many: distances"]()  # once for nothing
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(pairs):
        for name, run in ways.items():
            times[name].append(timed(run))
    rows = []
    for name, taken in times.items():
        wall, cpu = (
            statistics.median(own[i] / base[i] for own, base in zip(taken, times["plain timm, batches of 32"], strict=True))
            for i in (0, 1)
        )
        rows.append(f"{name} | {1e3 * min(t for t, _ in taken) / photos:.1f} | {wall:.3f} | {cpu:.3f}")
    return rows


def resident_mb() -> float:
    """Resident memory of this process."""
    import psutil

    return psutil.Process().memory_info().rss / 2**20


def stream(count: int) -> str:
    """Recordings alive at once, and the rise of memory, over a stream of tiny photos."""
    vit = random_model("vit_tiny_patch16_224", img_size=32, patch_size=8, depth=3, embed_dim=24, num_heads=3)

    def photos() -> Iterator[np.ndarray]:
        for i in range(count):
            yield np.full((32, 32, 3), i % 256, np.uint8)

    early, most = 0.0, 0
    for one in record_many(vit, photos(), progress=False):
        if one.index == count // 10:
            early = resident_mb()
        if one.index % 1000 == 999:
            most = max(most, sum(type(it) is Recording for it in gc.get_objects()))
    return f"{count} photos: {most} recordings alive at most, memory {resident_mb() - early:+.1f} MB from a tenth to the end"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=int, default=2 * BATCH)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--stream", type=int, default=10_000)
    parser.add_argument("--models", nargs="*", default=["shipped", "vit_base_patch16_224"])
    args = parser.parse_args()
    print(
        f"Linear layers: {'oneDNN' if onednn_is_faster() else 'PyTorch'}'s choice; {torch.get_num_threads()} threads; bar {BAR}\n"
    )
    print("| model | way | ms a photo | wall / plain | CPU / plain |\n|---|---|---|---|---|")
    for name in args.models:
        for row in ratios(vitcore.load() if name == "shipped" else random_model(name), args.photos, args.pairs):
            print(f"| {name} | {row} |", flush=True)
    if args.stream:
        print(f"\n{stream(args.stream)}")


if __name__ == "__main__":
    main()

"""Benchmark: vitcore's numbers and time beside timm's, transformers', captum's, ViT-Prisma's and nnsight's, job by job.

Run `python tests/benchmarks/libraries.py [--times 5] [--model vit_tiny_patch16_224] [--px 224]`. All columns run the same random
weights. A cell says by how much the library's numbers differ from ours (of the largest, where that is above 1), and its time over
ours: processor's seconds, the median of ways timed in turn. "–": the library has no such function. A library that is not installed
is said so: `pip install captum nnsight vit-prisma` (vit-prisma wants an old plotly, so into an environment of its own).
"""

import argparse
import contextlib
import copy
import importlib.metadata
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parents[2]))

import vitcore
from tests.benchmarks.library_jobs import Job, activations, attributions, batches, interventions
from tests.benchmarks.library_models import COLUMNS, Bench, has, make_bench
from tests.pretend_device import pretend_device


def measure(job: Job, times: int) -> dict[str, str]:
    """A cell for us and for each library that is here."""
    ways = {"vitcore": job.ours, **{name: way for name, way in job.theirs.items() if has(name)}}
    first, cells = job.ours(), {}
    far: dict[str, float] = {}
    for name in [*ways][1:]:
        try:
            found = ways[name]()
            assert found.shape == first.shape, f"{tuple(found.shape)} is not {tuple(first.shape)}"
            far[name] = float((found - first).abs().max()) / max(1.0, float(first.abs().max()))
        except Exception as error:  # what fails there is told in its cell
            cells[name] = f"fails: {type(error).__name__}: {str(error).splitlines()[0][:80]}"
            del ways[name]
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(times):
        for name, way in ways.items():
            begun = time.process_time()
            way()
            took[name].append(time.process_time() - begun)
    mine = statistics.median(took["vitcore"])
    cells["vitcore"] = f"{1e3 * mine:.0f} ms"
    return cells | {name: f"{far[name]:.0e}, {statistics.median(took[name]) / mine:.2f}×" for name in far}


def devices(b: Bench) -> dict[str, dict[str, str]]:
    """Whether a pass that keeps activations runs on a device that only pretends, and in bfloat16."""
    rows: dict[str, dict[str, str]] = {}

    def passes(device: str, dtype: torch.dtype) -> dict[str, Callable[[], object]]:
        there = lambda module: copy.deepcopy(module).to(device, dtype)  # noqa: E731
        x = b.x.to(device, dtype)
        ways: dict[str, Callable[[], object]] = {
            "vitcore": lambda: vitcore.cache(b.vit.to(device=device, dtype=dtype), x)["pattern", 0].cpu(),
            "timm": lambda: there(b.vit.module).forward_intermediates(x, intermediates_only=True)[0].cpu(),
            "transformers": lambda: there(b.hf)(x, output_attentions=True).attentions[0].cpu(),
        }
        if has("captum"):
            from captum.attr import LayerActivation

            def by_captum() -> object:
                module = there(b.vit.module)
                return LayerActivation(module, module.blocks[0]).attribute(x).cpu()

            ways["captum"] = by_captum
        if b.hooked is not None:
            ways["ViT-Prisma"] = lambda: there(b.hooked).run_with_cache(x)[1]["blocks.0.attn.hook_pattern"].cpu()
        if b.traced is not None:
            ways["nnsight"] = lambda: traced_block(there(b.vit.module), x)
        return ways

    for title, device, dtype, context in (
        ("another device", "pretend", torch.float32, pretend_device), ("bfloat16", "cpu", torch.bfloat16, contextlib.nullcontext),
    ):  # fmt: skip
        with context():
            rows[title] = {name: outcome(way) for name, way in passes(device, dtype).items()}
    return rows


def traced_block(module: Any, x: Tensor) -> Tensor:
    from nnsight import NNsight

    model = NNsight(module)
    with model.trace(x):
        seen = model.blocks[0].output.save()
    return seen.cpu()


def outcome(way: Callable[[], object]) -> str:
    try:
        way()
    except Exception as error:  # told in the table
        return f"fails: {type(error).__name__}: {str(error).splitlines()[0][:80]}"
    return "runs"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--model", default="vit_tiny_patch16_224")
    parser.add_argument("--px", type=int, default=224)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    b = make_bench(args.model, args.px)
    for name, module in COLUMNS.items():
        version = (
            f"{importlib.metadata.version(module.replace('_', '-'))}" if has(name) else "not installed, so its column is empty"
        )
        print(f"{name}: {version}")
    columns = ["vitcore", *(name for name in COLUMNS if has(name))]
    print(f"\n{args.model} at {args.px} px, {torch.get_num_threads()} threads\n\n| job | {' | '.join(columns)} |")
    print("|---" * (len(columns) + 1) + "|")
    with torch.no_grad():
        for group in (activations, interventions, attributions, batches):
            for job in group(b):
                cells = measure(job, args.times)
                print(f"| {job.name} | {' | '.join(cells.get(one, '–') for one in columns)} |", flush=True)
        for title, cells in devices(b).items():
            print(f"| {title} | {' | '.join(cells.get(one, '–') for one in columns)} |", flush=True)


if __name__ == "__main__":
    main()

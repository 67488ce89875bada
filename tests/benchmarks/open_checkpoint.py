"""Benchmark: how long a checkpoint takes to open, and how much memory, beside timm's own `create_model` and `load_state_dict`.

Run `python tests/benchmarks/open_checkpoint.py [--pairs 7]`. Models have random weights and are saved as `.pth` and as
`.safetensors`, without a word of what they are. Both ways are timed by turns in one process, after one of each; memory is the
peak of a process of its own, less what it took before. The bars: 1.2 times timm's time, 1.3 times the file.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import vitcore

ROOT = Path(__file__).parents[2]
sys.path[0] = str(ROOT)
NAMES = ("vit_tiny_patch16_224", "vit_small_patch14_dinov2", "vit_base_patch16_224", "vit_large_patch16_224")
MB = 2**20


def save_models(folder: Path) -> list[tuple[str, Path]]:
    """timm's models with random weights, each in two files of its own."""
    import timm
    import torch
    from safetensors.torch import save_file

    saved = []
    for name in NAMES:
        state = timm.create_model(name).state_dict()
        torch.save(state, folder / f"{name}.pth")
        save_file(state, folder / f"{name}.safetensors")
        saved += [(name, folder / f"{name}.pth"), (name, folder / f"{name}.safetensors")]
    return saved


def open_ours(name: str, file: Path) -> object:
    """As a person opens a file that nobody has described; where its name tells nothing, photos of the gallery are asked."""
    with warnings.catch_warnings(action="ignore"):
        return vitcore.load(file)


def open_timms(name: str, file: Path) -> object:
    """As timm's user does, who knows the architecture."""
    import timm
    import torch
    from safetensors.torch import load_file

    model = timm.create_model(name)
    model.load_state_dict(load_file(file) if file.suffix == ".safetensors" else torch.load(file, weights_only=True))
    return model.eval()


def seconds(way: object, name: str, file: Path) -> float:
    start = time.perf_counter()
    way(name, file)  # type: ignore[operator]
    return time.perf_counter() - start


def added_mb(way: str, name: str, file: Path) -> float:
    """The peak of resident memory while a file is opened in a process of its own, above what it was after a first, tiny one."""
    code = f"from tests.benchmarks.open_checkpoint import print_added_mb; print_added_mb({way!r}, {name!r}, {str(file)!r})"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(run.stdout)


def print_added_mb(way: str, name: str, file: str) -> None:
    """Called in that process."""
    ways = {"ours": open_ours, "timm's": open_timms}
    small = Path(file).with_name(f"{NAMES[0]}{Path(file).suffix}")
    ways[way](NAMES[0], small)
    before = most = _now_mb()
    done = threading.Event()

    def look() -> None:
        nonlocal most
        while not done.wait(0.002):
            most = max(most, _now_mb())

    watch = threading.Thread(target=look)
    watch.start()
    kept = ways[way](name, Path(file))
    done.set()
    watch.join()
    print(max(most, _now_mb()) - before if kept else 0)


def _now_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MB


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7)
    args = parser.parse_args()
    print("| file | MB | timm's, s | ours, s | times | timm's memory, of the file | ours |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, file in save_models(Path(folder)):
            seconds(open_ours, name, file), seconds(open_timms, name, file)
            pairs = [(seconds(open_timms, name, file), seconds(open_ours, name, file)) for _ in range(args.pairs)]
            theirs, ours = (statistics.median(one) for one in zip(*pairs, strict=True))
            times = statistics.median(b / a for a, b in pairs)
            size = file.stat().st_size / MB
            memory = " | ".join(f"{added_mb(way, name, file) / size:.2f}" for way in ("timm's", "ours"))
            print(f"| {file.name} | {size:.0f} | {theirs:.2f} | {ours:.2f} | {times:.2f} | {memory} |", flush=True)


if __name__ == "__main__":
    main()

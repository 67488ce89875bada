"""Benchmark: how much memory a server takes while visitors open page after page through small and large models.

Run `python tests/benchmarks/memory.py [--visits 200] [--budget-gb 4] [--rounds 2] [--gradients]`. Models have random weights,
as memory does not ask what they know; visits are websocket connections to a server in this process, a third of them with a
photo of their own. The bar: budget + 1 GB, and a second round of the same visits adds less than 2 %.
"""

import argparse
import io
import logging
import os
import random
import sys
import threading
import time
from pathlib import Path

import vitcore

ROOT = Path(__file__).parents[2]
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path[0] = str(ROOT)
sys.path.insert(1, str(ROOT / "tests" / "app"))

MODELS = {  # each with the share of visits that look through it
    None: 4, "vit_base_patch16_384.augreg_in21k_ft_in1k": 2, "vit_large_patch16_224.augreg_in21k_ft_in1k": 2,
    "vit_small_patch14_dinov2.lvd142m": 2,
}  # fmt: skip
LARGEST = "vit_large_patch16_384.augreg_in21k_ft_in1k"
PAGES = ("", "story", "attention", "patches", "filters", "positions", "distance", "rollout")
OWN = 12  # photos that visitors bring, beside the 18 of the gallery
MB = 2**20


class Watch:
    """The memory of this process, and the most it was since somebody last asked."""

    def __init__(self) -> None:
        self.most = 0.0
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            self.most = max(self.most, now_mb())
            time.sleep(0.02)

    def peak(self) -> float:
        found, self.most = self.most, 0.0
        return found


def now_mb() -> float:
    """Resident memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MB


def random_models() -> None:
    """Models that need no download."""
    import torch

    from vitcore.models import load_model

    load = load_model.load

    def made(name: str) -> load_model.Vit:
        import timm  # after vitcore, which makes it work beside a CPU-only torch

        if "." not in str(name):
            return load(name)
        with torch.device("meta"):  # drawing 300 million normal numbers would take longer than all visits
            module = timm.create_model(name)
        noise = 0.02 * torch.randn(2**20)
        for p in module.to_empty(device="cpu").parameters():
            p.data = noise.repeat(p.numel() // len(noise) + 1)[: p.numel()].clone().view(p.shape)
        return vitcore.wrap(module, name=name)

    load_model.fetch_weights = lambda name, progress=None: Path(name)
    load_model.load = made


def own_photo(number: int) -> bytes:
    """A photo that nobody else has."""
    import numpy as np
    from PIL import Image

    file = io.BytesIO()
    pixels = np.random.default_rng(number).integers(0, 256, (90, 120, 3), np.uint8)
    Image.fromarray(pixels).resize((1600, 1200)).save(file, "JPEG")
    return file.getvalue()


def visits(address: str, count: int, watch: Watch) -> None:
    """The same visits whenever they are asked for."""
    from app_server import Visit

    from app.state.photos import sample_photos, uploaded_photo

    rng, names = random.Random(0), [row["id"] for row in sample_photos.sample_photo_rows()]
    for number in range(count):
        model = rng.choices(list(MODELS), list(MODELS.values()))[0]
        photo, page = rng.randrange(len(names) + OWN), rng.choice(PAGES)
        asked = {"photo": names[photo] if photo < len(names) else None, "model": model, "layer": rng.randrange(12)}
        query = "&".join(f"{key}={value}" for key, value in asked.items() if value is not None)
        visit = Visit(address)
        if photo >= len(names):
            visit.open("filters", query).upload("file", f"mine-{photo}.jpg", own_photo(photo))
            visit.open(page, f"{query}&photo={uploaded_photo.PHOTO_ID}")
        else:
            visit.open(page, query)
        assert "Traceback" not in visit.text
        visit.close()
        if number % 5 == 4:
            print(f"  {number + 1} visits, {now_mb():.0f} MB", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visits", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--budget-gb", type=float, default=4)
    parser.add_argument("--gradients", action="store_true", help=f"ask {LARGEST} for a class in the end")
    args = parser.parse_args()
    os.environ["INSIDE_VIT_MEMORY_GB"] = str(args.budget_gb)
    logging.disable(logging.WARNING)
    random_models()
    from app_server import Visit, served

    from app.state.memory import memory_cache

    watch, rows = Watch(), []
    with served() as address:
        Visit(address).open().close()
        rows.append(("one visit", now_mb(), watch.peak(), memory_cache.CACHE.bytes / MB))
        for turn in range(args.rounds):
            begun = time.perf_counter()
            visits(address, args.visits, watch)
            name = f"round {turn + 1}: {args.visits} visits, {time.perf_counter() - begun:.0f} s"
            rows.append((name, now_mb(), watch.peak(), memory_cache.CACHE.bytes / MB))
        if args.gradients:
            visit = Visit(address).open("rollout", f"model={LARGEST}&compare=true")
            visit.close()
            rows.append(("a gradient method, L/16 at 384 px", now_mb(), watch.peak(), memory_cache.CACHE.bytes / MB))
    bar = 1024 * (args.budget_gb + 1)
    print(f"\n| budget {args.budget_gb:g} GB | memory after, MB | at most | of it kept | bar |\n|---|---|---|---|---|")
    for name, after, most, kept in rows:
        print(f"| {name} | {after:.0f} | {most:.0f}{'' if most <= bar else ' ✗'} | {kept:.0f} | {bar:.0f} |")
    if args.rounds > 1:
        print(f"\nA second round adds {100 * (rows[2][1] / rows[1][1] - 1):+.1f} % (bar: 2 %).")
    os._exit(0)


if __name__ == "__main__":
    main()

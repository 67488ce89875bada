"""Benchmark: our training loop against a bare PyTorch loop and against timm's train.py recipe, and how fast photos come.

Run `python tests/benchmarks/train.py [--rounds 5] [--steps 6]`. ViT-Ti, 128 px in 16 px patches, 64 photos a step, AdamW,
clipping. The ways take turns, A B C A B C …; ratios are medians of the rounds, above 1 is faster than the other. With
`--gpu`, ViT-B/16 at 224 px, compiled, in bf16, as a share of the chip's own matrix rate, and ViT-Ti against synthetic data.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from PIL import Image
from torch import nn

from vitcore.assets import SAMPLES
from vitcore.train.data.photo_sources import open_photo_source
from vitcore.train.data.photo_tensors import PhotosOnDevice, open_batches
from vitcore.train.learning import training_loop
from vitcore.train.learning.model_from_recipe import MEAN, STD, build_from_recipe
from vitcore.train.learning.optimiser_and_weight_average import cpu_or_gpu_has_fast_bf16
from vitcore.train.recipe import Recipe, with_changes

TI = Recipe(image_px=128, patch_px=16, steps=10**6, batch=64, warmup_steps=0, snapshots=0, precision="auto")
ONCE = 6  # crops of each sample photo


def photo_folder(to: Path) -> Path:
    """Class folders of JPEG files about 300 px large, cut from the sample photos."""
    for file in sorted(SAMPLES.glob("*.jpg")):
        image, folder = Image.open(file).convert("RGB"), to / file.stem
        folder.mkdir()
        for i in range(ONCE):
            wide, high = image.size
            box = (i * wide // 20, i * high // 20, wide - i * wide // 20, high - i * high // 20)
            image.resize((300, 260), box=box).save(folder / f"{i}.jpg", quality=90)
    return to


def ours(recipe: Recipe, data: Any, classes: tuple[str, ...]) -> Iterator[Any]:
    """Our loop, a record a step."""
    machine = training_loop.make_accelerator(recipe)
    yield from training_loop.training_records(training_loop.start_training(recipe, classes, lambda module, device: data, machine))


def bare(recipe: Recipe, batches: Callable[[], tuple[Any, Any]], classes: int, device: str = "cpu") -> Iterator[Any]:
    """The same model, loss and optimiser in plain PyTorch."""
    model = build_from_recipe(recipe, classes).to(device).train()
    if recipe.compile:
        model = torch.compile(model)
    optim = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.05, fused=True)
    bf16 = cpu_or_gpu_has_fast_bf16() and recipe.precision != "fp32"
    while True:
        pixels, targets = batches()
        with torch.autocast(device, torch.bfloat16, enabled=bf16):
            loss = nn.functional.cross_entropy(model(pixels).float(), targets)
        optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optim.step()
        yield loss.item() if device == "cpu" else loss


def timm_recipe(recipe: Recipe, folder: Path, classes: int) -> Iterator[Any]:
    """What timm's train.py does for this model: its loader with workers, its optimiser, its clipping."""
    from timm.data import create_dataset, create_loader
    from timm.loss import SoftTargetCrossEntropy
    from timm.optim import create_optimizer_v2
    from timm.utils import dispatch_clip_grad

    loader = create_loader(
        create_dataset("", str(folder)), (3, recipe.image_px, recipe.image_px), recipe.batch, is_training=True, hflip=0.5,
        scale=(recipe.crop_area, 1.0), color_jitter=None, auto_augment=None, interpolation="bilinear", mean=MEAN, std=STD,
        num_workers=2, use_prefetcher=False, persistent_workers=True,
    )  # fmt: skip
    model = build_from_recipe(recipe, classes).train()
    optim, loss_of = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05), SoftTargetCrossEntropy()
    while True:
        for pixels, labels in loader:
            targets = nn.functional.one_hot(labels, classes).float()
            with torch.autocast("cpu", torch.bfloat16, enabled=cpu_or_gpu_has_fast_bf16()):
                loss = loss_of(model(pixels), targets)
            optim.zero_grad()
            loss.backward()
            dispatch_clip_grad(model.parameters(), 1.0)
            optim.step()
            yield loss.item()


def seconds(way: Iterator[Any], steps: int) -> float:
    """Seconds of some steps."""
    begun = time.perf_counter()
    for _ in range(steps):
        next(way)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return (time.perf_counter() - begun) / steps


def fixed(recipe: Recipe, classes: int, device: str = "cpu") -> Any:
    """Data that is one batch for ever."""
    pixels = torch.randn(recipe.batch, 3, recipe.image_px, recipe.image_px, device=device)
    targets = nn.functional.one_hot(torch.arange(recipe.batch, device=device) % classes, classes).float()
    batch = SimpleNamespace(pixels=pixels, targets=targets)
    return SimpleNamespace(batch=lambda *place: batch, pair=lambda: (pixels, targets))


def table(rows: dict[str, Iterator[Any]], rounds: int, steps: int) -> dict[str, list[float]]:
    """Seconds a step of each way, the ways taking turns."""
    for way in rows.values():
        seconds(way, 2)
    found: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(rounds):
        for name, way in rows.items():
            found[name].append(seconds(way, steps))
    return found


def speed_of(data: PhotosOnDevice, recipe: Recipe) -> float:
    """Batches' photos a second."""
    begun = time.perf_counter()
    for step in range(10):
        data.batch(step, 0, 1, 0, 1)
    return 10 * recipe.batch / (time.perf_counter() - begun)


def on_cpu(rounds: int, steps: int) -> None:
    """The table for this machine's CPU."""
    with tempfile.TemporaryDirectory() as folder:
        where = photo_folder(Path(folder))
        photos, _ = open_photo_source(str(where), holdout=0.0)
        begun = time.perf_counter()
        data = open_batches(TI, photos, "cpu", MEAN, STD)
        decoded = len(photos) / (time.perf_counter() - begun)
        still, classes = fixed(TI, len(photos.classes)), len(photos.classes)
        found = table({
            "our loop, one batch for ever": ours(TI, still, photos.classes),
            "bare loop, one batch for ever": bare(TI, still.pair, classes),
            "our loop, photos": ours(TI, data, photos.classes),
            "timm's recipe, photos": timm_recipe(TI, where, classes),
        }, rounds, steps)  # fmt: skip
        print(f"ViT-Ti, {TI.image_px} px, {TI.batch} photos a step, {torch.get_num_threads()} threads")
        for name, times in found.items():
            print(f"{name:<30} {statistics.median(times):7.3f} s a step  {TI.batch / statistics.median(times):7.1f} photos/s")
        a, b, c, d = found.values()
        print(f"our loop / bare loop:    {ratio(b, a):.3f}  (bar 0.97)")
        print(f"our loop / timm's:       {ratio(d, c):.3f}  (bar 1.00)")
        print(f"photos decoded the first time: {decoded:.0f}/s; cropped from memory: {speed_of(data, TI):.0f}/s")


def ratio(theirs: list[float], mine: list[float]) -> float:
    """Median of the rounds' ratios: above 1, mine is faster."""
    return statistics.median(t / m for t, m in zip(theirs, mine, strict=True))


def on_gpu(rounds: int, steps: int) -> None:
    """ViT-B/16 as a share of the chip's matrix rate, and ViT-Ti fed from memory against one batch for ever."""
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    matmul = iter(lambda: a @ a, None)
    rate = 2 * 8192**3 / min(seconds(matmul, 20) for _ in range(rounds))
    base = with_changes(TI, {"image_px": 224, "width": 768, "heads": 12, "batch": 256, "compile": True, "precision": "bf16"})
    from vitcore.train.learning.training_cost import params_and_forward_flop

    way = ours(base, fixed(base, 1000, "cuda"), tuple(map(str, range(1000))))
    seconds(way, 3)
    spent = min(seconds(way, 5) for _ in range(rounds)) / training_loop.LOSS_CHECK_STEPS  # a record each tenth step
    print(
        f"ViT-B/16: {3 * params_and_forward_flop(base, 1000)[1] * base.batch / spent / rate:.2f} "
        f"of {rate / 1e12:.0f} TFLOP/s (bar 0.45)"
    )
    tiny = with_changes(TI, {"image_px": 224, "batch": 1024, "compile": True, "precision": "bf16"})
    photos, _ = open_photo_source("samples")
    data = open_batches(tiny, photos, "cuda", MEAN, STD)
    found = table({"fed": ours(tiny, data, photos.classes), "synthetic": ours(tiny, fixed(tiny, 18, "cuda"), photos.classes)},
                  rounds, steps)  # fmt: skip
    print(f"ViT-Ti fed / synthetic: {ratio(found['synthetic'], found['fed']):.3f}  (bar 0.90)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--gpu", action="store_true")
    options = parser.parse_args()
    (on_gpu if options.gpu else on_cpu)(options.rounds, options.steps)

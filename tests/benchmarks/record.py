"""Benchmark: `record` against a plain fused forward pass of the same timm model, and against transformers' eager attentions.

Run `python tests/benchmarks/record.py [--pairs 7]`. Each row times the ways in turn, A B C A B C …, and reports medians
of the ratios pair by pair; memory is how far a process of its own rises during a pass, beyond a plain pass. Where `record`
takes its linear layers from oneDNN, because this is faster than PyTorch's choice, it is also timed with PyTorch's: what remains is
what watching costs.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
import unittest.mock
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image

import vitcore
from vitcore.forward.onednn_linear import onednn_is_faster
from vitcore.forward.recording import record
from vitcore.models import load_model

MODELS = (
    ("B/16", "vit_base_patch16_224", 224, 1.06),
    ("B/16", "vit_base_patch16_384", 384, 1.10),
    ("L/16", "vit_large_patch16_224", 512, 1.10),
)


def build(name: str, px: int) -> load_model.Vit:
    """A random model: speed does not depend on the weights."""
    import timm

    torch.manual_seed(0)
    return vitcore.wrap(timm.create_model(name, img_size=px), name=name)


def picture(px: int) -> Image.Image:
    """Noise of the model's size, so that nothing is spent on resizing."""
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (px, px, 3), np.uint8))


def plain(vit: load_model.Vit, image: Image.Image) -> Callable[[], object]:
    """What `record` does without the instrument: the same preprocessing and one fused pass."""
    from vitcore.forward.recording import to_model_input
    from vitcore.images import crop_for_model

    def run() -> object:
        with torch.inference_mode():
            return vit.module(to_model_input(vit, crop_for_model(image, vit.transform).pixels))

    return run


def eager(vit: load_model.Vit) -> Callable[[], object]:
    """transformers' ViT of the same shape with output_attentions, and the rollout computed from them."""
    from transformers import ViTConfig, ViTModel

    from vitcore.analysis.rollout import rollout

    m = vit.module
    config = ViTConfig(
        hidden_size=m.embed_dim, num_hidden_layers=vit.blocks, num_attention_heads=vit.heads, image_size=vit.grid.image_px[0],
        patch_size=vit.grid.patch_px, intermediate_size=4 * m.embed_dim, attn_implementation="eager",
    )  # fmt: skip
    model = ViTModel(config, add_pooling_layer=False).eval()
    x = torch.randn(1, 3, *vit.grid.image_px)

    def run() -> object:
        with torch.inference_mode():
            maps = model(x, output_attentions=True).attentions
            return rollout(torch.stack([a[0].mean(0) for a in maps]).numpy())

    return run


def by_pytorch(run: Callable[[], object]) -> Callable[[], object]:
    """The same with PyTorch's own choice for linear layers."""
    from vitcore.forward import onednn_linear

    def usual() -> object:
        with unittest.mock.patch.object(onednn_linear, "onednn_is_faster", lambda: False):
            return run()

    return usual


def seconds(run: Callable[[], object]) -> float:
    """One run."""
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def recorded(vit: load_model.Vit, image: Image.Image) -> Callable[[], object]:
    """Distances of all heads, head-averaged attention of all blocks, and the rollout."""
    return lambda: record(vit, image).rollout()


def peak_mb(name: str, px: int, way: str) -> float:
    """How far resident memory rises during one pass, in a process of its own that gives back at once what it frees."""
    code = f"import runpy; runpy.run_path({__file__!r})['alone']({name!r}, {px}, {way!r})"
    env = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}  # else it differs by 40 %
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return float(out.stdout)


def alone(name: str, px: int, way: str) -> None:
    """The process of `peak_mb`: the peak is forgotten (Linux's clear_refs) once the model has run this way."""
    torch.set_num_threads(2)
    vit, image = build(name, px), picture(px)
    once = plain(vit, image) if way == "plain" else lambda: record(vit, image)
    once()
    Path("/proc/self/clear_refs").write_text("5")
    before = memory_mb("VmHWM")
    kept = once()
    print(memory_mb("VmHWM") - before)
    del kept


def memory_mb(field: str) -> float:
    """A line of /proc/self/status, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line for line in lines if line.startswith(field)).split()[1]) / 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    args = parser.parse_args()
    torch.set_num_threads(2)
    library = "oneDNN" if onednn_is_faster() else "PyTorch's choice"
    print(f"Linear layers of `record`: {library}\n")
    print(
        "| model | px | plain, ms | record / plain | with PyTorch's linear layers | bar | eager + rollout / its plain "
        "| extra memory, MB | three blocks, MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for title, name, px, bar in MODELS:
        vit, image = build(name, px), picture(px)
        ways = (plain(vit, image), recorded(vit, image), by_pytorch(recorded(vit, image)), eager(vit))
        for way in ways:
            way()
        times = [[seconds(way) for way in ways] for _ in range(args.pairs)]
        base = statistics.median(t[0] for t in times)
        ours, watching, theirs = (statistics.median(t[i] / t[0] for t in times) for i in (1, 2, 3))
        extra = peak_mb(name, px, "record") - peak_mb(name, px, "plain")
        three = 3 * 4 * vit.heads * vit.grid.tokens**2 / 2**20
        print(
            f"| {title} | {px} | {1e3 * base:.0f} | {ours:.3f} | {watching:.3f} | {bar} | {theirs:.3f} "
            f"| {extra:.1f} | {three:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

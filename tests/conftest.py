"""What tests share: the shipped model, a photo, and small random ViTs of every kind.

`tests/vitcore` must never hold an `__init__.py`: it would hide the package of the same name.
"""

from __future__ import annotations

import gc
import os
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING

# Several workers share the cores, and what they start does too: threads that wait for a core spin. It counts before torch is
# loaded, which is in the tests: the process that only hands them out needs none.
ALONE = "PYTEST_XDIST_WORKER" not in os.environ
os.environ["OMP_NUM_THREADS"] = "2" if ALONE else "1"

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402
from PIL import Image  # noqa: E402

import vitcore  # noqa: E402

if TYPE_CHECKING:
    import torch

    from vitcore.images import Photo

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])  # of a machine, not of the code
settings.load_profile("busy")

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "assets" / "samples"
NORMALISE = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}  # of bare modules, which say nothing of it
TINY = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 3, "num_heads": 3, "num_classes": 10}


def kept_by_git() -> list[str]:
    """Every file that git keeps, or would."""
    ask = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(ask, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return sorted(name for name in set(listed.stdout.decode().split("\0")) if name and (ROOT / name).is_file())


def pytest_xdist_auto_num_workers() -> int:
    """What `-n auto` is: one more than there are cores, as a test often waits for a process it has started."""
    return (os.cpu_count() or 1) + 1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Tests that drive a browser are not even read where the others are asked for: each worker would, and load Playwright."""
    return True if collection_path == ROOT / "tests" / "browser" and "not browser" in config.option.markexpr else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is loaded now stays: the collector need not walk through torch, timm and the tests again and again, nor as they come."""
    gc.disable()
    found = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return found


def lively(module: torch.nn.Module, seed: int = 0) -> torch.nn.Module:
    """Random weights large enough that heads and positions matter (timm's own start out almost uniform)."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in module.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            if p.ndim == 1:
                p.copy_(noise * 0.1 + (1 if "norm" in name and name.endswith("weight") else 0))
            else:
                tokens = p.ndim == 3  # class token, registers, positions
                p.copy_(noise * (1 if tokens else (1.5 if "qkv" in name else 1) / p[0].numel() ** 0.5))
    return module.eval()


def timm_vit(seed: int = 0, **changes) -> torch.nn.Module:
    """A small timm ViT with random weights; `changes` override TINY."""
    from timm.models.vision_transformer import VisionTransformer

    return lively(VisionTransformer(**TINY | changes), seed)


@pytest.fixture(scope="session")
def make_module() -> Callable[..., torch.nn.Module]:
    return timm_vit


@pytest.fixture(scope="session")
def make_vit() -> Callable[..., vitcore.Vit]:
    """`make_vit(reg_tokens=4, …)`: a small random ViT, wrapped."""

    return lambda seed=0, **changes: vitcore.wrap(timm_vit(seed, **changes), name="tiny", **NORMALISE)


@pytest.fixture(scope="session")
def tiny(make_vit) -> vitcore.Vit:
    return make_vit()


@pytest.fixture(scope="session")
def shipped() -> vitcore.Vit:
    return vitcore.load()


@pytest.fixture(scope="session")
def hybrid() -> vitcore.Vit:
    """The smallest hybrid timm has, with random weights and three of its blocks."""
    import timm

    return vitcore.wrap(timm.create_model("vit_tiny_r_s16_p8_224", pretrained=False, depth=3).eval(), name="hybrid")


@pytest.fixture(scope="session")
def photo_file() -> Path:
    return SAMPLES / "astronaut.jpg"


@pytest.fixture(scope="session")
def photo(photo_file) -> Photo:
    return vitcore.open_photo(photo_file)


@pytest.fixture(scope="session")
def rec(shipped, photo) -> vitcore.Recording:
    """The shipped model's recording of the photo, with everything there is to keep."""
    return vitcore.record(shipped, photo, maps=range(shipped.blocks), fusions=("mean", "max", "min"))


@pytest.fixture(scope="session")
def noise() -> Callable[..., Image.Image]:
    """`noise(seed, (wide, high))`: a picture of random pixels."""

    def make(seed: int = 0, size: tuple[int, int] = (48, 40)) -> Image.Image:
        return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8))

    return make


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(a: str, b: str) -> float:
    """WCAG 2.2 contrast ratio of two `#RRGGBB` colours."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)

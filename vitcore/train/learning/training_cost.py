"""What a recipe costs before it is run: parameters, floating-point operations a step, and seconds measured on this machine."""

import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from vitcore.architectures.meta_device import building_on_meta_device
from vitcore.architectures.model_summary import run_alike_blocks_once
from vitcore.train.learning.masked_patches import MaskedPatches
from vitcore.train.learning.model_from_recipe import build_from_recipe
from vitcore.train.learning.objectives import Classification
from vitcore.train.learning.optimiser_and_weight_average import uses_bf16_on_this_machine
from vitcore.train.recipe import Recipe, with_changes

TRIAL_FLOP = 2e10  # a trial pass is about this large: a fraction of a second


@dataclass(frozen=True)
class TrainingCost:
    """`flop_per_step` counts multiplications and additions, forward and backward; `seconds` is a whole run's."""

    params: int
    flop_per_step: float
    seconds_per_step: float
    seconds: float


def params_and_forward_flop(recipe: Recipe, classes: int) -> tuple[int, float]:
    """Parameters, and operations of one image's forward pass (a multiplication and an addition are two)."""
    with building_on_meta_device():
        plain = with_changes(recipe, {"start_from": ""})
        vit = build_from_recipe(plain, classes)
        pixels = torch.empty(1, 3, recipe.image_px, recipe.image_px)
    counter = FlopCounterMode(display=False)
    known = run_alike_blocks_once(vit, counter)
    with counter, torch.no_grad():
        vit.eval()(pixels)
    return sum(p.numel() for p in vit.parameters()), float(counter.get_total_flops() + sum(known))


def training_cost(recipe: Recipe, classes: int) -> TrainingCost:
    """Count, and time one training pass of a few images on this machine's device; takes about a second.

    A teacher's own pass is not counted.
    """
    params, forward = params_and_forward_flop(recipe, classes)
    images = max(1, min(recipe.batch, round(TRIAL_FLOP / (3 * forward))))
    per_image = min(_trial(recipe, classes, images) for _ in range(2)) / images
    seconds = per_image * recipe.batch
    return TrainingCost(params, 3 * forward * recipe.batch, seconds, seconds * recipe.steps)


def _trial(recipe: Recipe, classes: int, images: int) -> float:
    """Seconds of one pass, forward and backward, over random images; the first call also warms up."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.random.fork_rng():
        vit = build_from_recipe(with_changes(recipe, {"start_from": ""}), classes)
        learn: Any = MaskedPatches(vit, recipe) if recipe.task == "masked" else Classification(vit)
        learn.to(device).train()
        pixels = torch.randn(images, 3, recipe.image_px, recipe.image_px, device=device)
        targets = torch.full((images, max(classes, 1)), 1 / max(classes, 1), device=device)
        begun = time.perf_counter()
        with torch.autocast(device, torch.bfloat16, enabled=uses_bf16_on_this_machine(recipe.precision)):
            loss = learn(SimpleNamespace(pixels=pixels, targets=targets))["loss"]
        loss.backward()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begun

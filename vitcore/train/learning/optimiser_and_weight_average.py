"""Optimisers and schedules of a recipe: who is decayed, how the learning rate goes, and which weights are kept."""

import functools
import importlib.util
import math
import os
from typing import Any

import timm  # noqa: F401
import torch
from timm.optim import param_groups_weight_decay
from torch import nn
from torch.optim.swa_utils import AveragedModel

from vitcore.train.recipe import Recipe
from vitcore.train.run_folder import RunError

POSITION_PARAMETERS = ("pos_embed", "cls_token", "rows_embed", "cols_embed", "prefix_embed", "offsets_embed")
NO_WEIGHT_DECAY = (*POSITION_PARAMETERS, "mask")


def learning_rate_at_step(recipe: Recipe, step: int) -> float:
    """The rate of step 0, 1, …: linear warm-up to `lr_peak`, held until `hold`, then a fall to zero at step T.

    A layer-by-layer run has two such courses, one for each half: forced, and free with `free_lr` times the peak.
    With hold 0: peak · ½(1 + cos πp), p = (step − w) / (T − w), as vit_jax (Table 4 of arXiv 2010.11929). Its warm-up is
    step / w; here (step + 1) / w, so that the first step is not wasted.
    """
    steps, peak = recipe.steps, recipe.lr_peak
    if recipe.task == "layers":
        forced = end_to_end_start_step(recipe)
        steps, step, peak = (forced, step, peak) if step < forced else (steps - forced, step - forced, peak * recipe.free_lr)
    if step < recipe.warmup_steps:
        return peak * (step + 1) / recipe.warmup_steps
    start = max(recipe.warmup_steps, round(recipe.hold * steps))
    p = min(1.0, max(0.0, (step - start) / max(1, steps - start)))
    fall = {"cosine": 0.5 * (1 + math.cos(math.pi * p)), "linear": 1 - p, "constant": 1.0}
    return peak * fall[recipe.decay]


def end_to_end_start_step(recipe: Recipe) -> int:
    """The step from which a layer-by-layer student goes its own way."""
    return math.ceil(recipe.forced * recipe.steps)


def make_optimiser(recipe: Recipe, module: nn.Module) -> torch.optim.Optimizer:
    """AdamW, SGD with momentum, or timm's Muon (for the blocks' matrices; AdamW for the rest), as the recipe says."""
    skip = [name for name, _ in module.named_parameters() if name.split(".")[-1] in NO_WEIGHT_DECAY]
    if recipe.optimiser == "muon":
        return _muon(recipe, module, skip)
    groups = _separate_position_parameters(
        param_groups_weight_decay(module, recipe.weight_decay, no_weight_decay_list=skip), module, recipe
    )
    if recipe.optimiser == "sgd":
        return torch.optim.SGD(groups, lr=recipe.lr_peak, momentum=recipe.momentum, fused=True)
    return torch.optim.AdamW(groups, lr=recipe.lr_peak, betas=(recipe.momentum, recipe.beta2), fused=True)


def _separate_position_parameters(groups: list[dict[str, Any]], module: nn.Module, recipe: Recipe) -> list[dict[str, Any]]:
    """The groups with positions and class tokens in one of their own, whose rate is `place_lr` times the others'."""
    places = [p for name, p in module.named_parameters() if name.split(".")[-1] in POSITION_PARAMETERS]
    if recipe.place_lr == 1 or not places:
        return groups
    rest = [g | {"params": [p for p in g["params"] if not any(p is q for q in places)]} for g in groups]
    return [*rest, {**groups[-1], "params": places, "weight_decay": 0.0, "times": recipe.place_lr}]


def _muon(recipe: Recipe, module: nn.Module, skip: list[str]) -> torch.optim.Optimizer:
    """Filters, positions and head go to AdamW: Muon would enlarge every direction of a filter alike, noise included.

    A ResNet's kernels inside its blocks go to Muon as a ViT's matrices do; timm takes each as a matrix, a row an output.
    """
    named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
    inside = [p for name, p in named if ".blocks." in name and p.ndim in (2, 4)]
    plain = [p for name, p in named if p.ndim < 2 or name in skip]
    other = [p for _, p in named if not any(p is q for q in inside + plain)]
    groups: list[dict[str, Any]] = [
        {"params": inside, "use_muon": True, "weight_decay": recipe.weight_decay},
        {"params": other, "use_fallback": True, "weight_decay": recipe.weight_decay, "times": recipe.adam_lr},
        {"params": plain, "use_fallback": True, "weight_decay": 0.0, "times": recipe.adam_lr},
    ]
    groups = _separate_position_parameters(groups, module, recipe)
    # timm iterates in bf16; where that is emulated, fp32 is several times faster, and a recipe may ask for it
    quick = torch.bfloat16 if recipe.precision != "fp32" and cpu_or_gpu_has_fast_bf16() else torch.float32
    rates = {"lr": recipe.lr_peak, "momentum": recipe.momentum, "betas": (0.9, recipe.beta2)}
    made: torch.optim.Optimizer = _timm_muon(quick).Muon(groups, nesterov=True, **rates)
    return made


@functools.lru_cache(maxsize=2)
def _timm_muon(dtype: torch.dtype) -> Any:
    """A copy of timm's module whose Newton-Schulz iteration runs in `dtype`; timm's own module stays as it is for others."""
    spec = importlib.util.find_spec("timm.optim.muon")
    assert spec and spec.loader, "timm has moved its Muon"
    copied: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copied)
    copied.zeropower_via_newtonschulz = functools.partial(copied.zeropower_via_newtonschulz, dtype=dtype)
    return copied


def uses_bf16_on_this_machine(precision: str) -> bool:
    """Whether a recipe's `precision`, "auto", "fp32" or "bf16", means bf16 on this machine."""
    return precision == "bf16" or (precision == "auto" and cpu_or_gpu_has_fast_bf16())


def cpu_or_gpu_has_fast_bf16() -> bool:
    """Whether this machine multiplies bf16 faster than fp32: a CUDA chip that supports it, or a CPU with AMX or AVX512-BF16.

    `VITCORE_PRECISION=fp32` or `bf16` in the environment answers for the machine: a run, or all tests, are then as on the
    other kind. Raises: RunError, when it says anything else.
    """
    said = os.environ.get("VITCORE_PRECISION", "")
    if said not in ("", "fp32", "bf16"):
        raise RunError(f"VITCORE_PRECISION is fp32 or bf16, not {said!r}.")
    return said == "bf16" if said else _fast_bf16()


@functools.cache
def _fast_bf16() -> bool:
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported(including_emulation=False)  # emulated bf16 is slower than fp32
    checks = (getattr(torch.cpu, name, None) for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"))
    return any(check() for check in checks if check)


def weight_average(module: nn.Module, decay: float) -> AveragedModel:
    """The Polyak average of a module's weights, d·average + (1 − d)·weights, with d = min(decay, (1 + n) / (10 + n)).

    The first update copies; the smaller d at the beginning (as TensorFlow's) keeps a short run from averaging in its
    random start.
    """

    @torch.no_grad()
    def update(average: Any, current: Any, count: Any) -> None:
        n = int(count)
        torch._foreach_lerp_(average, current, 1 - min(decay, (1 + n) / (10 + n)))

    return AveragedModel(module, multi_avg_fn=update)

"""Where in a training the model is that its film shows, and what keeps the looking apart from the training."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from vitcore.models.assembly.foreign_modules import library_of
from vitcore.models.assembly.random_state import restored_generators
from vitcore.models.assembly.wrap import wrap_quietly
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit
from vitcore.translation import say


def vit_to_film(
    module: nn.Module, name: str, labels: tuple[str, ...], overlaid: Mapping[str, tuple[float, ...]]
) -> tuple[Vit, tuple[str, ...]]:
    """The model in a module as a film looks at it, and the names of its classes.

    overlaid: `mean` and `std`, where the model's own do not hold. Raises: ModelError, where it can't be filmed.
    """
    mean, std = overlaid.get("mean"), overlaid.get("std")
    found = find_vit(module, name)
    vit = wrap_quietly(found, name=name, mean=mean, std=std, device="cpu", dtype=torch.float32, gather=False)
    if not vit.is_global:  # a film is of attention
        raise ModelError(vit.why_undefined(say("a film")))
    if labels and len(labels) != len(vit.labels):
        raise ModelError(
            "{name} has {classes} {classes:class|classes}, not {count}.", name=name, classes=len(vit.labels), count=len(labels)
        )
    return vit, labels or vit.labels


def find_vit(module: nn.Module, name: str = "model") -> Any:
    """The outermost part that is a ViT: the module itself, or what DDP, torch.compile or a training's class wraps.

    Raises: ModelError, where there is none.
    """
    for part in module.modules():
        part = getattr(part, "_orig_mod", part)
        if library_of(part) and not hasattr(part, "timm_model"):
            return part
        try:
            _check(name, part)
        except ModelError:
            continue
        return part
    _check(name, module)
    raise AssertionError("a module that `_check` takes is one of its own parts")


def _check(name: str, module: Any) -> None:
    """Raises: ModelError, when the module has not the parts of a ViT. Looked at by name: it may not be run here."""
    first = next(iter(getattr(module, "blocks", ())), None)
    attends = hasattr(first, "attn") or hasattr(first, "attns") or hasattr(module, "attends_along")
    grid = hasattr(getattr(module, "patch_embed", None), "grid_size")
    if not (grid and attends and hasattr(module, "num_prefix_tokens")):
        raise ModelError(
            "{name} is not a plain Vision Transformer: its blocks do not attend over one grid of patches, "
            "so these pictures are not defined for it.",
            name=name,
        )


@contextmanager
def isolated_random_state() -> Iterator[None]:
    """Inside, nothing depends on the training's settings (autocast, default device), and random states are put back."""
    with restored_generators(), torch.device("cpu"), torch.autocast("cpu", enabled=False):
        yield

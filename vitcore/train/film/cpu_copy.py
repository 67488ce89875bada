"""A stand-in: a copy of a model that is being trained, on the CPU, frozen, to be looked at while the model goes on.

What is looked at runs no code of the training's: hooks, compiled forwards and forwards that a launcher put in place stay
with the model. Nothing of the model is written to, and no random number of the training's is drawn.
"""

import copy
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from vitcore.models.model_cards import ModelError
from vitcore.train.seeds import restored_generators

HOOK_ATTRIBUTES = tuple(name for name in vars(nn.Module()) if "_hooks" in name)


def cpu_copy(module: nn.Module, name: str = "model") -> Any:
    """A copy of the ViT in `module`, whatever it is wrapped in, in 32-bit floats on the CPU.

    Raises: ModelError, where there is no ViT that `wrap` takes, or its weights are shared out among processes.
    """
    vit = find_vit(module, name)
    known: dict[int, Any] = {}  # what deepcopy takes instead of making it
    for part in vit.modules():
        known |= {id(hooks): OrderedDict() for hooks in (vars(part)[kind] for kind in HOOK_ATTRIBUTES if kind in vars(part))}
        for held in (part._parameters, part._buffers, vars(part)):
            known |= {id(v): _copied(v, name) for v in held.values() if isinstance(v, Tensor) and id(v) not in known}
    for part in [part for part in vit.modules() if hasattr(part, "_orig_mod")]:
        known[id(part)] = copy.deepcopy(part._orig_mod, known)
    twin: Any = copy.deepcopy(vit, known)
    for part in twin.modules():
        vars(part).pop("forward", None)  # one that was put in place may be bound to the model itself
    if hasattr(twin, "set_grad_checkpointing"):
        twin.set_grad_checkpointing(False)
    return twin


def find_vit(module: nn.Module, name: str = "model") -> Any:
    """The outermost part that is a plain ViT: the module itself, or what DDP, torch.compile or a training's class wraps.

    Raises: ModelError, where there is none.
    """
    for part in module.modules():
        part = getattr(part, "_orig_mod", part)
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


def _copied(tensor: Tensor, name: str) -> Tensor:
    if hasattr(tensor, "full_tensor"):
        raise ModelError("the weights of {name} are shared out among processes: film a gathered copy.", name=name)
    kind = torch.float32 if tensor.is_floating_point() else tensor.dtype
    copy = tensor.detach().to("cpu", kind, copy=True)
    return nn.Parameter(copy, requires_grad=False) if isinstance(tensor, nn.Parameter) else copy


@contextmanager
def isolated_random_state() -> Iterator[None]:
    """Inside, nothing depends on the training's settings (autocast, default device), and random states are put back."""
    with restored_generators(), torch.device("cpu"), torch.autocast("cpu", enabled=False):
        yield

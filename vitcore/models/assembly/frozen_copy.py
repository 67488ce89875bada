"""A frozen copy of a module, in evaluation mode: it shares no tensor with the module and runs none of its hooks.

What wraps a model (DDP, FSDP, torch.compile, activation checkpoints) is left out. Nothing of the module is written to, and no
random number is drawn.
"""

import copy
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from vitcore.errors import model_misfit_reason, raise_own_mistake
from vitcore.models.model_cards import ModelError

HOOK_ATTRIBUTES = tuple(name for name in vars(nn.Module()) if "_hooks" in name)
# Where wrappers of torch, and Lightning Fabric's, keep the model, and the classes whose `module` is the model.
INNER_ATTRIBUTES = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_original_module")
MODULE_WRAPPERS = ("DistributedDataParallel", "DataParallel", "AveragedModel", "ModelEma", "ModelEmaV2", "ModelEmaV3")
LEFT_OUT, LAUNCHERS = ("forward", "_compiled_call_impl"), ("__composable_api", "_is_fsdp", "_fsdp")  # attributes of a training
MIXED_IN = ("FSDPModule", "ReplicateModule")  # first bases of the classes that FSDP2's `fully_shard` puts in place


def frozen_copy_without_hooks(
    module: nn.Module, name: str = "model", *, device: torch.device | str | None = None, dtype: torch.dtype | None = None,
    gather: bool = True,
) -> Any:  # fmt: skip
    """A copy of `module`, without what it is wrapped in, on `device` and with floating-point numbers of `dtype`.

    None: as the module has them. gather: put weights together that are shared out among processes; all of them call then.
    Raises: ModelError, where it can't be copied: a script, weights that are not in memory or, without `gather`, shared out.
    """
    with _whole_weights(module, name, gather):
        if any(isinstance(part, torch.jit.ScriptModule) for part in module.modules()):
            raise ModelError("{name} is a TorchScript program, and its parts can't be inspected: wrap the module that it was "
                             "made from.",
                             name=name)  # fmt: skip
        inner = unwrapped_module(module)
        known: dict[int, Any] = {}  # what deepcopy takes instead of making it
        parts = list(inner.modules())
        for part in parts:
            if unwrapped_module(part) is part:
                known[id(part)] = object.__new__(_class_of(part))
        for part in reversed(parts):
            if id(part) not in known:
                known[id(part)] = known[id(unwrapped_module(part))]
            for tensor in _tensors(part):
                if id(tensor) not in known:
                    known[id(tensor)] = _copied(tensor, name, device, dtype, gather)
        try:
            for part in parts:
                if unwrapped_module(part) is part:
                    vars(known[id(part)]).update(copy.deepcopy(_kept(part), known))
        except Exception as error:  # a lock, a process group, a tensor of a graph: whatever a class of one's own holds
            raise_own_mistake(error)
            raise ModelError("{name} can't be copied: {reason}", name=name, reason=model_misfit_reason(error)) from None
        twin = known[id(inner)]
    if hasattr(twin, "set_grad_checkpointing"):
        twin.set_grad_checkpointing(False)
    for part in twin.modules():  # `train` and `eval` may be a class's own
        part.training = False
    return twin


def unwrapped_module(module: nn.Module) -> nn.Module:
    """The model inside DDP, FSDP, torch.compile, an average of weights or an activation checkpoint."""
    while True:
        names = INNER_ATTRIBUTES + (("module",) if type(module).__name__ in MODULE_WRAPPERS else ())
        inner = next((part for name, part in module.named_children() if name in names), None)
        if inner is None:
            return module
        module = inner


def _whole_weights(module: nn.Module, name: str, gather: bool) -> AbstractContextManager[Any]:
    """Inside, an FSDP module has all its weights, as it has in its own passes."""
    if not any(type(part).__name__ == "FullyShardedDataParallel" for part in module.modules()):
        return nullcontext()
    if not gather:
        raise _shared_out_error(name)
    from torch.distributed.fsdp import FullyShardedDataParallel

    return FullyShardedDataParallel.summon_full_params(module, writeback=False)


def _shared_out_error(name: str) -> ModelError:
    return ModelError("the weights of {name} are shared out among processes: film a gathered copy.", name=name)


def _class_of(part: nn.Module) -> type:
    """The class of a part before FSDP2 put its own before it."""
    bases = type(part).__bases__
    return bases[1] if len(bases) > 1 and bases[0].__name__ in MIXED_IN else type(part)


def _tensors(part: nn.Module) -> Iterator[Tensor]:
    for held in (part._parameters, part._buffers, vars(part)):
        yield from (value for value in held.values() if isinstance(value, Tensor))


def _kept(part: nn.Module) -> dict[str, Any]:
    """The attributes that a copy of the part has: no hooks but those that make its weights, no forward that was put in place."""
    kept = {name: value for name, value in vars(part).items() if name not in LEFT_OUT and not name.startswith(LAUNCHERS)}
    for name in HOOK_ATTRIBUTES:
        hooks = kept.get(name) or {}
        made = {key: hook for key, hook in hooks.items() if type(hook).__module__.startswith("torch.nn.utils.")}
        kept[name] = OrderedDict(made)
    return {**kept, "_compiled_call_impl": None}


def _copied(tensor: Tensor, name: str, device: Any, dtype: torch.dtype | None, gather: bool) -> Tensor:
    lazy = nn.parameter.is_lazy(tensor)
    gathered = None if lazy else getattr(tensor.detach(), "full_tensor", None)  # of a DTensor
    if gathered is not None:
        if not gather:
            raise _shared_out_error(name)
        whole = gathered()
    elif lazy or tensor.is_meta:
        raise ModelError("{name} has weights that are not in memory.", name=name)
    else:
        whole = tensor.detach()
    kind = dtype if dtype is not None and whole.is_floating_point() else whole.dtype
    copied = whole.to(whole.device if device is None else device, kind, copy=True)
    return nn.Parameter(copied, requires_grad=False) if isinstance(tensor, nn.Parameter) else copied

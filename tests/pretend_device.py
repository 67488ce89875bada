"""A device that only pretends: its tensors hold numbers on the CPU, and refuse what another device's tensors would refuse.

    with pretend_device() as device:
        vit = vitcore.load(device=device)

An operation of such a tensor and a CPU tensor of one dimension or more fails, as does `.numpy()`; `calls` counts operations.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "pretend"
calls: Counter[str] = Counter()


class PretendTensor(Tensor):
    """A tensor whose device is `pretend`, and whose numbers are `held` on the CPU."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> "PretendTensor":
        made = torch.Tensor._make_wrapper_subclass(
            cls, held.shape, strides=held.stride(), storage_offset=held.storage_offset(), dtype=held.dtype, device=f"{NAME}:0"
        )
        made.held = held
        return made

    def __repr__(self, **_: Any) -> str:
        return f"PretendTensor({tuple(self.shape)})"

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(func, args, kwargs or {})


def run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """An operation as the device would do it. Raises: RuntimeError, where tensors of two devices meet."""
    name = func.overloadpacket.__name__
    given = [one for one in tree_flatten((args, kwargs))[0] if isinstance(one, Tensor)]
    here = [one for one in given if isinstance(one, PretendTensor)]
    leaves = tree_flatten((args, kwargs))[0]
    asked = next((one for one in leaves if isinstance(one, torch.device)), None)
    on_device = bool(here) if asked is None else asked.type == NAME
    moves = name in ("_to_copy", "copy_", "lift_fresh", "detach") or asked is not None
    indexes = name in ("index", "index_put_", "_index_put_impl_", "index_put")
    others = [one for one in given if not isinstance(one, PretendTensor) and one.ndim]
    if here and others and not moves and not indexes:
        raise RuntimeError(f"{name}: expected all tensors to be on the same device, found {NAME}:0 and {others[0].device}")
    if torch.float64 in {one.dtype for one in here} or (on_device and kwargs.get("dtype") == torch.float64):
        raise TypeError(f"{name}: the {NAME} device has no float64, as MPS has none")
    calls[name] += bool(here)
    inner = tree_map(_on_cpu, (args, kwargs))
    out = func(*inner[0], **inner[1])
    in_place = name.endswith("_") and not name.startswith("_") and bool(args) and isinstance(args[0], Tensor)
    if in_place and out is not None:
        return args[0]
    if "out" in kwargs:
        return kwargs["out"]
    if not on_device:
        return out
    return tree_map(lambda one: PretendTensor(one) if isinstance(one, Tensor) and not isinstance(one, PretendTensor) else one, out)


def _on_cpu(one: Any) -> Any:
    if isinstance(one, PretendTensor):
        return one.held
    return torch.device("cpu") if isinstance(one, torch.device) and one.type == NAME else one


class _Factories(TorchDispatchMode):
    """What begins without a tensor of the device, and what moves to it or from it."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = tree_flatten((args, kwargs))[0]
        about = any(isinstance(one, PretendTensor) or (isinstance(one, torch.device) and one.type == NAME) for one in given)
        return run(func, args, kwargs) if about else func(*args, **kwargs)


@contextlib.contextmanager
def pretend_device() -> Iterator[str]:
    """Inside, in this thread, there is a device of this name."""
    if torch._C._get_privateuse1_backend_name() != NAME:
        _setup_privateuseone_for_python_backend(NAME)
    calls.clear()
    with _Factories():
        yield NAME

"""Models without memory, on torch's meta device: their shapes are wanted, or weights that are filled in afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

IN_PLACE_OPERATIONS = {
    torch.Tensor.add_, torch.Tensor.clamp_, torch.Tensor.copy_, torch.Tensor.div_, torch.Tensor.erfinv_, torch.Tensor.fill_,
    torch.Tensor.mul_, torch.Tensor.normal_, torch.Tensor.uniform_, torch.Tensor.zero_,
}  # fmt: skip

SAME_SHAPE = {
    functional.layer_norm, functional.group_norm, functional.batch_norm, functional.gelu, functional.silu, functional.relu,
    functional.dropout,
}  # fmt: skip
SUMS = {torch.Tensor.add, torch.Tensor.__add__, torch.add}


class FastMetaForwardMode(TorchFunctionMode):
    """A pass without numbers: the layers that transformers and ResNets have most give a tensor of the right shape at once.

    Torch's way to that shape takes a hundred operations for each.
    """

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        x: Any = args[0] if args else None
        if isinstance(x, torch.Tensor) and x.is_meta:
            if func in SAME_SHAPE:
                return torch.empty_like(x)
            if func is functional.linear and len(args) > 1 and x.shape[-1:] == args[1].shape[-1:] and args[1].ndim == 2:
                return x.new_empty(*x.shape[:-1], args[1].shape[0])
            if func in SUMS and len(args) == 2 and getattr(args[1], "shape", None) == x.shape and args[1].dtype == x.dtype:
                return torch.empty_like(x)
        return func(*args, **(kwargs or {}))


class _NothingDrawn(FastMetaForwardMode):
    """Initialisation changes no number where there is none; torch would spend most of the time on it all the same."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if func in IN_PLACE_OPERATIONS or getattr(func, "__module__", "") == "torch.nn.init":
            tensor = args[0] if args else kwargs["tensor"]
            if tensor.is_meta:
                return tensor
        return super().__torch_function__(func, types, args, kwargs)


@contextmanager
def building_on_meta_device() -> Iterator[None]:
    """Within it new tensors have a shape but no memory, and modules are built without their weights being initialised.

    timm's hybrids run their ResNet once when they are built, to learn the size of its grid: that pass has shapes alone.
    """
    import timm  # noqa: F401  (not inside: its import calculates, which fails there with torch 2.8)

    with torch.device("meta"), _NothingDrawn():
        yield

"""Models without memory, on torch's meta device: their shapes are wanted, or weights that are filled in afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

IN_PLACE_OPERATIONS = {
    torch.Tensor.add_, torch.Tensor.clamp_, torch.Tensor.copy_, torch.Tensor.div_, torch.Tensor.erfinv_, torch.Tensor.fill_,
    torch.Tensor.mul_, torch.Tensor.normal_, torch.Tensor.uniform_, torch.Tensor.zero_,
}  # fmt: skip


class _NothingDrawn(TorchFunctionMode):
    """Initialisation changes no number where there is none; torch would spend most of the time on it all the same."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if func in IN_PLACE_OPERATIONS or getattr(func, "__module__", "") == "torch.nn.init":
            tensor = args[0] if args else kwargs["tensor"]
            if tensor.is_meta:
                return tensor
        return func(*args, **(kwargs or {}))


@contextmanager
def meta_device() -> Iterator[None]:
    """Within it new tensors have a shape but no memory, and modules are built without their weights being initialised."""
    import timm  # noqa: F401  (not inside: its import calculates, which fails there with torch 2.8)

    with torch.device("meta"), _NothingDrawn():
        yield

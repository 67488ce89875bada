"""Faster modules for inference: linear layers by the better of two libraries that come with PyTorch, and GELU in place.

On PCs PyTorch's choice is MKL, Intel's own: on an AMD EPYC 9005 a layer of width 768 took it 1.5 ms and oneDNN 0.7 (256 tokens, two
threads). Which of them is faster here is timed. Results differ in float32's last digits.
"""

import functools
import timeit
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from vitcore.module_swaps import with_modules

TOKENS, WIDTH = 256, 768  # of the layer that is timed
TIMES = 7
MARGIN = 1.2  # a library that is faster by chance is not chosen


class OneDnnLinear(nn.Module):
    """A linear layer as oneDNN computes it: weights of float32 on the CPU, without gradients."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias

    def forward(self, x: Tensor) -> Tensor:
        """x · weightᵀ + bias: (…, width in) to (…, width out)."""
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")


class _GeluInPlace(nn.Module):
    """GELU that overwrites its argument: no fresh memory for what is the largest array of a pass."""

    def __init__(self, approximate: str) -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        """GELU of x, in x."""
        return torch.ops.aten.gelu_(x, approximate=self.approximate)


def with_onednn_linears(module: nn.Module) -> Any:
    """Copy of a model for inference with oneDNN's linear layers, where they are faster than PyTorch's; else the model itself.

    Results differ from the model's in float32's last digits. Not for gradients.
    """
    computable = any(type(part) is nn.Linear and _is_computable(part) for part in module.modules())
    return _with_linears(module) if computable and onednn_is_faster() else module


def _is_computable(linear: nn.Linear) -> bool:
    """Whether oneDNN's layers of 32-bit floats on the CPU can take the place of this one."""
    return linear.weight.dtype == torch.float32 and linear.weight.device.type == "cpu"


def _with_linears(part: Any) -> Any:
    """A copy of a part whose linear layers, at any depth, are oneDNN's; a part without any that it can compute as it is."""
    if type(part) is nn.Linear:
        return OneDnnLinear(part) if _is_computable(part) and not _is_hooked(part) else part
    parts = {name: _with_linears(child) for name, child in part._modules.items() if child is not None}
    others = {name: child for name, child in parts.items() if child is not part._modules[name]}
    return with_modules(part, **others) if others else part


def with_inplace_gelu(module: Any) -> Any:
    """Copy of a model, not for gradients, whose blocks' GELU works in place: in timm's own MLP nothing else reads what it takes."""
    import timm  # noqa: F401
    from timm.layers import Mlp

    mlps: dict[str, Any] = {f"blocks.{i}.mlp": getattr(block, "mlp", None) for i, block in enumerate(module.blocks)}
    plain: dict[str, Any] = {
        name: mlp for name, mlp in mlps.items() if type(mlp) is Mlp and type(mlp.act) is nn.GELU and not _is_hooked(mlp)
    }
    return with_modules(module, **{f"{name}.act": _GeluInPlace(mlp.act.approximate) for name, mlp in plain.items()})


def _is_hooked(part: nn.Module) -> bool:
    """True if the module or a child has forward hooks; it must not be replaced."""
    return any(module._forward_hooks or module._forward_pre_hooks for module in part.modules())


@functools.cache
def onednn_is_faster() -> bool:
    """Whether oneDNN takes clearly less time than PyTorch's choice for a layer of `WIDTH`; timed once in a process."""
    if not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")):
        return False
    usually = skip_init(nn.Linear, WIDTH, WIDTH)  # draws no random numbers: they are the caller's
    by_onednn, x = OneDnnLinear(usually), torch.ones(1, TOKENS, WIDTH)
    with torch.inference_mode():
        for numbers in usually.parameters():
            numbers.fill_(1)
        ways = [functools.partial(layer, x) for layer in (usually, by_onednn)]
        seconds = [[timeit.timeit(way, number=1) for way in ways] for _ in range(TIMES)]  # in turn
    usual, other = map(min, zip(*seconds, strict=True))
    return usual > MARGIN * other

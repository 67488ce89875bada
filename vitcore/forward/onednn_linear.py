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

from vitcore.module_swaps import with_swapped_modules

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


class _GeluInPlace(nn.GELU):
    """GELU that overwrites its argument: no fresh memory for what is the largest array of a pass."""

    def forward(self, x: Tensor) -> Tensor:
        """GELU of x, in x."""
        return torch.ops.aten.gelu_(x, approximate=self.approximate)


def with_faster_modules(part: Any, linears: bool = True, inplace_gelu: bool = False) -> Any:
    """Copy of a model for inference, or the model itself where nothing is exchanged. Not for gradients.

    `linears` are oneDNN's where it is faster than PyTorch's choice; results then differ in float32's last digits. With
    `inplace_gelu` so is the GELU of timm's own MLP, where nothing else reads what it takes.
    """
    import timm  # noqa: F401
    from timm.layers import Mlp

    linears = linears and not torch.is_autocast_enabled("cpu")  # which casts for PyTorch's own layers alone
    if linears and type(part) is nn.Linear:
        computable = part.weight.dtype == torch.float32 and part.weight.device.type == "cpu" and not _is_hooked(part)
        return OneDnnLinear(part) if computable and onednn_is_faster() else part
    faster: dict[str, Any] = {
        name: child and with_faster_modules(child, linears, inplace_gelu) for name, child in part._modules.items()
    }
    if inplace_gelu and type(part) is Mlp and type(part.act) is nn.GELU and not _is_hooked(part):
        faster["act"] = _GeluInPlace(part.act.approximate)
    changed = {name: child for name, child in faster.items() if child is not part._modules[name]}
    return with_swapped_modules(part, **changed) if changed else part


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

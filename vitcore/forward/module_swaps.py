"""Module swaps: copies of a model with some modules exchanged: weights are shared, and the model itself stays as it is.

Forward hooks would be seen by every thread that runs the shared module; a copy belongs to the thread that made it.
"""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from vitcore.forward.onednn_linear import OneDnnLinear, onednn_is_faster


def with_modules(module: nn.Module, **parts: nn.Module) -> Any:
    """A shallow copy of `module` whose named parts are these; everything else, weights included, is the original's."""
    clone = copy.copy(module)
    clone._modules = {**module._modules, **parts}
    return clone


class WatchedModule(nn.Module):
    """A module that works as before and calls `see` with its first input and its output; what `see` returns replaces the output."""

    def __init__(self, part: nn.Module, see: Callable[[Tensor, Tensor], Tensor | None]) -> None:
        super().__init__()
        self.part, self.see = part, see

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """What the part makes of x, or what `see` answered."""
        result = self.part(x, *args, **kwargs)
        answer = self.see(x, result)
        return result if answer is None else answer


class _Block(WatchedModule):
    """A watched block that can still be asked how many heads it has."""

    @property
    def attn(self) -> Any:
        return self.part.attn


class _GeluInPlace(nn.Module):
    """GELU that overwrites its argument: no fresh memory for what is the largest array of a pass."""

    def __init__(self, approximate: str) -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        """GELU of x, in x."""
        return torch.ops.aten.gelu_(x, approximate=self.approximate)


def _is_hooked(part: nn.Module) -> bool:
    """True if the module or a child has forward hooks; it must not be replaced."""
    return any(module._forward_hooks or module._forward_pre_hooks for module in part.modules())


def with_inplace_gelu(block: Any) -> Any:
    """Copy of a block whose GELU works in place; in timm's own MLP nothing else reads what its GELU takes."""
    import timm  # noqa: F401
    from timm.layers import Mlp

    mlp = getattr(block, "mlp", None)
    if type(mlp) is not Mlp or type(mlp.act) is not nn.GELU or _is_hooked(mlp):
        return block
    return with_modules(block, mlp=with_modules(mlp, act=_GeluInPlace(mlp.act.approximate)))


def with_onednn_linears(module: nn.Module) -> Any:
    """Copy of a model for inference with oneDNN's linear layers, where they are faster than PyTorch's; else the model itself.

    Results differ from the model's in float32's last digits. Not for gradients.
    """
    return _by_onednn(module) if onednn_is_faster() else module


def _by_onednn(part: Any) -> Any:
    """A copy of a part whose linear layers, at any depth, are oneDNN's; a part without any that it can compute as it is."""
    if type(part) is nn.Linear:
        computable = part.weight.dtype == torch.float32 and part.weight.device.type == "cpu"
        return OneDnnLinear(part) if computable and not _is_hooked(part) else part
    parts = {name: _by_onednn(child) for name, child in part._modules.items() if child is not None}
    others = {name: child for name, child in parts.items() if child is not part._modules[name]}
    return with_modules(part, **others) if others else part


def with_watched_blocks(module: nn.Module, see: Callable[[Tensor, Tensor], None]) -> Any:
    """A copy of a model that shows what goes into each of its blocks and leaves it to `see`; not for gradients."""
    blocks: Any = module.blocks
    return with_modules(module, blocks=nn.Sequential(*(_Block(with_inplace_gelu(block), see) for block in blocks)))

"""Copies of a model with some parts exchanged: the weights are shared, and the model itself, which others use, stays as it is.

Forward hooks would be seen by every thread that runs the shared module; a copy belongs to the thread that made it.
"""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from vitcore.forward.onednn_linear import ByOneDnn, onednn_is_faster


def with_parts(module: nn.Module, **parts: nn.Module) -> Any:
    """A shallow copy of `module` whose named parts are these; everything else, weights included, is the original's."""
    clone = copy.copy(module)
    clone._modules = {**module._modules, **parts}
    return clone


class Watched(nn.Module):
    """A part that works as before and shows its first argument and its result to `see`, which may answer with another result."""

    def __init__(self, part: nn.Module, see: Callable[[Tensor, Tensor], Tensor | None]) -> None:
        super().__init__()
        self.part, self.see = part, see

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """What the part makes of x, or what `see` answered."""
        result = self.part(x, *args, **kwargs)
        answer = self.see(x, result)
        return result if answer is None else answer


class _Block(Watched):
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
    """Whether somebody watches this very part, or one in it, at work: they must be called, and keep what they were shown."""
    return any(module._forward_hooks or module._forward_pre_hooks for module in part.modules())


def _frugal(block: Any) -> Any:
    """A copy of a block whose hidden layer is kept once; in timm's own MLP nothing else reads what its GELU takes."""
    import timm  # noqa: F401
    from timm.layers import Mlp

    mlp = getattr(block, "mlp", None)
    if type(mlp) is not Mlp or type(mlp.act) is not nn.GELU or _is_hooked(mlp):
        return block
    return with_parts(block, mlp=with_parts(mlp, act=_GeluInPlace(mlp.act.approximate)))


def faster(module: nn.Module) -> Any:
    """A copy of a model for inference, with linear layers by the library that is faster here; the model itself if they are.

    Results differ from the model's in float32's last digits. Not for gradients.
    """
    return _by_onednn(module) if onednn_is_faster() else module


def _by_onednn(part: Any) -> Any:
    """A copy of a part whose linear layers, at any depth, are oneDNN's; a part without any that it can compute as it is."""
    if type(part) is nn.Linear:
        computable = part.weight.dtype == torch.float32 and part.weight.device.type == "cpu"
        return ByOneDnn(part) if computable and not _is_hooked(part) else part
    parts = {name: _by_onednn(child) for name, child in part._modules.items() if child is not None}
    others = {name: child for name, child in parts.items() if child is not part._modules[name]}
    return with_parts(part, **others) if others else part


def watching_blocks(module: nn.Module, see: Callable[[Tensor, Tensor], None]) -> Any:
    """A copy of a model that shows what goes into each of its blocks and leaves it to `see`; not for gradients."""
    blocks: Any = module.blocks
    return with_parts(module, blocks=nn.Sequential(*(_Block(_frugal(block), see) for block in blocks)))

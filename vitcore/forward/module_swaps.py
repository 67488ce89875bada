"""Module swaps: copies of a model with some modules exchanged or watched: weights are shared, and the model itself stays as it is.

Forward hooks on the model would be seen by every thread that runs it; a copy belongs to the thread that made it.
"""

import copy
from collections.abc import Callable, Iterable
from typing import Any

from torch import nn

ForwardHook = Callable[[nn.Module, tuple[Any, ...], Any], Any]  # as `nn.Module.register_forward_hook` takes it


def with_modules(module: nn.Module, /, **parts: nn.Module) -> Any:
    """A shallow copy of `module` whose parts of these names (dotted: "blocks.3.mlp") are these; all else, weights included, is
    the original's."""
    children = dict(module._modules)
    for name, part in parts.items():
        first, _, rest = name.partition(".")
        children[first] = with_modules(children[first], **{rest: part}) if rest else part  # type: ignore[arg-type]
    clone = copy.copy(module)
    clone._modules = children
    return clone


def with_forward_hooks(module: nn.Module, /, **hooks: ForwardHook) -> Any:
    """A copy of `module` whose parts of these names (dotted) have forward hooks, called after those of the original."""
    for name, hook in hooks.items():
        part = copy.copy(module.get_submodule(name))
        part._forward_hooks = part._forward_hooks.copy()
        part.register_forward_hook(hook)
        module = with_modules(module, **{name: part})
    return module


def with_block_hooks(module: Any, hook: ForwardHook, blocks: Iterable[int] | None = None) -> Any:
    """A copy of a model whose blocks (default: all) have a forward hook."""
    numbers = range(len(module.blocks)) if blocks is None else blocks
    return with_forward_hooks(module, **{f"blocks.{block}": hook for block in numbers})

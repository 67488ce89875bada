"""Module swaps: copies of a model with some modules exchanged or watched: weights are shared, and the model itself stays as it is.

Forward hooks on the model would be seen by every thread that runs it; a copy belongs to the thread that made it.
"""

import copy
from collections.abc import Callable
from typing import Any, Literal

from torch import nn

ForwardHook = Callable[[nn.Module, tuple[Any, ...], Any], Any]  # as `nn.Module.register_forward_hook` takes it
Side = Literal["in", "out"]


def with_swapped_modules(module: nn.Module, /, **parts: nn.Module) -> Any:
    """A shallow copy of `module` whose parts of these names (dotted: "blocks.3.mlp") are these; all else, weights included, is
    the original's."""
    clone = copy.copy(module)
    children: dict[str, Any] = dict(module._modules)
    clone._modules = children
    for name in sorted(parts):  # a part comes before what is in it
        first, _, rest = name.partition(".")
        children[first] = with_swapped_modules(children[first], **{rest: parts[name]}) if rest else parts[name]
        clone.__dict__.pop(name, None)  # what the model has as None (timm's EVA: its patch dropout) may be no module, and hide it
    return clone


def with_hooks(module: nn.Module, side: Side, first: bool = False, /, **hooks: Callable[..., Any]) -> Any:
    """A copy whose parts of these names (dotted) have hooks on what goes "in" or comes "out", called after the original's,
    or, as the `first`, before."""
    parts = {name: copy.copy(module.get_submodule(name)) for name in hooks}
    for name, part in parts.items():
        part._forward_hooks, part._forward_pre_hooks = part._forward_hooks.copy(), part._forward_pre_hooks.copy()
        (part.register_forward_pre_hook if side == "in" else part.register_forward_hook)(hooks[name], prepend=first)
    return with_swapped_modules(module, **parts)


def with_block_hooks(module: Any, hook: ForwardHook) -> Any:
    """A copy of a model whose blocks have a forward hook."""
    return with_hooks(module, "out", **{f"blocks.{block}": hook for block in range(len(module.blocks))})

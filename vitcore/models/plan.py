"""What a model of timm's would be, known before its weights are here: built without memory, on torch's meta device.

So a name that means no plain ViT is refused before anything is downloaded, and one that is too large before it is loaded.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from vitcore.models.cards import ModelError
from vitcore.models.torchvision_ops import declare_torchvision_ops
from vitcore.tape import Call, Softmax, Tape
from vitcore.translation import say

declare_torchvision_ops()


@dataclass(frozen=True)
class Plan:
    """The shape of a model: parameters, L blocks, H heads, T tokens, D width."""

    params: int
    blocks: int
    heads: int
    tokens: int
    width: int

    @property
    def weights_bytes(self) -> int:
        """Its weights in memory, 32-bit floats."""
        return 4 * self.params

    @property
    def pass_bytes(self) -> int:
        """About what a lean recording of one photo takes, and the work that makes it."""
        kept = 2 * self.blocks * self.tokens**2 + 8 * self.blocks * self.tokens * self.width
        one_block = 2 * self.heads * self.tokens**2
        return kept + one_block + 16 * self.tokens**2 + 64 * self.tokens * self.width

    @property
    def gradient_bytes(self) -> int:
        """About what the gradient of a class takes: all weights of attention three times over, and what blocks remember."""
        return 12 * self.blocks * self.heads * self.tokens**2 + 64 * self.blocks * self.tokens * self.width


def of_module(module: Any, tokens: int) -> Plan:
    """The shape of a model that is here already."""
    heads = int(module.blocks[0].attn.num_heads)
    params = sum(p.numel() for p in module.parameters())
    return Plan(params, len(module.blocks), heads, tokens, int(module.embed_dim))


@functools.lru_cache(maxsize=64)
def plan(name: str) -> Plan | None:
    """The shape of timm's model of that name; None where timm can't build it without memory.

    Raises: ModelError, for one that is not a ViT whose every block attends over one grid of patches.
    """
    import timm

    try:
        with torch.device("meta"):
            module: Any = timm.create_model(name, pretrained=False).eval()
    except Exception:  # each architecture is built in its own way, and some ask for numbers on the way
        return None
    check(name, module)
    rows, cols = module.patch_embed.grid_size
    planned = of_module(module, module.num_prefix_tokens + rows * cols)
    calls = _calls(module, planned)
    if calls is not None and calls != planned.blocks:
        raise ModelError(
            say(
                "{name} attends over all its tokens in {block} of its {blocks} blocks only",
                name=name,
                block=calls,
                blocks=planned.blocks,
            )
        )
    return planned


def check(name: str, module: Any) -> None:
    """Raises: ModelError, when the module has not the parts of a plain Vision Transformer."""
    first = next(iter(getattr(module, "blocks", ())), None)
    grid = hasattr(getattr(module, "patch_embed", None), "grid_size")
    if not (grid and hasattr(first, "attn") and hasattr(module, "num_prefix_tokens")):
        raise ModelError(
            say(
                "{name} is not a plain Vision Transformer: its blocks do not attend over one grid of patches, "
                "so these pictures are not defined for it.",
                name=name,
            )
        )


def _calls(module: Any, shape: Plan) -> int | None:
    """In how many calls all heads attend over all tokens; None where the model can't run without memory."""
    calls: list[int] = []

    def watch(call: Call | Softmax) -> None:
        weights = call.result.shape if isinstance(call, Softmax) else (*call.q.shape[:3], call.k.shape[-2])
        if tuple(weights[1:]) == (shape.heads, shape.tokens, shape.tokens):
            calls.append(1)

    run: Callable[..., Any] = module
    try:
        high, wide = module.patch_embed.img_size or module.pretrained_cfg["input_size"][1:]
        with torch.no_grad(), Tape(watch):
            run(torch.empty(1, 3, high, wide, device="meta"))
    except Exception:  # whatever such a model asks for that has no value there
        return None
    return len(calls)

"""Patch embeddings that are a linear layer over a patch's pixels, colours last: the same numbers as a convolution."""

import math

from torch import Tensor

from vitcore.models.formats.rename_and_join_tensors import StateDict
from vitcore.models.model_cards import ModelError


def linear_to_convolution(state: StateDict, name: str = "patch_embed.proj.weight") -> None:
    """Reorder a layer over (P·P·C) numbers of a patch as a kernel (D, C, P, P); also the scale and shift of a norm before it.

    Raises: ModelError, where its numbers are no square patch of three colours, and not certainly one of a single channel.
    """
    layer = state[name]
    if layer.ndim != 2:
        return
    side, channels = _side_and_channels(layer.shape[1])
    state[name] = _colours_first(layer, side, channels).contiguous()
    for norm in ("patch_embed.norm_in.weight", "patch_embed.norm_in.bias"):
        if norm in state and state[norm].shape == layer.shape[1:]:
            state[norm] = _colours_first(state[norm], side, channels).flatten().contiguous()


def _colours_first(numbers: Tensor, side: int, channels: int) -> Tensor:
    return numbers.unflatten(-1, (side, side, channels)).movedim(-1, -3)


def _side_and_channels(numbers: int) -> tuple[int, int]:
    """Of three colours where it can be; of one channel where no even number of channels can be meant."""
    side = math.isqrt(numbers // 3)
    if 3 * side * side == numbers:
        return side, 3
    side = math.isqrt(numbers)
    if side * side == numbers and side % 2:
        return side, 1
    raise ModelError("Its patch embedding takes {count} numbers of a patch, which are no square patch of three colours.",
                     count=numbers)  # fmt: skip

"""Queries and keys of a recording: L·T·2D numbers in place of L·H·T² weights, which are made of them without the model.

Shapes: L blocks, H heads, T tokens, d width of a head, D = H·d.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vitcore.analysis.rollout import HeadFusion
from vitcore.attention_hooks import AttentionCall
from vitcore.forward.block_attention import FusedHeadsReducer, read_only_array, softmax_weights_into


@dataclass(frozen=True, eq=False)
class QueryKey:
    """Queries and keys of a block's attention, (H, T, d) each: softmax(queries · keysᵀ · factor) is its weights."""

    queries: Tensor
    keys: Tensor
    factor: float

    def weights(self) -> Iterator[tuple[slice, Tensor]]:
        """The weights (1, T, T) of one head after another, in one buffer, computed as they were when they were read."""
        out = torch.empty(1, *2 * self.queries.shape[1:2], dtype=torch.float32)
        for head in range(len(self.queries)):
            one = slice(head, head + 1)
            yield one, softmax_weights_into(out, self.queries[one], self.keys[one], self.factor)


class QueryKeyReducer:
    """`blocks`: the queries and keys of every block of which they tell all, for no mask is added to its scores."""

    def __init__(self) -> None:
        self.blocks: dict[int, QueryKey] = {}

    def add(self, block: int, event: AttentionCall) -> None:
        """Keep an event's, after those of the block's events before."""
        if event.mask is not None:
            return
        q, k = (part[0].to("cpu", torch.float32, copy=True) for part in (event.q, event.k))
        if before := self.blocks.get(block):
            q, k = torch.cat([before.queries, q]), torch.cat([before.keys, k])
        self.blocks[block] = QueryKey(q, k, event.factor)

    def of_all_blocks(self, blocks: int) -> tuple[QueryKey, ...]:
        """Those of every block; () where one has none."""
        return tuple(self.blocks.values()) if len(self.blocks) == blocks else ()


def recompute_heads(query_key: Sequence[QueryKey], block: int) -> NDArray[np.float16]:
    """Attention maps (H, T, T) of a block, recomputed from `Recording.query_key` without another forward pass.

    Raises: KeyError, where queries and keys were not kept.
    """
    if not query_key:
        raise KeyError(block)
    heads, tokens = query_key[block].queries.shape[:2]
    maps = torch.empty(heads, tokens, tokens, dtype=torch.float16)
    for head, weights in query_key[block].weights():
        maps[head] = weights
    return read_only_array(maps)


def recompute_fused_heads(query_key: Sequence[QueryKey], fusion: HeadFusion) -> NDArray[np.float16]:
    """Fused heads (L, T, T) of all blocks, recomputed from `Recording.query_key` without another forward pass.

    Raises: KeyError, where queries and keys were not kept.
    """
    if not query_key:
        raise KeyError(fusion)
    heads, tokens = query_key[0].queries.shape[:2]
    fused = FusedHeadsReducer(fusion, len(query_key), heads, tokens)
    for block, one in enumerate(query_key):
        for head, weights in one.weights():
            fused.add(block, head, weights)
    return read_only_array(fused.matrices.half())

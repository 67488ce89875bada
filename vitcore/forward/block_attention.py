"""The watcher of a pass over one image: each block's attention is computed a few heads at a time, reduced, and answered with.

Shapes: L blocks, H heads, T tokens.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from vitcore.analysis.rollout import HeadFusion
from vitcore.attention_capture import AttentionCall, AttentionEvent, additive_mask
from vitcore.forward.attention_reducers import (
    DistanceReducer,
    FusedHeadsReducer,
    HeadMapsReducer,
    PoolingReducer,
    read_only,
    weights_into,
)
from vitcore.forward.query_key import QueryKeyReducer
from vitcore.models.vit import Vit, check_heads

# Of weights: as many heads are read at once, or four in twice as much; measured best on 2 cores.
AT_ONCE_BYTES = 9 * 2**20


class BlockAttention:
    """The watcher of a pass over one image: hands each block's attention to reducers, and answers with it unless `exact`.

    `maps` are the blocks whose heads are kept; with `query_key` so are queries and keys, and fused heads in half precision.
    """

    def __init__(
        self, vit: Vit, maps: Iterable[int] = (), fusions: Iterable[HeadFusion] = ("mean",), exact: bool = False,
        query_key: bool = False, buffer: Tensor | None = None,
    ) -> None:  # fmt: skip
        self.vit, self.exact, self.buffer = vit, exact, buffer
        self.calls = 0  # of attention over all tokens
        steps, heads = (vit.blocks * len(vit.structure.axes), 1) if vit.structure.axes else (vit.blocks, vit.heads)
        self.fused = {name: FusedHeadsReducer(name, steps, heads, vit.grid.tokens, query_key, vit.device) for name in fusions}
        self.distance, self.maps = DistanceReducer(vit), HeadMapsReducer(frozenset(maps), vit.heads)
        self.pool, self.query_key = PoolingReducer(vit), QueryKeyReducer() if query_key else None

    def __call__(self, event: AttentionEvent) -> Tensor | None:
        *_, heads, queries, keys = event.shape
        if queries != self.vit.grid.tokens:
            self.pool.add(event)
        if self.buffer is None or (queries, keys) != self.buffer.shape[1:]:
            return None
        block, call = divmod(self.calls, self.vit.structure.calls)
        check_heads(self.vit, block, heads)
        value = event.v if isinstance(event, AttentionCall) and not self.exact else None
        out = None if value is None else torch.empty_like(value.transpose(1, 2), memory_format=torch.contiguous_format)
        for some, weights in _weights_of_heads(event, self.buffer):
            place = slice(call * heads + some.start, call * heads + some.stop)
            self.distance.add(block, place, weights)
            self.maps.add(block, place, weights)
            for fused in self.fused.values():
                fused.add(block, place, weights)
            if out is not None and value is not None:
                out[0, :, some] = torch.bmm(weights.to(out.dtype), value[0, some]).transpose(0, 1)
        if self.query_key is not None and isinstance(event, AttentionCall):
            self.query_key.add(block, event)
        self.calls += 1
        return None if out is None else out.transpose(1, 2)  # laid out as the fused kernel leaves it

    def fields(self) -> dict[str, Any]:
        """Those of a `Recording` that are made of attention."""
        far, renormalised, share = map(read_only, self.distance.distances())
        return {
            "distance_px": far, "distance_renormalised_px": renormalised, "prefix_attention_share": share,
            "fused": {name: read_only(one.matrices) for name, one in self.fused.items()},
            "maps": {block: read_only(one) for block, one in self.maps.maps.items()},
            "pooling_weights": read_only(self.pool.weights()),
            "query_key": self.query_key.of_all_blocks(self.vit.blocks) if self.query_key is not None else (),
        }  # fmt: skip


def _weights_of_heads(event: AttentionEvent, buffer: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Weights (heads, T, T) of an event's heads, as many at a time as the buffer, in which they are computed, has room for."""
    if not isinstance(event, AttentionCall):
        yield slice(0, event.shape[1]), event.result[0].float()
        return
    mask = None if event.mask is None else additive_mask(event.mask, torch.float32).expand(*event.q.shape[:2], -1, -1)[0]
    queries, keys = event.q[0].float(), event.k[0].float()
    for first in range(0, len(queries), len(buffer)):
        heads = slice(first, min(first + len(buffer), len(queries)))
        out = buffer[: heads.stop - first]
        yield heads, weights_into(out, queries[heads], keys[heads], event.factor, None if mask is None else mask[heads])


def weights_buffer(vit: Vit) -> Tensor:
    """Room for the weights (heads, T, T) of as many heads as are read at once; watchers of one pass share it."""
    tokens = vit.grid.tokens
    return torch.empty(_at_once(vit.heads // vit.structure.calls, tokens), tokens, tokens, device=vit.device)


def _at_once(heads: int, tokens: int) -> int:
    """How many of an attention call's heads are read at once, the same number each time if it can be."""
    of_a_head = 4 * tokens**2
    most = max(1, AT_ONCE_BYTES // of_a_head, min(4, 2 * AT_ONCE_BYTES // of_a_head))
    return math.ceil(heads / math.ceil(heads / most))

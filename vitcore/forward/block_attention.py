"""The watcher of a pass over one image: each block's attention is computed a few heads at a time, reduced, and answered with.

Each reducer keeps one thing of the weights (heads, T, T), which lie in a buffer that is used again. Shapes: L blocks, H heads,
T tokens = prefix + N patches.
"""

import functools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from vitcore.analysis.rollout import HeadFusion
from vitcore.attention_hooks import AttentionCall, AttentionEvent, mask_as_score_term, zero_if_fully_masked
from vitcore.grid import Grid
from vitcore.models.vit import Vit, check_observed_heads

if TYPE_CHECKING:
    from vitcore.forward.query_key import QueryKeyReducer

# Of weights: as many heads are read at once, or four in twice as much; measured best on 2 cores.
AT_ONCE_BYTES = 9 * 2**20
POOLING_WEIGHTS: dict[str, tuple[tuple[float, ...], float]] = {  # of the first tokens, and of all patches together
    "class token": ((1.0,), 0), "class and distillation tokens": ((0.5, 0.5), 0),  # the answer is the mean of two heads
    "class token and mean of patches": ((0.5,), 0.5),  # the head sees both side by side
}  # fmt: skip


class AttentionCollector:
    """The watcher of a pass over one image: hands each block's attention to reducers, and answers with it unless `exact`.

    `maps` are the blocks whose heads are kept; fused heads are in half precision beside queries and keys.
    """

    def __init__(
        self, vit: Vit, buffer: Tensor, maps: Iterable[int] = (), fusions: Iterable[HeadFusion] = ("mean",), exact: bool = False,
        query_key: "QueryKeyReducer | None" = None,
    ) -> None:  # fmt: skip
        self.vit, self.exact, self.query_key, self.buffer = vit, exact, query_key, buffer
        self.calls = 0  # of attention over all tokens
        structure, tokens, device = vit.structure, vit.grid.tokens, vit.device
        steps, heads = (structure.blocks * len(structure.axes), 1) if structure.axes else (structure.blocks, structure.heads)
        self.fused = {name: FusedHeadsReducer(name, steps, heads, tokens, device) for name in fusions}
        self.maps = {block: torch.empty(structure.heads, tokens, tokens, dtype=torch.float16, device=device) for block in maps}
        self.distance, self.pool = DistanceReducer(vit), PoolingReducer(vit)

    def __call__(self, event: AttentionEvent) -> Tensor | None:
        *_, heads, queries, keys = event.shape
        block, call = divmod(self.calls, self.vit.structure.calls)
        if is_pool := queries != self.vit.grid.tokens or (queries == 1 and block == self.vit.structure.blocks):  # after all blocks
            self.pool.add(event)
        if is_pool or (queries, keys) != self.buffer.shape[1:]:
            return None
        check_observed_heads(self.vit, block, heads)
        value = event.v if isinstance(event, AttentionCall) and not self.exact else None
        out = None if value is None else torch.empty_like(value.transpose(1, 2), memory_format=torch.contiguous_format)
        for some, weights in _weights_of_heads(event, self.buffer):
            place = slice(call * heads + some.start, call * heads + some.stop)
            self.distance.add(block, place, weights)
            if block in self.maps:
                self.maps[block][place] = weights
            for fused in self.fused.values():
                fused.add(block, place, weights)
            if out is not None and value is not None:
                out[0, :, some] = torch.bmm(weights.to(out.dtype), value[0, some]).transpose(0, 1)
        if self.query_key and isinstance(event, AttentionCall):
            self.query_key.add(block, event)
        self.calls += 1
        return None if out is None else out.transpose(1, 2)  # laid out as the fused kernel leaves it

    def fields(self) -> dict[str, Any]:
        """Those of a `Recording` that are made of attention."""
        far, renormalised, share = map(read_only_array, self.distance.distances())
        kept = torch.float16 if self.query_key else torch.float32
        return {
            "distance_px": far, "distance_renormalised_px": renormalised, "prefix_attention_share": share,
            "fused": {name: read_only_array(one.matrices.to(kept)) for name, one in self.fused.items()},
            "maps": {block: read_only_array(one) for block, one in self.maps.items()},
            "pooling_weights": read_only_array(self.pool.weights()),
            "query_key": self.query_key.of_all_blocks(self.vit.structure.blocks) if self.query_key else (),
        }  # fmt: skip


def _weights_of_heads(event: AttentionEvent, buffer: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Weights (heads, T, T) of an event's heads, as many at a time as the buffer, in which they are computed, has room for."""
    if not isinstance(event, AttentionCall):
        yield slice(0, event.shape[1]), event.result[0].float()
        return
    mask = None if event.mask is None else mask_as_score_term(event.mask, torch.float32).expand(*event.q.shape[:2], -1, -1)[0]
    queries, keys = event.q[0].float(), event.k[0].float()
    for first in range(0, len(queries), len(buffer)):
        heads = slice(first, min(first + len(buffer), len(queries)))
        out = buffer[: heads.stop - first]
        yield heads, softmax_weights_into(out, queries[heads], keys[heads], event.factor, None if mask is None else mask[heads])


def attention_weights_buffer(vit: Vit) -> Tensor:
    """Room for the weights (heads, T, T) of the heads that are read at once, each time as many if it can be; watchers share it."""
    heads, tokens = vit.structure.heads // vit.structure.calls, vit.grid.tokens
    of_a_head = 4 * tokens**2
    most = max(1, AT_ONCE_BYTES // of_a_head, min(4, 2 * AT_ONCE_BYTES // of_a_head))
    return torch.empty(math.ceil(heads / max(1, math.ceil(heads / most))), tokens, tokens, device=vit.device, dtype=torch.float32)


class DistanceReducer:
    """Mean distance of every head (arXiv 2010.11929 App. D.7), and its share of attention on prefix tokens."""

    def __init__(self, vit: Vit) -> None:
        self.grid, shape = vit.grid, (vit.structure.blocks, vit.grid.patches, vit.structure.heads, 2)
        self.sums = torch.zeros(shape, device=vit.device, dtype=torch.float32)  # over patches: distances weighed, and weights

    def add(self, block: int, heads: slice, weights: Tensor) -> None:
        patches = weights[:, self.grid.prefix :, self.grid.prefix :]
        self.sums[block, :, heads] = torch.bmm(patches.transpose(0, 1), _far_and_ones(self.grid, self.sums.device))

    def distances(self) -> tuple[Tensor, Tensor, Tensor]:
        """(L, H) each: mean distance with what prefix tokens get dropped, renormalised, and the share that they get."""
        walked, left = self.sums.unbind(-1)
        left = left if self.grid.prefix else torch.ones_like(left)
        return walked.mean(1), (walked / left.clamp(min=1e-12)).mean(1), (1 - left.mean(1)).clamp(min=0)


@functools.lru_cache(maxsize=8)
def _far_and_ones(grid: Grid, device: torch.device) -> Tensor:
    """(N, N, 2): from each patch the distances to all, in px, beside ones; weights times these: how far they go, and their sum."""
    far = torch.from_numpy(grid.distances_px()).float()
    rows = torch.stack([far, torch.ones_like(far)], 1)  # laid out so, the product is four times as fast
    return rows.to(device).transpose(1, 2)


class FusedHeadsReducer:
    """`matrices` (L, T, T): the heads of every block fused."""

    def __init__(self, fusion: HeadFusion, blocks: int, heads: int, tokens: int, device: torch.device | None = None) -> None:
        self.fusion = fusion
        self.matrices = torch.full((blocks, tokens, tokens), float(fusion == "min"), device=device, dtype=torch.float32)
        self.shares = torch.full((1, heads), 1 / max(1, heads), device=device, dtype=torch.float32)

    def add(self, block: int, heads: slice, weights: Tensor) -> None:
        into = self.matrices[block]
        if self.fusion == "mean":
            into.view(1, -1).addmm_(self.shares[:, : len(weights)], weights.reshape(len(weights), -1))
        else:
            most, more = (torch.amax, torch.maximum) if self.fusion == "max" else (torch.amin, torch.minimum)
            more(into, most(weights, 0), out=into)


@dataclass(eq=False)
class PoolingReducer:
    """Where a model reads its answer: of its attention pool the events, whose query is no token; of others by their kind."""

    vit: Vit
    row: Tensor | None = None  #: of the last event, over the tokens that are read

    def add(self, event: AttentionEvent) -> None:
        self.row = event.weights().detach().float().mean((0, 1, 2)).cpu()

    def weights(self) -> Tensor:
        """A distribution over tokens (T,); zeros for a model that does not attend over its grid."""
        row, grid = torch.zeros(self.vit.grid.tokens, dtype=torch.float32), self.vit.grid
        if self.row is not None and self.vit.is_global:
            row[-len(self.row) :] = self.row  # some pools leave prefix tokens out
        elif self.vit.is_global:
            first, patches = POOLING_WEIGHTS.get(self.vit.pooling, ((), 1))
            row[grid.prefix :] = patches / max(1, grid.patches)  # none may be left
            row[: len(first)] = torch.tensor(first, dtype=torch.float32)
        return row


def softmax_weights_into(out: Tensor, queries: Tensor, keys: Tensor, factor: float, mask: Tensor | None = None) -> Tensor:
    """softmax(queries · keysᵀ · factor + mask), (heads, T, T), computed in `out` in float32."""
    torch.baddbmm(out, queries, keys.transpose(-2, -1), beta=0, alpha=factor, out=out)
    if mask is None:
        return torch.softmax(out, -1, out=out)
    out += mask
    return out.copy_(zero_if_fully_masked(out.softmax(-1), out))


def read_only_array(values: Tensor) -> NDArray:
    """A read-only array: visitors share recordings. Copied from wherever the model is."""
    array = values.cpu().numpy()
    array.flags.writeable = False
    return array

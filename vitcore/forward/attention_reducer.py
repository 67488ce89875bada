"""The watcher that reduces attention as it streams by: block by block and head by head, with buffers that are used again.

Mean distance of every head (arXiv 2010.11929 App. D.7), heads fused per block, and the maps that were asked for. Shapes:
L blocks, H heads, T tokens = prefix + N patches.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vitcore.analysis.rollout import HeadFusion
from vitcore.architectures.axial_vit import combine_axis_attention, spread_axis_attention
from vitcore.attention_capture import AttentionCall, SoftmaxCall, additive_mask, zero_if_fully_masked
from vitcore.grid import Grid
from vitcore.models.load_model import Vit
from vitcore.models.model_cards import ModelError

# Of weights: as many heads are read at once, or four in twice as much; measured best on 2 cores.
AT_ONCE_BYTES = 9 * 2**20


@dataclass(frozen=True, eq=False)
class QueryKey:
    """Queries and keys of a block's attention, (H, T, d) each: softmax(queries · keysᵀ · factor) is its weights."""

    queries: Tensor
    keys: Tensor
    factor: float


@functools.lru_cache(maxsize=8)
def _far_and_ones(grid: Grid) -> Tensor:
    """(N, N, 2): from each patch the distances to all, in px, beside ones; weights times these: how far they go, and their sum."""
    far = torch.from_numpy(grid.distances_px()).float()
    rows = torch.stack([far, torch.ones_like(far)], 1)  # laid out so, the product is four times as fast
    return rows.transpose(1, 2)


def _at_once(heads: int, tokens: int) -> int:
    """How many of an attention call's heads are read at once, the same number each time if it can be."""
    of_a_head = 4 * tokens**2
    most = max(1, AT_ONCE_BYTES // of_a_head, min(4, 2 * AT_ONCE_BYTES // of_a_head))
    return math.ceil(heads / math.ceil(heads / most))


def pooling_weights(kind: str, grid: Grid, pool: Tensor | None = None) -> NDArray[np.float32]:
    """Where a model of this kind (`Vit.pooling`) reads its answer, as a distribution over tokens (T,)."""
    row = np.zeros(grid.tokens, np.float32)
    if pool is not None:
        row[-len(pool) :] = pool  # some pools leave prefix tokens out
    elif kind == "class token":
        row[0] = 1
    elif kind == "class and distillation tokens":
        row[:2] = 0.5  # the answer is the mean of two heads
    elif kind == "class token and mean of patches":
        row[0], row[grid.prefix :] = 0.5, 0.5 / grid.patches  # the head sees both side by side
    else:
        row[grid.prefix :] = 1 / grid.patches
    return row


class AttentionReducer:
    """The watcher that reduces each block's attention as it streams by."""

    def __init__(
        self, vit: Vit, keep: frozenset[int], fusions: tuple[HeadFusion, ...], fused_kernel: bool, query_key_only: bool
    ) -> None:
        grid = vit.grid
        self.grid, self.keep, self.fused_kernel, self.kind = grid, keep, fused_kernel, vit.pooling
        self.block = 0
        self.name, self.blocks, self.heads = vit.name, vit.blocks, vit.heads
        self.axes, self.calls, self.call = vit.structure.axes, vit.structure.calls, 0  # of a block; the one at hand
        self.each = vit.heads if self.axes else vit.heads // self.calls  # heads of a call
        self.rows_maps = torch.empty(0)
        self.sums = torch.zeros(vit.blocks, grid.patches, vit.heads, 2)  # over patches: distances weighed, and weights
        tokens = grid.tokens
        kind = torch.float16 if query_key_only else torch.float32
        steps = vit.blocks * max(1, len(self.axes))
        self.fused = {name: torch.empty((steps, tokens, tokens), dtype=kind) for name in fusions}
        # of the block at hand, in float32, where what is kept is not
        self.fusing = {name: torch.empty(tokens, tokens) for name in fusions if query_key_only}
        self.shares, self.query_key_only = torch.full((1, vit.heads), 1 / vit.heads), query_key_only
        self.query_key: tuple[QueryKey, ...] = ()
        self.maps: dict[int, Tensor] = {}
        self.pool: Tensor | None = None
        self.far_and_ones = _far_and_ones(grid)
        self.buffer = torch.empty(_at_once(self.each, tokens), tokens, tokens)

    def __call__(self, call: AttentionCall | SoftmaxCall) -> Tensor | None:
        if self.axes:
            self._along(call)
            return None
        done = self.call * self.each  # heads of the block that were seen in calls before
        if isinstance(call, SoftmaxCall):
            if call.result.shape[-2:] == self.buffer.shape[-2:]:
                self._expect(call.result.shape[1])
                self._reduce(call.result[0].float(), slice(done, done + self.each))
                self._next_call()
            elif call.result.shape[-2] != self.grid.tokens:
                self.pool = call.weights().float().mean((0, 1, 2))
            return None
        if call.q.shape[-2] != self.grid.tokens:  # an attention pool: its query is not a token
            self.pool = call.weights().float().mean((0, 1, 2))
            return None
        self._expect(call.q.shape[1])
        out = None if self.fused_kernel else torch.empty_like(call.v.transpose(1, 2), memory_format=torch.contiguous_format)
        mask = None if call.mask is None else additive_mask(call.mask, torch.float32).expand(*call.q.shape[:2], -1, -1)
        queries, keys = call.q[0].float(), call.k[0].float().transpose(-2, -1)
        for first in range(0, self.each, len(self.buffer)):
            heads = slice(first, min(first + len(self.buffer), self.each))
            p = self.buffer[: heads.stop - first]
            torch.baddbmm(p, queries[heads], keys[heads], beta=0, alpha=call.factor, out=p)
            if mask is None:
                torch.softmax(p, -1, out=p)
            else:
                p += mask[0, heads]
                p.copy_(zero_if_fully_masked(p.softmax(-1), p))
            self._reduce(p, slice(done + heads.start, done + heads.stop))
            if out is not None:
                out[0, :, heads] = torch.bmm(p.to(out.dtype), call.v[0, heads]).transpose(0, 1)
        if self.query_key_only and mask is None:
            q, k = (part[0].float().clone() for part in (call.q, call.k))
            if self.call:
                before = self.query_key[-1]
                q, k, self.query_key = torch.cat([before.queries, q]), torch.cat([before.keys, k]), self.query_key[:-1]
            self.query_key += (QueryKey(q, k, call.factor),)
        self._next_call()
        return None if out is None else out.transpose(1, 2)  # laid out as the fused kernel leaves it

    def _expect(self, heads: int) -> None:
        """As many attention calls a block, with as many heads, as were seen when the model was opened."""
        if self.block >= self.blocks or heads != self.each:
            raise ModelError(
                "the attention of {name} is not one call of {heads} {heads:head|heads} in each block",
                name=self.name,
                heads=self.heads,
            )

    def _reduce(self, p: Tensor, heads: slice) -> None:
        """Take what is needed from the weights p (heads, T, T) of some heads of a block."""
        self._measure(p, heads)
        for name, fused in self.fused.items():
            self._fuse(name, p, heads.start == 0, self.fusing.get(name, fused[self.block]))

    def _fuse(self, name: HeadFusion, p: Tensor, first: bool, into: Tensor) -> None:
        """Some heads' weights p (heads, T, T) fused with those of the block's heads before, of which (T, T) `into` tells."""
        if name == "mean":
            flat = into.view(1, -1)
            torch.addmm(flat, self.shares[:, : len(p)], p.reshape(len(p), -1), beta=0 if first else 1, out=flat)
        else:
            most = torch.amax if name == "max" else torch.amin
            more = torch.maximum if name == "max" else torch.minimum
            most(p, 0, out=into) if first else more(into, most(p, 0), out=into)

    def _measure(self, p: Tensor, heads: slice) -> None:
        """Sums of some heads of a block, and their maps where they are kept."""
        block, prefix = self.block, self.grid.prefix
        patches = p[:, prefix:, prefix:]
        self.sums[block, :, heads] = torch.bmm(patches.transpose(0, 1), self.far_and_ones)
        if block in self.keep:
            self.maps.setdefault(block, torch.empty(self.heads, *p.shape[1:], dtype=torch.float16))[heads] = p

    def _along(self, call: AttentionCall | SoftmaxCall) -> None:
        """A step of axial attention: heads fused over all patches, and after the second the product of both, head by head."""
        rows, cols = self.grid.rows, self.grid.cols
        axis = self.axes[self.call]
        lines, length = (rows, cols) if axis == "row" else (cols, rows)
        weights = call.weights().float()
        if weights.shape[0] != lines or weights.shape[-2:] != (length, length):
            return
        self._expect(weights.shape[1])
        fuse: dict[str, Any] = {"mean": torch.mean, "max": torch.amax, "min": torch.amin}
        for name, into in self.fused.items():
            fused = fuse[name](weights, 1, keepdim=True)
            into[self.block * len(self.axes) + self.call] = spread_axis_attention(fused, axis, rows, cols)[0]
        if axis == "row":
            self.rows_maps = weights
        else:
            self._measure(combine_axis_attention(self.rows_maps, weights), slice(0, self.heads))
        self.call = (self.call + 1) % self.calls
        self.block += not self.call

    def _next_call(self) -> None:
        """After the last call of a block comes the next block."""
        self.call = (self.call + 1) % self.calls
        if not self.call:
            self._next()

    def _next(self) -> None:
        """Put the block's fused heads away where they are kept in half; the next block begins."""
        for name, into in self.fusing.items():
            self.fused[name][self.block] = into
        self.block += 1

    def distances(self) -> tuple[Tensor, Tensor, Tensor]:
        """(L, H) each: mean distance with what prefix tokens get dropped, renormalised, and the share that they get."""
        walked, left = self.sums.unbind(-1)
        if not self.grid.prefix:
            left = torch.ones(())
        renormalised = (walked / left.clamp(min=1e-12)).mean(1)
        return walked.mean(1), renormalised, (1 - left.expand_as(walked).mean(1)).clamp(min=0)

    def pooling_weights(self) -> NDArray[np.float32]:
        """Where the model reads its answer, as a distribution over tokens (T,)."""
        return pooling_weights(self.kind, self.grid, self.pool)

    def check(self) -> None:
        """Every block must have been seen once."""
        if self.block != self.blocks:
            raise ModelError(
                "{name} attends over all its tokens in {block} of its {blocks} blocks only",
                name=self.name,
                block=self.block,
                blocks=self.blocks,
            )

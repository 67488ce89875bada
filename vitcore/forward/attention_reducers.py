"""Reducers of attention as it streams by: distances, fused heads and kept maps, of some heads of a block at a time.

The watcher of a pass (`block_attention`) hands each the weights (heads, T, T) of a block, in a buffer that is used again.
Shapes: L blocks, H heads, T tokens = prefix + N patches.
"""

import functools

import torch
from numpy.typing import NDArray
from torch import Tensor

from vitcore.analysis.rollout import HeadFusion
from vitcore.attention_capture import AttentionEvent, zero_if_fully_masked
from vitcore.grid import Grid
from vitcore.models.vit import Vit


class DistanceReducer:
    """Mean distance of every head (arXiv 2010.11929 App. D.7), and its share of attention on prefix tokens."""

    def __init__(self, vit: Vit) -> None:
        self.grid = vit.grid
        # over patches: distances weighed, and weights
        self.sums = torch.zeros(vit.blocks, vit.grid.patches, vit.heads, 2, device=vit.device)

    def add(self, block: int, heads: slice, weights: Tensor) -> None:
        patches = weights[:, self.grid.prefix :, self.grid.prefix :]
        self.sums[block, :, heads] = torch.bmm(patches.transpose(0, 1), _far_and_ones(self.grid, self.sums.device))

    def distances(self) -> tuple[Tensor, Tensor, Tensor]:
        """(L, H) each: mean distance with what prefix tokens get dropped, renormalised, and the share that they get."""
        walked, left = self.sums.unbind(-1)
        if not self.grid.prefix:
            left = torch.ones((), device=walked.device)
        renormalised = (walked / left.clamp(min=1e-12)).mean(1)
        return walked.mean(1), renormalised, (1 - left.expand_as(walked).mean(1)).clamp(min=0)


@functools.lru_cache(maxsize=8)
def _far_and_ones(grid: Grid, device: torch.device) -> Tensor:
    """(N, N, 2): from each patch the distances to all, in px, beside ones; weights times these: how far they go, and their sum."""
    far = torch.from_numpy(grid.distances_px()).float()
    rows = torch.stack([far, torch.ones_like(far)], 1)  # laid out so, the product is four times as fast
    return rows.to(device).transpose(1, 2)


class FusedHeadsReducer:
    """`matrices` (L, T, T): the heads of every block fused; float16 where `half`, of sums in float32."""

    def __init__(
        self, fusion: HeadFusion, blocks: int, heads: int, tokens: int, half: bool = False, device: torch.device | None = None
    ) -> None:
        self.fusion, self.heads = fusion, heads
        self.matrices = torch.empty((blocks, tokens, tokens), dtype=torch.float16 if half else torch.float32, device=device)
        self.sums = torch.empty(tokens, tokens, device=device) if half else None
        self.shares = torch.full((1, heads), 1 / max(1, heads), device=device)

    def add(self, block: int, heads: slice, weights: Tensor) -> None:
        into, first = self.matrices[block] if self.sums is None else self.sums, heads.start == 0
        if self.fusion == "mean":
            flat = into.view(1, -1)
            torch.addmm(flat, self.shares[:, : len(weights)], weights.reshape(len(weights), -1), beta=0 if first else 1, out=flat)
        else:
            most, more = (torch.amax, torch.maximum) if self.fusion == "max" else (torch.amin, torch.minimum)
            most(weights, 0, out=into) if first else more(into, most(weights, 0), out=into)
        if self.sums is not None and heads.stop == self.heads:
            self.matrices[block] = self.sums


class HeadMapsReducer:
    """`maps` by block, (H, T, T) in half precision, of the blocks to be kept."""

    def __init__(self, blocks: frozenset[int], heads: int) -> None:
        self.blocks, self.heads = blocks, heads
        self.maps: dict[int, Tensor] = {}

    def add(self, block: int, heads: slice, weights: Tensor) -> None:
        if block in self.blocks:
            room = torch.empty(self.heads, *weights.shape[1:], dtype=torch.float16, device=weights.device)
            self.maps.setdefault(block, room)[heads] = weights


class PoolingReducer:
    """Where a model reads its answer: of its attention pool the events, whose query is no token; of others by their kind."""

    def __init__(self, vit: Vit) -> None:
        self.vit = vit
        self.row: Tensor | None = None

    def add(self, event: AttentionEvent) -> None:
        self.row = event.weights().detach().float().mean((0, 1, 2)).cpu()

    def weights(self) -> Tensor:
        """A distribution over tokens (T,); zeros for a model that does not attend over its grid."""
        kind, grid = self.vit.pooling, self.vit.grid
        row = torch.zeros(grid.tokens)
        if not self.vit.is_global:
            return row
        if self.row is not None:
            row[-len(self.row) :] = self.row  # some pools leave prefix tokens out
        elif kind == "class token":
            row[0] = 1
        elif kind == "class and distillation tokens":
            row[:2] = 0.5  # the answer is the mean of two heads
        elif kind == "class token and mean of patches":
            row[0], row[grid.prefix :] = 0.5, 0.5 / grid.patches  # the head sees both side by side
        else:
            row[grid.prefix :] = 1 / grid.patches
        return row


def weights_into(out: Tensor, queries: Tensor, keys: Tensor, factor: float, mask: Tensor | None = None) -> Tensor:
    """softmax(queries · keysᵀ · factor + mask), (heads, T, T), computed in `out` in float32."""
    torch.baddbmm(out, queries, keys.transpose(-2, -1), beta=0, alpha=factor, out=out)
    if mask is None:
        return torch.softmax(out, -1, out=out)
    out += mask
    return out.copy_(zero_if_fully_masked(out.softmax(-1), out))


def read_only(values: Tensor) -> NDArray:
    """A read-only array: visitors share recordings. Copied from wherever the model is."""
    array = values.cpu().numpy()
    array.flags.writeable = False
    return array

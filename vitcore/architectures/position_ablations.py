"""The position ablations of the paper as a subclass of timm's VisionTransformer (arXiv 2010.11929 App. D.4, Table 8).

Positions are "1d" (a learned table in raster order), "2d" (half the width for the row, half for the column) or "relative"
(an embedding for every offset p_q − p_k, as keys of a second attention with the content's queries, whose logits are added).
They act "at the stem" (added once before the blocks), at every block ("blocks") or at every block with one table ("shared").
Relative positions belong to attention: "stem" is then the first block's alone. No positions is timm's own `pos_embed="none"`.
Shapes: B images, T tokens = prefix + N patches, D width, H heads, d width of a head.
"""

import copy
from typing import Any

import numpy as np
import timm  # noqa: F401
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from timm.layers import Attention
from timm.models.vision_transformer import Block, VisionTransformer
from torch import Tensor, nn

POSITION_KINDS, POSITION_PLACES = ("1d", "2d", "relative"), ("stem", "blocks", "shared")


class AblatedViT(VisionTransformer):
    """A VisionTransformer whose positions are `positions` ("1d", "2d", "relative"), used at `positions_at`."""

    def __init__(self, positions: str, positions_at: str = "stem", **shape: Any) -> None:
        if positions not in POSITION_KINDS or positions_at not in POSITION_PLACES:
            raise ValueError(f"positions are {POSITION_KINDS} at {POSITION_PLACES}, not {positions!r} at {positions_at!r}")
        relative = {"attn_layer": RelativeAttention} if positions == "relative" else {}
        super().__init__(**{**shape, "pos_embed": "none", "block_fn": BlockWithPositions} | relative)
        self.positions_at, self.relative = positions_at, positions == "relative"
        tokens, prefix = self.num_prefix_tokens + self.patch_embed.num_patches, self.num_prefix_tokens

        def table() -> Any:
            if positions == "1d":
                return PositionTable1d(tokens, self.embed_dim)
            if positions == "2d":
                rows, cols = self.patch_embed.grid_size
                return PositionTable2d(rows, cols, prefix, self.embed_dim)
            first: Any = self.blocks[0]
            return RelativePositionOffsets(tokens, first.attn.head_dim)

        self.places = nn.ModuleList(table() for _ in range(len(self.blocks) if positions_at == "blocks" else 1))
        asked: list[Any] = list(self.blocks) if positions_at != "stem" else list(self.blocks)[: int(self.relative)]
        for i, block in enumerate(asked):
            mine = (self.places[i if positions_at == "blocks" else 0],)  # in a tuple: torch registers it once, at `places`
            if self.relative:
                block.attn.where = mine
            else:
                block.where = mine

    @property
    def pos_embed(self) -> Any:
        """The positions (1, T, D) that are added first; None where they are relative or there are none."""
        return None if "places" not in self._modules or self.relative else self.places[0]()

    @pos_embed.setter
    def pos_embed(self, value: Any) -> None:
        """timm sets it to None: the tables here are others."""

    def _pos_embed(self, x: Tensor) -> Tensor:
        tokens = x if self.cls_token is None else torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1)
        if self.positions_at == "stem" and not self.relative:
            tokens = tokens + self.places[0]()
        return self.pos_drop(tokens)

    def with_permuted_positions(self, order: NDArray[np.int64]) -> "AblatedViT":
        """A copy in which slot i has the position of patch order[i], everywhere; weights are shared with the original."""
        own: dict[int, Any] = {id(t): t for t in (*self.parameters(), *self.buffers())}
        clone = copy.deepcopy(self, own)
        prefix = torch.arange(self.num_prefix_tokens)
        for table in clone.places:
            moved = torch.cat([prefix, self.num_prefix_tokens + torch.from_numpy(order)])
            table.order = moved.to(next(table.parameters()).device)
        return clone


class _Table(nn.Module):
    """Positions with an order in which tokens take them: None as they come."""

    order: Tensor | None = None


class PositionTable1d(_Table):
    """A learned position for each token of the sequence."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, tokens, width))

    def forward(self) -> Tensor:
        """(1, T, D)."""
        return self.pos_embed if self.order is None else self.pos_embed[:, self.order]


class PositionTable2d(_Table):
    """Half of the numbers say the row, half the column; prefix tokens have a position of their own."""

    def __init__(self, rows: int, cols: int, prefix: int, width: int) -> None:
        super().__init__()
        self.rows_embed = nn.Parameter(0.02 * torch.randn(rows, 1, width // 2))
        self.cols_embed = nn.Parameter(0.02 * torch.randn(1, cols, width - width // 2))
        self.prefix_embed = nn.Parameter(0.02 * torch.randn(prefix, width))

    def forward(self) -> Tensor:
        """(1, T, D)."""
        rows, cols = len(self.rows_embed), self.cols_embed.shape[1]
        grid = torch.cat([self.rows_embed.expand(-1, cols, -1), self.cols_embed.expand(rows, -1, -1)], -1)
        table = torch.cat([self.prefix_embed, grid.flatten(0, 1)])
        return (table if self.order is None else table[self.order]).unsqueeze(0)


class RelativePositionOffsets(_Table):
    """An embedding for every offset p_q − p_k in the sequence, shared by the heads."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.offsets_embed = nn.Parameter(0.02 * torch.randn(2 * tokens - 1, width))
        self.tokens = tokens

    def forward(self, queries: Tensor) -> Tensor:
        """The logits (B, H, T, T) that queries (B, H, T, d) give every offset, not yet scaled."""
        place = torch.arange(self.tokens, device=queries.device) if self.order is None else self.order
        offset = place[:, None] - place + self.tokens - 1
        every = queries @ self.offsets_embed.T  # (B, H, T, 2T − 1)
        return every.gather(-1, offset.expand(*every.shape[:2], -1, -1))


class BlockWithPositions(Block):
    """timm's block that may be told positions to add to what it is given."""

    where: tuple[Any, ...] = ()

    def forward(self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        for table in self.where:
            x = x + table()
        return super().forward(x, attn_mask, is_causal)


class RelativeAttention(Attention):
    """timm's attention that may be told offsets, whose logits are added to its own before the softmax."""

    where: tuple[Any, ...] = ()

    def forward(self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        if not self.where:
            return super().forward(x, attn_mask, is_causal)
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).reshape(batch, tokens, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        bias = self.scale * self.where[0](q)
        drop = self.attn_drop.p if self.training else 0.0
        out = F.scaled_dot_product_attention(q, k, v, bias.to(q.dtype), drop)
        return self.proj_drop(self.proj(out.transpose(1, 2).reshape(batch, tokens, width)))

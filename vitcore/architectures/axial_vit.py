"""Axial attention (arXiv 2010.11929 App. D.6): along rows, then along columns, each with an MLP of its own.

An Axial-ViT is a ViT in which one global self-attention and its MLP become row self-attention with an MLP and then column
self-attention with an MLP. There is no class token, for it would have neither row nor column: patches are averaged. Of the
heads' maps, R (cols, cols) of every row and C (rows, rows) of every column, the product is a patch's reach:
reach[(r, c), (r′, c′)] = C_c[r, r′] · R_r′[c, c′], a distribution over all patches.
Shapes: B images, H heads, N = rows · cols patches, D width.
"""

from functools import partial
from typing import Any

import timm  # noqa: F401
import torch
from timm.models.vision_transformer import Block, VisionTransformer
from torch import Tensor, nn

AXES = ("row", "column")  # in the order they attend


class AxialViT(VisionTransformer):
    """timm's VisionTransformer with axial blocks; `shape` are its arguments."""

    attends_along = AXES

    def __init__(self, img_size: Any, patch_size: Any, **shape: Any) -> None:
        high, wide = (img_size, img_size) if isinstance(img_size, int) else img_size
        tall, broad = (patch_size, patch_size) if isinstance(patch_size, int) else patch_size
        block: Any = partial(AxialBlock, grid=(high // tall, wide // broad))
        super().__init__(
            img_size=img_size, patch_size=patch_size, block_fn=block,
            **{**shape, "class_token": False, "global_pool": "avg", "fc_norm": False},
        )  # fmt: skip


class AxialBlock(nn.Module):
    """Row self-attention and an MLP, then column self-attention and an MLP: two of timm's blocks."""

    def __init__(self, *given: Any, grid: tuple[int, int], **shape: Any) -> None:
        super().__init__()
        self.grid = grid
        self.row, self.column = Block(*given, **shape), Block(*given, **shape)
        self.num_heads = self.row.attn.num_heads

    def forward(self, x: Tensor) -> Tensor:
        """(B, N, D) → (B, N, D)."""
        batch, _, width = x.shape
        rows, cols = self.grid
        x = self.row(x.reshape(batch * rows, cols, width))
        x = x.view(batch, rows, cols, width).transpose(1, 2).reshape(batch * cols, rows, width)
        x = self.column(x)
        return x.view(batch, cols, rows, width).transpose(1, 2).reshape(batch, rows * cols, width)


def spread_axis_attention(weights: Tensor, axis: str, rows: int, cols: int) -> Tensor:
    """Maps along an axis as maps over all patches, zero off the line: the Kronecker-like (H, N, N).

    `weights` are those of one image: of rows (rows, H, cols, cols), of columns (cols, H, rows, rows).
    """
    heads, size = weights.shape[1], rows * cols
    if axis == "row":  # (r, H, c, c′) at [(r, c), (r, c′)]
        same = torch.eye(rows, dtype=weights.dtype, device=weights.device)
        return torch.einsum("rhcd,rs->hrcsd", weights, same).reshape(heads, size, size)
    same = torch.eye(cols, dtype=weights.dtype, device=weights.device)  # (c, H, r, r′) at [(r, c), (r′, c)]
    return torch.einsum("chrs,cd->hrcsd", weights, same).reshape(heads, size, size)


def combine_axis_attention(row_weights: Tensor, column_weights: Tensor) -> Tensor:
    """What each patch is made of after both, (H, N, N): row maps are (rows, H, cols, cols), column maps (cols, H, rows, rows)."""
    rows, cols = len(row_weights), len(column_weights)
    product = torch.einsum("chrs,shcd->hrcsd", column_weights, row_weights)  # C_c[r, s] · R_s[c, d]
    return product.reshape(row_weights.shape[1], rows * cols, rows * cols)

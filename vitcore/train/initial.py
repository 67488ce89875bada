"""Where a run begins: initial weights that let a small budget show what long training shows.

Query and key of a head start aligned, so tokens attend to similar tokens, as in trained models; value and output start
opposed (Trockman & Kolter, "Mimetic Initialization of Self-Attention Layers", arXiv 2305.09828). Positions start random:
that they come to know the grid is for training to show. The patch kernel starts small, so that its principal components
show what was learned and not the noise it began as.
"""

from typing import Any

import torch
from torch import Tensor, nn


@torch.no_grad()
def initialise(vit: Any, patch_std: float, align: float, oppose: float) -> None:
    """Set a timm ViT's patch kernel, and W_q W_kᵀ ≈ align·(Z + I), W_v W_o ≈ oppose·(Z − I), Z random, in each block."""
    nn.init.trunc_normal_(vit.patch_embed.proj.weight, std=patch_std)
    for block in vit.blocks:
        heads, width = block.attn.num_heads, block.attn.qkv.in_features
        query, key, value = block.attn.qkv.weight.view(3, heads, width // heads, width)
        for head in range(heads):
            q, k = factors(align * (noise(width) + torch.eye(width)), width // heads)
            query[head], key[head] = q, k
        v, out = factors(oppose * (noise(width) - torch.eye(width)), width)
        value.copy_(v.view_as(value))
        block.attn.proj.weight.copy_(out.T)


def noise(width: int) -> Tensor:
    """A random matrix whose singular values are near one."""
    return torch.randn(width, width) / width**0.5


def factors(matrix: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """A, B of shape (rank, width) with AᵀB the best approximation of `matrix` of that rank."""
    u, s, vt = torch.linalg.svd(matrix)
    root = s[:rank].sqrt()
    return (u[:, :rank] * root).T.contiguous(), vt[:rank] * root[:, None]

"""The axial ResNet (arXiv 2010.11929 App. D.6, after Wang et al., arXiv 2003.07853): timm's ResNet whose 3×3 convolutions attend.

Each becomes self-attention along rows and then along columns, with an embedding of every offset that queries are compared
with (the relative positions of App. D.4). Strides are taken by averaging after it.
Shapes: B images, H heads, C channels, rows × cols features.
"""

from typing import Any

import timm  # noqa: F401
import torch
import torch.nn.functional as F
from timm.layers import to_2tuple
from timm.models.resnet import Bottleneck, ResNet
from torch import Tensor, nn


class AxialResNet(ResNet):
    """A ResNet of `layers` bottlenecks a stage, `width` channels in its root (64: ResNet-50's), for images of one size."""

    attends_along = ("row", "column")

    def __init__(self, layers: tuple[int, ...], width: int, heads: int, classes: int, image_px: int | tuple[int, int]) -> None:
        channels = tuple(width * 2**stage for stage in range(len(layers)))
        block: Any = Bottleneck
        super().__init__(block, layers, classes, stem_width=width, channels=channels)
        size = to_2tuple(image_px)
        rows, cols = (-(-side // 4) for side in size)
        self.pretrained_cfg: dict[str, Any] = {"input_size": (3, *size), "mean": (0.5,) * 3, "std": (0.5,) * 3}
        stages: Any = (self.layer1, self.layer2, self.layer3, self.layer4)[: len(layers)]
        for stage in stages:
            for block in stage:
                stride = block.conv2.stride[0]
                block.conv2 = AxialAttention(block.conv2.in_channels, heads, rows, cols, stride)
                rows, cols = -(-rows // stride), -(-cols // stride)


class AxialAttention(nn.Module):
    """Attention along rows and then along columns of (B, C, rows, cols), averaged over `stride` × `stride`."""

    def __init__(self, width: int, heads: int, rows: int, cols: int, stride: int) -> None:
        super().__init__()
        self.row, self.column = SelfAttention1d(width, heads, cols), SelfAttention1d(width, heads, rows)
        self.stride, self.num_heads = stride, heads

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, rows, cols) → (B, C, ⌈rows / stride⌉, ⌈cols / stride⌉)."""
        batch, width, rows, cols = x.shape
        x = self.row(x.permute(0, 2, 3, 1).reshape(batch * rows, cols, width)).view(batch, rows, cols, width)
        x = self.column(x.transpose(1, 2).reshape(batch * cols, rows, width)).view(batch, cols, rows, width)
        x = x.permute(0, 3, 2, 1)
        return F.avg_pool2d(x, self.stride, ceil_mode=True, count_include_pad=False) if self.stride > 1 else x


class SelfAttention1d(nn.Module):
    """Self-attention along lines of `length` with an embedding of every offset."""

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads, self.length = heads, length
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.offsets_embed = nn.Parameter(0.02 * torch.randn(2 * length - 1, width // heads))

    def forward(self, x: Tensor) -> Tensor:
        """(lines, length, C) → (lines, length, C)."""
        lines, length, width = x.shape
        q, k, v = self.qkv(x).view(lines, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        place = torch.arange(length, device=x.device)
        offset = place[:, None] - place + self.length - 1
        bias = (q @ self.offsets_embed.T).gather(-1, offset.expand(lines, self.heads, -1, -1)) * q.shape[-1] ** -0.5
        return F.scaled_dot_product_attention(q, k, v, bias.to(q.dtype)).transpose(1, 2).reshape(lines, length, width)

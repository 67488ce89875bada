"""What ViTs of other libraries have and timm's has not: a head that reads the mean, too, and norms around the patch embedding."""

from collections.abc import Callable
from typing import Any

import timm  # noqa: F401
import torch
from timm.layers import Attention, PatchEmbed
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn
from torch.nn.functional import fold, unfold

from vitcore.architectures.grey_input import GreyConv2d, to_luma


class ClassAndMeanVit(VisionTransformer):
    """timm's VisionTransformer with a head over 2·D features: the class token, then the mean of the patches.

    As DINOv2's linear classifiers (arXiv 2304.07193 §7.1) and transformers' `Dinov2ForImageClassification` have it.
    """

    reads_class_and_mean = True

    def __init__(self, **shape: Any) -> None:
        super().__init__(**shape | {"global_pool": "token"})
        self.head = nn.Linear(2 * self.embed_dim, self.num_classes) if self.num_classes else nn.Identity()
        self.num_features = self.head_hidden_size = 2 * self.embed_dim

    def pool(self, x: Tensor, pool_type: str | None = None) -> Tensor:
        """Tokens (B, T, D) to features (B, 2·D)."""
        return torch.cat([x[:, 0], x[:, self.num_prefix_tokens :].mean(1)], 1)


class NormedPatchEmbed(PatchEmbed):
    """timm's patch embedding between a layer norm of a patch's pixels and one of what the embedding makes of them.

    As vit-pytorch has it since version 1.0, after "Dual PatchNorm" (arXiv 2302.01327). Its convolution meets a picture of normed
    patches.
    """

    def __init__(self, *, norm_layer: Callable[[int], nn.Module], in_chans: int = 3, **more: Any) -> None:
        super().__init__(norm_layer=norm_layer, in_chans=in_chans, **more)
        self.norm_in = norm_layer(in_chans * self.patch_size[0] * self.patch_size[1])

    def forward(self, x: Tensor) -> Tensor:
        """Pictures (B, C, H, W) to embedded patches (B, N, D)."""
        x = to_luma(x) if isinstance(self.proj, GreyConv2d) else x
        patches = self.norm_in(unfold(x, self.patch_size, stride=self.patch_size).mT)
        return super().forward(fold(patches.mT, x.shape[-2:], self.patch_size, stride=self.patch_size))


def widen_attention(module: Any, width: int, heads: int, qkv_bias: bool, proj_bias: bool) -> None:
    """Give every block attention whose heads are together `width` wide, whatever the width of the tokens."""
    for block in module.blocks:
        block.attn = Attention(module.embed_dim, heads, width // heads, qkv_bias=qkv_bias, proj_bias=proj_bias)

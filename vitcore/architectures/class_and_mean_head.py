"""A ViT whose head reads the class token and the mean of the patches side by side, as DINOv2's linear classifiers do.

arXiv 2304.07193 §7.1; transformers' `Dinov2ForImageClassification` is the same. timm has no such pooling.
"""

from typing import Any

import timm  # noqa: F401
import torch
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn


class ClassAndMeanVit(VisionTransformer):
    """timm's VisionTransformer with a head over 2·D features: the class token, then the mean of the patches."""

    reads_class_and_mean = True

    def __init__(self, **shape: Any) -> None:
        super().__init__(**shape | {"global_pool": "token"})
        self.head = nn.Linear(2 * self.embed_dim, self.num_classes) if self.num_classes else nn.Identity()
        self.num_features = self.head_hidden_size = 2 * self.embed_dim

    def pool(self, x: Tensor, pool_type: str | None = None) -> Tensor:
        """Tokens (B, T, D) to features (B, 2·D)."""
        return torch.cat([x[:, 0], x[:, self.num_prefix_tokens :].mean(1)], 1)

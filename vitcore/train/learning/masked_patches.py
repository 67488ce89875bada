"""Masked patch prediction (arXiv 2010.11929 App. B.1.2): corrupt half of the patch embeddings, predict what was there.

Of the corrupted patches 80 % become a learned [mask] embedding, 10 % another patch's embedding, 10 % stay as they are. The
target is the patch's mean colour at 3 bits a channel (512 classes), a 4×4 picture of such colours, or the pixels (L2).
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitcore.analysis.training_curves_and_masks import KEPT, MASKED, REPLACED, UNTOUCHED
from vitcore.train.recipe import Recipe

COLOUR_LEVELS = 8  # 3 bits a channel
COLOUR_CLASSES = COLOUR_LEVELS**3
CELLS_PER_SIDE = {"colour": 1, "colours4x4": 4}  # cells a side whose colours are predicted


@dataclass(frozen=True)
class Corruption:
    """`codes` (B, N) is UNTOUCHED, MASKED, REPLACED or KEPT; `replacement_patches` (B, N): whose embedding stands there."""

    codes: Tensor
    replacement_patches: Tensor

    @property
    def is_corrupted(self) -> Tensor:
        """(B, N) bool: the patches that are predicted."""
        return self.codes != UNTOUCHED


def corrupt_patches(batch: int, patches: int, share: float, device: Any = None) -> Corruption:
    """Draw what happens to each patch: exactly round(share·N) of each photo's are corrupted, 80/10/10 in expectation."""
    count = round(patches * share)
    rank = torch.rand(batch, patches, device=device).argsort(1).argsort(1)
    draw = torch.rand(batch, patches, device=device)
    fate = torch.where(draw < 0.8, MASKED, torch.where(draw < 0.9, REPLACED, KEPT))
    fate = torch.where(rank < count, fate, UNTOUCHED)
    own = torch.arange(patches, device=device).expand(batch, -1)
    other = (own + torch.randint(1, max(patches, 2), (batch, patches), device=device)) % patches  # never itself
    return Corruption(fate, torch.where(fate == REPLACED, other, own))


def mean_cell_colours(pixels: Tensor, patch_px: int, side: int) -> Tensor:
    """Mean colours (B, N, side·side, 3) of each patch's cells, for pixels (B, 3, H, W)."""
    small = F.adaptive_avg_pool2d(pixels, (side * pixels.shape[2] // patch_px, side * pixels.shape[3] // patch_px))
    blocks = F.unfold(small, side, stride=side).transpose(1, 2)  # (B, N, 3·side·side)
    return blocks.unflatten(2, (3, side * side)).transpose(2, 3)


def colour_class_index(colours: Tensor) -> Tensor:
    """The 512 classes of colours (…, 3) in 0…1: 64·red + 8·green + blue, each at 3 bits."""
    level = (colours * COLOUR_LEVELS).floor().clamp(0, COLOUR_LEVELS - 1).long()
    return level @ torch.tensor([COLOUR_LEVELS**2, COLOUR_LEVELS, 1], device=colours.device)


def colour_of_class(classes: Tensor) -> Tensor:
    """The middle colours (…, 3) in 0…1 of colour classes."""
    level = torch.stack([classes // COLOUR_LEVELS**2, classes // COLOUR_LEVELS % COLOUR_LEVELS, classes % COLOUR_LEVELS], -1)
    return (level + 0.5) / COLOUR_LEVELS


class MaskedPatches(nn.Module):
    """A ViT without head, the [mask] embedding and the layer that predicts."""

    mean: Tensor
    std: Tensor

    def __init__(self, vit: Any, recipe: Recipe) -> None:
        super().__init__()
        self.vit, self.recipe = vit, recipe
        self.mask = nn.Parameter(torch.zeros(vit.embed_dim))
        nn.init.normal_(self.mask, std=0.02)
        self.side = CELLS_PER_SIDE.get(recipe.masked_target, 0)
        self.predict = nn.Linear(vit.embed_dim, self.side**2 * COLOUR_CLASSES if self.side else 3 * recipe.patch_px**2)
        for name in ("mean", "std"):
            self.register_buffer(name, torch.tensor(vit.pretrained_cfg[name]).view(3, 1, 1), persistent=False)

    def patch_tokens(self, pixels: Tensor, corruption: Corruption) -> Tensor:
        """The last block's normalised patch tokens (B, N, D) of a corrupted photo."""
        x = self.vit.patch_embed(pixels)
        x = x.gather(1, corruption.replacement_patches.unsqueeze(-1).expand_as(x))
        x = torch.where((corruption.codes == MASKED).unsqueeze(-1), self.mask.to(x.dtype), x)
        x = self.vit.norm_pre(self.vit._pos_embed(x))
        return self.vit.norm(self.vit.blocks(x))[:, self.vit.num_prefix_tokens :]

    def prediction_targets(self, pixels: Tensor) -> Tensor:
        """What is to be predicted: classes (B, N, cells) or pixels (B, N, 3·P²)."""
        if not self.side:
            patch = self.recipe.patch_px
            return F.unfold(pixels, patch, stride=patch).transpose(1, 2)
        return colour_class_index(mean_cell_colours(pixels * self.std + self.mean, self.recipe.patch_px, self.side))

    def forward(self, batch: Any) -> dict[str, Tensor]:
        """The loss over corrupted patches, and the share of colours that are right."""
        pixels = batch.pixels
        fate = corrupt_patches(len(pixels), self.vit.patch_embed.num_patches, self.recipe.masked_share, pixels.device)
        said = self.predict(self.patch_tokens(pixels, fate)[fate.is_corrupted]).float()
        wanted = self.prediction_targets(pixels)[fate.is_corrupted]
        if not self.side:
            return {"loss": F.mse_loss(said, wanted)}
        said = said.unflatten(-1, (self.side**2, COLOUR_CLASSES))
        right = (said.argmax(-1) == wanted).float().mean()
        return {"loss": F.cross_entropy(said.flatten(0, 1), wanted.flatten()), "colours_right": right.detach()}

    def predicted_colours(self, pixels: Tensor, corruption: Corruption) -> Tensor:
        """Predicted mean colours (B, N, 3) in 0…1: the expectation over classes, or the mean of predicted pixels."""
        said = self.predict(self.patch_tokens(pixels, corruption)).float()
        if not self.side:
            mean = said.unflatten(-1, (3, -1)).mean(-1)
            return (mean * self.std.flatten() + self.mean.flatten()).clamp(0, 1)
        middle = colour_of_class(torch.arange(COLOUR_CLASSES, device=said.device))
        return said.unflatten(-1, (self.side**2, COLOUR_CLASSES)).softmax(-1).matmul(middle).mean(2)

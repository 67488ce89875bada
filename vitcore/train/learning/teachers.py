"""Teachers: frozen models that are asked about the photos a student sees, in the size and the scale they know."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from vitcore.models import load_model


class Teacher:
    """A frozen model in a box: not a part that is trained, averaged or saved with the student, nor copied with it."""

    def __init__(self, vit: load_model.Vit, student_config: dict[str, Any]) -> None:
        self.vit, self._student = vit, student_config

    @property
    def module(self) -> Any:
        """timm's module."""
        return self.vit.module

    def __deepcopy__(self, memo: Any) -> "Teacher":
        return self

    def adapt_pixels(self, pixels: Tensor) -> Tensor:
        """The student's normalised pixels (B, 3, H, W), resized and normalised as this model wants them, on their device."""
        device = pixels.device
        self.module.to(device)
        x = pixels
        if tuple(x.shape[2:]) != self.vit.grid.image_px:
            x = F.interpolate(x, size=self.vit.grid.image_px, mode="bicubic", antialias=True)
        mean, std = (torch.tensor(self._student[name], device=device).view(3, 1, 1) for name in ("mean", "std"))
        own_mean, own_std = (torch.tensor(v, device=device).view(3, 1, 1) for v in (self.vit.mean, self.vit.std))
        return (x * std + mean - own_mean) / own_std


def kl_divergence(target: Tensor, actual: Tensor) -> Tensor:
    """Kullback-Leibler divergence in nats over the last dimension, of log probabilities.

    Written as a sum of products: `F.kl_div` calls xlogy, which is slow on a CPU.
    """
    return (target.exp() * (target - actual)).sum(-1)

"""What a model answers for its own pixels: as it is, with positions that follow shuffled patches, or without positions."""

import numpy as np
import torch
from numpy.typing import NDArray

from vitcore.forward.onednn_linear import with_faster_modules
from vitcore.forward.recording import to_model_input
from vitcore.models.embeddings import with_mean_position, with_permuted_positions
from vitcore.models.vit import Vit


@torch.inference_mode()
def predict(
    vit: Vit, pixels: NDArray[np.uint8], order: NDArray[np.int64] | None = None, move_positions: bool = False
) -> NDArray[np.float32]:
    """Logits for pixels; with `move_positions`, slot i is given position order[i], so positions follow their patches."""
    module = with_permuted_positions(vit, order) if move_positions and order is not None else vit.module
    return with_faster_modules(module)(to_model_input(vit, pixels))[0].float().cpu().numpy()


@torch.inference_mode()
def predict_without_positions(vit: Vit, pixels: NDArray[np.uint8] | NDArray[np.float32]) -> NDArray[np.float32]:
    """Logits for pixels when all patches are given one position, the mean of the learned ones."""
    return with_faster_modules(with_mean_position(vit))(to_model_input(vit, pixels))[0].float().cpu().numpy()

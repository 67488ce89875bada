"""The logit lens: what the model would answer if it stopped after each block.

The tokens as they leave a block go straight to the model's own last norm, pooling and head (nostalgebraist, "interpreting
GPT: the logit lens", 2020; for Vision Transformers e.g. arXiv 2310.18969). Its limit: that norm and head were trained for
the last block only, so an early row tells what they read there, which is not all that is there.
Shapes: L blocks, T tokens, D width.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vitcore.forward.onednn_linear import with_faster_modules
from vitcore.forward.recordings.model_inputs import to_model_inputs
from vitcore.images import InputKind, PhotoSource
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit, check_vit
from vitcore.module_swaps import with_block_hooks
from vitcore.translation import say


@torch.inference_mode()
def logit_lens(vit: Vit, photo: PhotoSource, *, inputs: InputKind | None = None) -> NDArray[np.float32]:
    """Logits (L + 1, classes) of one photo, taken as `record` takes it (`inputs`, too): row 0 from the embeddings alone, row l
    after l blocks; the last row is the model's own answer.

    One forward pass: the last block hands on all depths as a batch, and the model's own norm and head read them together.
    Raises: TypeError, for what is no Vit or no photo; ValueError, for several photos; PhotoError; ModelError, for a model without
    a head.
    """
    check_vit(vit)
    if not vit.is_global:
        raise ModelError(vit.why_undefined(say("the logit lens")))
    if not vit.labels:
        raise ModelError("{name} has no classification head: it gives features, so it predicts no class at any depth.",
                         name=vit.display_name)  # fmt: skip
    x = to_model_inputs(vit, photo, inputs)
    if len(x) != 1:
        raise ValueError(f"the logit lens is of one photo, not of {len(x)}")
    states: list[Tensor] = []

    def collect(block: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        states.extend([output] if states else [inputs[0], output])
        return torch.cat(states) if len(states) == vit.blocks + 1 else None  # (L + 1, T, D)

    module = with_block_hooks(with_faster_modules(vit.module), collect)
    return module(x).float().cpu().numpy()

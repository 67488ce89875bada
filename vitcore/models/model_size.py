"""What a model of timm's would be, known before its weights are here: built without memory, on torch's meta device.

So a name that means no model of pictures is refused before anything is downloaded, and one that is too large before it is loaded.
"""

import functools
from dataclasses import dataclass
from typing import Any

from vitcore.architectures.meta_device import meta_device
from vitcore.errors import log_traceback
from vitcore.models.attention_structure import image_px_of_module, read_attention_structure
from vitcore.models.torchvision_ops import declare_torchvision_ops
from vitcore.models.vit import AttentionStructure

declare_torchvision_ops()


@dataclass(frozen=True)
class ModelSize:
    """The shape of a model: parameters, L blocks, H heads, T tokens, D width."""

    params: int
    blocks: int
    heads: int
    tokens: int
    width: int

    @property
    def weights_bytes(self) -> int:
        """Its weights in memory, 32-bit floats."""
        return 4 * self.params

    @property
    def pass_bytes(self) -> int:
        """About what one photo's recording of queries and keys takes, and the work that makes it."""
        kept = 2 * self.blocks * self.tokens**2 + 8 * self.blocks * self.tokens * self.width
        one_block = 2 * self.heads * self.tokens**2
        return kept + one_block + 16 * self.tokens**2 + 64 * self.tokens * self.width

    @property
    def gradient_bytes(self) -> int:
        """About what the gradient of a class takes: all weights of attention three times over, and what blocks remember."""
        return 12 * self.blocks * self.heads * self.tokens**2 + 64 * self.blocks * self.tokens * self.width


def size_of_module(module: Any, structure: AttentionStructure) -> ModelSize:
    """The shape of a model that is here already."""
    params = sum(p.numel() for p in module.parameters())
    width = structure.numbers // structure.positions
    return ModelSize(params, structure.blocks, structure.heads, structure.positions, width)


@functools.lru_cache(maxsize=64)
def size_of_timm_model(name: str) -> ModelSize | None:
    """The shape of timm's model of that name; None where timm can't build it without memory.

    Raises: ModelError, for one that makes no grid of features from a picture.
    """
    import timm

    try:
        with meta_device():
            module: Any = timm.create_model(name, pretrained=False).eval()
    except Exception as error:  # each architecture is built in its own way, and some ask for numbers on the way
        log_traceback(error)
        return None
    return size_of_module(
        module, read_attention_structure(name, module, image_px_of_module(module, module.pretrained_cfg["input_size"][1:]))
    )

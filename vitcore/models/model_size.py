"""What a model would be, known before its weights are here: built without memory, on torch's meta device.

Its name is the paper's, timm's, a run's or a file's. One of timm's that means no model of pictures is so refused before anything is
downloaded, and one that is too large before it is loaded.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from vitcore.architectures import paper_models
from vitcore.architectures.build_model import create_paper_model
from vitcore.architectures.meta_device import building_on_meta_device
from vitcore.errors import log_traceback
from vitcore.models import local_files
from vitcore.models.attention_structure import image_px_of_module, read_attention_structure
from vitcore.models.model_cards import ModelError
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
        with building_on_meta_device():
            module: Any = timm.create_model(name, pretrained=False).eval()
    except Exception as error:  # each architecture is built in its own way, and some ask for numbers on the way
        log_traceback(error)
        return None
    image_px = image_px_of_module(module)
    return size_of_module(module, read_attention_structure(name, module, image_px))


def build_without_weights(name: str | Path, px: int | None = None, device: str = "meta") -> tuple[str, Any, tuple[int, int]]:
    """A model's name, its module without memory (torch's meta device), and its image's height and width.

    On another `device` the module has memory, and random weights.

    Raises: ModelError, for a name that is none.
    """
    import timm

    family = paper_models.find_paper_model(str(name))
    with building_on_meta_device() if device == "meta" else torch.device(device):
        if family is not None:
            side = px or 224
            return family.name, create_paper_model(family.name, image_px=side), (side, side)
        file = local_files.find_local_weights(name)
        if file is not None:
            about = local_files.read_model_card(file)["architecture"]
            size = px or about.get("img_size")  # the card of a model that takes any size names none
            module = local_files.build_module(about, size)
            return str(name), module, (size, size) if isinstance(size, int) else tuple(size or image_px_of_module(module))
        if not timm.is_model(str(name)):
            raise ModelError("{name} is not a model of the paper or of timm, nor a file or a run.", name=str(name)[:60])
        try:
            sized: dict[str, Any] = {"img_size": px} if px else {}
            module = timm.create_model(str(name), pretrained=False, **sized)
        except (TypeError, ValueError):  # a network that takes any size
            module = timm.create_model(str(name), pretrained=False)
    return str(name), module, (px, px) if px else image_px_of_module(module)

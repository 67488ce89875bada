"""The shape of a model without its weights, by any name: of the paper, of timm, a run or a file of one's own."""

from pathlib import Path
from typing import Any

import torch

from vitcore.architectures import paper_models
from vitcore.architectures.build_model import create_paper_model
from vitcore.architectures.meta_device import meta_device
from vitcore.models import local_files
from vitcore.models.attention_structure import image_px_of_module
from vitcore.models.model_cards import ModelError
from vitcore.models.torchvision_ops import declare_torchvision_ops

declare_torchvision_ops()


def build_without_weights(name: str | Path, px: int | None = None, device: str = "meta") -> tuple[str, Any, tuple[int, int]]:
    """What it is called, a module without memory (torch's meta device), and its image's height and width.

    On another `device` the module has memory, and random weights.

    Raises: ModelError, for a name that is none.
    """
    import timm

    family = paper_models.find_paper_model(str(name))
    with meta_device() if device == "meta" else torch.device(device):
        if family is not None:
            side = px or 224
            return family.name, create_paper_model(family.name, image_px=side), (side, side)
        file = local_files.find_weights(name)
        if file is not None:
            about = local_files.read_card(file)["architecture"]
            size = px or about["img_size"]
            return (str(name), local_files.build_module(about, size), (size, size) if isinstance(size, int) else tuple(size))
        if not timm.is_model(str(name)):
            raise ModelError("{name} is not a model of the paper or of timm, nor a file or a run.", name=str(name)[:60])
        try:
            sized: dict[str, Any] = {"img_size": px} if px else {}
            module: Any = timm.create_model(str(name), pretrained=False, **sized)
        except (TypeError, ValueError):  # a network that takes any size
            module = timm.create_model(str(name), pretrained=False)
    return str(name), module, (px, px) if px else image_px_of_module(module, module.pretrained_cfg["input_size"][1:])

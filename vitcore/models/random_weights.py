"""The same architecture as before its training: the floor that any finding about a trained model stands on."""

import copy
from dataclasses import replace

import torch

from vitcore.models.load_model import Vit


def with_random_weights(vit: Vit, seed: int = 0) -> Vit:
    """A copy with weights drawn anew as timm draws them, reproducible by seed; the given model is left as it is."""
    module = copy.deepcopy(vit.module)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for part in module.modules():
            if callable(reset := getattr(part, "reset_parameters", None)):
                reset()
        if callable(again := getattr(module, "init_weights", None)):
            again()
    return replace(vit, module=module.eval().requires_grad_(False))

"""The same random weights as vitcore, timm, transformers, ViT-Prisma and nnsight have them: for `tests/benchmarks/libraries.py`."""

import copy
import importlib.util
from dataclasses import dataclass
from typing import Any

import timm
import torch
from torch import Tensor

import vitcore
from tests.conftest import NORMALISE, lively

COLUMNS = {
    "by hand": "torch", "timm": "timm", "transformers": "transformers", "captum": "captum", "ViT-Prisma": "vit_prisma",
    "nnsight": "nnsight",
}  # fmt: skip


@dataclass(frozen=True)
class Bench:
    """The same weights as each library has them; None where it is not installed."""

    vit: vitcore.Vit
    hf: Any
    hooked: Any
    traced: Any
    unfused: Any  # timm's, whose attention maps pass through a module
    traced_unfused: Any
    x: Tensor
    other: Tensor
    direction: Tensor

    @property
    def layers(self) -> range:
        return range(self.vit.blocks)


def has(library: str) -> bool:
    return importlib.util.find_spec(COLUMNS[library]) is not None


def make_bench(name: str, px: int) -> Bench:
    """A random ViT of transformers, which vitcore opens as timm's module, and that again as Prisma's and nnsight's."""
    from transformers import ViTConfig, ViTForImageClassification

    like = timm.create_model(name, img_size=px, num_classes=10)
    depth, width, heads = len(like.blocks), like.embed_dim, like.blocks[0].attn.num_heads
    patch = like.patch_embed.patch_size[0]
    config = ViTConfig(
        hidden_size=width, num_hidden_layers=depth, num_attention_heads=heads, intermediate_size=4 * width, image_size=px,
        patch_size=patch, num_labels=10, layer_norm_eps=1e-6, attn_implementation="eager",
    )  # fmt: skip
    hf = lively(ViTForImageClassification(config)).requires_grad_(False)
    vit = vitcore.wrap(hf, name=name, **NORMALISE)
    unfused = copy.deepcopy(vit.module)
    for block in unfused.blocks:
        block.attn.fused_attn = False
    traced = traced_unfused = None
    if has("nnsight"):
        from nnsight import NNsight

        # it replaces the forward methods of the module that it is given
        traced, traced_unfused = NNsight(copy.deepcopy(vit.module)), NNsight(copy.deepcopy(unfused))
    photos = torch.randn(2, 3, px, px, generator=torch.Generator().manual_seed(0))
    direction = torch.nn.functional.normalize(torch.arange(1.0, width + 1), dim=0)
    hooked = make_hooked(vit, patch, px) if has("ViT-Prisma") else None
    return Bench(vit, hf, hooked, traced, unfused, traced_unfused, photos[:1], photos[1:], direction)


def make_hooked(vit: vitcore.Vit, patch: int, px: int) -> Any:
    """Prisma's HookedViT with timm's weights, by its own conversion (its `from_pretrained` asks the hub for the config)."""
    from vit_prisma.configs.HookedViTConfig import HookedViTConfig
    from vit_prisma.models.base_vit import HookedViT
    from vit_prisma.prisma_tools.loading_from_pretrained import convert_timm_weights

    width = vit.module.embed_dim
    config = HookedViTConfig(
        n_layers=vit.blocks, d_model=width, d_head=width // vit.heads, n_heads=vit.heads, d_mlp=4 * width, image_size=px,
        patch_size=patch, n_classes=10, return_type="class_logits",
    )  # fmt: skip
    hooked = HookedViT(config, move_to_device=False)
    hooked.load_state_dict(convert_timm_weights(vit.module.state_dict(), config))
    return hooked.eval().requires_grad_(False)

"""Small random models of every kind whose activations are read and edited, and inputs for them."""

from functools import cache, partial

import pytest
import torch

import vitcore
from tests.conftest import NORMALISE, TINY, lively

KINDS = (
    "plain", "registers", "LayerScale", "distilled", "query norm", "attention norm", "rotary", "rotary, gated MLP", "gated MLP",
    "rectangle", "mean", "attention pool", "norm after", "relative positions", "BEiT", "attention beside MLP", "projections fused",
    "two attentions", "not fused",
)  # fmt: skip
HEADS = TINY["num_heads"]


@cache
def make_kind(kind: str) -> vitcore.Vit:
    """A model of a kind; tests do not write to it."""
    import timm  # noqa: F401
    from timm.layers import SwiGLUPacked
    from timm.models import beit, deit, eva, vision_transformer_relpos
    from timm.models import vision_transformer as timm_vits

    plain, small = timm_vits.VisionTransformer, {**TINY, "num_classes": 10}
    makers = {
        "plain": partial(plain, **small),
        "registers": partial(plain, **small, reg_tokens=2),
        "LayerScale": partial(plain, **small, init_values=0.5),
        "distilled": partial(deit.VisionTransformerDistilled, **small),
        "query norm": partial(plain, **small, qk_norm=True),
        "attention norm": partial(plain, **small, scale_attn_norm=True),
        "rotary": partial(eva.Eva, **small, use_rot_pos_emb=True, rope_grid_offset=0.0),
        "rotary, gated MLP": partial(eva.Eva, **small, use_rot_pos_emb=True, swiglu_mlp=True, scale_attn_inner=True),
        "gated MLP": partial(plain, **small, mlp_layer=SwiGLUPacked),
        "rectangle": partial(plain, **{**small, "img_size": (32, 48)}),
        "mean": partial(plain, **small, class_token=False, global_pool="avg"),
        "attention pool": partial(plain, **small, class_token=False, global_pool="map"),
        "norm after": partial(plain, **small, block_fn=timm_vits.ResPostBlock, init_values=0.5),
        "relative positions": partial(vision_transformer_relpos.VisionTransformerRelPos, **small),
        "BEiT": partial(beit.Beit, **small, use_rel_pos_bias=True, init_values=0.5),
        "attention beside MLP": partial(plain, **small, block_fn=timm_vits.ParallelScalingBlock),
        "projections fused": partial(plain, **small, block_fn=partial(timm_vits.ParallelScalingBlock, fuse_out_proj=True)),
        "two attentions": partial(plain, **small, block_fn=timm_vits.ParallelThingsBlock),
        "not fused": partial(plain, **small),
    }
    module = lively(makers[kind]())
    if kind == "not fused":
        for block in module.blocks:
            block.attn.fused_attn = False
    return vitcore.wrap(module, name=kind, **NORMALISE)


@pytest.fixture(params=KINDS)
def vit(request) -> vitcore.Vit:
    return make_kind(request.param)


def inputs_for(vit: vitcore.Vit, count: int = 2, seed: int = 0) -> torch.Tensor:
    """Model inputs (count, 3, H, W) of random numbers."""
    return torch.randn(count, 3, *vit.grid.image_px, generator=torch.Generator().manual_seed(seed))


def answer(vit, x):
    with torch.no_grad():
        return vit.module(x)

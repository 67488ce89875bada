"""Architectures of timm with random weights: opened whole where every block attends over one grid, else in part.

The logits are the module's own; rows of attention sum to 1; every picture that is defined is made; of every other one sentence
says why it is not. Small widths and depths: the whole matrix takes seconds.
"""

import numpy as np
import pytest
import timm
import torch
from torch import nn

import vitcore
from tests.conftest import lively
from vitcore.analysis.relevance import METHODS
from vitcore.architectures.meta_device import building_on_meta_device
from vitcore.forward.block_activations import patch_embeddings, project_patch, trace_token
from vitcore.forward.logit_lens import logit_lens
from vitcore.forward.predict import predict
from vitcore.forward.query_key import recompute_fused_heads, recompute_heads
from vitcore.forward.recording import record
from vitcore.forward.relevance import relevance
from vitcore.models import load_model
from vitcore.models.model_cards import ModelError

SMALL = {"img_size": 64, "embed_dim": 48, "depth": 2, "num_heads": 3}
# timm's name: what makes it small
WHOLE = {
    "vit_tiny_patch16_224": SMALL, "vit_small_patch16_18x2_224": SMALL, "vit_base_patch16_xp_224": SMALL,
    "naflexvit_base_patch16_gap": {"embed_dim": 48, "depth": 2, "num_heads": 3}, "beit_base_patch16_224": SMALL,
    "naflexvit_base_patch16_par_gap": {"embed_dim": 48, "depth": 2, "num_heads": 3},
    "vit_relpos_small_patch16_224": SMALL, "eva02_tiny_patch14_224": SMALL | {"img_size": 70},
    "deit_tiny_distilled_patch16_224": SMALL, "vit_base_patch16_siglip_224": SMALL | {"num_classes": 10},
    "vit_small_patch14_reg4_dinov2": SMALL | {"img_size": 70}, "vit_tiny_r_s16_p8_224": SMALL,
    "vit_base_patch16_rope_224": SMALL,
}  # fmt: skip
IN_PART = {
    "swin_tiny_patch4_window7_224": {"img_size": 112, "embed_dim": 24, "depths": (1, 1, 1), "num_heads": (1, 2, 3)},
    "test_resnet": {}, "test_convnext": {}, "resnet18": {}, "test_maxvit": {},
    "samvit_base_patch16": SMALL | {"img_size": 128, "global_attn_indexes": (1,), "window_size": 4},
    "cait_xxs24_224": SMALL | {"embed_dim": 48}, "convit_tiny": {"embed_dim": 12, "depth": 11},
    "xcit_nano_12_p16_224": {"img_size": 96, "embed_dim": 32, "depth": 2, "num_heads": 4},
    "hiera_tiny_224": {"embed_dim": 24, "stages": (1, 1, 1, 2)},
    "levit_128s": {}, "pit_ti_224": {}, "test_efficientnet": {}, "vit_dpwee_patch16_reg1_gap_256": SMALL,
    "pvt_v2_b0": {},
}  # fmt: skip
REFUSED = ["tnt_s_patch16_224", "inception_v3"]
ATTENTION = [name for name, method in METHODS.items() if method.needs_attention]


def opened(name, changes, alive=True):
    torch.manual_seed(0)
    module = timm.create_model(name, pretrained=False, **{"num_classes": 10} | changes)
    if alive and "net" not in name:
        lively(module)
    return vitcore.wrap(module.eval(), name=name)


def sentence(run, *given, **more):
    with pytest.raises(ModelError) as caught:
        run(*given, **more)
    said = str(caught.value)
    assert said.isprintable() and 40 < len(said) < 400 and said.endswith("."), said
    return said


def spoken_for(vit, pixels, methods):
    for method in methods:
        steps = {"steps": 2} if method == "integrated_gradients" else {}
        found = relevance(vit, pixels, method, 1 if METHODS[method].asks_class else None, inputs="pixels", **steps)
        assert found.maps.shape == (vit.grid.rows, vit.grid.cols) and np.isfinite(found.maps).all(), method
        assert found.maps.any() or method in ("grad_cam", "gradient_rollout", "chefer"), method


@pytest.mark.parametrize("name", WHOLE)
def test_models_that_attend_over_one_grid(name, noise):
    vit = opened(name, WHOLE[name])
    rec = record(vit, noise(3, (90, 70)), maps=range(vit.blocks), fusions=("mean", "max"))
    assert vit.is_global and vit.blocks == len(vit.module.blocks)
    assert rec.distance_px.shape == (vit.blocks, vit.heads) and len(rec.maps) == vit.blocks
    assert np.abs(rec.logits - predict(vit, rec.model_input.pixels)).max() <= 1e-4 * max(1, np.abs(rec.logits).max())
    assert np.allclose(rec.fused["mean"].sum(-1), 1, atol=1e-5)
    for kept in rec.maps.values():
        assert kept.shape[0] == vit.heads and np.allclose(kept.astype(np.float32).sum(-1), 1, atol=3e-3)
    lean = record(vit, noise(3, (90, 70)), store="query_key")
    if lean.query_key:
        assert np.allclose(recompute_heads(lean.query_key, 1), rec.maps[1], atol=2e-3)
        assert np.allclose(recompute_fused_heads(lean.query_key, "max"), rec.fused["max"], atol=2e-3)
    assert patch_embeddings(vit, rec.model_input.pixels).shape[0] == vit.grid.patches
    assert rec.rollout().shape == (vit.grid.rows, vit.grid.cols)
    spoken_for(vit, rec.model_input.pixels, METHODS)
    assert np.allclose(logit_lens(vit, rec.model_input)[-1], predict(vit, rec.model_input.pixels), atol=1e-4)
    assert load_model.first_layer_filters(vit).shape[1] == 3
    table = load_model.position_embeddings(vit)
    assert table is None or len(table) == vit.grid.patches


def test_parallel_attentions_are_heads_of_one_block(noise):
    vit = opened("vit_small_patch16_18x2_224", SMALL)
    assert (vit.blocks, vit.heads) == (2, 6)
    rec = record(vit, noise(), maps=[1])
    alone = record(vit, noise(), maps=[1], exact=True)
    assert np.allclose(rec.maps[1], alone.maps[1], atol=1e-3) and np.abs(rec.maps[1][:3] - rec.maps[1][3:]).max() > 1e-2


@pytest.mark.parametrize("name", IN_PART)
def test_models_that_attend_otherwise_or_not_at_all(name, noise):
    vit = opened(name, IN_PART[name])
    rec = record(vit, noise(3, (90, 70)))
    assert not vit.is_global and rec.distance_px.size == 0 and rec.fused["mean"].size == 0
    assert np.array_equal(rec.logits, predict(vit, rec.model_input.pixels)) and len(rec.top_classes()) == 5
    spoken_for(vit, rec.model_input.pixels, [name for name in METHODS if name not in ATTENTION])
    pixels = rec.model_input.pixels
    said = {sentence(relevance, vit, pixels, method, 1 if METHODS[method].asks_class else None) for method in ATTENTION}
    assert len(said) == len(ATTENTION) and all(name in one for one in said)
    assert sentence(rec.rollout) and sentence(logit_lens, vit, pixels) and sentence(trace_token, vit, pixels, 0, 0)
    assert ("no attention" in said.pop()) == (not vit.structure.sizes)
    kernel = load_model.first_layer_filters(vit)
    assert kernel is None or kernel.shape[1] == 3
    if (patches := vit.structure.patches) is not None:
        assert patch_embeddings(vit, rec.model_input.pixels).shape[0] == patches.patches
        found = project_patch(vit, rec.model_input.pixels, patches.patches - 1)
        assert found is None or found.x_p.shape[:2] == patches.step_px


# but LevIT: with random weights its tokens are all alike, for the attention that shrinks its grid has no residual
@pytest.mark.parametrize("name", [name for name in IN_PART if name != "levit_128s"])
def test_the_grid_of_features_lies_as_the_picture_does(name):
    """What changes most where a corner of the picture changes is that corner of the grid; rows are not taken for columns."""
    vit = opened(name, IN_PART[name], alive=False)
    kept = []

    def look(part, given, out):
        layout, prefix = vit.structure.layout, vit.grid.prefix
        shape = vit.grid.rows, vit.grid.cols, -1
        kept.append({"tokens": lambda: given[0][0, prefix:].reshape(shape), "nhwc": lambda: out[0],
                     "nchw": lambda: out[0].permute(1, 2, 0)}[layout]())  # fmt: skip

    vit.module.get_submodule(vit.structure.last).register_forward_hook(look)
    high, wide = vit.grid.image_px
    plain = torch.randn(1, 3, high, wide, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        vit.module(plain)
        for bottom, right in ((False, True), (True, False)):
            other = plain.clone()
            corner = other[..., high - high // 4 :, :] if bottom else other[..., : high // 4, :]
            (corner[..., wide - wide // 4 :] if right else corner[..., : wide // 4]).mul_(-2)
            vit.module(other)
            change = (kept[-1] - kept[0]).abs().mean(-1)
            half = vit.grid.rows // 2, vit.grid.cols // 2
            quarters = {(b, r): change[-half[0] :] if b else change[: half[0]] for b in (False, True) for r in (False, True)}
            most = max(quarters, key=lambda q: (quarters[q][:, -half[1] :] if q[1] else quarters[q][:, : half[1]]).sum().item())
            assert most == (bottom, right)


NO_VISION = {"nothing": nn.Identity, "a layer": lambda: nn.Linear(3, 4), "layers": lambda: nn.Sequential(nn.ReLU())}


@pytest.mark.parametrize("name", [*REFUSED, *NO_VISION])
def test_models_in_which_no_grid_is_found_and_modules_that_are_no_vision_models(name):
    with building_on_meta_device():
        module = NO_VISION[name]() if name in NO_VISION else timm.create_model(name, pretrained=False)
    assert name in sentence(lambda: vitcore.wrap(module, name=name))

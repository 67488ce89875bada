"""Live numbers inside a block: those of Eq. 1–3, equal to timm's own states and to the recording's maps."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import vitcore
from vitcore.forward.block_activations import patch_embeddings, prefix_token_names, project_patch, trace_token
from vitcore.forward.recording import record, to_model_input
from vitcore.models import load_model

KINDS = {
    "class token": {}, "registers": {"reg_tokens": 4}, "attention pool": {"class_token": False, "global_pool": "map"},
    "mean": {"class_token": False, "global_pool": "avg"}, "no classes": {"num_classes": 0}, "rectangle": {"img_size": (32, 48)},
    "query norm": {"qk_norm": True}, "LayerScale": {"init_values": 0.3}, "a norm before": {"pre_norm": True},
    "one head": {"num_heads": 1}, "no positions": {"pos_embed": "none"},
}  # fmt: skip
NAMED = {
    "distilled": "deit_tiny_distilled_patch16_224", "rotary": "eva02_tiny_patch14_224", "relative": "vit_relpos_small_patch16_224",
    "biased": "beit_base_patch16_224",
}  # fmt: skip
TOKEN = 5


@pytest.fixture(scope="module", params=[*KINDS, *NAMED, "hybrid"])
def vit(request, make_vit):
    if request.param in NAMED:
        import timm

        torch.manual_seed(0)
        return vitcore.wrap(timm.create_model(NAMED[request.param], depth=3).eval(), name=request.param)
    return request.getfixturevalue("hybrid") if request.param == "hybrid" else make_vit(**KINDS[request.param])


@pytest.fixture(scope="module")
def own(vit, noise):
    return record(vit, noise(1, (64, 64)), maps=range(vit.blocks))


def states(vit, pixels) -> list[np.ndarray]:
    """(T, D) after each block, from timm."""
    with torch.inference_mode():
        found = vit.module.forward_intermediates(
            to_model_input(vit, pixels),
            norm=False,
            output_fmt="NLC",
            return_prefix_tokens=vit.grid.prefix > 0,
            intermediates_only=True,
        )
    whole = [torch.cat([s[1], s[0]], 1) if isinstance(s, tuple) else s for s in found]
    return [state[0].numpy() for state in whole]


def close(one, other, rtol: float = 1e-5) -> None:
    np.testing.assert_allclose(one, other, atol=rtol * max(1, float(np.abs(other).max())))


def test_a_token_enters_and_leaves_as_timm_says(vit, own):
    after = states(vit, own.model_input.pixels)
    for block in range(1, min(vit.blocks, 3)):
        found = trace_token(vit, own.model_input.pixels, block, TOKEN)
        close(found.x_in, after[block - 1][TOKEN])
        close(found.x_out, after[block][TOKEN])


def test_weights_are_those_of_the_recording(vit, own):
    for block in range(min(vit.blocks, 3)):
        found = trace_token(vit, own.model_input.pixels, block, TOKEN)
        assert found.weights.shape == found.scores.shape == (vit.heads, vit.grid.tokens)
        np.testing.assert_allclose(found.weights, own.maps[block][:, TOKEN].astype(np.float32), atol=2e-3, rtol=2e-3)
        np.testing.assert_allclose(found.weights.sum(-1), 1, atol=1e-5)
        shifted = np.exp(found.scores - found.scores.max(-1, keepdims=True))
        close(found.weights, shifted / shifted.sum(-1, keepdims=True))


def test_sums_and_sizes(vit, own):
    found = trace_token(vit, own.model_input.pixels, 0, TOKEN)
    close(found.after_attention, found.x_in + found.attended)
    close(found.x_out, found.after_attention + found.mlp)
    assert found.q.shape == found.k.shape == found.v.shape == found.heads.shape and len(found.q) == vit.heads
    assert found.normed.shape == found.normed2.shape == found.x_in.shape == (vit.module.embed_dim,)
    assert not found.x_out.flags.writeable


def test_every_number_of_a_plain_block_by_hand(tiny, noise):
    """Eq. 2 and 3 with the weights and nothing of timm's code."""
    pixels = record(tiny, noise(2)).model_input.pixels
    block, found = tiny.module.blocks[1], trace_token(tiny, pixels, 1, 7)
    z = torch.from_numpy(states(tiny, pixels)[0])
    with torch.inference_mode():
        normed = F.layer_norm(z, (24,), block.norm1.weight, block.norm1.bias, 1e-6)
        q, k, v = (normed @ block.attn.qkv.weight.T + block.attn.qkv.bias).view(-1, 3, 3, 8).permute(1, 2, 0, 3)  # (H, T, d)
        scores = q[:, 7:8] @ k.mT / 8**0.5
        heads = scores.softmax(-1) @ v
        attended = heads.transpose(0, 1).reshape(1, 24) @ block.attn.proj.weight.T + block.attn.proj.bias
        middle = z[7] + attended[0]
        normed2 = F.layer_norm(middle, (24,), block.norm2.weight, block.norm2.bias, 1e-6)
        hidden = F.gelu(normed2 @ block.mlp.fc1.weight.T + block.mlp.fc1.bias)
        mlp = hidden @ block.mlp.fc2.weight.T + block.mlp.fc2.bias
    for mine, theirs in (
        (normed[7], found.normed), (q[:, 7], found.q), (k[:, 7], found.k), (v[:, 7], found.v), (scores[:, 0], found.scores),
        (heads[:, 0], found.heads), (attended[0], found.attended), (middle, found.after_attention),
        (normed2, found.normed2), (hidden, found.hidden), (mlp, found.mlp), (middle + mlp, found.x_out),
    ):  # fmt: skip
        close(mine.numpy(), theirs)


def after_the_sum():
    from timm.models.vision_transformer import ResPostBlock

    return ResPostBlock


def beside_each_other():
    """Attention and MLP both read the block's input: the parts of Eq. 2 and 3, wired in another way."""
    from timm.models.vision_transformer import Block

    class Beside(Block):
        def forward(self, x, attn_mask=None, is_causal=False):
            return x + self.drop_path1(self.attn(self.norm1(x))) + self.drop_path2(self.mlp(self.norm2(x)))

    return Beside


@pytest.mark.parametrize("build", [after_the_sum, beside_each_other])
def test_blocks_of_another_build_say_so(build, make_module):
    vit = vitcore.wrap(make_module(block_fn=build()), name="other")
    with pytest.raises(load_model.ModelError, match=r"blocks of other are not built as Eq\. 2 and 3"):
        trace_token(vit, np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8), 0, 0)


def test_a_block_or_token_there_is_not(tiny):
    there = "blocks are from 0 to 2, or from -3 to -1, not "
    for block, token, said in ((3, 0, f"{there}3"), (-4, 0, f"{there}-4"), (0, 17, "no token 17"), (0, -1, "no token -1")):
        with pytest.raises(ValueError, match=said):
            trace_token(tiny, np.zeros((32, 32, 3), np.uint8), block, token)


def test_the_shared_model_is_left_alone(tiny, noise):
    """Four threads in four blocks and tokens of one module: each gets the numbers it gets alone."""
    pixels = record(tiny, noise(4)).model_input.pixels
    asked = [(0, 1), (1, 2), (2, 3), (2, 16)]
    alone = [trace_token(tiny, pixels, *one).x_out for one in asked]
    fused = [block.attn.fused_attn for block in tiny.module.blocks]

    def right(i: int) -> bool:
        return all(np.allclose(trace_token(tiny, pixels, *asked[i]).x_out, alone[i], atol=1e-5) for _ in range(8))

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(right, range(4)))
    assert [block.attn.fused_attn for block in tiny.module.blocks] == fused
    assert not any(module._forward_hooks for module in tiny.module.modules())


def test_attention_without_the_fused_kernel_has_the_same_numbers(make_vit, noise):
    """timm can compute attention step by step (`fused_attn`); the copy that is watched asks for the kernel."""
    vit = make_vit()
    pixels = record(vit, noise(4)).model_input.pixels
    fused = trace_token(vit, pixels, 1, 3)
    for block in vit.module.blocks:
        block.attn.fused_attn = False
    close(trace_token(vit, pixels, 1, 3).heads, fused.heads)
    assert not vit.module.blocks[1].attn.fused_attn


# The way in: a patch and the filters


def test_a_patch_times_the_filters_is_its_embedding(vit, own):
    for patch in (0, vit.grid.middle, vit.grid.patches - 1):
        found = project_patch(vit, own.model_input.pixels, patch)
        assert found is not None
        sums = np.tensordot(found.filters, found.x_p, 3) + found.bias
        close(sums, patch_embeddings(vit, own.model_input.pixels)[patch])
        close(found.embedding, sums)


def test_x_p_is_the_patch_in_the_models_units(tiny, noise):
    own = record(tiny, noise(5))
    found = project_patch(tiny, own.model_input.pixels, 6)
    left, top, right, bottom = tiny.grid.box_px(6)
    unit = own.model_input.pixels[top:bottom, left:right] / 255
    close(found.x_p, (unit - np.array(tiny.mean)) / np.array(tiny.std))


def test_patches_read_in_another_way_have_no_projection(make_vit):
    vit = make_vit()
    vit.module.patch_embed.norm = torch.nn.LayerNorm(24)  # the embedding is no longer a sum of products
    assert project_patch(vit, np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8), 0) is None


def test_prefix_tokens_have_names(make_vit):
    assert prefix_token_names(make_vit()) == ("class",)
    assert prefix_token_names(make_vit(reg_tokens=2)) == ("class", "register 0", "register 1")
    assert prefix_token_names(make_vit(class_token=False, global_pool="map", reg_tokens=1)) == ("register 0",)
    assert prefix_token_names(make_vit(class_token=False, global_pool="avg")) == ()

"""Activations: those of timm's own functions and of plain hooks, by every name that TransformerLens and ViT-Prisma give them."""

import copy
from collections.abc import Iterator

import numpy as np
import pytest
import timm
import torch

import vitcore
from tests.conftest import NORMALISE, TINY, lively
from tests.vitcore.interventions.conftest import inputs_for, make_kind
from vitcore.architectures.axial_vit import AxialViT
from vitcore.interventions.activation_sites import ALL_NAMES, HOOKS, NAMES
from vitcore.models.model_cards import ModelError

CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def available(vit) -> tuple[str, ...]:
    """The names that blocks of a kind have."""
    missing = {
        "projections fused": {"attn_out", "mlp_out", "resid_mid", "mlp_post", "ln2", "ln2_scale"},
        "attention beside MLP": {"ln2", "ln2_scale", "resid_mid"},
        "two attentions": {"ln1", "ln1_scale", "ln2", "ln2_scale", "mlp_pre", "mlp_post"},
    }
    return tuple(name for name in NAMES if name not in missing.get(vit.name, ()))


def test_the_residual_stream_is_timms(vit):
    x = inputs_for(vit)
    kept = vitcore.cache(vit, x, ["resid_pre", "resid_post"])
    with torch.no_grad():
        assert torch.equal(kept.logits, vit.module(x))
        if vit.name == "distilled":  # timm's function leaves it without its distillation token
            vit.module.num_prefix_tokens = 2
        made = vit.module.forward_intermediates(
            x, output_fmt="NLC", return_prefix_tokens=vit.grid.prefix > 0, intermediates_only=True
        )
    for layer, one in enumerate(made):
        patches, prefix = one if isinstance(one, tuple) else (one, torch.zeros(len(x), 0, kept["resid_post", 0].shape[-1]))
        whole = patches if patches.shape[1] == vit.grid.tokens else torch.cat([prefix, patches], 1)
        torch.testing.assert_close(kept["resid_post", layer], whole, **CLOSE)
        if layer:
            assert torch.equal(kept["resid_pre", layer], kept["resid_post", layer - 1])


def test_all_parts_of_a_block_fit_together(vit):
    """What was added makes what leaves, and the map of attention times the values what heads hand on."""
    names = available(vit)
    kept = vitcore.cache(vit, inputs_for(vit), names)
    for layer in range(vit.blocks):
        got = {name: kept[name, layer] for name in names}
        assert all(one.dtype == torch.float32 and not one.requires_grad and not one.is_inference() for one in got.values())
        torch.testing.assert_close(got["scores"].softmax(-1), got["pattern"], **CLOSE)
        z = torch.einsum("bhqk,bkhd->bqhd", got["pattern"], got["v"])
        if vit.name not in ("attention norm", "rotary, gated MLP"):  # a norm stands between
            torch.testing.assert_close(z, got["z"], **CLOSE)
        if "resid_mid" in names:
            torch.testing.assert_close(got["resid_mid"], got["resid_pre"] + got["attn_out"], **CLOSE)
            torch.testing.assert_close(got["resid_post"], got["resid_mid"] + got["mlp_out"], **CLOSE)
        assert got["z"].shape == got["q"].shape == (2, vit.grid.tokens, vit.heads, 8)
        if vit.name in ("plain", "registers", "attention beside MLP", "two attentions"):  # no LayerScale, no norm after
            parts = vit.module.blocks[layer].named_parameters()
            bias = sum(bias for part, bias in parts if part.endswith(("attn.proj.bias", "attn_out_proj.bias")))
            torch.testing.assert_close(got["result"].sum(2) + bias, got["attn_out"], **CLOSE)
    for name in set(NAMES) - {*names}:
        with pytest.raises(ModelError, match=f"have no {name} "):
            vitcore.cache(vit, inputs_for(vit), [name])


def test_against_plain_hooks():
    """Each name of a usual block, by hooks set by hand on another copy of the model."""
    vit = make_kind("LayerScale")
    module, seen = copy.deepcopy(vit.module), {}
    block = module.blocks[1]
    for name, part in block.named_modules():
        part.register_forward_hook(lambda part, inputs, out, name=name: seen.update({name: (inputs[0], out)}))
    x = inputs_for(vit)
    with torch.no_grad():
        module(x)
    kept = vitcore.cache(vit, x, NAMES, layers=1)
    qkv = seen["attn.qkv"][1].unflatten(-1, (3, vit.heads, 8)).unbind(2)
    plain = {
        "ln1": seen["norm1"][1], "q": qkv[0], "k": qkv[1], "v": qkv[2], "z": seen["attn.proj"][0].unflatten(-1, (vit.heads, 8)),
        "attn_out": seen["ls1"][1], "resid_mid": seen["norm2"][0], "ln2": seen["norm2"][1], "mlp_post": seen["mlp.act"][1],
        "mlp_out": seen["ls2"][1], "resid_pre": seen[""][0], "resid_post": seen[""][1], "mlp_pre": seen["mlp.fc1"][1],
        "ln1_scale": (seen["norm1"][0].var(-1, correction=0, keepdim=True) + block.norm1.eps).sqrt(),
        "ln2_scale": (seen["norm2"][0].var(-1, correction=0, keepdim=True) + block.norm2.eps).sqrt(),
    }  # fmt: skip
    for name, one in plain.items():
        torch.testing.assert_close(kept[name, 1], one, **CLOSE)
    assert {layer for _, layer in kept.compute} == {1}


def test_what_is_of_no_layer(vit):
    """Embedded patches and positions are the stream that the first layer reads, and the last norm's numbers timm's features."""
    no_norm = {"rotary", "rotary, gated MLP", "mean", "BEiT"}  # theirs comes after pooling
    lacking = {"ln_final", "ln_final_scale"} if vit.name in no_norm else set()
    lacking |= {"pos_embed"} if vit.name == "relative positions" else set()
    x, prefix = inputs_for(vit), vit.grid.prefix
    names = {"embed", "pos_embed", "ln_final", "ln_final_scale"} - lacking
    kept = vitcore.cache(vit, x, [*names, "resid_pre"], layers=0)
    assert {key for key, layer in kept.compute if layer is None} == names and all(key in kept for key in kept)
    with torch.no_grad():
        if "pos_embed" in names:
            moved = kept["embed"] + kept["hook_pos_embed"][:, prefix:]
            torch.testing.assert_close(moved, kept["resid_pre", 0][:, prefix:], **CLOSE)
            assert kept["pos_embed"].shape == kept["resid_pre", 0].shape and kept["pos_embed"].abs().min() > 0
        if "ln_final" in names:
            torch.testing.assert_close(kept["ln_final"], vit.module.forward_features(x), **CLOSE)
            assert kept["ln_final.hook_scale"].shape == (2, vit.grid.tokens, 1)
    for name in lacking:
        with pytest.raises(ModelError, match=f"has no {name} that"):
            vitcore.cache(vit, x, [name])


def test_positions_of_patches_alone():
    module = lively(timm.models.vision_transformer.VisionTransformer(**TINY, no_embed_class=True, reg_tokens=2))
    vit = vitcore.wrap(module, name="registers apart", **NORMALISE)
    added = vitcore.cache(vit, inputs_for(vit), ["pos_embed"])["pos_embed"]
    assert torch.equal(added[:, :3], torch.zeros(2, 3, module.embed_dim))
    assert torch.equal(added[1, 3:], module.pos_embed[0])


def test_the_names_of_prisma():
    """The 17 names that HookedViT has in each block, and its four of the whole model."""
    of_block = {
        "hook_resid_pre", "ln1.hook_scale", "ln1.hook_normalized", "attn.hook_q", "attn.hook_k", "attn.hook_v",
        "attn.hook_attn_scores", "attn.hook_pattern", "attn.hook_z", "hook_attn_out", "hook_resid_mid", "ln2.hook_scale",
        "ln2.hook_normalized", "mlp.hook_pre", "mlp.hook_post", "hook_mlp_out", "hook_resid_post",
    }  # fmt: skip
    of_model = {"hook_embed", "hook_pos_embed", "ln_final.hook_scale", "ln_final.hook_normalized"}
    vit = make_kind("plain")
    kept = vitcore.cache(vit, inputs_for(vit), of_block | of_model)
    assert {*kept} == of_model | {f"blocks.{layer}.{name}" for layer in range(vit.blocks) for name in of_block}


def test_names_and_keys():
    vit = make_kind("plain")
    kept = vitcore.cache(vit, inputs_for(vit), ("attn", "hook_resid_post", "z", "ln1"), layers=[0, np.int64(2)])
    same = kept["pattern", 2]
    for key in (("attn", 2), "blocks.2.attn.hook_pattern", "pattern2", ("pattern", -1), ("pattern", np.int64(2))):
        assert torch.equal(kept[key], same) and key in kept
    assert torch.equal(kept["normalized", 0, "ln1"], kept["blocks.0.ln1.hook_normalized"])
    assert len(kept) == 8 == len(list(kept)) and all(key in kept and kept[key] is not None for key in kept)
    assert {*kept} == {f"blocks.{layer}.{HOOKS[name]}" for layer in (0, 2) for name in ("pattern", "resid_post", "z", "ln1")}
    assert repr(kept) == "<Activations of 2 by plain: ln1, pattern, z, resid_post; layers 0, 2>"
    scale = vitcore.cache(vit, inputs_for(vit), ["ln1.hook_scale", "pre"])
    assert torch.equal(scale["scale", 1, "ln1"], scale["ln1_scale", 1]) and ("pre", 2, "mlp") in scale and "pre0" in scale
    absent = ("q", 0), ("pattern", 1), "nothing", ("resid_post", 3), ("resid_post", "0"), 7, "embed", ("embed", 0), "resid_post"
    for key in absent:
        assert key not in kept
        with pytest.raises(KeyError):
            kept[key]


def test_photos_are_cut_as_record_cuts_them(tiny, photo_file, noise):
    kept = vitcore.cache(tiny, [photo_file, noise()], ["pattern"])
    rec = vitcore.record(tiny, photo_file, maps="all", exact=True)
    np.testing.assert_allclose(kept.logits[0], rec.logits, atol=1e-5)
    assert len(kept.logits) == 2 and np.abs(kept.logits[1] - rec.logits).max() > 0.1
    assert rec.attentions.shape == (3, 3, 17, 17) and rec.attentions.dtype == np.float32
    for layer in range(3):
        np.testing.assert_allclose(rec.attentions[layer], kept["pattern", layer][0], atol=1e-3)  # of half precision
    with pytest.raises(KeyError, match="all"):
        _ = vitcore.record(tiny, photo_file, maps=[0, 2]).attentions


def test_parts_of_a_block_whose_output_is_edited():
    """They add up to what leaves it before the edit."""
    vit, vector = make_kind("plain"), torch.randn(24, generator=torch.Generator().manual_seed(0))
    edits = vitcore.edit(vit)
    edits.attn(0).scale(2)
    edits.resid(1).scale(0.5)
    edits.resid(1).add(vector)
    kept = vitcore.cache(edits.vit, inputs_for(vit))
    made = [kept["resid_pre", layer] + kept["attn_out", layer] + kept["mlp_out", layer] for layer in range(vit.blocks)]
    made[1] = 0.5 * made[1] + vector
    for layer, whole in enumerate(made):
        torch.testing.assert_close(kept["resid_post", layer], whole, **CLOSE)
    assert ("attn_out", 2) in vitcore.cache(vitcore.steer(vit, vector, 2), inputs_for(vit))


def test_numbers_are_the_same_under_another_default_dtype():
    vit = make_kind("plain")
    x = inputs_for(vit)
    difference = vit.module(x[:1]) - vit.module(x[1:2])
    classes = (int(difference.argmax()), int(difference.argmin()))

    def numbers():
        rec, many = vitcore.record(vit, x[0], maps="all"), next(vitcore.record_many(vit, x, progress=False))
        patched = vitcore.activation_patching(vit, x[0], x[1], "class", classes=classes).logit_difference
        maps = [vitcore.relevance(vit, x[0], method).maps for method in ("rollout", "chefer", "integrated_gradients")]
        ablated, lens = vitcore.head_ablation(vit, x), vitcore.logit_lens(vit, x[0])
        return rec.logits, rec.distance_px, rec.attentions, rec.pooling_weights, many.rollout, patched, *maps, ablated, lens

    usual = numbers()
    torch.set_default_dtype(torch.float64)
    try:
        other = numbers()
    finally:
        torch.set_default_dtype(torch.float32)
    for one, two in zip(usual, other, strict=True):
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_every_name_in_half_precision(dtype):
    vit, x = make_kind("plain"), inputs_for(make_kind("plain"))
    half, whole = (vitcore.cache(one, x.to(one.dtype), ALL_NAMES) for one in (vit.to(dtype=dtype), vit))
    for key in whole:
        assert half[key].dtype == torch.float32
        assert (half[key] - whole[key]).abs().max() < 0.1 * whole[key].abs().max(), key


def test_a_batch_is_its_images(vit):
    x, names = inputs_for(vit, 3), available(vit)
    together = vitcore.cache(vit, x, names, layers=[2])
    for image in range(3):
        alone = vitcore.cache(vit, x[image : image + 1], names, layers=[2])
        for name in names:
            one, of_batch = alone[name, 2][0], together[name, 2][image]
            largest = max(1.0, float(of_batch.abs().max()))  # of scores, sums of products: what rounds is as large as they are
            torch.testing.assert_close(one, of_batch, rtol=1e-5, atol=1e-5 * largest)


def test_activations_are_the_readers_own():
    """Nothing that a reader writes into one is seen in another, or in the model."""
    vit, x = make_kind("plain"), inputs_for(make_kind("plain"))
    kept, before = vitcore.cache(vit, x, ("resid_pre", "resid_post", "q", "v", "scores")), vit.module(x)
    later = kept["resid_pre", 1].clone()
    kept["resid_post", 0].zero_()
    kept["v", 0].zero_()
    assert torch.equal(kept["resid_pre", 1], later) and torch.equal(vit.module(x), before)


@pytest.mark.parametrize(("names", "layers", "said"), [
    (["residual"], None, "an activation is one of embed, pos_embed, resid_pre, ln1_scale, ln1"),
    ([3], None, "not 3"),
    (["z"], 3, "layers are from 0 to 2, or from -3 to -1, not 3"),
    (["z"], [-4, 1], "not -4"),
    (["z"], True, "not True"),
])  # fmt: skip
def test_what_there_is_not(names, layers, said):
    with pytest.raises(ValueError, match=said):
        vitcore.cache(make_kind("plain"), inputs_for(make_kind("plain")), names, layers)


def test_inputs_that_are_none():
    vit = make_kind("plain")
    for bad in (torch.zeros(1, 3, 32, 40), torch.zeros(1, 3, 32, 32, dtype=torch.uint8), torch.zeros(32, 32, 3), "photo.jpg"):
        with pytest.raises(ValueError, match=r"normalised inputs are floats \(B, 3, 32, 32\)"):
            vitcore.cache(vit, bad, inputs="normalised")
    for none in ([], torch.zeros(0, 3, 32, 32)):
        with pytest.raises(ValueError, match="no photo"):
            vitcore.cache(vit, none)
    with pytest.raises(ValueError, match="inputs is one of photos, pixels, normalised, not 'photo'; the nearest is 'photos'"):
        vitcore.cache(vit, inputs_for(vit), inputs="photo")
    with pytest.raises(TypeError, match="vit is what"):
        vitcore.cache(vit.module, inputs_for(vit))


def test_models_without_one_attention_a_block():
    network = vitcore.wrap(timm.create_model("test_resnet").eval(), name="a network")
    for call in (vitcore.cache, vitcore.head_ablation):
        with pytest.raises(ModelError, match="a network has no attention, so reading or editing its activations is not defined"):
            call(network, torch.zeros(1, 3, *network.grid.image_px))
    with pytest.raises(ModelError, match="not defined"):
        vitcore.edit(network)
    axial = vitcore.wrap(AxialViT((16, 24), 8, embed_dim=8, depth=2, num_heads=2, num_classes=3).eval(), name="axial")
    x = torch.randn(1, 3, 16, 24)
    kept = vitcore.cache(axial, x, ["resid_pre", "resid_post"])
    assert torch.equal(kept["resid_pre", 1], kept["resid_post", 0])
    for name in ("z", "pattern", "attn_out"):
        with pytest.raises(ModelError, match=rf"The blocks of axial \(AxialBlock\) have no {name}"):
            vitcore.cache(axial, x, [name])


@pytest.mark.parametrize("layers", [
    -1, [2], "all", slice(1, None), range(2), iter([0, -1]), np.array([0, 2]), torch.tensor([2, -3]), np.int64(-2),
    torch.tensor(1), (),
])  # fmt: skip
def test_layers_mean_one_thing_everywhere(layers):
    """As blocks of `record`, as layers of `cache`, of means and of patch tokens; a single one as a place of an edit."""
    vit, asked = make_kind("plain"), [*layers] if isinstance(layers, Iterator) else layers
    x, photo = inputs_for(vit), np.zeros((32, 32, 3), np.uint8)
    expected = sorted(vitcore.record(vit, photo, maps=asked).maps)
    again = (lambda: iter(asked)) if isinstance(layers, Iterator) else lambda: layers
    assert [*vitcore.cache(vit, x, ["resid_post"], again())] == [f"blocks.{one}.hook_resid_post" for one in expected]
    assert [*vitcore.mean_activations(vit, x, ["z"], again())] == [f"blocks.{one}.attn.hook_z" for one in expected]
    if expected:
        assert vitcore.patch_tokens(vit, x, layers=again()).layers == tuple(expected)
    if len(expected) == 1 and not isinstance(layers, list):
        e = vitcore.edit(vit)
        assert repr(e.mlp(layers)) == repr(e.mlp(expected[0]))
        e.patch(vitcore.cache(vit, x, ["z"], layers), at=("z", layers))
        assert vitcore.patch_tokens(vit, x, layers="all").index(layers) == expected[0]

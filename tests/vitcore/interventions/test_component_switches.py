"""Components switched off: each equals plain PyTorch with weights or tensors changed by hand, and only in a copy."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import vitcore
from tests.vitcore.interventions.conftest import inputs_for, make_kind
from tests.vitcore.interventions.test_edits import CLOSE, FUSED, answer, projection
from vitcore.interventions import head_ablation as ablation
from vitcore.models.model_cards import ModelError


def names(vit, by="zero"):
    return [one.name for one in vitcore.switchable_components(vit, by)]


def plain_with(vit, x, replaced):
    """The answer of a copy whose parts (by name) have hooks, as plain PyTorch has them."""
    plain = copy.deepcopy(vit.module)
    for part, hook in replaced.items():
        plain.get_submodule(part).register_forward_hook(hook)
    with torch.no_grad():
        return plain(x)


def attention_by_hand(plain, layer, change):
    """A copy's layer of timm's `Attention` computed with weights that `change` (B, H, T, T) gives."""
    attn = plain.blocks[layer].attn

    def forward(x, **kwargs):
        count, tokens, width = x.shape
        q, k, v = attn.qkv(x).reshape(count, tokens, 3, attn.num_heads, attn.head_dim).permute(2, 0, 3, 1, 4)
        weights = change((q @ k.transpose(-2, -1)) * attn.scale)
        return attn.proj((weights @ v).transpose(1, 2).reshape(count, tokens, width))

    attn.forward = forward


def test_zero_is_plain_pytorch_with_zeros(vit):
    x, whole = inputs_for(vit), answer(vit, inputs_for(vit))
    before = {name: value.clone() for name, value in vit.module.state_dict().items()}
    assert torch.equal(answer(vitcore.switch_off(vit, []), x), whole), "nothing switched off changes nothing"
    found = names(vit)
    for layer, head in ((0, 0), (2, vit.heads - 1)):
        plain = copy.deepcopy(vit.module)
        proj, columns = projection(plain, layer, head)
        proj.weight[:, columns] = 0
        off = vitcore.switch_off(vit, [f"L{layer}H{head}"])
        torch.testing.assert_close(answer(off, x), plain(x), **CLOSE)
        assert (answer(off, x) - whole).abs().max() > 1e-3
    if vit.name in (FUSED, "two attentions"):
        assert ("L1.mlp" in found) == (vit.name != FUSED)
    elif not hasattr(vit.module.blocks[1], "in_proj"):
        zeros = {"blocks.1.drop_path1": lambda part, given, out: 0 * out}
        torch.testing.assert_close(answer(vitcore.switch_off(vit, ["L1.attn"]), x), plain_with(vit, x, zeros), **CLOSE)
        zeros = {"blocks.2.drop_path2": lambda part, given, out: 0 * out}
        torch.testing.assert_close(answer(vitcore.switch_off(vit, ["L2.mlp"]), x), plain_with(vit, x, zeros), **CLOSE)
    if "positions" in found:
        plain = copy.deepcopy(vit.module)
        plain.pos_embed.zero_()
        torch.testing.assert_close(answer(vitcore.switch_off(vit, ["positions"]), x), plain(x), **CLOSE)
    else:
        assert vit.name in ("rotary", "rotary, gated MLP", "relative positions", "BEiT")
        with pytest.raises(ModelError, match="no learned position embedding that alone tells"):
            vitcore.switch_off(vit, ["positions"])
    some = [one for one in ("L0H0", "L1.attn", "L2.mlp", "positions", "registers", "class_token") if one in found]
    off = vitcore.switch_off(vit, some)
    one_by_one = torch.cat([answer(off, one) for one in x.split(1)])
    torch.testing.assert_close(answer(off, x), one_by_one, **CLOSE)
    for name, value in vit.module.state_dict().items():
        assert torch.equal(value, before[name]), "the model itself stays as it is"
    assert torch.equal(answer(vit, x), whole) and not any(
        part._forward_hooks or part._forward_pre_hooks for part in vit.module.modules()
    )


@pytest.mark.parametrize(("kind", "component", "tokens"), [("registers", "registers", [1, 2]), ("plain", "class_token", [0])])
def test_tokens_that_nobody_attends_to(kind, component, tokens):
    vit = make_kind(kind)
    x, plain = inputs_for(vit), copy.deepcopy(vit.module)
    hidden = torch.zeros(vit.grid.tokens)
    hidden[tokens] = -torch.inf
    for layer in range(vit.blocks):
        attention_by_hand(plain, layer, lambda scores: (scores + hidden).softmax(-1))
    off = vitcore.switch_off(vit, [component])
    torch.testing.assert_close(answer(off, x), plain(x), **CLOSE)
    assert (answer(off, x) - answer(vit, x)).abs().max() > 1e-4
    kept = vitcore.cache(off, x, ["pattern"])
    assert all(float(kept["pattern", layer][..., tokens].abs().max()) == 0 for layer in range(vit.blocks))
    both = vitcore.switch_off(vit, [component, "L1.attn"])
    assert answer(both, x).isfinite().all()
    uniform = vitcore.switch_off(vitcore.switch_off(vit, ["L1H0"], by="uniform"), [component])
    row = vitcore.cache(uniform, x, ["pattern"])["pattern", 1][0, 0, 0]
    assert torch.equal(row[tokens], torch.zeros(len(tokens)))
    assert row.sum().item() == pytest.approx(1)


def test_registers_that_nobody_attends_to_are_as_if_they_were_not_there():
    vit = make_kind("registers")
    x, plain = inputs_for(vit), copy.deepcopy(vit.module)
    plain.blocks[0].register_forward_pre_hook(lambda block, given: (torch.cat([given[0][:, :1], given[0][:, 3:]], 1),))
    torch.testing.assert_close(answer(vitcore.switch_off(vit, ["registers"]), x), plain(x), **CLOSE)


def test_the_mean_over_photos_by_hand():
    vit = make_kind("registers")
    x, photos = inputs_for(vit), inputs_for(vit, 5, seed=1)
    told = []
    mean = vitcore.mean_activations(vit, photos, progress=lambda *done: told.append(done))
    assert told == [(i, 5) for i in range(1, 6)]
    whole = vitcore.cache(vit, photos, ["z", "attn_out", "k", "v"])
    torch.testing.assert_close(mean["z", 1], whole["z", 1].mean(0, keepdim=True), **CLOSE)
    z = whole["z", 1].mean(0)

    def head(proj, given):
        put = given[0].clone()
        put[..., 8:16] = z[:, 1]
        return (put,)

    plain = copy.deepcopy(vit.module)
    plain.blocks[1].attn.proj.register_forward_pre_hook(head)
    off = vitcore.switch_off(vit, ["L1H1"], by="mean", mean=mean)
    torch.testing.assert_close(answer(off, x), plain(x), **CLOSE)
    changes = vitcore.head_ablation(vit, x[:1], target=3, by="mean", mean=mean)
    assert changes[1, 1] == pytest.approx(float((plain(x[:1]) - answer(vit, x[:1]))[0, 3]), abs=1e-5)
    attended = whole["attn_out", 2].mean(0)
    hook = {"blocks.2.drop_path1": lambda part, given, out: attended.expand_as(out)}
    torch.testing.assert_close(answer(vitcore.switch_off(vit, ["L2.attn"], "mean", mean), x), plain_with(vit, x, hook), **CLOSE)
    prefix = plain.pos_embed.shape[1] - vit.grid.patches
    plain = copy.deepcopy(vit.module)
    plain.pos_embed[:, prefix:] = plain.pos_embed[:, prefix:].mean(1, keepdim=True)
    torch.testing.assert_close(answer(vitcore.switch_off(vit, ["positions"], by="mean"), x), plain(x), **CLOSE)
    kept = vitcore.cache(vitcore.switch_off(vit, ["registers"], "mean", mean), x, ["k", "v"])
    for name in ("k", "v"):
        torch.testing.assert_close(kept[name, 2][:, 1:3], whole[name, 2].mean(0)[1:3].expand(2, -1, -1, -1), **CLOSE)
    same = vitcore.mean_activations(vit, x[:1])
    off = vitcore.switch_off(vit, ["L0H0", "L1.attn", "L2.mlp", "registers", "class_token"], "mean", same)
    torch.testing.assert_close(answer(off, x[:1]), answer(vit, x[:1]), **CLOSE)


def test_uniform_attention_by_hand():
    vit = make_kind("plain")
    x = inputs_for(vit)
    for component, heads in (("L1H2", [2]), ("L1.attn", [0, 1, 2])):
        plain = copy.deepcopy(vit.module)

        def even(scores, heads=heads):
            weights = scores.softmax(-1)
            weights[:, heads] = 1 / vit.grid.tokens
            return weights

        attention_by_hand(plain, 1, even)
        torch.testing.assert_close(answer(vitcore.switch_off(vit, [component], "uniform"), x), plain(x), **CLOSE)
    assert not [one for one in names(vit, "uniform") if one.endswith("mlp") or one == "positions"]


def test_every_head_attending_evenly_is_the_edit_of_that_head(vit, monkeypatch):
    """All heads at once, as many at a time as there is room for, with progress."""
    x, told = inputs_for(vit, 1), []
    monkeypatch.setattr(ablation, "MOST_NUMBERS", 2 * vit.structure.numbers)
    changes = vitcore.head_ablation(vit, x, target=2, by="uniform", progress=lambda *done: told.append(done))
    assert told[-1] == (vit.blocks * vit.heads,) * 2 and [done for done, _ in told] == sorted({done for done, _ in told})
    whole = answer(vit, x)
    for layer, head in ((0, 0), (2, vit.heads - 1)):
        off = vitcore.switch_off(vit, [f"L{layer}H{head}"], "uniform")
        np.testing.assert_allclose(changes[layer, head], (answer(off, x) - whole)[0, 2], atol=1e-5)


def test_threads_switch_their_own():
    vit, x = make_kind("plain"), inputs_for(make_kind("plain"))
    names = [f"L{layer}H{head}" for layer in range(3) for head in range(3)][:6]
    wanted = {name: answer(vitcore.switch_off(vit, [name]), x) for name in names}

    def right(name):
        return all(torch.equal(answer(vitcore.switch_off(vit, [name]), x), wanted[name]) for _ in range(5))

    with ThreadPoolExecutor(len(names)) as threads:
        assert all(threads.map(right, names))


def test_a_recording_of_a_photo_without_components(tiny, photo_file):
    rec = vitcore.record(vitcore.switch_off(tiny, ["L0H0", "class_token"]), photo_file)
    assert rec.rollout().shape == (tiny.grid.rows, tiny.grid.cols) and len(rec.top_classes(3)) == 3
    assert rec.probabilities.sum() == pytest.approx(1)
    assert float(np.abs(rec.attention_per_layer()[:, :, 0]).max()) == 0


@pytest.mark.parametrize(("given", "said"), [
    ((["L9H0"],), "layers are from 0 to 2, or from -3 to -1, not 9"),
    ((["L0H9"],), "heads are from 0 to 2, not 9"),
    ((["head 3"],), "a component that is no L3H1, L3.attn or L3.mlp is one of positions"),
    ((["registers"],), "this model has no registers"),
    ((["L0H0"], "median"), "what replaces a component is one of zero, mean, uniform"),
    ((["L0.mlp"], "uniform"), "only attention can be uniform"),
    ((["L0H0"], "mean"), "needs mean="),
])  # fmt: skip
def test_what_there_is_not(given, said):
    with pytest.raises(ValueError, match=said):
        vitcore.switch_off(make_kind("plain"), *given)
    with pytest.raises(ValueError, match="a token must be left"):
        vitcore.edit(make_kind("plain")).hide(range(make_kind("plain").grid.tokens))

"""The instrument: it sees every attention call exactly as it is computed, and the model does not know."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import timm
import torch
import torch.nn.functional as F

import vitcore
from vitcore.attention_hooks import AttentionCall, AttentionHookMode, SoftmaxCall, mask_as_score_term
from vitcore.forward.recording import record, to_model_input
from vitcore.forward.relevance import relevance
from vitcore.images import open_photo
from vitcore.models.model_cards import ModelError

SIZES = [
    {},
    {"img_size": (32, 48), "embed_dim": 32, "num_heads": 4, "depth": 2},
    {"img_size": 64, "embed_dim": 64, "num_heads": 1, "depth": 5},
    {"patch_size": 4, "embed_dim": 96, "num_heads": 12, "reg_tokens": 4},
    {"class_token": False, "global_pool": "map"},
    {"class_token": False, "global_pool": "avg", "qk_norm": True},
]
each_size = pytest.mark.parametrize("changes", SIZES, ids=lambda c: "-".join(map(str, c.values())) or "tiny")


def pixels_for(module, seed=0, batch=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, 3, *module.patch_embed.img_size, generator=generator)


def taped(module, x, answer=False):
    """Logits, and the weights of every call; with `answer` the instrument computes the output."""
    seen = []

    def watch(call):
        weights = call.weights()
        seen.append(weights.clone())
        return weights @ call.v if answer else None

    with torch.inference_mode(), AttentionHookMode(watch):
        logits = module(x)
    return logits, seen


@torch.inference_mode()
def plain(module, x):
    return module(x)


# Logits


@each_size
def test_logits_are_bit_identical_beside_the_kernel_and_as_near_as_rounding_when_the_instrument_answers(make_module, changes):
    module = make_module(**changes)
    x = pixels_for(module, batch=2)
    (beside, seen), (inside, _), expected = taped(module, x), taped(module, x, answer=True), plain(module, x)
    assert torch.equal(beside, expected) and len(seen) == len(module.blocks) + (module.attn_pool is not None)
    assert torch.allclose(inside, expected, rtol=0, atol=1e-5)
    assert torch.equal(inside.argsort(descending=True)[..., :5], expected.argsort(descending=True)[..., :5])


def test_recorded_logits_of_the_shipped_model(shipped, photo_file):
    """Beside the fused kernel: the plain pass's own. Inside: as near as the plain pass to what float64 computes."""
    exact, off = copy.deepcopy(shipped.module).double(), []
    for file in sorted(photo_file.parent.glob("*.jpg"))[::9]:
        rec = record(shipped, open_photo(file))
        x = to_model_input(shipped, rec.model_input.pixels)
        expected, truth = plain(shipped.module, x)[0].numpy(), plain(exact, x.double())[0].numpy()
        assert np.array_equal(record(shipped, open_photo(file), exact=True).logits, expected)
        assert (np.argsort(-rec.logits)[:5] == np.argsort(-truth)[:5]).all()
        off.append([np.square(logits - truth).mean() for logits in (rec.logits, expected)])
    ours, theirs = np.sqrt(np.mean(off, axis=0))
    assert ours <= 1.5 * theirs < 1e-5, "root mean square over the 1,000 logits"


# Threads


def test_four_threads_share_one_model(shipped, photo_file):
    files = sorted(photo_file.parent.glob("*.jpg"))[:3]
    photos = [open_photo(file) for file in files]
    alone = [record(shipped, p, maps=[5]) for p in photos]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda p: record(shipped, p, maps=[5]), photos * 4))
    wrong = [i for i, rec in enumerate(together) if not same_recording(rec, alone[i % 3])]
    assert wrong == []


def same_recording(a, b):
    pairs = [(a.logits, b.logits), (a.distance_px, b.distance_px), (a.fused["mean"], b.fused["mean"]), (a.maps[5], b.maps[5])]
    return all(np.array_equal(x, y) for x, y in pairs)


def test_each_thread_sees_only_its_own_calls(make_module):
    module = make_module()
    inputs = [pixels_for(module, seed) for seed in range(8)]
    alone = [taped(module, x)[1] for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda x: taped(module, x)[1], inputs * 4))
    for i, seen in enumerate(together):
        assert len(seen) == 3
        assert all(torch.equal(a, b) for a, b in zip(seen, alone[i % 8], strict=True))


# What the weights are


def one_call(**options):
    """One call seen by the tape, and what the fused kernel computed."""
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(2, 4, 6, 8, generator=generator) for _ in "qkv")
    if options.get("enable_gqa"):
        k, v = k[:, :2], v[:, :2]
    calls = []
    with AttentionHookMode(calls.append):
        out = F.scaled_dot_product_attention(q, k, v, **options)
    return calls, out


LOWER = torch.ones(6, 6, dtype=torch.bool).tril()
OPTIONS = {
    "plain": {},
    "boolean mask": {"attn_mask": LOWER},
    "boolean mask over keys": {"attn_mask": torch.tensor([True, False, True, True, False, True]).view(1, 1, 1, 6)},
    "boolean mask of each image": {"attn_mask": torch.stack([LOWER, LOWER.T])[:, None]},
    "additive mask": {"attn_mask": torch.linspace(-3, 3, 36).view(6, 6)},
    "additive mask of each head": {"attn_mask": torch.linspace(-3, 3, 4 * 36).view(1, 4, 6, 6)},
    "causal": {"is_causal": True},
    "scale": {"scale": 0.05},
    "grouped heads": {"enable_gqa": True},
    "all at once": {"attn_mask": LOWER, "scale": 2.0, "enable_gqa": True},
}
each_option = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


@each_option
def test_weights_times_v_is_the_kernels_output(options):
    (call,), out = one_call(**options)
    weights = call.weights()
    assert weights.shape == (2, 4, 6, 6)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 4, 6), atol=1e-6)
    assert torch.allclose(weights @ call.v, out, atol=1e-6)
    for rows in (slice(0, 1), slice(2, 5), slice(5, None)):
        assert torch.allclose(call.weights(rows), weights[:, :, rows], atol=1e-7)


def test_masked_keys_get_nothing():
    (call,), _ = one_call(is_causal=True)
    assert call.weights().triu(1).abs().max() == 0
    (call,), _ = one_call(attn_mask=OPTIONS["boolean mask over keys"]["attn_mask"])
    assert call.weights()[..., [1, 4]].abs().max() == 0


def test_a_query_that_may_attend_to_nothing_attends_to_nothing():
    blind = LOWER.clone()
    blind[2] = False
    (call,), out = one_call(attn_mask=blind)
    weights = call.weights()
    assert weights[:, :, 2].abs().max() == 0 and out[:, :, 2].abs().max() == 0
    assert torch.allclose(weights @ call.v, out, atol=1e-6)
    assert torch.equal(call.weights(slice(2, 3)), weights[:, :, 2:3])


def test_boolean_masks_become_terms_of_the_scores():
    assert mask_as_score_term(torch.tensor([True, False]), torch.float32).tolist() == [0, -torch.inf]
    given = torch.tensor([0.5, -1.0])
    assert mask_as_score_term(given, torch.float32) is given


@pytest.mark.parametrize("softmax", [F.softmax, torch.softmax, torch.Tensor.softmax], ids=["F", "torch", "Tensor"])
def test_every_spelling_of_softmax_is_seen_once(softmax):
    calls = []
    scores = torch.randn(1, 2, 4, 4)
    with AttentionHookMode(calls.append):
        result = softmax(scores, dim=-1)
        softmax(scores[0], dim=-1)  # not attention: three dimensions
    (seen,) = calls
    assert isinstance(seen, SoftmaxCall) and torch.equal(seen.weights(), result)
    assert torch.equal(seen.weights(slice(1, 3)), result[:, :, 1:3])


# Gradients


def test_gradients_flow_through_the_weights():
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, 5, 4, generator=generator, requires_grad=True) for _ in "qkv")
    kept = []

    def watch(call):
        kept.append(call.weights())
        return kept[-1] @ call.v

    with AttentionHookMode(watch):
        out = F.scaled_dot_product_attention(q, k, v)
    upstream = torch.randn(out.shape, generator=generator)
    to_weights, to_q = torch.autograd.grad((out * upstream).sum(), [kept[0], q])
    assert torch.allclose(to_weights, upstream @ v.transpose(-2, -1), atol=1e-6)
    (expected,) = torch.autograd.grad((F.scaled_dot_product_attention(q, k, v) * upstream).sum(), [q])
    assert torch.allclose(to_q, expected, atol=1e-5)


def test_gradients_of_a_class_reach_the_weights_of_every_block(make_vit):
    vit = make_vit(num_classes=4)
    kept = []

    def watch(call):
        kept.append(call.weights())
        return kept[-1] @ call.v

    x = pixels_for(vit.module).requires_grad_()  # the model's own weights are frozen
    with AttentionHookMode(watch):
        logits = vit.module(x)
    grads = torch.autograd.grad(logits[0, 2], kept)
    assert [g.shape for g in grads] == [(1, 3, 17, 17)] * 3
    assert all(g.abs().max() > 0 for g in grads)
    assert torch.allclose(logits.detach(), plain(vit.module, x.detach()), atol=1e-5)


# Manners


def test_calls_are_numbered_from_0_on_each_tape(make_module):
    module = make_module()
    for _ in range(2):
        calls = []
        with torch.inference_mode(), AttentionHookMode(calls.append):
            module(pixels_for(module))
        assert [call.index for call in calls] == [0, 1, 2]


def test_nothing_is_watched_outside_the_block(make_module):
    module = make_module()
    calls = []
    with pytest.raises(ZeroDivisionError), AttentionHookMode(calls.append):
        raise ZeroDivisionError
    plain(module, pixels_for(module))
    assert calls == []


def test_the_call_knows_its_scale():
    (call,), _ = one_call()
    assert isinstance(call, AttentionCall) and call.factor == pytest.approx(8**-0.5)
    (call,), _ = one_call(scale=0.25)
    assert call.factor == 0.25


def test_a_capture_around_another_sees_every_event_too(make_vit, noise):
    vit, seen = make_vit(), []
    with AttentionHookMode(lambda event: seen.append((event.index, event.shape))):
        rec = vitcore.record(vit, noise())
        events = [(i, (1, 3, 17, 17)) for i in range(3)]
        assert seen == events, "as the record's own watcher answers, the model's kernel is never called"
        seen.clear()
    with AttentionHookMode(lambda event: seen.append((event.index, event.shape))):
        vitcore.record(vit, noise(), exact=True)
    assert seen == events
    seen.clear()
    with AttentionHookMode(lambda event: seen.append((event.index, event.shape))):
        relevance(vit, rec.model_input, "chefer", target=0)
    assert seen == events, "softmaxes of the inner watcher's own are no events"


def test_what_the_outer_capture_answers_is_heard(make_vit, noise):
    vit = make_vit()
    plain = vitcore.record(vit, noise())
    with AttentionHookMode(lambda event: torch.zeros_like(event.v)):
        silenced = vitcore.record(vit, noise())
    with torch.no_grad(), AttentionHookMode(lambda event: torch.zeros_like(event.v)):
        expected = vit.module(to_model_input(vit, plain.model_input.pixels))[0].numpy()
    np.testing.assert_allclose(silenced.logits, expected, atol=1e-5)
    assert np.abs(silenced.logits - plain.logits).max() > 1e-3


@pytest.mark.parametrize(("maps", "kept"), [
    ("all", [0, 1, 2]), (1, [1]), (-1, [2]), ([-3, 2], [0, 2]), (np.int64(1), [1]), (range(2), [0, 1]), (set(), []),
])  # fmt: skip
def test_blocks_are_named_as_python_names_places(make_vit, noise, maps, kept):
    rec = vitcore.record(make_vit(), noise(), maps=maps)
    assert sorted(rec.maps) == kept
    if 2 in kept:
        np.testing.assert_array_equal(rec.head_maps(-1), rec.head_maps(2))


@pytest.mark.parametrize("maps", [3, -4, [0, 3], "every", ["all"], 1.5, True, [None]])
def test_other_blocks_are_refused_in_a_sentence(make_vit, noise, maps):
    said = '^blocks are (from 0 to 2, or from -3 to -1|whole numbers, one or several, a slice, "all" or "last"), not'
    with pytest.raises(ValueError, match=said):
        vitcore.record(make_vit(), noise(), maps=maps)


@pytest.mark.parametrize("maps", [3, [0], "all", -1])
def test_maps_of_windows_are_not_ignored(noise, maps):
    module = timm.create_model("swin_tiny_patch4_window7_224", img_size=112, embed_dim=24, depths=(1, 1, 1),
                               num_heads=(1, 2, 3), num_classes=10)  # fmt: skip
    vit = vitcore.wrap(module, name="windows")
    assert not vitcore.record(vit, noise()).maps
    with pytest.raises(ModelError, match="attention of single heads is not defined"):
        vitcore.record(vit, noise(), maps=maps)

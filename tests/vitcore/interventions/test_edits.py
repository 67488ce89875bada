"""Edits: each does what plain PyTorch does on weights or tensors changed by hand, only in its own copy, and everything reads it."""

import copy
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import vitcore
from tests.vitcore.interventions.conftest import answer, inputs_for, make_kind
from vitcore.forward.logit_lens import logit_lens
from vitcore.forward.predict import predict
from vitcore.forward.relevance import relevance
from vitcore.interventions.activation_sites import NAMES
from vitcore.interventions.edits import READ_ONLY, UneditedModelWarning
from vitcore.models.model_cards import ModelError

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
FUSED = "projections fused"  # attention and MLP through one matrix: what each adds can't be told


def projection(module, layer, head, heads=3):
    """The projection after a head, and its columns there."""
    block = module.blocks[layer]
    if hasattr(block, "attns"):
        proj, head = block.attns[head // heads].attn.proj, head % heads
    elif hasattr(block, "in_proj"):
        proj = block.out_proj if block.attn_out_proj is None else block.attn_out_proj
    else:
        proj = block.attn.proj
    return proj, slice(head * 8, head * 8 + 8)


def test_a_head_that_is_off_is_one_whose_columns_of_the_projection_are_zero(vit):
    x, whole = inputs_for(vit), answer(vit, inputs_for(vit))
    for layer, head in ((0, 0), (1, 2), (2, vit.heads - 1)):
        plain = copy.deepcopy(vit.module)
        proj, columns = projection(plain, layer, head)
        proj.weight[:, columns] = 0
        for switch in (lambda place: place.scale(0), lambda place: place.zero(), lambda place: place.replace(0)):
            with vitcore.edit(vit) as e:
                switch(e.head(layer, head))
            torch.testing.assert_close(answer(e.vit, x), plain(x), **CLOSE)
        assert (answer(e.vit, x) - whole).abs().max() > 1e-3


def test_to_scale_by_one_changes_nothing(vit):
    x, e = inputs_for(vit), vitcore.edit(vit)
    places = [e.head(1, 2), e.resid(0), e.resid(2, at="pre")] + ([] if vit.name == FUSED else [e.attn(2), e.mlp(0)])
    for place in places:
        place.scale(1)
        place.add(0, token=[0, 2])
    assert torch.equal(answer(e.vit, x), answer(vit, x))


def test_what_a_layer_adds(vit):
    """Attention and MLP that are off leave the residual stream as it was; their halves are half of it."""
    x, e = inputs_for(vit), vitcore.edit(vit)
    if vit.name == FUSED:
        for place in (e.attn, e.mlp):
            with pytest.raises(
                ModelError, match=r"The blocks of projections fused \(ParallelScalingBlock\) have no (attn|mlp)_out"
            ):
                place(1).scale(2)
        return
    e.attn(1).zero()
    e.mlp(1).zero()
    kept = vitcore.cache(e.vit, x)
    assert torch.equal(kept["resid_post", 1], kept["resid_pre", 1])
    half, whole = vitcore.edit(vit), vitcore.cache(vit, x)
    half.attn(0).scale(0.5, token=3)
    after = vitcore.cache(half.vit, x)
    torch.testing.assert_close(after["attn_out", 0][:, 3], whole["attn_out", 0][:, 3] / 2, **CLOSE)
    assert torch.equal(after["attn_out", 0][:, :3], whole["attn_out", 0][:, :3])
    vector = torch.randn(24, generator=torch.Generator().manual_seed(1))
    added = vitcore.edit(vit)
    added.mlp(2).add(vector, token=slice(0, 2))
    added.attn(2).replace(vector, token=[4])
    after = vitcore.cache(added.vit, x)
    torch.testing.assert_close(after["attn_out", 2][:, 4], vector.expand(2, -1), **CLOSE)
    if vit.name != "two attentions" and "in_proj" not in dict(vit.module.blocks[2].named_children()):
        torch.testing.assert_close(after["mlp_out", 2][:, 0], whole["mlp_out", 2][:, 0] + vector, **CLOSE)


def test_the_class_token_and_the_patches_by_name(make_vit):
    for changes, patches in (({}, 1), ({"reg_tokens": 4}, 5), ({"class_token": False, "global_pool": "avg"}, 0)):
        vit = make_vit(**changes)
        photo = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
        for name, tokens in (("class", 0), ("patches", slice(patches, None))):
            named, counted = vitcore.edit(vit), vitcore.edit(vit)
            if name == "class" and not patches:
                with pytest.raises(ValueError, match="a name of tokens is one of patches, not 'class'"):
                    named.resid(1).zero(token=name)
                continue
            named.resid(1).zero(token=name)
            counted.resid(1).zero(token=tokens)
            logits = [vitcore.cache(e.vit, photo, ["resid_post"], [2])["resid_post", 2] for e in (named, counted)]
            assert torch.equal(*logits)


def test_a_vector_for_a_token_of_the_residual_stream(vit):
    """Of the last layer the answer is that of the model's own end on the stream with it."""
    x, vector = inputs_for(vit), np.linspace(-2, 2, 24)
    e = vitcore.edit(vit)
    e.resid(2).add(vector, token=[0, 5])
    before = vitcore.cache(vit, x, ["resid_post"])["resid_post", 2]
    before[:, [0, 5]] += torch.from_numpy(vector).float()
    torch.testing.assert_close(vitcore.cache(e.vit, x, ["resid_post"])["resid_post", 2], before, **CLOSE)
    with torch.no_grad():
        if hasattr(vit.module, "norm") and vit.name not in ("distilled",):
            torch.testing.assert_close(answer(e.vit, x), vit.module.forward_head(vit.module.norm(before)), **CLOSE)
    assert not torch.equal(answer(e.vit, x), answer(vit, x))


def test_a_function_of_an_activation():
    """A direction taken out of the stream of the patches, as a plain hook does it; a sum of parts is refused."""
    vit, x, d = make_kind("plain"), inputs_for(make_kind("plain")), F.normalize(torch.arange(24.0), dim=0)
    with vitcore.edit(vit) as e:
        e.resid(1).apply(lambda x: x - (x @ d)[..., None] * d, token="patches")
    kept, before = (vitcore.cache(one, x, ["resid_pre"], 2)["resid_pre", 2] for one in (e.vit, vit))
    assert torch.equal(kept[:, 0], before[:, 0]) and (kept[:, 1:] @ d).abs().max() < 1e-5 < (before[:, 1:] @ d).abs().min()
    torch.testing.assert_close(kept[:, 1:] + (before[:, 1:] @ d)[..., None] * d, before[:, 1:])
    with vitcore.edit(vit) as e:
        e.head(1, 0).apply(lambda z: z[..., :3])
    with pytest.raises(ValueError, match=r"the function gives \(2, 17, 3\) for z of \(2, 17, 8\)"):
        e.vit.module(x)
    with vitcore.edit(make_kind("two attentions")) as e, pytest.raises(ValueError, match="attn_out of this model is the sum of"):
        e.attn(0).apply(torch.relu)


def test_a_head_with_its_mean(vit):
    x, e = inputs_for(vit), vitcore.edit(vit)
    e.head(1, 0).mean()
    z, after = (vitcore.cache(one, x, ["z"])["z", 1] for one in (vit, e.vit))
    torch.testing.assert_close(after[:, :, 0], z[:, :, 0].mean(1, keepdim=True).expand_as(z[:, :, 0]), **CLOSE)
    assert torch.equal(after[:, :, 1:], z[:, :, 1:])


def test_uniform_attention(vit):
    """The map is even, its head's output the mean of the values; other heads and rows go on as they were."""
    x, e = inputs_for(vit), vitcore.edit(vit)
    e.attn(1).uniform()
    e.head(2, 1).uniform(token=[0, 5])
    kept, even = vitcore.cache(e.vit, x, ["pattern", "v", "z"]), 1 / vit.grid.tokens
    torch.testing.assert_close(kept["pattern", 1], torch.full_like(kept["pattern", 1], even), **CLOSE)
    if vit.name not in ("attention norm", "rotary, gated MLP"):
        mean = kept["v", 1].mean(1, keepdim=True)
        torch.testing.assert_close(kept["z", 1], mean.expand_as(kept["z", 1]), **CLOSE)
    some = kept["pattern", 2][:, 1]
    torch.testing.assert_close(some[:, [0, 5]], torch.full_like(some[:, [0, 5]], even), **CLOSE)
    assert (some[:, 1] - even).abs().max() > 1e-3 and (kept["pattern", 2][:, 0, 0] - even).abs().max() > 1e-3


@pytest.mark.parametrize("kind", ["plain", "rotary, gated MLP", "BEiT", "projections fused", "two attentions", "not fused"])
def test_patching(kind):
    """An activation of another photo is found in its place, and the rest of the layer before it as it was."""
    vit = make_kind(kind)
    x, other, patched = inputs_for(vit), inputs_for(vit, seed=1), 0
    for name in (name for name in NAMES if name not in READ_ONLY):
        e = vitcore.edit(vit)
        try:
            theirs = vitcore.cache(vit, other, [name])
        except ModelError:
            with pytest.raises(ModelError):
                e.patch(from_=other, at=(name, 1))
            continue
        e.patch(from_=theirs, at=(name, 1, [0, 3]))
        ours, after = vitcore.cache(vit, x, [name])[name, 1], vitcore.cache(e.vit, x, [name])[name, 1]
        at = (slice(None), slice(None)) if name == "pattern" else (slice(None),)
        torch.testing.assert_close(after[(*at, [0, 3])], theirs[name, 1][(*at, [0, 3])], **CLOSE)
        if not hasattr(vit.module.blocks[1], "attns"):  # there the sum of two is the other's, not each of the two
            torch.testing.assert_close(after[(*at, [1, 2])], ours[(*at, [1, 2])], **CLOSE)
        assert (answer(e.vit, x) - answer(vit, x)).abs().max() > 1e-5, name
        patched += 1
    assert patched >= 9


def test_everything_patched_is_the_other_photo(vit):
    x, other = inputs_for(vit), inputs_for(vit, seed=1)
    for at in (("resid_post", 2), ("resid_pre", 0)):
        e = vitcore.edit(vit)
        e.patch(from_=other, at=at)
        assert torch.equal(answer(e.vit, x), answer(vit, other))
    e = vitcore.edit(vit)
    e.patch(other, at=("resid_pre", 2))
    for name in ("q", "k", "v", "z", "pattern"):
        e.patch(other, at=(name, 2))
    torch.testing.assert_close(answer(e.vit, x), answer(vit, other), **CLOSE)


def test_a_head_patched_alone():
    vit = make_kind("two attentions")
    x, other = inputs_for(vit), inputs_for(vit, 1, seed=1)
    theirs = vitcore.cache(vit, other)
    for name in ("z", "q", "v", "pattern"):
        e = vitcore.edit(vit)
        e.patch(theirs, at=(name, 1), head=4)
        ours, after = (vitcore.cache(one, x, [name])[name, 1] for one in (vit, e.vit))
        axis = 1 if name == "pattern" else 2
        torch.testing.assert_close(after.select(axis, 4), theirs[name, 1].select(axis, 4).expand_as(after.select(axis, 4)), **CLOSE)
        assert torch.equal(after.narrow(axis, 0, 4), ours.narrow(axis, 0, 4))


def test_a_batch_is_its_images(vit):
    x, e = inputs_for(vit, 3), vitcore.edit(vit)
    e.head(0, 1).mean()
    e.resid(1).scale(0.5, token=2)
    e.attn(2).uniform() if vit.name != FUSED else e.head(2, 0).uniform()
    e.patch(inputs_for(vit, 1, seed=4), at=("resid_post", 1, 0))
    together = answer(e.vit, x)
    for image in range(3):
        torch.testing.assert_close(answer(e.vit, x[image : image + 1])[0], together[image], **CLOSE)


def test_everything_reads_an_edited_model(vit, noise):
    """A recording, relevance, the lens and a cache are of the edited model: its answer, its attention."""
    e = vitcore.edit(vit)
    e.head(0, 2).uniform()
    e.head(1, 1).scale(0.3)
    e.resid(1).add(0.5, token=1)
    picture = noise(size=vit.grid.image_px[::-1])
    rec, exact = vitcore.record(e.vit, picture, maps="all"), vitcore.record(e.vit, picture, exact=True)
    kept = vitcore.cache(e.vit, picture, ["pattern", "resid_post"])
    assert rec.model == f"{vit.name}, edited" and vit.name != e.vit.name
    np.testing.assert_allclose(rec.logits, kept.logits[0], atol=1e-5)
    np.testing.assert_allclose(exact.logits, kept.logits[0], atol=1e-5)
    assert np.abs(vitcore.record(vit, picture).logits - rec.logits).max() > 1e-4
    for layer in range(3):
        np.testing.assert_allclose(rec.attentions[layer], kept["pattern", layer][0], atol=1e-3)
        np.testing.assert_allclose(rec.norms[layer], kept["resid_post", layer][0].norm(dim=-1), rtol=1e-4)
    np.testing.assert_allclose(rec.attentions[0, 2], 1 / vit.grid.tokens, atol=1e-3)
    np.testing.assert_allclose(logit_lens(e.vit, picture)[-1], rec.logits, atol=1e-5)
    for method in ("chefer", "grad_cam"):
        edited, plain = (relevance(one, picture, method, 3).maps for one in (e.vit, vit))
        assert np.isfinite(edited).all() and not np.array_equal(edited, plain)
    rollout = relevance(e.vit, picture, "rollout").maps
    np.testing.assert_allclose(rollout, rec.rollout(), atol=1e-5)


def test_gradients_are_those_of_the_edited_model():
    """Of the weights of a head that is off nothing depends, and the gradient of a vector that is added is seen."""
    vit, vector = make_kind("plain"), torch.zeros(24, requires_grad=True)
    e = vitcore.edit(vit)
    e.resid(1).add(vector, token=0)
    e.vit.module(inputs_for(vit))[:, 3].sum().backward()
    step = 1e-2 * vector.grad
    moved = vitcore.edit(vit)
    moved.resid(1).add(step, token=0)
    rise = (answer(moved.vit, inputs_for(vit)) - answer(vit, inputs_for(vit)))[:, 3].sum()
    torch.testing.assert_close(rise, (step * vector.grad).sum(), rtol=0.05, atol=1e-4)


def state(module):
    """All that an edit could leave behind: weights and where they lie, modes, hooks, classes."""
    hooks = [(len(m._forward_hooks), len(m._forward_pre_hooks), m.training, type(m), {*vars(m)}) for m in module.modules()]
    tensors = [(p.data_ptr(), p.requires_grad, p.grad is None, p.detach().clone()) for p in module.parameters()]
    return hooks, [t[:3] for t in tensors], torch.cat([t[3].flatten() for t in tensors])


def test_the_shared_model_stays_as_it_is(vit):
    before, x = state(vit.module), inputs_for(vit)
    whole = answer(vit, x)
    e = vitcore.edit(vit)
    e.head(1, 1).zero()
    e.head(2, 0).uniform()
    e.resid(0).add(1, token=0)
    first = e.vit
    e.resid(2).scale(0)
    second = e.vit
    answers = [answer(one, x) for one in (first, second)]
    after = state(vit.module)
    assert after[:2] == before[:2] and torch.equal(after[2], before[2]) and torch.equal(answer(vit, x), whole)
    assert not torch.equal(*answers) and torch.equal(answer(first, x), answers[0])  # an edit said later is not in it
    shared = {p.data_ptr() for p in vit.module.parameters()}
    assert {p.data_ptr() for p in second.module.parameters()} == shared


def test_threads_share_a_model_and_half_of_them_edit_it():
    vit, x = make_kind("two attentions"), inputs_for(make_kind("two attentions"))
    plain = answer(vit, x)

    def edited(head):
        e = vitcore.edit(vit)
        e.head(1, head).uniform()
        e.head(2, head).zero()
        e.resid(1).add(head, token=head)
        return e.vit

    shared = edited(5)
    answers = {head: answer(edited(head), x) for head in range(6)}
    start = threading.Barrier(8)

    def right(thread):
        if thread % 2:
            head = 5 if thread == 1 else thread // 2
            return torch.equal(answer(shared if thread == 1 else edited(head), x), answers[head])
        return torch.equal(answer(vit, x), plain) and torch.equal(answer(shared, x), answers[5])

    def work(thread):
        start.wait()
        return all(right(thread) for _ in range(6))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(8)))
    assert len({tuple(one.flatten().tolist()) for one in answers.values()}) == 6


def test_who_records_the_model_itself_and_never_the_edited_one_is_warned(make_vit, recwarn):
    vit, noise = make_vit(), np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    with vitcore.edit(vit):
        vitcore.record(vit, noise)  # there is nothing yet that it could lack
    with vitcore.edit(vit) as e, vitcore.edit(make_vit(1)) as other:
        e.head(0, 1).scale(0)
        other.head(0, 1).scale(0)
        before, after = vitcore.record(vit, noise), vitcore.record(e.vit, noise)  # compared: it is meant
        assert not np.array_equal(before.logits, after.logits)
    with vitcore.edit(vit) as e:
        e.head(0, 1).scale(0)
        thread = threading.Thread(target=vitcore.record, args=(vit, noise))  # of somebody else
        thread.start()
        thread.join()
    assert not [one for one in recwarn if one.category is UneditedModelWarning]
    with vitcore.edit(vit) as e:  # its own pass over another photo is no other's
        e.head(0, 1).scale(0)
        e.patch(from_=noise, at=("resid_post", 1))
    assert not [one for one in recwarn if one.category is UneditedModelWarning]


def test_a_patch_reads_tensors_as_it_is_told(noise):
    vit = replace(make_kind("plain"), mean=(0.5,) * 3, std=(0.25,) * 3)
    floats = torch.from_numpy(np.asarray(noise(4, (32, 32)))).permute(2, 0, 1)[None] / 255
    x = inputs_for(vit, 1, seed=3)
    found = {}
    for kind in ("photos", "normalised"):
        e = vitcore.edit(vit)
        e.patch(floats, at=("resid_post", 1), inputs=kind)
        found[kind] = answer(e.vit, x)
        torch.testing.assert_close(
            found[kind], vitcore.cache(vit, floats, ["resid_post"], 1, inputs=kind).logits, atol=1e-5, rtol=0
        )
    assert (found["photos"] - found["normalised"]).abs().max() > 1e-3
    with pytest.raises(ValueError, match="inputs is of photos and tensors"):
        e.patch(vitcore.cache(vit, x, ["z"], 1), at=("z", 1), inputs="photos")


@pytest.mark.parametrize("run", [
    vitcore.record, lambda vit, photo: list(vitcore.record_many(vit, [photo])), vitcore.cache, logit_lens, vitcore.head_ablation,
    lambda vit, photo: vitcore.relevance(vit, photo, "chefer"), vitcore.patch_tokens, vitcore.mean_activations,
    lambda vit, photo: vitcore.mean_distance(vit, [photo]),
    lambda vit, photo: vitcore.steering_sweep(vit, torch.rand(1, 3, 32, 32), torch.ones(24), 1, [1.0]), predict,
])  # fmt: skip
@pytest.mark.parametrize("taken", ["never", "before the edit"])
def test_whatever_runs_without_the_edits_is_told(make_vit, run, taken):
    vit, noise = make_vit(), np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    with pytest.warns(UneditedModelWarning, match="^tiny ran without its edits.*e.vit, taken after them"), vitcore.edit(vit) as e:
        used = vit if taken == "never" else e.vit
        e.head(0, 1).scale(0)
        run(used, noise)


def test_an_error_within_an_edit_leaves_nothing_behind():
    """Attention that is watched is so within its block only, also where the block fails."""
    vit, x = make_kind("plain"), inputs_for(make_kind("plain"))
    e = vitcore.edit(vit)
    e.attn(1).uniform()
    e.attn(1).add(torch.zeros(3, 1, 24))
    with pytest.raises(ValueError, match="an edit has values for 3 images, and 2 are run"):
        answer(e.vit, x)
    assert torch.overrides._get_current_function_mode_stack() == []
    q = torch.randn(1, 3, 17, 8)
    kept = torch.nn.functional.scaled_dot_product_attention(q, q, q)
    assert (kept - q.mean(2, keepdim=True)).abs().max() > 0.1


def test_a_model_that_another_library_wrapped_in_place():
    """Copies of a part with a forward method of its own run the original's parts: an edit would do nothing."""
    vit = make_kind("plain")
    module = copy.deepcopy(vit.module)
    module.blocks[1].attn.forward = module.blocks[1].attn.forward
    with pytest.raises(ModelError, match="Another library has replaced the forward method of parts of plain"):
        vitcore.edit(replace(vit, module=module))


WRONG = {
    "heads are from 0 to 2, not 3": lambda e: e.head(0, 3),
    "layers are from 0 to 2, or from -3 to -1, not 3": lambda e: e.head(3, 0),
    "layers are from 0 to 2, or from -3 to -1, not -4": lambda e: e.resid(-4),
    "layers are whole numbers, .* not 1.5": lambda e: e.mlp(1.5),
    "tokens are from 0 to 16, not 17": lambda e: e.resid(0).add(1, token=17),
    "tokens are from 0 to 16, not -1": lambda e: e.resid(0).zero(token=[0, -1]),
    "a name of tokens is one of class, patches, not 'register'": lambda e: e.resid(0).zero(token="register"),
    "tokens are one or more, each named once": lambda e: e.resid(0).zero(token=[]),
    "tokens are one or more, each named": lambda e: e.resid(0).zero(token=[1, 1]),
    r"that \(1, 24\), tokens and width, takes up, not \(23,\)": lambda e: e.resid(0).add(np.zeros(23), token=0),
    r"that \(17, 8\), tokens and width, takes up, not \(24,\)": lambda e: e.head(0, 0).replace(torch.zeros(24)),
    r"that \(2, 24\), tokens and width, takes up, not \(3, 24\)": lambda e: e.attn(0).add(torch.zeros(3, 24), token=[0, 1]),
    "values are a tensor, an array or a number, not a str": lambda e: e.attn(0).add("one"),
    r"not numbers \(NaN": lambda e: e.resid(1).add(torch.full((24,), torch.nan)),
    r"not numbers \(NaN or infinite\)": lambda e: e.head(0, 0).scale(float("inf")),
    r"values hold some that are not": lambda e: e.mlp(0).replace(torch.full((24,), -torch.inf), token=0),
    '"pre" or "post" of a layer': lambda e: e.resid(0, at="mid"),
    "only attention can be uniform, not mlp_out": lambda e: e.mlp(0).uniform(),
    "at is": lambda e: e.patch(torch.zeros(1, 3, 32, 32), at="resid_post"),
    "an activation is one of": lambda e: e.patch(torch.zeros(1, 3, 32, 32), at=("stream", 0)),
    "what can be patched is one of resid_pre, ln1, q, k, v, pattern, z, attn_out, ln2, mlp_pre, mlp_post, mlp_out, resid_post, not":
        lambda e: e.patch(torch.zeros(1, 3, 32, 32), at=("scores", 0)),
    "mlp_out is not divided into heads": lambda e: e.patch(torch.zeros(1, 3, 32, 32), at=("mlp_out", 0), head=1),
    "from_ holds no z of layer 1": lambda e: e.patch(vitcore.cache(e.original, inputs_for(e.original), ["z"], 0), at=("z", 1)),
    r"resid_post of this model is \(17, 24\) of an image, and of from_ \(25, 24\)":
        lambda e: e.patch(vitcore.cache(make_kind("rectangle"), inputs_for(make_kind("rectangle"))), at=("resid_post", 1)),
}  # fmt: skip


@pytest.mark.parametrize("said", WRONG)
def test_what_there_is_not_is_one_sentence(said):
    e = vitcore.edit(make_kind("plain"))
    with pytest.raises(ValueError, match=said) as caught:
        WRONG[said](e)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 250
    assert repr(e) == "<Edits of plain: 0>" and repr(e.head(1, 2)) == "<EditableActivation: z of head 2 in layer 1 of plain>"

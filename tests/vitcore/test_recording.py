"""One photograph and one model become one recording: right for every kind of ViT, and the model is left as it was."""

import dataclasses
import io

import numpy as np
import pytest
import torch
from PIL import Image

import vitcore
from tests import picture_files
from vitcore.analysis.patches import join_patches, shuffled_patch_order, split_patches
from vitcore.analysis.rollout import rollout
from vitcore.forward import block_attention
from vitcore.forward.block_activations import patch_embeddings
from vitcore.forward.predict import predict
from vitcore.forward.query_key import recompute_fused_heads, recompute_heads
from vitcore.forward.recording import record, to_model_input
from vitcore.images import Photo
from vitcore.models import load_model
from vitcore.probabilities import top_classes
from vitcore.report.report_settings import ReportSettings

KINDS = {
    "class token": {}, "registers": {"reg_tokens": 4},
    "registers without positions": {"reg_tokens": 4, "no_embed_class": True},
    "attention pool": {"class_token": False, "global_pool": "map"},
    "attention pool beside registers": {"class_token": False, "global_pool": "map", "reg_tokens": 3},
    "mean": {"class_token": False, "global_pool": "avg"}, "mean beside a class token": {"global_pool": "avg"},
    "no classes": {"num_classes": 0}, "rectangle": {"img_size": (32, 48)},
    "patches that are not square": {"img_size": (40, 48), "patch_size": (8, 16)}, "one head": {"num_heads": 1},
}  # fmt: skip
SPECIAL = ["distilled", "hybrid", "shipped"]


def distilled():
    """A small DeiT with a distillation token: two prefix tokens, two heads."""
    from timm.models.deit import VisionTransformerDistilled

    torch.manual_seed(0)
    return vitcore.wrap(VisionTransformerDistilled(img_size=32, patch_size=8, embed_dim=24, depth=3, num_heads=3, num_classes=10))


@pytest.fixture(scope="module", params=[*KINDS, *SPECIAL])
def vit(request, make_vit):
    if request.param == "distilled":
        return distilled()
    return request.getfixturevalue(request.param) if request.param in SPECIAL else make_vit(**KINDS[request.param])


@pytest.fixture(scope="module")
def own(vit, noise):
    """This model's recording of noise."""
    return record(vit, noise(3, (90, 70)), maps=range(vit.blocks), fusions=("mean", "max", "min"))


# Every kind of model


def test_arrays_are_as_documented(vit, own):
    """Shapes, types, finite numbers; fused maps are fusions of the kept ones, weights distributions, distances on the grid."""
    blocks, heads, tokens = vit.blocks, vit.heads, vit.grid.tokens
    assert own.model == vit.name and own.grid == vit.grid
    assert own.model_input.pixels.shape == (*vit.grid.image_px, 3) and own.model_input.pixels.dtype == np.uint8
    assert own.logits.shape == (vit.module.num_classes or vit.module.embed_dim,)
    assert own.distance_px.shape == own.distance_renormalised_px.shape == (blocks, heads) and own.pooling_weights.shape == (tokens,)
    assert {kept.shape for kept in own.maps.values()} == {(heads, tokens, tokens)} and [*own.maps] == [*range(blocks)]
    singles, halves = arrays_of(own)
    assert {a.dtype for a in singles} == {np.dtype(np.float32)} and {a.dtype for a in halves} == {np.dtype(np.float16)}
    assert all(np.isfinite(a).all() for a in singles + halves)
    kept = np.stack(halves).astype(np.float32)
    for name, fuse in {"mean": np.mean, "max": np.max, "min": np.min}.items():
        assert np.allclose(own.fused[name], fuse(kept, axis=1), rtol=2e-3, atol=1e-6)
        assert own.fused[name].min() >= 0 and own.fused[name].max() <= 1 + 1e-6
    assert np.allclose(own.fused["mean"].sum(-1), 1, atol=1e-5)
    assert (own.distance_px > 0).all() and (own.distance_px < vit.grid.distances_px().max()).all()
    assert (own.distance_px <= own.distance_renormalised_px * (1 + 1e-5)).all()


def arrays_of(recording):
    plain = (recording.logits, recording.distance_px, recording.distance_renormalised_px, recording.pooling_weights)
    return [*plain, *recording.fused.values()], list(recording.maps.values())


def test_the_readout_is_where_the_logits_come_from(vit, own):
    """The tokens of the last block whose values move the answer, found by differentiating the model's own head."""
    features = vit.module.forward_features(to_model_input(vit, own.model_input.pixels)).requires_grad_()
    (slope,) = torch.autograd.grad(vit.module.forward_head(features).square().sum(), features)
    matter = slope[0].abs().sum(-1).numpy() > 0
    assert np.array_equal(own.pooling_weights > 0, matter)
    assert own.pooling_weights.sum() == pytest.approx(1, abs=1e-6) and own.pooling_weights.min() >= 0


def test_rollout_starts_where_the_answer_is_read(vit, own):
    mask = own.rollout()
    assert mask.shape == (vit.grid.rows, vit.grid.cols) and 0 < mask.sum() <= 1 + 1e-6
    chosen = {"discard_ratio": 0.5, "residual": 0.3, "first_block": 1}
    for fusion in ("mean", "max", "min"):
        row = rollout(own.fused[fusion], own.pooling_weights, prefix=vit.grid.prefix, **chosen)
        assert np.array_equal(own.rollout(fusion=fusion, **chosen), vit.grid.to_map(row))
    first, last = vit.grid.prefix, vit.grid.tokens - 1
    for token in (first, last):
        assert np.array_equal(own.rollout(token), vit.grid.to_map(rollout(own.fused["mean"], token, prefix=first)))
    assert not np.allclose(own.rollout(last), own.rollout(first))


def test_logits_are_those_of_the_plain_model(vit, own):
    expected = predict(vit, own.model_input.pixels)
    assert np.abs(own.logits - expected).max() <= 1e-5 * max(1, np.abs(expected).max())


def test_without_the_fused_kernel_the_recording_is_the_same(vit, own, noise):
    parts = [part for part in vit.module.modules() if getattr(part, "fused_attn", False)]
    try:
        for part in parts:
            part.fused_attn = False
        manual = record(vit, noise(3, (90, 70)), maps=[0], fusions=("mean", "max", "min"))
    finally:
        for part in parts:
            part.fused_attn = True
    assert len(parts) >= vit.blocks
    for name in ("distance_px", "distance_renormalised_px", "pooling_weights", "logits"):
        assert np.allclose(getattr(manual, name), getattr(own, name), rtol=1e-4, atol=1e-5), name
    assert all(np.allclose(manual.fused[name], own.fused[name], atol=1e-5) for name in own.fused)
    assert np.allclose(manual.maps[0], own.maps[0], rtol=2e-3, atol=1e-5)


def test_the_model_is_left_as_it_was(make_vit, noise):
    vit = make_vit(reg_tokens=4)
    state = {k: v.clone() for k, v in vit.module.state_dict().items()}
    keys = set(vit.module.__dict__)
    table = vit.module.pos_embed
    rec = record(vit, noise(), maps=[0])
    predict(vit, rec.model_input.pixels, shuffled_patch_order(16, 0), move_positions=True)
    patch_embeddings(vit, rec.model_input.pixels)
    after = vit.module.state_dict()
    assert state.keys() == after.keys() and all(torch.equal(state[k], after[k]) for k in state)
    assert vit.module.pos_embed is table and set(vit.module.__dict__) == keys and not vit.module.training
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in vit.module.modules())


# Large grids: one head does not fit in a tile


@pytest.mark.parametrize("image_px, heads", [(112, 12), (256, 2)])
def test_many_tokens(make_vit, noise, image_px, heads):
    vit = make_vit(img_size=image_px, patch_size=8, num_heads=heads, depth=2)
    rec = record(vit, noise(), maps=[0, 1], fusions=("mean", "max", "min"))
    weights = np.stack([rec.maps[0], rec.maps[1]]).astype(np.float32)
    assert np.allclose(weights.sum(-1), 1, atol=2e-3)
    assert np.allclose(rec.fused["mean"], weights.mean(1), rtol=2e-3, atol=1e-6)
    assert np.allclose(rec.fused["max"], weights.max(1), rtol=2e-3, atol=1e-6)
    assert np.allclose(rec.fused["min"], weights.min(1), rtol=2e-3, atol=1e-6)
    patches = weights[:, :, 1:, 1:]
    assert np.allclose(rec.distance_px, (patches * vit.grid.distances_px()).sum(-1).mean(-1), rtol=2e-3)
    assert np.allclose(rec.logits, predict(vit, rec.model_input.pixels), atol=1e-5)


@pytest.mark.parametrize(("fit", "at_once"), [(0.4, 1), (1, 2), (1.5, 3)])
def test_heads_are_fused_alike_however_many_are_read_at_once(make_vit, noise, monkeypatch, fit, at_once):
    vit = make_vit(embed_dim=20, num_heads=5)
    whole = record(vit, noise(), fusions=("mean", "max", "min"))
    monkeypatch.setattr(block_attention, "AT_ONCE_BYTES", int(fit * 4 * vit.grid.tokens**2))
    assert len(block_attention.attention_weights_buffer(vit)) == at_once
    for store in ("maps", "query_key"):
        some = record(vit, noise(), fusions=("mean", "max", "min"), store=store)
        for name, fused in whole.fused.items():
            assert np.allclose(some.fused[name], fused, atol=1e-3 if store == "query_key" else 1e-7), name
        assert np.allclose(some.distance_px, whole.distance_px, rtol=1e-6)
        assert np.allclose(some.logits, whole.logits, atol=1e-6)


# Masks


def test_a_model_that_masks_its_attention(make_vit, noise):
    """The recording honours a mask the model gives the kernel."""
    vit = make_vit()
    forward = vit.module.blocks[1].attn.forward
    vit.module.blocks[1].attn.forward = lambda x, **_: forward(x, attn_mask=torch.ones(17, 17, dtype=torch.bool).tril())
    rec = record(vit, noise(), maps=range(3))
    assert np.triu(rec.maps[1][0], 1).max() == 0 < np.triu(rec.maps[0][0], 1).max()
    assert np.allclose(rec.logits, record(vit, noise(), exact=True).logits, atol=1e-5)


@pytest.mark.parametrize("favour", [3, 12, 18, 24, 200])
def test_distances_of_heads_that_attend_almost_only_to_the_class_token(make_vit, noise, favour):
    """What is left for patches may be smaller than rounding; renormalised, it is still a distance on the grid."""
    vit = make_vit(depth=1)
    free = record(vit, noise())
    mask = torch.zeros(17, 17)
    mask[:, 0] = favour
    forward = vit.module.blocks[0].attn.forward
    vit.module.blocks[0].attn.forward = lambda x, **_: forward(x, attn_mask=mask)
    rec = record(vit, noise())
    assert (rec.distance_px < free.distance_px).all()
    if favour < 100:  # the patches' shares of one another are those of the model without the mask
        assert np.allclose(rec.distance_renormalised_px, free.distance_renormalised_px, rtol=2e-5)
    else:
        assert np.isfinite(rec.distance_renormalised_px).all() and (rec.distance_renormalised_px <= 34).all()


# Only what is asked for


def test_nothing_is_kept_that_nobody_asked_for(tiny, noise):
    rec = record(tiny, noise(), maps=[2], fusions=())
    assert list(rec.maps) == [2] and rec.fused == {}
    assert record(tiny, noise()).maps == {} and list(record(tiny, noise()).fused) == ["mean"]
    with pytest.raises(KeyError, match=r"fusions=\['max'\]"):
        record(tiny, noise()).rollout(fusion="max")
    with pytest.raises(ValueError, match="fusion is one of mean, max, min, not 'median'"):
        record(tiny, noise()).rollout(fusion="median")


def test_what_is_kept_does_not_change_what_is_seen(tiny, noise):
    little, much = record(tiny, noise(), fusions=()), record(tiny, noise(), maps=range(3), fusions=("max", "mean"))
    assert np.array_equal(little.distance_px, much.distance_px) and np.array_equal(little.logits, much.logits)


# Whatever is given as a photo


def test_every_way_to_give_a_photo(tiny, photo_file, photo):
    data = photo_file.read_bytes()
    given = [photo_file, str(photo_file), data, io.BytesIO(data), photo, photo.image]
    logits = [record(tiny, one, fusions=()).logits for one in given]
    assert all(np.array_equal(logits[0], other) for other in logits[1:])


def test_a_pillow_image_is_treated_like_a_file(tiny):
    image = Image.new("RGBA", (60, 40), (200, 0, 0, 0))
    image.paste((0, 0, 200, 255), (0, 0, 30, 40))
    from_file, from_image = record(tiny, picture_files.saved(image, "PNG")), record(tiny, image)
    assert np.array_equal(from_file.model_input.pixels, from_image.model_input.pixels), "what is transparent is white"


def test_the_input_is_normalised_as_timm_does(shipped, photo, rec):
    assert torch.allclose(to_model_input(shipped, rec.model_input.pixels)[0], shipped.transform(photo.image), atol=1e-6)


# Answers


def test_the_likeliest_classes(rec, make_vit, noise):
    logits = np.log(np.array([0.1, 0.6, 0.3], np.float32)) + 7
    assert top_classes(logits, ("a", "b", "c"), 2) == [("b", pytest.approx(0.6)), ("c", pytest.approx(0.3))]
    assert top_classes(logits, ()) == [] and top_classes(np.array([1e4, 0], np.float32), ("a", "b"))[0] == ("a", 1.0)
    expected = torch.tensor(rec.logits).softmax(0).topk(5)
    assert rec.top_classes() == [
        (rec.labels[i], pytest.approx(p, abs=1e-6)) for i, p in zip(expected.indices, expected.values.tolist(), strict=True)
    ]
    assert record(make_vit(num_classes=0), noise()).top_classes() == []


# Shuffled patches


SHUFFLED = ["class token", "registers without positions", "attention pool", "mean", "rectangle"]


@pytest.mark.parametrize("kind", SHUFFLED)
def test_shuffled_patches_matter_only_when_positions_stay(make_vit, noise, kind):
    vit = make_vit(**KINDS[kind])
    straight = record(vit, noise(1))
    order = shuffled_patch_order(vit.grid.patches, 4)
    mixed = join_patches(split_patches(straight.model_input.pixels, vit.grid)[order], vit.grid)
    assert np.abs(predict(vit, mixed, order, move_positions=True) - straight.logits).max() <= 1e-4
    assert np.abs(predict(vit, mixed, order) - straight.logits).max() > 1e-2
    assert np.array_equal(predict(vit, mixed, order), predict(vit, mixed))


def test_positions_that_do_not_exist_cannot_move(make_vit):
    vit = make_vit(pos_embed="none")
    with pytest.raises(load_model.ModelError, match="no learned absolute position"):
        predict(vit, np.zeros((32, 32, 3), np.uint8), shuffled_patch_order(16, 0), move_positions=True)


# Models these pictures are not defined for (others are in test_architectures.py)


def test_a_block_that_attends_twice_is_refused(make_vit, noise):
    vit = make_vit()
    forward = vit.module.blocks[1].attn.forward
    vit.module.blocks[1].attn.forward = lambda x, **_: forward(x) + forward(x)
    with pytest.raises(load_model.ModelError, match="tiny"):
        record(vit, noise())


# A recording is shared by all visitors


def test_a_recording_cannot_be_changed_by_accident(rec):
    singles, halves = arrays_of(rec)
    assert [a.shape for a in [*singles, *halves, rec.model_input.pixels] if a.flags.writeable] == []
    with pytest.raises(dataclasses.FrozenInstanceError):
        rec.model = "other"


def test_photo_digests_tell_pillow_images_apart(tiny, noise):
    one, same, other = (record(tiny, noise(seed), fusions=()).photo for seed in (1, 1, 2))
    assert isinstance(one, Photo) and one.digest == same.digest != other.digest


# Lean recordings


def test_a_lean_recording_makes_the_rest_again(make_vit, noise):
    """Any block's maps, and any fusion, as the whole recording has them, without the model."""
    vit = make_vit(reg_tokens=4)
    image = noise(5, (64, 64))
    whole = record(vit, image, maps=range(vit.blocks), fusions=("mean", "max", "min"))
    lean = record(vit, image, store="query_key")
    assert lean.maps == {} and lean.fused["mean"].dtype == np.float16
    np.testing.assert_array_equal(lean.logits, whole.logits)
    np.testing.assert_array_equal(lean.distance_px, whole.distance_px)
    np.testing.assert_allclose(lean.fused["mean"], whole.fused["mean"], atol=3e-4)
    np.testing.assert_allclose(lean.rollout(), whole.rollout(), atol=1e-4)
    for block in range(vit.blocks):
        again = recompute_heads(lean.query_key, block)
        np.testing.assert_array_equal(again, whole.maps[block])
        assert again.dtype == np.float16 and not again.flags.writeable
    for fusion in ("mean", "max", "min"):
        np.testing.assert_allclose(recompute_fused_heads(lean.query_key, fusion), whole.fused[fusion], atol=5e-4)


def test_a_lean_recording_is_small(make_vit, noise):
    vit = make_vit(img_size=128, patch_size=4)  # 1,025 tokens
    image = noise(5, (128, 128))
    whole = record(vit, image, maps=range(vit.blocks), fusions=("mean", "max", "min"))
    lean = record(vit, image, store="query_key")

    def held(rec):
        asked = sum(a.queries.nbytes + a.keys.nbytes for a in rec.query_key)
        return asked + sum(a.nbytes for a in [*rec.fused.values(), *rec.maps.values()])

    assert held(lean) < held(whole) / 6


def test_what_queries_and_keys_do_not_tell_is_not_made_again(noise):
    """A model that adds a bias to its scores: another forward pass is needed."""
    import timm

    vit = vitcore.wrap(timm.create_model("vit_relpos_small_patch16_224").eval(), name="relative")
    lean = record(vit, noise(1, (224, 224)), store="query_key")
    assert lean.query_key == () and "mean" in lean.fused
    with pytest.raises(KeyError):
        recompute_heads(lean.query_key, 0)
    with pytest.raises(KeyError):
        recompute_fused_heads(lean.query_key, "max")


def test_what_can_not_be_asked_is_said_in_a_sentence(tiny, noise):
    rec = record(tiny, noise(1), maps=[1])
    for ask, error, said in (
        (lambda: record(tiny, noise(1), fusions=["median"]), ValueError, "mean, max, min, not 'median'"),
        (lambda: record(tiny, noise(1), maps=[0, 3, -4]), ValueError, "from -3 to -1, not -4, 3"),
        (lambda: record(tiny, 7), TypeError, "a PIL image or an array, not int"),
        (lambda: record("vit_tiny", noise(1)), TypeError, "vitcore.load"),
        (lambda: record(tiny.module, noise(1)), TypeError, "vitcore.wrap"),
        (lambda: rec.head_maps(2), KeyError, r"maps=\[2\]"),
        (lambda: rec.head_maps(1, -1), IndexError, f"from 0 to {tiny.grid.tokens - 1}, not -1"),
        (lambda: rec.rollout(tiny.grid.tokens), IndexError, f"not {tiny.grid.tokens}"),
        (lambda: rec.rollout_per_layer(-3), IndexError, "not -3"),
        (lambda: rec.rollout(fusion="max"), KeyError, r"fusions=\['max'\]"),
    ):
        with pytest.raises(error, match=said):
            ask()


def test_a_recording_is_named_in_a_line(tiny, noise):
    assert repr(record(tiny, noise(1), maps=[2, 0], fusions=("mean", "max"))) == (
        "<Recording of picture by tiny: 4×4 patches, 3 blocks, fused: mean, max; heads kept of blocks: 0, 2>"
    )


def test_negative_layers_are_counted_from_the_last(tiny, photo_file):
    rec, last = record(tiny, photo_file), tiny.blocks - 1
    assert np.array_equal(rec.rollout(first_block=-1), rec.rollout(first_block=last))
    asked = ReportSettings(first_block=-1, layer=-1).fit_to_model(tiny.grid, tiny.blocks, tiny.heads)
    assert (asked.first_block, asked.layer) == (last, last)
    for layer in (-tiny.blocks - 1, tiny.blocks):
        with pytest.raises(ValueError, match="layer is from 0"):
            ReportSettings(layer=layer).fit_to_model(tiny.grid, tiny.blocks, tiny.heads)

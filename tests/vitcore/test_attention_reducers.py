"""Reducers of attention, each by itself: one job, on weights made up here; and the copies of a model that are watched."""

import numpy as np
import pytest
import torch

import vitcore
from vitcore.analysis.attention_distance import mean_distance_px
from vitcore.analysis.rollout import HEAD_FUSIONS, fuse_heads
from vitcore.architectures.axial_vit import combine_axis_attention, spread_axis_attention
from vitcore.attention_hooks import AttentionCall, SoftmaxCall
from vitcore.forward.block_attention import DistanceReducer, FusedHeadsReducer, PoolingReducer, attention_weights_buffer
from vitcore.forward.query_key import QueryKeyReducer
from vitcore.forward.recordings.axial_attention import AxialAttentionCollector
from vitcore.module_swaps import with_hooks, with_swapped_modules

PIECES = [slice(0, 2), slice(2, 3)]  # of three heads


def random_weights(blocks=2, heads=3, tokens=17):
    generator = torch.Generator().manual_seed(0)
    return (3 * torch.randn(blocks, heads, tokens, tokens, generator=generator)).softmax(-1)


def feed(reducer, weights):
    for block, heads in enumerate(weights):
        for piece in PIECES:
            reducer.add(block, piece, heads[piece])
    return reducer


def call(mask=None, seed=0):
    q, k, v = torch.randn(3, 1, 2, 5, 4, generator=torch.Generator().manual_seed(seed))
    return AttentionCall(0, q, k, v, mask)


def test_distances_are_the_paper_s_and_the_share_is_what_the_class_token_gets(make_vit):
    vit, weights = make_vit(depth=2), random_weights()
    dropped, renormalised, share = feed(DistanceReducer(vit), weights).distances()
    assert np.allclose(dropped, mean_distance_px(weights.numpy(), vit.grid), rtol=1e-5)
    assert np.allclose(renormalised, mean_distance_px(weights.numpy(), vit.grid, "renormalise"), rtol=1e-5)
    assert np.allclose(share, weights[:, :, 1:, 0].mean(-1), atol=1e-6)


@pytest.mark.parametrize("fusion", HEAD_FUSIONS)
def test_heads_that_come_in_pieces_are_fused_as_a_whole(fusion):
    weights = random_weights()
    matrices = feed(FusedHeadsReducer(fusion, 2, 3, 17), weights).matrices
    assert matrices.dtype == torch.float32
    assert np.allclose(matrices, fuse_heads(weights.numpy(), fusion), atol=1e-7)


def test_a_pool_s_events_say_where_it_reads(make_vit):
    pool = PoolingReducer(make_vit(reg_tokens=2))
    assert pool.weights().tolist() == [1] + 18 * [0]
    event = SoftmaxCall(0, torch.tensor([[[[0.5, 0.5]], [[0.1, 0.9]]]]))
    pool.add(event)
    assert pool.weights()[-2:].tolist() == pytest.approx([0.3, 0.7]) and not pool.weights()[:-2].any()


def test_queries_and_keys_make_the_weights_again_unless_a_mask_was_added():
    kept, one, other = QueryKeyReducer(), call(), call(seed=1)
    kept.add(0, one)
    kept.add(0, other)  # a second attention of the same block
    kept.add(1, call(mask=torch.zeros(5, 5)))
    assert list(kept.blocks) == [0]
    again = torch.cat([weights.clone() for _, weights in kept.blocks[0].weights()])
    assert torch.allclose(again, torch.cat([one.weights()[0], other.weights()[0]]), atol=1e-6)


def test_axial_attention_is_fused_by_step_and_measured_by_reach():
    from vitcore.architectures.axial_vit import AxialViT

    vit = vitcore.wrap(AxialViT((16, 24), 8, embed_dim=8, depth=1, num_heads=2, num_classes=3).eval(), name="axial")
    rows, columns = random_weights(2, 2, 3), random_weights(3, 2, 2)  # of 2 rows and of 3 columns
    watch = AxialAttentionCollector(vit, attention_weights_buffer(vit), maps=[0], fusions=["max"])
    for weights in (rows, columns):
        watch(SoftmaxCall(0, weights))
    assert torch.equal(watch.fused["max"].matrices[0], spread_axis_attention(rows, "row", 2, 3).amax(0))
    assert torch.equal(watch.fused["max"].matrices[1], spread_axis_attention(columns, "column", 2, 3).amax(0))
    assert torch.equal(watch.maps[0], combine_axis_attention(rows, columns).half()) and watch.calls == 2


def test_a_copy_is_watched_and_the_model_is_not(make_module):
    module, seen = make_module(), []
    x = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    own = module.blocks[1].register_forward_hook(lambda part, inputs, output: seen.append("own"))
    names = ("blocks.1", "blocks.1.mlp.fc2")
    hooks = {name: (lambda part, inputs, output, name=name: seen.append(name)) for name in names}
    watched = with_hooks(module, "out", **hooks)
    with torch.inference_mode():
        assert torch.equal(watched(x), module(x))
    assert seen == ["blocks.1.mlp.fc2", "own", "blocks.1", "own"]
    assert watched.blocks[1].mlp.fc2.weight is module.blocks[1].mlp.fc2.weight
    own.remove()
    assert not any(part._forward_hooks for part in module.modules())


def test_a_part_deep_inside_is_exchanged_in_the_copy_alone(make_module):
    module, act = make_module(), torch.nn.ReLU()
    copied = with_swapped_modules(module, **{"blocks.2.mlp.act": act})
    assert copied.blocks[2].mlp.act is act and module.blocks[2].mlp.act is not act
    assert copied.blocks[1] is module.blocks[1] and copied.blocks[2].attn is module.blocks[2].attn
    other = with_swapped_modules(module, **{"blocks.2.mlp.act": act, "blocks.2": copied.blocks[1]}).blocks[2]
    assert other.mlp.act is act and other.attn is copied.blocks[1].attn, "whichever is named first"

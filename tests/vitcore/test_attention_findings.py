"""What a headline claims is computed anew from the weights of attention: on the model that ships, a strong sink, registers."""

import numpy as np
import pytest
import torch

import vitcore
from vitcore.analysis import attention_distance, filters, position_embeddings
from vitcore.analysis.rollout import map_overlap
from vitcore.attention_hooks import AttentionHookMode
from vitcore.models import load_model


@pytest.fixture(scope="module")
def strong_sink(make_module):
    """A model whose second head in layer 0 gives the class token nearly everything, and looks far with the rest."""
    module = make_module(seed=3)
    attention, width = module.blocks[0].attn, module.embed_dim
    with torch.no_grad():
        module.cls_token[:] = 12 * torch.nn.functional.one_hot(torch.tensor(0), width)
        seen = module.blocks[0].norm1(module.cls_token + module.pos_embed[:, :1])[0, 0]
        _, key, _ = (attention.qkv.weight @ seen + attention.qkv.bias).view(3, 3, -1)
        attention.qkv.weight.view(3, 3, -1, width)[0, 1] *= 0.1  # whatever a patch shows
        attention.qkv.bias.view(3, 3, -1)[0, 1] = 60 * key[1] / key[1].square().sum()
    return vitcore.wrap(module.eval(), name="strong sink")


@pytest.fixture(scope="module", params=["shipped", "strong sink", "registers"])
def looked(request, shipped, strong_sink, make_vit, photo):
    """A model, what it recorded, and its attention (L, H, T, T) as a watcher of its own saw it."""
    vit = {"shipped": shipped, "strong sink": strong_sink, "registers": make_vit(reg_tokens=4)}[request.param]
    rec, seen = vitcore.record(vit, photo), []
    with torch.inference_mode(), AttentionHookMode(lambda call: seen.append(call.weights()[0].double().numpy())):
        vit.module(vitcore.forward.recording.to_model_input(vit, rec.model_input.pixels))
    return vit, rec, np.stack(seen)


def by_hand(weights, grid):
    """(L, H): distance as the paper counts, renormalised, share on prefix tokens; straight from the definitions."""
    among = weights[:, :, grid.prefix :, grid.prefix :]
    walked = (among * grid.distances_px()).sum(-1)
    left = among.sum(-1)
    return walked.mean(-1), (walked / left).mean(-1), (1 - left).mean(-1)


def test_the_nearest_head_is_the_one_that_looks_nearest_among_the_patches(looked):
    _, rec, weights = looked
    dropped, renormalised, share = by_hand(weights, rec.grid)
    assert np.allclose(rec.prefix_attention_share, share, atol=2e-4)
    found, drawn = (
        attention_distance.nearest_and_farthest_head(rec.distance_renormalised_px),
        attention_distance.nearest_and_farthest_head(rec.distance_px),
    )
    order = np.sort(renormalised[0])
    assert renormalised[0, found.near] == pytest.approx(order[0], rel=1e-3)
    assert renormalised[0, found.far] == pytest.approx(order[-1], rel=1e-3)
    assert (found.near_px, found.far_px) == pytest.approx((order[0], order[-1]), rel=1e-3)
    assert (drawn.near_px, drawn.far_px) == pytest.approx((dropped[0].min(), dropped[0].max()), rel=2e-3)


def test_sinks_are_the_heads_that_give_prefix_tokens_half(looked):
    _, rec, weights = looked
    share = by_hand(weights, rec.grid)[2]
    found = attention_distance.sink_heads(rec.prefix_attention_share)
    assert set(found) == {(block, head) for block, head in np.ndindex(share.shape) if share[block, head] >= 0.5}
    assert [float(rec.prefix_attention_share[place]) for place in found] == sorted(
        (rec.prefix_attention_share[p] for p in found), reverse=True
    )


def test_a_strong_sink_is_not_called_the_nearest_head(strong_sink, photo):
    rec = vitcore.record(strong_sink, photo)
    assert attention_distance.sink_heads(rec.prefix_attention_share)[0] == (0, 1) and rec.prefix_attention_share[0, 1] > 0.9
    assert attention_distance.nearest_and_farthest_head(rec.distance_px).near == 1, "what the paper's figure alone would have said"
    assert attention_distance.nearest_and_farthest_head(rec.distance_renormalised_px).near != 1


def test_as_many_components_as_are_said_are_needed(looked, subtests):
    vit, *_ = looked
    kernel = load_model.patch_kernel(vit)
    rows = kernel.reshape(len(kernel), -1).astype(np.float64)
    of_covariance = np.linalg.eigvalsh(np.cov(rows.T))[::-1].clip(0)
    total = np.cumsum(of_covariance) / of_covariance.sum()
    variance = filters.principal_components(kernel).variance
    for share in (0.5, 0.9, 0.99):
        with subtests.test(share):
            count = filters.components_for_variance(variance, share)
            assert total[count - 1] >= share - 1e-6 and (count == 1 or total[count - 2] < share)


def test_the_most_similar_position_is_the_most_similar(looked):
    vit, rec, _ = looked
    table = load_model.position_embeddings(vit).astype(np.float64)
    cosine = position_embeddings.position_similarity(table)
    for place in (0, rec.grid.middle, rec.grid.patches - 1):
        most, alike = position_embeddings.most_similar_position(cosine, place)
        mine = [a @ table[place] / np.linalg.norm(a) / np.linalg.norm(table[place]) for a in table]
        assert most != place and alike == pytest.approx(mine[most])
        assert alike == pytest.approx(max(value for i, value in enumerate(mine) if i != place))


def test_a_mirror_is_named_where_there_is_one():
    grid = vitcore.Grid(8, 8, 4)
    row, col = np.divmod(np.arange(64), 8)
    folded = np.stack([row - 3.5, np.abs(col - 3.5)], 1)  # left and right are the same
    spots = np.stack([np.exp(-((folded - one) ** 2).sum(1) / 2) for one in folded], 1)
    found = position_embeddings.mirror_symmetries(position_embeddings.position_similarity(spots), grid)
    assert [one.way for one in found] == ["sides"] and found[0].cosine == pytest.approx(1)
    assert found[0].elsewhere < 0.8
    noise = position_embeddings.position_similarity(position_embeddings.random_position_embeddings(64, 192))
    assert position_embeddings.mirror_symmetries(noise, grid) == []


def test_the_mirror_of_the_model_that_ships_and_untrained_positions_that_show_no_grid(shipped):
    cosine, grid = position_embeddings.position_similarity(load_model.position_embeddings(shipped)), shipped.grid
    (sides,) = [one for one in position_embeddings.mirror_symmetries(cosine, grid) if one.way == "sides"]
    image = cosine.reshape(16, 16, 16, 16)
    alike = [image[r, c, r, 15 - c] for r in range(16) for c in range(16) if abs(15 - 2 * c) >= 8]
    assert sides.cosine == pytest.approx(np.mean(alike)) and sides.cosine - sides.elsewhere > 0.2
    noise = position_embeddings.position_similarity(position_embeddings.random_position_embeddings(256, 192))
    assert abs(position_embeddings.correlation_with_distance(noise, grid)) < 0.02


def test_the_head_that_changes_most_and_what_two_maps_have_in_common():
    before, after = np.zeros((2, 3)), np.array([[1, -5, 2], [4, 0, 0]])
    assert attention_distance.most_changed_head(before, after) == (0, 1)
    one = np.array([[3.0, 1.0], [0.0, 0.0]])
    assert map_overlap(one, 7 * one) == 1 and map_overlap(one, one[::-1]) == 0
    assert map_overlap(one, np.ones((2, 2))) == pytest.approx(0.5)


def test_one_position_for_all_patches_tells_no_place(make_vit, noise, photo):
    """Shuffled patches give the same answer then, whatever the model."""
    from vitcore.analysis import patches
    from vitcore.forward.predict import predict, predict_without_positions
    from vitcore.forward.recording import record

    vit = make_vit()
    rec = record(vit, photo)
    order = patches.shuffled_patch_order(vit.grid.patches, 1)
    mixed = patches.join_patches(patches.split_patches(rec.model_input.pixels, vit.grid)[order], vit.grid)
    assert np.allclose(predict_without_positions(vit, rec.model_input.pixels), predict_without_positions(vit, mixed), atol=1e-4)
    assert not np.allclose(predict(vit, rec.model_input.pixels), predict(vit, mixed), atol=1e-2)

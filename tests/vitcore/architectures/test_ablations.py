"""Table 8's positions, Fig. 9's readouts and axial attention: each learns, and is what the paper says it is."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import vitcore
from tests.conftest import lively
from vitcore.analysis.patches import join_patches, shuffled_patch_order, split_patches
from vitcore.architectures import axial_vit
from vitcore.architectures.build_model import build_from_description, create_paper_model
from vitcore.forward.predict import predict
from vitcore.forward.recording import record

TINY = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 3, "num_classes": 10}
PLACED = [{"positions": kind, "positions_at": at} for kind in ("1d", "2d", "relative") for at in ("stem", "blocks", "shared")]
ABLATIONS = [{"pos_embed": "none"}, *PLACED, {"class_token": False, "global_pool": "avg", "fc_norm": False},
             {"mlp_head": True}, {"family": "axial"}]  # fmt: skip
each = pytest.mark.parametrize("changes", ABLATIONS, ids=lambda c: "-".join(map(str, c.values())))
each_placed = pytest.mark.parametrize("changes", PLACED, ids=lambda c: "-".join(c.values()))


def model(changes, size=32):
    torch.manual_seed(0)
    return build_from_description(TINY | changes, size)


@each
def test_every_weight_learns(changes):
    """Ten steps on eight pictures: the loss falls, and no parameter is left without a gradient."""
    module, x, y = (model(changes), torch.randn(8, 3, 32, 32, generator=torch.Generator().manual_seed(1)), torch.arange(8))
    optimiser, losses = torch.optim.AdamW(module.parameters(), lr=3e-3), []
    for _ in range(10):
        loss = F.cross_entropy(module(x), y)
        optimiser.zero_grad()
        loss.backward()
        assert [name for name, p in module.named_parameters() if p.grad is None or not p.grad.abs().max() > 0] == []
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


@each
def test_every_picture_reads_it(changes, noise):
    vit = vitcore.wrap(lively(model(changes)), name="ablated")
    rec = record(vit, noise(), maps=[0])
    assert np.allclose(rec.fused["mean"].sum(-1), 1, atol=1e-5) and rec.distance_px.shape == (2, 3)
    assert np.allclose(rec.maps[0].astype(np.float32).sum(-1), 1, atol=2e-3)
    assert np.allclose(rec.logits, predict(vit, rec.model_input.pixels), atol=1e-5)
    assert rec.rollout().shape == (4, 4)


def shuffle(vit, image):
    straight = record(vit, image)
    order = shuffled_patch_order(vit.grid.patches, 3)
    return straight.logits, join_patches(split_patches(straight.model_input.pixels, vit.grid)[order], vit.grid), order


def test_without_positions_the_order_of_patches_does_not_matter(noise):
    vit = vitcore.wrap(lively(model({"pos_embed": "none"})), name="none")
    straight, mixed, _ = shuffle(vit, noise(1))
    assert np.abs(predict(vit, mixed) - straight).max() <= 1e-4


@each_placed
def test_with_positions_it_matters_unless_they_move_along(changes, noise):
    vit = vitcore.wrap(lively(model(changes)), name="placed")
    before = {name: value.clone() for name, value in vit.module.state_dict().items()}
    straight, mixed, order = shuffle(vit, noise(1))
    assert np.abs(predict(vit, mixed) - straight).max() > 1e-2
    assert np.abs(predict(vit, mixed, order, move_positions=True) - straight).max() <= 1e-4
    assert all(torch.equal(before[name], value) for name, value in vit.module.state_dict().items())
    assert np.abs(predict(vit, mixed) - straight).max() > 1e-2, "the model itself is as it was"


def test_a_table_at_the_stem_is_timms_own():
    """ "1d" at the stem is what VisionTransformer does: the same answer from the same numbers."""
    theirs, ours = lively(model({})), model({"positions": "1d", "positions_at": "stem"}).eval()
    state = {k: v for k, v in theirs.state_dict().items() if k != "pos_embed"}
    ours.load_state_dict(state | {"places.0.pos_embed": theirs.pos_embed})
    x = torch.randn(2, 3, 32, 32)
    with torch.inference_mode():
        assert torch.allclose(ours(x), theirs(x), atol=1e-6)


def test_a_row_and_a_column_make_a_position_and_relative_logits_are_queries_times_offsets():
    table = model({"positions": "2d", "positions_at": "stem"}).pos_embed[0, 1:].detach().view(4, 4, 24)
    assert torch.equal(table[1, 0, :12], table[1, 3, :12]) and torch.equal(table[0, 2, 12:], table[3, 2, 12:])
    assert not torch.equal(table[0, 0, :12], table[1, 0, :12])
    offsets, q = model({"positions": "relative", "positions_at": "shared"}).places[0], torch.randn(2, 3, 17, 8)
    found = offsets(q)
    for a, b in ((0, 0), (3, 16), (16, 3), (9, 10)):
        assert torch.allclose(found[:, :, a, b], q[:, :, a] @ offsets.offsets_embed[a - b + 16], atol=1e-6)


# Axial attention


def test_the_product_of_row_and_column_maps_is_dense_attention():
    """Kronecker-like factors multiplied as full matrices, and element by element by the formula."""
    rows, cols = 3, 4
    of_rows, of_columns = torch.rand(rows, 2, cols, cols).softmax(-1), torch.rand(cols, 2, rows, rows).softmax(-1)
    found = axial_vit.combine_axis_attention(of_rows, of_columns)
    dense = axial_vit.spread_axis_attention(of_columns, "column", rows, cols) @ axial_vit.spread_axis_attention(
        of_rows, "row", rows, cols
    )
    assert torch.allclose(found, dense, atol=1e-6) and torch.allclose(found.sum(-1), torch.ones(2, 12), atol=1e-6)
    one = found.view(2, rows, cols, rows, cols)
    assert torch.allclose(one[1, 2, 3, 0, 1], of_columns[3, 1, 2, 0] * of_rows[0, 1, 3, 1])


@pytest.mark.parametrize(("axis", "lines", "length"), [("row", 3, 4), ("column", 4, 3)])
def test_what_is_spread_does_what_the_block_does(axis, lines, length):
    """With identity values the weights of a line, spread over all patches, give the line's own sum."""
    weights, x = torch.rand(lines, 2, length, length).softmax(-1), torch.randn(3 * 4, 5)
    grid = x.view(3, 4, 5) if axis == "row" else x.view(3, 4, 5).transpose(0, 1)
    by_line = torch.stack([weights[i] @ grid[i] for i in range(lines)], 1 if axis == "row" else 2).reshape(2, 12, 5)
    assert torch.allclose(axial_vit.spread_axis_attention(weights, axis, 3, 4) @ x, by_line, atol=1e-6)


def test_a_patch_reaches_beyond_its_row_and_column_only_in_two_steps():
    module = lively(model({"family": "axial"}, (16, 24)))
    block, x = module.blocks[0], torch.randn(1, 6, 24)
    slope = torch.autograd.functional.jacobian(lambda x: block.row(x.view(2, 3, 24)).view(1, 6, 24)[0, 0].sum(), x)[0]
    assert (slope.abs().sum(-1) > 0).tolist() == [True] * 3 + [False] * 3, "a row's own patches"
    slope = torch.autograd.functional.jacobian(lambda x: block(x)[0, 0].sum(), x)[0]
    assert (slope.abs().sum(-1) > 0).all()


def test_an_axial_vit_learns_digits():
    from sklearn.datasets import load_digits

    found = load_digits()
    x = torch.from_numpy(found.images).float().div(8).sub(1).unsqueeze(1).repeat(1, 3, 1, 1)
    y, held_out = torch.from_numpy(found.target), torch.arange(len(x)) % 5 == 0
    torch.manual_seed(0)
    shape = {"patch_size": 2, "embed_dim": 48, "depth": 1, "num_heads": 4, "num_classes": 10, "family": "axial"}
    module = lively(build_from_description(shape, 8)).train()  # timm's weights start out so small that they need twice the steps
    optimiser = torch.optim.AdamW(module.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=150)
    for _ in range(150):
        batch = torch.where(~held_out)[0][torch.randint(int((~held_out).sum()), (24,))]
        optimiser.zero_grad()
        F.cross_entropy(module(x[batch]), y[batch]).backward()
        optimiser.step()
        schedule.step()
    with torch.inference_mode():
        right = (module.eval()(x[held_out]).argmax(1) == y[held_out]).float().mean()
    assert right >= 0.9


def test_an_axial_resnet_runs_and_learns():
    torch.manual_seed(0)
    module = build_from_description(
        {"embed_dim": 8, "family": "axial resnet", "resnet": "R50", "num_heads": 2, "num_classes": 4}, (64, 32)
    )
    module(torch.randn(2, 3, 64, 32)).sum().backward()
    dead = [name for name, p in module.named_parameters() if p.grad is None]
    assert dead == [] and not any(m.kernel_size == (3, 3) for m in module.modules() if isinstance(m, torch.nn.Conv2d))


def test_names_that_are_none():
    with pytest.raises(ValueError, match="ViT-X"):
        create_paper_model("ViT-X/16")
    with pytest.raises(ValueError, match="sideways"):
        build_from_description(TINY | {"positions": "1d", "positions_at": "sideways"}, 32)

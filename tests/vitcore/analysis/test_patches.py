"""Patch splitting: nothing is lost, the order is reading order, and it is the order timm embeds."""

import numpy as np
import pytest

from vitcore.analysis.patches import identical_patches, join_patches, shuffled_patch_order, split_patches
from vitcore.forward.block_activations import patch_embeddings
from vitcore.grid import Grid
from vitcore.models import load_model

GRIDS = [Grid(4, 4, 8), Grid(2, 3, 8, 0), Grid(3, 2, 5, 5, patch_w_px=7), Grid(1, 1, 16)]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_cut_and_join_undo_each_other_and_flat_rows_are_row_by_row_colour_by_colour(grid):
    pixels = pixels_of(grid)
    blocks = split_patches(pixels, grid)
    high, wide = grid.step_px
    assert blocks.shape == (grid.patches, high, wide, 3)
    assert np.array_equal(join_patches(blocks, grid), pixels)
    for i, block in enumerate(blocks):
        left, top, right, bottom = grid.box_px(i)
        assert np.array_equal(block, pixels[top:bottom, left:right])
    rows = blocks.reshape(len(blocks), -1)
    assert rows.shape == (grid.patches, blocks[0].size)
    for y, x, c in [(0, 0, 0), (0, 0, 2), (0, wide - 1, 1), (high - 1, 0, 0), (high - 1, wide - 1, 2)]:
        assert (rows[:, (y * wide + x) * 3 + c] == blocks[:, y, x, c]).all()


def pixels_of(grid, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (*grid.image_px, 3), np.uint8)


KINDS = [{}, {"img_size": (32, 48)}, {"img_size": (40, 48), "patch_size": (8, 16)}, {"reg_tokens": 4, "no_embed_class": True}]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_embeddings_are_flat_patches_times_the_kernel(make_vit, kind):
    """Eq. 1 by hand: row i of x_p·E is what the model's own patch embedding gives patch i."""
    vit = make_vit(**kind)
    pixels = pixels_of(vit.grid, 1)
    normal = (pixels / 255 - vit.mean) / vit.std
    kernel = load_model.patch_kernel(vit).transpose(2, 3, 1, 0).reshape(-1, vit.module.embed_dim)
    by_hand = split_patches(normal, vit.grid).reshape(vit.grid.patches, -1) @ kernel + vit.module.patch_embed.proj.bias.numpy()
    found = patch_embeddings(vit, pixels)
    assert found.shape == by_hand.shape == (vit.grid.patches, vit.module.embed_dim)
    assert np.abs(found - by_hand).max() <= 1e-4
    assert np.abs(found - by_hand[::-1]).max() > 0.1, "all patches are alike: nothing is compared"


def test_embeddings_of_the_shipped_model(shipped, rec):
    normal = (rec.model_input.pixels / 255 - shipped.mean) / shipped.std
    kernel = load_model.patch_kernel(shipped).transpose(2, 3, 1, 0).reshape(192, 192)
    by_hand = split_patches(normal, rec.grid).reshape(rec.grid.patches, -1) @ kernel + shipped.module.patch_embed.proj.bias.numpy()
    assert np.abs(patch_embeddings(shipped, rec.model_input.pixels) - by_hand).max() <= 1e-4


def test_shuffles_are_seeded_orders():
    order = shuffled_patch_order(196, 7)
    assert sorted(order) == list(range(196))
    assert np.array_equal(order, shuffled_patch_order(196, 7))
    assert not np.array_equal(order, shuffled_patch_order(196, 8))


def test_patches_with_the_same_pixels_are_the_same_token_before_positions_are_added(shipped):
    grid = shipped.grid
    parts = split_patches(pixels_of(grid), grid)
    parts[[7, 200]] = parts[3]
    parts[9] = parts[3]
    parts[9, 0, 0, 0] ^= 1  # one number of one pixel
    assert identical_patches(parts, 3) == [7, 200] and identical_patches(parts, 200) == [3, 7] and identical_patches(parts, 9) == []
    found = patch_embeddings(shipped, join_patches(parts, grid))
    assert np.abs(found[[7, 200]] - found[3]).max() <= 1e-6 < np.abs(found[9] - found[3]).max()
    placed = found + load_model.position_embeddings(shipped)
    assert np.abs(placed[7] - placed[3]).max() > 0.01, "positions tell them apart"

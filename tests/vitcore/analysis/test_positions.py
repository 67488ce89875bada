"""Position embeddings: cosines without the class token, and interpolation as the authors' and timm's code do it."""

import numpy as np
import pytest
import scipy.ndimage
import torch

from vitcore.analysis.position_embeddings import (
    corner_cosines,
    correlation_with_distance,
    cosines_some_patches_apart,
    matching_patch,
    neighbour_cosines,
    position_similarity,
)
from vitcore.grid import Grid
from vitcore.models import load_model

KINDS = {
    "class token": {}, "class token without a position": {"no_embed_class": True},
    "registers with positions": {"reg_tokens": 4}, "registers without positions": {"reg_tokens": 4, "no_embed_class": True},
    "no prefix": {"class_token": False, "global_pool": "avg"}, "rectangle": {"img_size": (32, 56)},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_cosines_of_a_model_leave_prefix_tokens_out(make_vit, kind):
    vit = make_vit(**kind)
    table = vit.module.pos_embed[0]
    own = 0 if kind.get("no_embed_class") else vit.grid.prefix
    assert len(table) == own + vit.grid.patches
    assert np.array_equal(load_model.position_embeddings(vit), table[own:].numpy())
    cosine = position_similarity(load_model.position_embeddings(vit))
    assert cosine.shape == (vit.grid.patches,) * 2
    assert np.allclose(np.diag(cosine), 1, atol=1e-12) and np.allclose(cosine, cosine.T)
    assert abs(cosine).max() <= 1
    for i, j in [(0, 0), (0, 1), (3, 9), (15, 2)]:
        expected = torch.cosine_similarity(table[own + i], table[own + j], dim=0)
        assert cosine[i, j] == pytest.approx(float(expected), abs=1e-6)


# Cosines


def test_cosines_by_hand():
    cosine = position_similarity(np.array([[1, 0], [3, 3], [-2, 0], [0, 5]], np.float32))
    half = 0.5**0.5
    expected = [[1, half, -1, 0], [half, 1, -half, half], [-1, -half, 1, 0], [0, half, 0, 1]]
    assert np.allclose(cosine, expected, atol=1e-12)


def test_models_without_learned_positions_say_so(make_vit):
    vit = make_vit(pos_embed="none")
    assert load_model.position_embeddings(vit) is None
    with pytest.raises(load_model.ModelError, match="no learned absolute position"):
        load_model.resample_positions(vit, 5, 5)


# Correlation with distance


def test_opposite_corners_by_hand():
    cosine = np.eye(6)  # of 2 rows of 3: patches 0 and 5 are opposite corners, 2 and 3 the other two
    for one, two, value in ((0, 5, 0.75), (2, 3, 0.5)):
        cosine[one, two] = cosine[two, one] = value
    assert corner_cosines(cosine, Grid(2, 3, 8)) == (0.75, 0.5, pytest.approx(2 * 1.25 / 30))
    sides = np.arange(36.0).reshape(6, 6)
    assert neighbour_cosines(sides, 4, Grid(2, 3, 8)) == {"above": 25, "left": 27, "right": 29}


@pytest.mark.parametrize("grid", [Grid(6, 6, 16), Grid(3, 8, 16), Grid(5, 4, 8, patch_w_px=20)], ids=str)
def test_cosines_that_fall_or_rise_with_distance(grid):
    far = grid.distances_px() / grid.distances_px().max()
    assert correlation_with_distance(1 - far, grid) == pytest.approx(-1)
    assert correlation_with_distance(far, grid) == pytest.approx(1)


def test_smooth_positions_correlate_negatively_and_random_ones_do_not(shipped):
    grid = Grid(8, 8, 16)
    row, col = np.divmod(np.arange(64), 8)
    waves = np.arange(1, 9)[:, None] / 16
    smooth = np.concatenate([f(waves * x) for f in (np.sin, np.cos) for x in (row, col)]).T
    assert correlation_with_distance(position_similarity(smooth), grid) < -0.9
    random = np.random.default_rng(0).standard_normal((64, 256))
    assert abs(correlation_with_distance(position_similarity(random), grid)) < 0.1
    cosine = position_similarity(load_model.position_embeddings(shipped))
    assert cosine.shape == (256, 256) and correlation_with_distance(cosine, shipped.grid) <= -0.4


# Interpolation


SIZES = [((32, 32), 7, 7), ((32, 32), 3, 3), ((112, 112), 24, 24), ((48, 48), 4, 9), ((32, 56), 12, 5), ((56, 32), 14, 8)]
each_size = pytest.mark.parametrize("image, rows, cols", SIZES)


@each_size
@pytest.mark.parametrize("kind", [{}, {"no_embed_class": True}, {"reg_tokens": 2}], ids=str)
def test_the_papers_interpolation_is_scipys(make_vit, image, rows, cols, kind):
    vit = make_vit(img_size=image, **kind)
    grid = load_model.position_embeddings(vit).reshape(vit.grid.rows, vit.grid.cols, -1).astype(np.float64)
    # vit_jax/checkpoint.py: scipy.ndimage.zoom(posemb_grid, (new/old, new/old, 1), order=1)
    zoom = rows / vit.grid.rows, cols / vit.grid.cols, 1
    expected = scipy.ndimage.zoom(grid, zoom, order=1, mode="nearest", grid_mode=False)
    assert expected.shape[:2] == (rows, cols)
    found = load_model.resample_positions(vit, rows, cols, "paper")
    assert np.abs(found - expected.reshape(rows * cols, -1)).max() <= 1e-5


@each_size
def test_timms_interpolation_is_timms(make_vit, image, rows, cols):
    from timm.layers import resample_abs_pos_embed

    vit = make_vit(img_size=image)
    old = [vit.grid.rows, vit.grid.cols]
    expected = resample_abs_pos_embed(vit.module.pos_embed, [rows, cols], old, num_prefix_tokens=1)[0, 1:]
    assert np.array_equal(load_model.resample_positions(vit, rows, cols, "timm"), expected.numpy())


def test_the_same_size_changes_nothing_and_another_keeps_corners_the_papers_way_only(tiny):
    old = load_model.position_embeddings(tiny)
    for method in ("paper", "timm"):
        assert np.array_equal(load_model.resample_positions(tiny, 4, 4, method), old)
    paper, timms = (load_model.resample_positions(tiny, 7, 7, way)[[0, 6, 42, 48]] for way in ("paper", "timm"))
    assert np.allclose(paper, old[[0, 3, 12, 15]], atol=1e-6)
    assert not np.allclose(timms, old[[0, 3, 12, 15]], atol=1e-3)
    with pytest.raises(ValueError, match="'paper', 'timm' or 'transformers'"):
        load_model.resample_positions(tiny, 7, 7, "nearest")


def test_loading_at_another_size_interpolates_as_timm_does(shipped):
    larger = load_model.load(image_px=192)
    assert (larger.grid.rows, larger.grid.cols, larger.grid.image_px) == (24, 24, (192, 192))
    assert np.allclose(load_model.position_embeddings(larger), load_model.resample_positions(shipped, 24, 24, "timm"), atol=1e-6)


@pytest.mark.parametrize(
    "patch, rows, cols, there", [(52, 16, 16, 52), (52, 24, 24, 5 * 24 + 6), (0, 4, 4, 0), (255, 32, 8, 31 * 8 + 7)]
)
def test_the_same_place_on_another_grid(patch, rows, cols, there):
    """Row 3, column 4 of 16 × 16: its centre is at (3.5, 4.5) / 16 of the picture."""
    assert matching_patch(patch, Grid(16, 16, 8), Grid(rows, cols, 8)) == there


def test_cosines_some_patches_apart_by_hand():
    cosine = np.zeros((24, 24))  # 4 rows of 6: five apart are the ends of a row, and 3 down and 4 along
    cosine[[0, 5], [5, 0]] = 0.8  # one of four rows
    cosine[[1, 23], [23, 1]] = 0.6  # one of the four slants: 0-22, 1-23, 4-18, 5-19
    assert cosines_some_patches_apart(cosine, Grid(4, 6, 8), 5) == pytest.approx((0.2, 0.15))
    assert np.isnan(cosines_some_patches_apart(np.eye(16), Grid(4, 4, 8), 5)).all()

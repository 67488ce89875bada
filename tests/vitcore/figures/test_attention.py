"""Attention drawn: the paper's own steps, heat that follows the numbers, and heads told apart."""

import numpy as np
import pytest
from PIL import Image, ImageFilter

from vitcore import figures
from vitcore.figures.attention import resize_for_figure
from vitcore.figures.heat_overlay import darkened_colour_table, heat_colour_scale, heat_colours, scale_top
from vitcore.figures.paper_style import paper_style_alpha, paper_style_photo
from vitcore.figures.theme_colours import SEQUENTIAL
from vitcore.grid import Grid

GRID = Grid(4, 6, 16)


def peaked(row, col, grid=GRID):
    mask = np.full((grid.rows, grid.cols), 0.01)
    mask[row, col] = 0.3
    return mask


def authors(mask, size, patch_px):
    """google-research/vision_transformer#27, step by step."""
    w = mask / mask.max()
    image = Image.fromarray((w * 255).astype(np.uint8)).resize(size, Image.Resampling.LANCZOS)
    blurred = np.asarray(image.convert("L").filter(ImageFilter.GaussianBlur(radius=patch_px))).astype(float)
    blurred -= blurred.min()
    return blurred / blurred.max()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rows, patch_px", [(14, 16), (7, 32)])
def test_the_papers_drawing_step_by_step(seed, rows, patch_px):
    mask = np.random.default_rng(seed).random((rows, rows)) ** 4
    alpha = paper_style_alpha(mask, (224, 224), Grid(rows, rows, patch_px))
    assert alpha.dtype == np.uint8 and alpha.shape == (224, 224)
    assert np.abs(alpha / 255 - authors(mask, (224, 224), patch_px)).max() <= 1 / 255
    assert (alpha.min(), alpha.max()) == (0, 255)


def test_the_blur_is_one_patch_at_any_size():
    mask = np.random.default_rng(0).random((14, 14))
    small, large = paper_style_alpha(mask, (224, 224), Grid(14, 14, 16)), paper_style_alpha(mask, (672, 672), Grid(14, 14, 16))
    again = np.asarray(Image.fromarray(large).resize((224, 224), Image.Resampling.BOX)).astype(int)
    assert np.abs(again - small).mean() < 4


def test_alpha_shows_the_photo_over_black():
    photo = Image.new("RGB", (96, 64), (200, 100, 50))
    drawn, alpha = paper_style_photo(peaked(0, 0), photo, GRID), paper_style_alpha(peaked(0, 0), (96, 64), GRID)
    assert drawn.shape == (64, 96, 3)
    assert np.abs(drawn - alpha[..., None] / 255 * (200, 100, 50)).max() <= 1
    assert drawn.max((0, 1)).tolist() == [200, 100, 50] and drawn[:16, :16].max() == 200 and drawn[-1, -1].max() == 0


@pytest.mark.parametrize("row, col", [(0, 0), (3, 5), (1, 4)])
def test_heat_is_where_the_numbers_are(row, col):
    mask = peaked(row, col)
    drawn = heat_colours(mask, mask.max()).astype(int).sum(-1)
    assert np.unravel_index(drawn.argmax(), drawn.shape) == (row, col)


def test_heat_goes_from_0_to_the_largest():
    mask = np.zeros((4, 6))
    mask[2, 3] = 7.0
    drawn = heat_colours(mask, 7)
    assert (
        drawn[2, 3].tolist() == darkened_colour_table(SEQUENTIAL)[255].tolist()
        and drawn[0, 0].tolist() == darkened_colour_table(SEQUENTIAL)[0].tolist()
    )


def test_a_mask_of_zeros_is_no_trouble():
    photo = np.zeros((64, 96, 3), np.uint8)
    for style in ("heat", "paper"):
        figures.rollout(np.zeros((4, 6)), photo, GRID, style)


@pytest.mark.parametrize("size, expected", [((100, 50), (768, 384)), ((50, 100), (384, 768)), ((1536, 1536), (768, 768))])
def test_fitted(size, expected):
    assert resize_for_figure(np.zeros((size[1], size[0], 3), np.uint8)).size == expected


def rollout_of(**settings):
    return figures.rollout(peaked(1, 2), np.zeros((64, 96, 3), np.uint8), GRID, **settings)


def test_rollout_tells_the_pointer_its_numbers():
    hover = rollout_of().marks[0]
    assert np.array(hover.text).shape == (4, 6)
    assert hover.text[1][2] == "row 1, column 2: 30.000 %" and "1.000 %" in hover.text[0][0]


def test_rollout_has_a_scale_with_its_unit():
    bar = rollout_of().colour_scale
    assert (bar.low, bar.high) == (0, pytest.approx(0.3 * GRID.tokens)), (
        "even: what each token gets, not each patch of what they get"
    )
    assert "of all tokens" in bar.unit


def test_the_patch_that_asks_is_outlined():
    (box,) = rollout_of(query_patch=8).shapes
    assert (box.x, box.y, box.wide, box.high) == (2, 1, 1, 1)  # row 1, column 2
    assert len(rollout_of().shapes) == 0


def test_an_unknown_style_is_refused():
    with pytest.raises(ValueError, match="'heat' or 'paper'"):
        rollout_of(style="oil")


@pytest.mark.parametrize("count", [1, 2, 3, 6, 12, 16])
def test_every_head_has_its_name(count):
    maps = np.random.default_rng(0).random((count, 4, 6)).astype(np.float32)
    fig = figures.attention_heads(maps, GRID, "Heads")
    assert [note.text.split(" ·")[0] for note in fig.labels] == [f"head {i}" for i in range(count)]
    places = {(note.x, note.y) for note in fig.labels}
    assert len(places) == count
    width, height = fig.x.range[1], fig.y.range[0]
    assert all(0 <= x < width and 0 <= y < height for x, y in places)


def test_heads_may_share_a_scale():
    maps = np.stack([np.full((4, 6), 0.2), np.full((4, 6), 0.8)])
    own, shared = (figures.attention_heads(maps, GRID, "Heads"), figures.attention_heads(maps, GRID, "Heads", shared_scale=True))
    bars = [fig.colour_scale for fig in (own, shared)]
    assert [bar.high for bar in bars] == [1, pytest.approx(0.8)]
    assert [bar.unit for bar in bars] == ["0 to each map's largest, at least 2.5 times an even share", "attention weight"]
    assert (own.rasters[0].pixels != shared.rasters[0].pixels).any()


def test_a_towering_patch_does_not_hide_the_others():
    """A smooth map is scaled to its maximum; one patch far above the rest is drawn as "or more"."""
    y, x = np.mgrid[:16, :16]
    smooth = np.exp(-((x - 8) ** 2 + (y - 8) ** 2) / 30)
    smooth /= smooth.sum()
    assert scale_top(smooth) == smooth.max() and "or more" not in heat_colour_scale(smooth, scale_top(smooth)).unit
    tower = smooth.copy()
    tower[1, 1] = 0.2
    assert smooth.max() * 0.5 < scale_top(tower) <= smooth.max() * 1.1
    assert heat_colour_scale(tower, scale_top(tower)).unit.endswith(", or more")


def test_the_papers_drawing_begins_where_the_heats_colours_end():
    mask = np.full((14, 14), 0.002)
    mask[:, 7:] = 0.004
    alone, mask[0, 0] = paper_style_alpha(mask, (224, 224), Grid(14, 14, 16)), 0.5
    towered = paper_style_alpha(mask, (224, 224), Grid(14, 14, 16))
    assert np.abs(towered[120:200, 150:220].astype(int) - alone[120:200, 150:220]).max() <= 1, "no blacker for one bright patch"

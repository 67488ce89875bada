"""Heat on a photo can be read: brighter is more, for any photo and any map, measured on rendered pixels."""

import base64
import io

import numpy as np
import pytest
from PIL import Image
from scipy.stats import spearmanr

import vitcore
from vitcore import figures
from vitcore.assets import asset_path
from vitcore.figures import print_figure
from vitcore.figures.attention import resize_for_figure
from vitcore.figures.attention_explorer import head_scale_tops
from vitcore.figures.heat_overlay import (
    MIN_TOP_IN_EVEN_SHARES,
    fine_detail,
    heat_colour_scale,
    heat_colours,
    heat_on_photo,
    scale_top,
)
from vitcore.figures.relevance import relevance_scale_top
from vitcore.figures.theme_colours import DETAIL, HEAT, ON_PHOTO, colour_table, diverging_palette
from vitcore.grid import Grid
from vitcore.images import sharp_crop
from vitcore.models.random_weights import with_random_weights

LUMA = np.array([0.2126, 0.7152, 0.0722])  # Rec. 709
SIGNED_HEAT, SIGNED_HEAT_DARK = (diverging_palette(mode) + ON_PHOTO for mode in ("light", "dark"))
SAMPLES = sorted(asset_path("samples").glob("*.jpg"))
SIDE = 480
Y, X = np.mgrid[:SIDE, :SIDE]
NOISE = np.random.default_rng(3).integers(0, 256, (SIDE, SIDE))
HARD = {
    "black": 0 * X, "white": 0 * X + 255, "noise": NOISE, "stripes": 255 * (X // 8 % 2), "wide": 255 * (Y // 37 % 2),
    "hair": 255 * (X % 2), "chequers": 255 * ((X // 24 + Y // 24) % 2), "ramp": X * 255 // SIDE, "spot": 255 * (X * Y == 99),
}  # fmt: skip
MAPS = {
    "even spread": lambda rng, shape: rng.random(shape),
    "long tail": lambda rng, shape: np.exp(2 * rng.normal(size=shape)),
    "nearly even": lambda rng, shape: 1 + 0.03 * rng.normal(size=shape),
    "a few towers": lambda rng, shape: np.where(rng.random(shape) < 0.02, 80, rng.random(shape)),
}


def photo_of(name: str) -> Image.Image:
    return Image.fromarray(np.repeat(np.uint8(HARD[name])[..., None], 3, 2))


def brightness(picture: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The mean luma of each patch's pixels."""
    bright = picture[..., :3] @ LUMA
    starts = [np.arange(count) * size // count for size, count in zip(bright.shape, shape, strict=True)]
    areas = np.outer(*(np.diff([*start, size]) for start, size in zip(starts, bright.shape, strict=True)))
    return np.add.reduceat(np.add.reduceat(bright, starts[0], 0), starts[1], 1) / areas


def kept(values: np.ndarray, picture: np.ndarray) -> float:
    """Rank correlation of the values with the brightness shown."""
    return float(spearmanr(values.ravel(), brightness(picture, values.shape).ravel()).statistic)


def signed_rank(values: np.ndarray, picture: np.ndarray) -> float:
    """The same where brightness falls to both sides of 0: how much darker than nothing, with the sign that the hue tells."""
    red_less_blue = picture[..., :3].astype(float) @ np.array([1.0, 0, -1])
    sign = np.sign(brightness(np.repeat(red_less_blue[..., None], 3, 2), values.shape))
    darker = colour_table(SIGNED_HEAT)[127] @ LUMA - brightness(picture, values.shape)
    return float(spearmanr(values.ravel(), (sign * darker).ravel()).statistic)


@pytest.mark.parametrize("name", HARD)
def test_no_photo_changes_what_a_map_says(name):
    for shape in ((16, 16), (14, 14), (7, 7), (24, 18), (37, 37)):
        rng, detail = np.random.default_rng(1), fine_detail(photo_of(name), shape)
        for kind, draw in MAPS.items():
            values = draw(rng, shape)
            assert kept(values, heat_on_photo(values, detail, scale_top(values))) >= 0.9, (kind, shape)
        values = rng.normal(size=shape)
        heat = heat_on_photo(values, detail, relevance_scale_top(values, True), signed=True)
        assert signed_rank(values, heat) >= 0.9, shape


@pytest.mark.parametrize("name", HARD)
def test_the_detail_has_one_mean_in_all_patches_and_is_never_cut_off(name):
    detail = fine_detail(photo_of(name), (16, 16))
    assert detail.max() <= 2 * DETAIL
    means = brightness(np.repeat(detail[..., None], 3, 2), (16, 16))
    assert np.abs(means - DETAIL).max() < 0.1
    assert (
        heat_colours(np.linspace(-1, 1, 255)[None], 1, signed=True).max()
        <= 255 - 2 * DETAIL
        >= heat_colours(np.ones((1, 1)), 1).max()
    )


def test_the_detail_is_of_the_photo():
    detail = fine_detail(photo_of("stripes"), (16, 16)).astype(float)
    assert detail.std() > 15, "stripes are seen"
    assert fine_detail(photo_of("black"), (16, 16)).std() == 0, "and nothing where there is nothing"


@pytest.mark.parametrize("scale", [HEAT, SIGNED_HEAT, SIGNED_HEAT_DARK])
def test_the_bar_has_the_colours_that_are_on_the_photo(scale):
    signed, mode = scale != HEAT, "dark" if scale == SIGNED_HEAT_DARK else "light"
    values = np.linspace(-1 if signed else 0, 1, 256).reshape(16, 16)
    picture = heat_on_photo(values, fine_detail(photo_of("noise"), (16, 16)), 1, signed, mode).reshape(16, 30, 16, 30, 3)
    assert np.abs(picture.mean((1, 3)).reshape(256, 3) - colour_table(scale)).max() <= 0.2


def test_brighter_is_more_for_every_kind_of_eye():
    """Luma rises along the scale; to both sides of 0 it falls, on a dark page it rises; a Viénot dichromat sees the same order."""
    rises = colour_table(HEAT) @ LUMA
    falls = colour_table(SIGNED_HEAT).astype(float) @ LUMA
    assert (np.diff(rises[::4]) > 0).all() and (np.diff(falls[:127:4]) > 0).all() and (np.diff(falls[129::4]) < 0).all()
    on_dark = colour_table(SIGNED_HEAT_DARK).astype(float) @ LUMA
    assert (np.diff(on_dark[:127:4]) < 0).all() and (np.diff(on_dark[129::4]) > 0).all() and on_dark[127] < on_dark[0] / 2
    for red, green in ((0.1124, 0.8876), (0.2928, 0.7072)):  # protan, deutan: what both become (Viénot 1999), linear light
        linear = (colour_table(HEAT) / 255.0) ** 2.2
        one = red * linear[:, 0] + green * linear[:, 1]
        seen = np.stack([one, one, linear[:, 2]], 1) ** (1 / 2.2)
        assert (np.diff((seen @ LUMA)[::4]) > 0).all()


@pytest.fixture(scope="module")
def recs(shipped):
    return {file.stem: vitcore.record(shipped, file) for file in SAMPLES}


def drawn(fig) -> np.ndarray:
    """The picture in a figure, as Plotly's file has it."""
    source = fig.to_plotly().data[0].source
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2]))).convert("RGB"))


@pytest.mark.parametrize("name", [file.stem for file in SAMPLES])
def test_rollout_can_be_read_on_every_gallery_photo(recs, name):
    rec = recs[name]
    mask, photo = rec.rollout(), sharp_crop(rec.photo, rec.model_input)
    assert kept(mask, drawn(figures.rollout(mask, photo, rec.grid))) >= 0.95


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_it_can_be_read_in_print(recs, mode):
    """From a PNG's own pixels, where the picture is found by the white frame of its first patch's outline."""
    rec = recs["macaw"]
    mask, grid = rec.rollout(), rec.grid
    page = np.asarray(Image.open(io.BytesIO(print_figure(
        figures.rollout(
        mask, sharp_crop(rec.photo, rec.model_input), grid, mode=mode), "png"))).convert("RGB")).astype(int)  # fmt: skip
    paper = page[2, 2]
    inked = np.abs(page - paper).max(-1) > 20
    rows = np.flatnonzero(inked.mean(1) > 0.6)
    cols = np.flatnonzero(inked[rows[0] : rows[-1]].mean(0) > 0.95)
    cols = cols[: np.flatnonzero(np.diff(cols, append=10**6) > 1)[0] + 1]  # the picture stands left of its bar
    box = page[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1]
    assert abs(box.shape[0] / box.shape[1] - 1) < 0.02
    assert kept(mask, box) >= 0.9


def test_heads_and_masked_maps_can_be_read(shipped):
    """Where half of a head's weights are below a 255th of its largest, they share the darkest colour: that many ties."""
    from vitcore.forward.mask_outliers import mask_outlier_tokens

    for name in ("crab", "rocket"):
        rec = vitcore.record(shipped, asset_path(f"samples/{name}.jpg"), maps=range(shipped.blocks))
        detail = fine_detail(resize_for_figure(sharp_crop(rec.photo, rec.model_input)), rec.grid)
        for values in (np.asarray(one, float) for block in rec.maps for one in rec.head_maps(block)):
            top = scale_top(values)
            picture = heat_on_photo(values, detail, top)
            assert kept(values, picture) >= 0.85
            assert kept(np.round(255 * np.minimum(values / top, 1)), picture) >= 0.9, "all that 256 colours can tell"
        masked = mask_outlier_tokens(rec).rollout()
        assert kept(masked, heat_on_photo(masked, detail, scale_top(masked))) >= 0.95


# A map with nothing to show looks like nothing


def test_random_weights_show_nothing_beside_the_trained_model(recs, shipped):
    trained = recs["red-panda"]
    random = vitcore.record(with_random_weights(shipped), trained.photo)
    maps = [one.rollout() / one.rollout().sum() for one in (trained, random)]
    top = scale_top(np.stack(maps))
    detail = fine_detail(resize_for_figure(sharp_crop(trained.photo, trained.model_input)), trained.grid)
    spread = [np.ptp(brightness(heat_on_photo(one, detail, top), one.shape)) for one in maps]
    assert spread[0] > 5 * spread[1], "flat"
    alone = heat_on_photo(maps[1], detail, scale_top(maps[1]))
    assert np.ptp(brightness(alone, maps[1].shape)) < 0.2 * np.ptp(colour_table(HEAT) @ LUMA), "by itself, too"
    assert brightness(alone, maps[1].shape).max() < 0.5 * (colour_table(HEAT) @ LUMA).max(), "and dark"


def test_a_scale_counts_in_even_shares():
    values = np.full((10, 10), 1.0)
    assert scale_top(values) == MIN_TOP_IN_EVEN_SHARES
    values[3, 3] = 4
    bar = heat_colour_scale(values, scale_top(values))
    assert (bar.low, bar.high) == (0, pytest.approx(4 / 1.03)) and bar.unit == "times the map's mean"
    assert heat_colour_scale(values, 4, 2).unit == "times an even share of all tokens"
    assert "or more" in heat_colour_scale(values, 3.0).unit and "or more" not in bar.unit
    assert heat_colour_scale(np.zeros((2, 2)), 0.0).high == MIN_TOP_IN_EVEN_SHARES


def test_a_head_that_attends_evenly_stays_dark():
    grid = Grid(8, 8, 16)
    even, sharp_one = np.full((8, 8), 1 / 64), np.eye(8) / 8
    assert head_scale_tops(np.stack([even, sharp_one]), grid) == pytest.approx([MIN_TOP_IN_EVEN_SHARES / grid.tokens, 1 / 8])
    assert head_scale_tops(np.stack([even, sharp_one]), grid, shared_scale=True) == pytest.approx([1 / 8] * 2)


@pytest.mark.parametrize("count", [1, 4, 8, 12])
def test_towers_do_not_hide_the_rest(count):
    values = 1 + np.random.default_rng(0).random((16, 16))
    values.flat[:count] = 300
    assert kept(values, heat_on_photo(values, fine_detail(photo_of("black"), (16, 16)), scale_top(values))) >= 0.9


def test_as_the_paper_draws_it_the_photo_stands_beside_and_no_scale(recs):
    rec = recs["macaw"]
    fig = figures.rollout(rec.rollout(), sharp_crop(rec.photo, rec.model_input), rec.grid, "paper")
    first, second = fig.rasters
    assert second.place[0] > rec.grid.cols > first.place[0] and fig.colour_scale is None
    assert "no scale" in fig.subtitle


def test_a_bar_that_ends_above_the_largest_value_says_that_value():
    values = np.array([[0.5, -2.8]])
    assert heat_colour_scale(values, 4, signed_unit="points").unit == "points (largest: 2.8)"
    assert heat_colour_scale(np.abs(values), 5, even_share=2).unit == "times an even share of all tokens (largest: 1.4)"
    assert heat_colour_scale(values, 2.8, signed_unit="points").unit == "points"

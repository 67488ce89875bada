"""The explorer as a figure to take along: the photo lit as the browser lights it, outlines where the asked patches are."""

import io

import numpy as np
import pytest
from PIL import Image

from vitcore import figures
from vitcore.figures import print_figure
from vitcore.figures.theme_colours import HEAT, colour_table
from vitcore.grid import Grid

GRID = Grid(4, 6, 16)
PHOTO = np.full((64, 96, 3), 100, np.uint8)
MAPS = np.random.default_rng(0).uniform(0.001, 0.2, (3, 4, 6))


def drawn(style="heat", **more):
    lit = np.zeros((4, 6))
    lit[1, 2] = 0.3
    return figures.attention_explorer(lit, MAPS, PHOTO, GRID, "title", "weight", top=0.3, style=style, query_patches=(8, 3), **more)


def pixel(layer, row, col):
    """The middle of a patch in a drawn photo."""
    image = Image.fromarray(layer.pixels)
    return np.array(image.getpixel((int((col + 0.5) * image.width / 6), int((row + 0.5) * image.height / 4))), float)


@pytest.mark.parametrize(
    ("style", "most", "none"),
    [("heat", colour_table(HEAT)[255], colour_table(HEAT)[0]), ("light", (100,) * 3, (100 * 33 / 255,) * 3)],
)
def test_the_photo_is_lit_as_in_the_browser(style, most, none):
    photo = drawn(style).rasters[0]
    assert np.abs(pixel(photo, 1, 2) - most).max() < 6
    assert np.abs(pixel(photo, 3, 5) - none).max() < 6


def test_the_asked_patches_are_outlined_on_the_photo_and_on_every_head():
    shapes = drawn().shapes
    side, above = 2.0, 1.4  # two rows of three heads would be lower than the photo
    on_photo = [s for s in shapes if s.line_px == 3]
    assert [(s.x, s.y, s.x + s.wide, s.y + s.high) for s in on_photo] == [
        (2 * side, above + side, 3 * side, above + 2 * side),
        (3 * side, above, 4 * side, above + side),
    ]
    assert len(shapes) == 2 * (1 + len(MAPS))


@pytest.mark.parametrize("shared", [False, True])
def test_every_map_says_how_far_its_scale_goes_and_no_words_cover_it(shared):
    fig = drawn(shared_scale=shared)
    most = [f"head {head}, up to {round(100 * float(one.max())):d} %" for head, one in enumerate(MAPS)]
    names = fig.labels
    assert [a.text for a in names] == ["up to 30 %", *most]
    assert all(a.y_anchor == "bottom" and 0 < a.y < 1.4 for a in names), "above the pictures, which begin at 1.4"
    scale = fig.colour_scale
    assert (scale.low, scale.high, scale.unit) == (
        (0, float(MAPS.max()), "weight") if shared else (0, 1, "0 to each map's largest, at least 2.5 times an even share")
    )
    assert Image.open(io.BytesIO(print_figure(fig, "png", "note"))).width >= 2400


def test_a_logarithmic_scale_begins_at_a_thousandth():
    marker = drawn(log_scale=True).colour_scale
    assert marker.low == pytest.approx(1 / 1000) and marker.high == 1

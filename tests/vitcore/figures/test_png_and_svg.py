"""Printing: what is drawn without a browser is the same picture."""

import io
import re

import numpy as np
import pytest
from PIL import Image

from tests import picture_files
from vitcore import figures
from vitcore.figures.painters.png_and_svg import print_figure, svg_in_dark_mode
from vitcore.figures.theme_colours import CATEGORICAL, SEQUENTIAL, colour_table
from vitcore.grid import Grid


def printed(fig):
    return np.asarray(Image.open(io.BytesIO(print_figure(fig))).convert("RGB")).astype(int)


def centre_of(drawn, colour, within=40):
    """Mean row and column of the pixels of a colour, as shares of the picture."""
    y, x = np.nonzero(np.abs(drawn - colour).max(-1) <= within)
    assert len(y) > 50, "this colour is not there"
    return y.mean() / drawn.shape[0], x.mean() / drawn.shape[1]


def test_pictures_are_the_right_way_up():
    grid = Grid(6, 8, 8)
    drawn = printed(figures.patches(np.asarray(picture_files.corners(grid.image_px[::-1])), grid))
    red, green, blue = (centre_of(drawn, c) for c in (picture_files.RED, picture_files.GREEN, picture_files.BLUE))
    assert red[1] < green[1] - 0.2 and red[0] < blue[0] - 0.2
    assert abs(red[0] - green[0]) < 0.02 and abs(red[1] - blue[1]) < 0.02


def test_dots_are_where_their_numbers_are():
    px = np.array([[10.0, 100.0], [100.0, 10.0]])
    drawn = printed(figures.attention_distance(px, Grid(14, 14, 16), 116.5))
    high, wide = drawn.shape[:2]
    plot = drawn[int(0.2 * high) : int(0.8 * high), int(0.08 * wide) :]  # without the legend
    rgb = [tuple(int(CATEGORICAL[i][k : k + 2], 16) for k in (1, 3, 5)) for i in (0, 1)]
    left, right = plot[:, : plot.shape[1] // 2], plot[:, plot.shape[1] // 2 :]
    assert centre_of(left, rgb[0])[0] > centre_of(left, rgb[1])[0]
    assert centre_of(right, rgb[0])[0] < centre_of(right, rgb[1])[0]


def test_the_scale_bar_is_printed():
    maps = np.zeros((1, 4, 4), np.float32)
    maps[0, 0, 0] = 1
    drawn = printed(figures.attention_heads(maps, Grid(4, 4, 8), "Heads"))
    for place in (60, 128, 200):  # colours of the scale that the map itself does not have
        centre_of(drawn, colour_table(SEQUENTIAL)[place].astype(int), 6)


@pytest.mark.parametrize("count", [1, 5])
def test_bars_are_printed(count):
    fig = figures.predictions([(f"class {i}", 0.9 / (i + 1)) for i in range(count)])
    centre_of(printed(fig), (0x0B, 0x6E, 0x83), 12)
    assert print_figure(fig) == print_figure(fig), "of the same figure the same bytes"


def test_a_light_drawing_is_turned_into_the_dark_one():
    """As a dark figure is printed; the names of its parts, which hold the hour and the style, differ."""
    maps, px = np.random.default_rng(0).random((2, 4, 4), np.float32), np.array([[10.0, 100.0], [100.0, 10.0]])
    for draw in (
        lambda mode: figures.attention_distance(px, Grid(14, 14, 16), 116.5, mode=mode),
        lambda mode: figures.attention_heads(maps, Grid(4, 4, 8), "Heads", mode=mode),
    ):
        light, dark = (print_figure(draw(mode), "svg") for mode in ("light", "dark"))
        same = [re.sub(rb'<dc:date>.*?</dc:date>|(?<=["#])[a-z]+[0-9a-f]{10}', b"", svg) for svg in (svg_in_dark_mode(light), dark)]
        assert same[0] == same[1] and light != dark


def test_no_shared_state_of_matplotlib_is_used():
    """pyplot keeps figures for ever and is not safe in threads."""
    import subprocess
    import sys

    script = (
        "import sys; from vitcore import figures;"
        "figures.print_figure(figures.predictions([('a', .5)]), 'png'); sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_long_title_stays_on_the_sheet():
    """Its ink ends before the right edge, of a narrow picture, too."""
    for subtitle in ("", "a subtitle that is as long as a title can be, and then a little longer"):
        sheet = printed(figures.head_drops(np.zeros((12, 3), np.float32), "great white shark of the seven seas", subtitle=subtitle))
        assert (sheet[:, -4:] == sheet[0, 0]).all() and (sheet[:60] != sheet[0, 0]).any()

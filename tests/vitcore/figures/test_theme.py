"""The theme: colours that follow numbers, and the pieces figures are made of."""

import base64
import colorsys
import io

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image

from tests.conftest import contrast
from vitcore import figures
from vitcore.figures.drawing import Drawing, HoverGrid, RasterLayer
from vitcore.figures.theme_colours import (
    CATEGORICAL,
    DIVERGING,
    DIVERGING_DARK,
    INK_COLOURS,
    PAPER_COLOUR,
    SEQUENTIAL,
    ColourScale,
    apply_colour_scale,
    colour_table,
    pixels_to_data_uri,
    tile_mosaic,
)


@pytest.mark.parametrize("scale", [SEQUENTIAL, DIVERGING, DIVERGING_DARK])
def test_scales_have_256_colours(scale):
    table = colour_table(scale)
    assert table.shape == (256, 3) and table.dtype == np.uint8
    assert len(np.unique(table, axis=0)) > 200


def test_more_is_lighter_and_zero_is_the_middle():
    light = colour_table(SEQUENTIAL).astype(float) @ (0.2126, 0.7152, 0.0722)
    assert (np.diff(light) > -0.5).all() and light[-1] - light[0] > 150
    for scale in (DIVERGING, DIVERGING_DARK):
        low, middle, high = colour_table(scale)[[0, 127, 255]].astype(int)
        assert low[2] > low[0] and high[0] > high[2] and np.ptp(middle) < 12
    assert colour_table(DIVERGING_DARK)[127].max() < 40 < 200 < colour_table(DIVERGING)[127].min(), (
        "zero is as dark or light as its page"
    )


@pytest.mark.parametrize("scale", [DIVERGING, DIVERGING_DARK])
def test_the_words_red_and_blue_are_true_of_the_scale_on_light_and_on_dark_pages(scale):
    """Every page and report says "red is similar, blue is opposite": hue within 20 degrees of it, and no pastel."""
    for value in np.linspace(0.5, 1, 20):
        for sign, named in ((1, 0), (-1, 211)):
            rgb = apply_colour_scale(np.array(sign * value), scale, -1, 1) / 255
            hue, saturation, _ = colorsys.rgb_to_hsv(*rgb.tolist())
            assert abs((360 * hue - named + 180) % 360 - 180) <= 20 and saturation > 0.45, (sign * value, rgb)


def test_numbers_become_colours_from_low_to_high():
    table = colour_table(SEQUENTIAL)
    found = apply_colour_scale(np.array([[0.0, 5], [10, 20]]), SEQUENTIAL, 0, 10)
    assert found.shape == (2, 2, 3)
    assert found.reshape(4, 3).tolist() == [table[i].tolist() for i in (0, 128, 255, 255)]
    assert apply_colour_scale(np.array([3.0, 4])).tolist() == [table[0].tolist(), table[255].tolist()]
    assert apply_colour_scale(np.array([3.0, 3])).shape == (2, 3), "numbers all alike are no trouble"


@pytest.mark.parametrize("channels", [3, 4])
def test_data_addresses_hold_the_pixels(channels):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, channels), np.uint8)
    address = pixels_to_data_uri(pixels)
    assert address.startswith("data:image/png;base64,")
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(base64.b64decode(address.split(",")[1])))), pixels)


def test_photographs_travel_as_jpeg_and_what_is_transparent_does_not(photo):
    pixels = np.asarray(photo.image)
    address, exact = pixels_to_data_uri(pixels, photo=True), pixels_to_data_uri(pixels)
    assert address.startswith("data:image/jpeg;base64,") and len(address) < len(exact) / 3
    shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(address.split(",")[1])))).astype(int)
    assert shown.shape == pixels.shape and np.abs(shown - pixels).mean() < 4
    alpha = np.zeros((4, 4, 4), np.uint8)
    assert pixels_to_data_uri(alpha, photo=True).startswith("data:image/png;")


def test_a_mosaic():
    tiles = np.arange(1, 6, dtype=np.uint8)[:, None, None, None] * np.ones((1, 2, 3, 3), np.uint8)
    drawn = tile_mosaic(tiles, cols=2, gutter=1, zoom=2)
    assert drawn.shape == (3 * 4 + 2, 2 * 6 + 1, 4)
    assert [drawn[y, x, 0] for y, x in [(0, 0), (0, 7), (5, 0), (5, 7), (10, 0)]] == [1, 2, 3, 4, 5]
    assert (drawn[4, :, 3] == 0).all() and (drawn[:, 6, 3] == 0).all() and (drawn[10:, 7:, 3] == 0).all()


def plotly_of(**parts):
    """A drawing as Plotly has it, every property checked."""
    fig = Drawing(title="Title", **parts).to_plotly()
    go.Figure(fig.to_dict())
    return fig


def test_a_picture_covers_its_size():
    (trace,) = plotly_of(rasters=[RasterLayer(np.zeros((4, 8, 3), np.uint8), (16.0, 2.0), (3, 5))]).data
    assert (trace.x0 - trace.dx / 2, trace.y0 - trace.dy / 2) == (3, 5)
    assert (trace.dx * 8, trace.dy * 4) == (16, 2)


def test_hover_cells_answer_over_a_picture():
    (trace,) = plotly_of(marks=[HoverGrid([["a", "b", "c"], ["d", "e", "f"]], (6.0, 8.0))]).data
    assert trace.opacity == 0 and trace.hoverinfo == "text" and not trace.showscale
    assert (trace.x0, trace.dx, trace.y0, trace.dy) == (1, 2, 2, 4)
    assert np.asarray(trace.z).shape == (2, 3)


def test_a_scale_bar():
    scale = ColourScale(colours=DIVERGING, low=-1, high=1, unit="cosine", ticks=(-1, 0, 1))
    (bar,) = plotly_of(colour_scale=scale).data
    marker = bar.marker
    assert (marker.cmin, marker.cmax, marker.colorbar.title.text) == (-1, 1, "cosine")
    assert list(marker.colorbar.tickvals) == [-1, 0, 1]
    assert marker.colorscale[0][1] == "rgb({},{},{})".format(*colour_table(DIVERGING)[0]) and marker.colorscale[-1][0] == 1


@pytest.mark.parametrize("mode, page", PAPER_COLOUR.items())
def test_ink_can_be_read_and_heads_stand_out(mode, page):
    assert contrast(INK_COLOURS[mode]["text"], page) >= 7 and contrast(INK_COLOURS[mode]["soft"], page) >= 4.5
    assert [c for c in CATEGORICAL if contrast(c, page) < 3] == []
    assert len(set(CATEGORICAL)) == len(CATEGORICAL)


def test_a_styled_figure_fetches_no_font():
    fig = Drawing(title="Title", subtitle="Below it", mode="dark", height_px=300).to_plotly()
    assert fig.layout.title.text == "Title" and fig.layout.title.subtitle.text == "Below it" and fig.layout.height == 300
    assert "http" not in fig.to_json().replace("http://www.w3.org", "")


def test_the_colours_of_cells_are_those_of_their_bar():
    """As "#000004", which Streamlit replaces by a colour of its own, black became violet."""
    fig = figures.confusion_matrix(np.array([[1.0, 0.0], [0.2, 0.8]]), ["a", "b"])
    cells, bar = fig.to_plotly().data
    assert cells.colorscale == bar.marker.colorscale and all(colour.startswith("rgb(") for _, colour in cells.colorscale)
    assert [note.text for note in fig.labels] == ["100", "20", "80"], "no number where there is none"

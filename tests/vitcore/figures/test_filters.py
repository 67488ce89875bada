"""Embedding filters drawn: seven in a row as in the paper, each with its share of the variance."""

import numpy as np
import pytest

from vitcore import figures


def tiles(count, side=8):
    """Tile i is filled with i + 1."""
    return np.arange(1, count + 1, dtype=np.uint8)[:, None, None, None] * np.ones((1, side, side, 3), np.uint8)


def pixels_of(fig):
    return fig.rasters[0].pixels


@pytest.mark.parametrize("count, rows", [(28, 4), (1, 1), (7, 1), (8, 2), (50, 8)])
def test_rows_of_seven_in_reading_order(count, rows):
    fig = figures.filters(tiles(count), np.full(count, 1 / count))
    drawn = pixels_of(fig)
    shown = set(drawn[drawn[..., 3] > 0][:, 0].tolist())
    assert shown == set(range(1, count + 1))
    side = 48
    for i in range(count):
        y, x = i // 7 * (side + 4) + side // 2, i % 7 * (side + 4) + side // 2
        assert drawn[y, x].tolist() == [i + 1, i + 1, i + 1, 255]
    assert drawn.shape[0] == rows * (side + 4) - 4


def test_each_tells_the_pointer_its_share():
    fig = figures.filters(tiles(9), np.array([0.4, 0.2] + [0.05] * 8))
    text = fig.marks[0].text
    assert "component 1" in text[0][0] and "40.0 %" in text[0][0]
    assert "component 8" in text[1][0] and text[1][6] == ""


def test_it_says_how_much_variance_is_shown():
    fig = figures.filters(tiles(2), np.array([0.5, 0.25, 0.25]), subject="Root convolution")
    said = f"{fig.title} {fig.subtitle}"
    assert "Root convolution" in said and "75.0 %" in said and "first 2" in said


def test_the_scree_adds_up():
    fig = figures.scree_plot(np.array([0.5, 0.3, 0.2]), 2)
    line, dot = fig.marks
    assert np.allclose(line.y, [50, 80, 100]) and list(line.x) == [1, 2, 3]
    assert list(dot.x) == [2] and dot.y[0] == pytest.approx(80) and "80" in dot.texts[0]

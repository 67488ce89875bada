"""Attention distance drawn: one dot per head over depth, at its value, beside the uniform line."""

import numpy as np
import pytest

from vitcore import figures
from vitcore.grid import Grid

GRID = Grid(14, 14, 16)


def drawn(blocks=12, heads=3, **settings):
    px = np.random.default_rng(0).random((blocks, heads)).astype(np.float32) * 150
    return px, figures.distance(px, GRID, 116.492227, **settings)


def test_one_dot_per_head_and_block():
    px, fig = drawn()
    assert [t.name for t in fig.data] == ["head 0", "head 1", "head 2"]
    for head, dots in enumerate(fig.data):
        assert dots.mode == "markers"
        assert np.array_equal(dots.x, np.arange(12)) and np.array_equal(dots.y, px[:, head])


def test_the_uniform_line():
    _, fig = drawn()
    (line,) = fig.layout.shapes
    assert line.y0 == line.y1 == pytest.approx(116.492227)
    assert any("116.5 px" in note.text for note in fig.layout.annotations)


def test_every_dot_is_within_the_axes():
    px, fig = drawn(24, 16)
    assert fig.layout.xaxis.range[0] < 0 and fig.layout.xaxis.range[1] > 23
    assert fig.layout.yaxis.range[0] == 0 and fig.layout.yaxis.range[1] > max(px.max(), 116.5)


def words(fig):
    return f"{fig.layout.title.text} {fig.layout.title.subtitle.text}"


def test_it_says_how_it_was_computed():
    assert "class token dropped" in words(drawn()[1]) and "1 image" in words(drawn()[1])
    said = words(drawn(cls="renormalise", images=20)[1])
    assert "renormalised" in said and "20 images" in said
    assert "pixels" in drawn()[1].layout.yaxis.title.text and "layer" in drawn()[1].layout.xaxis.title.text


@pytest.mark.parametrize("heads", [2, 8, 16])
def test_heads_are_told_apart(heads):
    _, fig = drawn(heads=heads)
    assert fig.layout.showlegend
    looks = {(t.marker.color, t.marker.symbol) for t in fig.data}
    assert len(looks) == heads


def test_one_head_needs_no_legend():
    assert not drawn(heads=1)[1].layout.showlegend

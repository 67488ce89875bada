"""Attention distance drawn: one dot per head over depth, at its value, beside the uniform line."""

import numpy as np
import pytest

from vitcore import figures
from vitcore.grid import Grid

GRID = Grid(14, 14, 16)


def drawn(blocks=12, heads=3, **settings):
    px = np.random.default_rng(0).random((blocks, heads)).astype(np.float32) * 150
    return px, figures.attention_distance(px, GRID, 116.492227, **settings)


def test_one_dot_per_head_and_block():
    px, fig = drawn()
    assert [t.name for t in fig.marks] == ["head 0", "head 1", "head 2"]
    for head, dots in enumerate(fig.marks):
        assert dots.marker_px and not dots.line_px
        assert np.array_equal(np.round(dots.x), np.arange(12)) and np.array_equal(dots.y, px[:, head])


@pytest.mark.parametrize("heads", [3, 16])
def test_no_dot_hides_another_and_none_leaves_its_layer(heads):
    """Even where all heads of a layer have the same distance."""
    fig = figures.attention_distance(np.full((4, heads), 50.0), GRID, 116.5)
    aside = np.array([t.x for t in fig.marks])
    assert (np.diff(aside, axis=0) > 0.03).all() and (np.abs(aside - np.arange(4)) < 0.5).all()


def test_heads_that_look_at_no_patch_are_hollow():
    px, share = np.full((3, 2), 40.0), np.array([[0.1, 0.63], [0.5, 0.49], [0, 0]])
    fig = figures.attention_distance(px, GRID, 116.5, prefix_attention_share=share)
    drawn = {(*place,): t.symbol.endswith("-open") for t in fig.marks for place, y in zip(t.custom_data, t.y, strict=True)
             if np.isfinite(y)}  # fmt: skip
    assert drawn == {(block, head): bool(share[block, head] >= 0.5) for block in range(3) for head in range(2)}
    assert any("63 %" in told for t in fig.marks for told in t.hover_texts), "the share on hover"
    assert "○" in fig.subtitle
    assert "○" not in figures.attention_distance(px, GRID, 116.5).subtitle


def test_the_words_of_the_uniform_line_hide_no_dot():
    px = np.full((12, 3), 116.5) + np.array([-2, 0, 2])  # of random weights
    fig = figures.attention_distance(px, GRID, 116.5)
    (words,), top = ([note for note in fig.labels if note.text.startswith("uniform")], fig.y.range[1])
    assert 118.5 < words.y < 116.5 + 0.1 * top


def test_the_uniform_line():
    _, fig = drawn()
    (line,) = fig.shapes
    assert line.y == pytest.approx(116.492227)
    assert any("116.5 px" in note.text for note in fig.labels)


def test_every_dot_is_within_the_axes():
    px, fig = drawn(24, 16)
    assert fig.x.range[0] < 0 and fig.x.range[1] > 23
    assert fig.y.range[0] == 0 and fig.y.range[1] > max(px.max(), 116.5)


def words(fig):
    return f"{fig.title} {fig.subtitle}"


def test_it_says_how_it_was_computed():
    assert "class token dropped" in words(drawn()[1]) and "1 image" in words(drawn()[1])
    said = words(drawn(cls="renormalise", images=20)[1])
    assert "renormalised" in said and "20 images" in said
    assert "pixels" in drawn()[1].y.title and "layer" in drawn()[1].x.title


@pytest.mark.parametrize("heads", [2, 8, 16])
def test_heads_are_told_apart(heads):
    _, fig = drawn(heads=heads)
    assert fig.legend
    looks = {(t.colour, t.symbol) for t in fig.marks}
    assert len(looks) == heads


def test_one_head_needs_no_legend():
    assert not drawn(heads=1)[1].legend

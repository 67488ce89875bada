"""Outlier tokens in a picture: a frame around each, within its patch, in figures and in pixels; none without."""

import numpy as np
import plotly.graph_objects as go

from vitcore import figures
from vitcore.figures import print_figure
from vitcore.figures.outlier_frames import FRAME_COLOUR, frame_outliers, frame_outliers_in_pixels
from vitcore.figures.theme_colours import SEQUENTIAL, colour_table, hex_to_rgb
from vitcore.grid import Grid

GRID = Grid(4, 4, 16)


def test_a_figure_gets_a_frame_around_each_and_keeps_what_it_had():
    mask = np.random.default_rng(0).uniform(size=(4, 4))
    plain = figures.rollout(mask / mask.sum(), np.full((64, 64, 3), 90, np.uint8), GRID, query_patch=5)
    fig = frame_outliers(plain, [3, 12], GRID)
    assert frame_outliers(plain, [], GRID) is plain and len(plain.shapes) == 1
    assert fig.shapes[0] == plain.shapes[0]
    marks = [shape for shape in fig.shapes if shape.colour == FRAME_COLOUR]
    assert [(int(m.x), int(m.y)) for m in marks] == [(3, 0), (0, 3)]
    assert all(int(m.x + m.wide) == int(m.x) and int(m.y + m.high) == int(m.y) for m in marks), "within the patch"
    go.Figure(fig.to_plotly().to_dict())  # Plotly checks every property
    noted = print_figure(frame_outliers(plain, [3, 12], GRID, sentence="These 2 corner patches"), "html").decode()
    assert "These 2 corner patches" in noted and "These 2" not in print_figure(fig, "html").decode()
    assert print_figure(fig, "svg").count(FRAME_COLOUR.lower().encode()) == 2 + print_figure(plain, "svg").count(
        FRAME_COLOUR.lower().encode()
    )


def test_pixels_get_a_frame_around_each_and_stay_as_they_were_elsewhere():
    before = np.full((96, 96, 3), 130, np.uint8)
    after = frame_outliers_in_pixels(before, [3], GRID)
    changed = (after != before).any(-1)
    assert changed[:24, 72:].any() and not changed[24:].any() and not changed[:, :72].any()
    assert (after == hex_to_rgb(FRAME_COLOUR)).all(-1).any() and not changed[8:16, 80:88].any(), "what lies inside is seen"
    assert frame_outliers_in_pixels(before, [], GRID) is before


def luminance(colour):
    linear = np.where((c := np.asarray(colour) / 255) <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return linear @ (0.2126, 0.7152, 0.0722)


def test_mark_or_casing_is_seen_on_every_colour_of_the_scale():
    """WCAG's 3:1 for what is no text: of the frame's two colours at least one."""
    for ground in map(luminance, colour_table(SEQUENTIAL)[::15]):
        ratios = [(max(ground, ink) + 0.05) / (min(ground, ink) + 0.05) for ink in (luminance(hex_to_rgb(FRAME_COLOUR)), 0.0)]
        assert max(ratios) >= 3

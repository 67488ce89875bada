"""Curves and the pictures of a snapshot: axes and scales that stay, stripes where nothing is seen, and in print."""

import numpy as np

from vitcore import figures
from vitcore.figures.charts.training_figures import FIRST, HATCH_GREYS, TrainingCurve
from vitcore.grid import Grid

GRID = Grid(4, 4, 8, 1)
PHOTO = np.full((32, 32, 3), 77, np.uint8)
STEPS = np.array([0, 10, 100])


def loss(**options):
    lines = [
        TrainingCurve("each", STEPS, 3 / (1 + STEPS), "raw"),
        TrainingCurve("mean", STEPS, 3 / (1 + STEPS)),
        TrainingCurve("empty", STEPS[:0], STEPS[:0]),
    ]
    return figures.training_curves(lines, "Loss", "loss (nats)", **options)


def test_curves_leave_out_what_was_not_measured():
    fig = loss()
    assert [t.name for t in fig.marks] == ["each", "mean"] and fig.marks[0].opacity < fig.marks[1].opacity
    assert fig.marks[0].colour == fig.marks[1].colour
    assert fig.y.range[0] == 0 and fig.y.range[1] > 3


def test_step_0_has_a_place_on_a_logarithmic_axis():
    fig = loss(log_steps=True, at=0, last=1000)
    assert fig.x.log and fig.marks[0].x[0] == FIRST == fig.shapes[0].x
    assert 10 ** fig.x.range[0] <= FIRST and 10 ** fig.x.range[1] >= 1000


def test_nothing_measured_is_still_a_figure():
    assert figures.training_curves([], "Loss", "loss").x.range[1] > 0


def test_attention_has_the_scale_it_is_given():
    mask = np.full((4, 4), 1 / 16)
    both = [figures.attention_on_photo(m, PHOTO, GRID, "Rollout", 0.5, even_share=1 / 16) for m in (mask, mask * 2)]
    assert [(fig.colour_scale.low, fig.colour_scale.high) for fig in both] == [(0, 8)] * 2
    pictures = [fig.rasters[0].pixels for fig in both]
    assert (pictures[0] != pictures[1]).any()


def test_masked_patches_are_striped():
    hatched = np.zeros(16, bool)
    hatched[5] = True
    pixels = figures.masked_photo(PHOTO, GRID, "Given", hatched=hatched).rasters[0].pixels
    cells = pixels.reshape(4, pixels.shape[0] // 4, 4, -1, 3)
    assert set(np.unique(cells[1, :, 1])) == set(HATCH_GREYS)
    assert set(np.unique(cells[0])) == {77}

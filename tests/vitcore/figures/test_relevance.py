"""Relevance drawn: signs have their own colours, zero is the middle of the scale, and a build-up has one scale."""

import numpy as np
import pytest

from vitcore import figures
from vitcore.figures.heat_overlay import darkened_colour_table, heat_colours
from vitcore.figures.relevance import relevance_scale_top, rollout_per_layer_scale, rollout_per_layer_top
from vitcore.figures.theme_colours import DIVERGING, SEQUENTIAL
from vitcore.grid import Grid

GRID = Grid(4, 6, 16)
PHOTO = np.random.default_rng(0).integers(0, 256, (64, 96, 3), np.uint8)


def signed_map():
    values = np.zeros((4, 6))
    values[1, 2], values[3, 5] = 2.0, -1.0
    return values


def test_signs_have_the_ends_of_the_diverging_scale_and_zero_its_middle():
    colours, table = heat_colours(signed_map(), 2.0, signed=True), darkened_colour_table(DIVERGING)
    assert colours[1, 2].tolist() == table[255].tolist()
    assert colours[0, 0].tolist() == table[128].tolist()
    assert colours[3, 5].tolist() == table[64].tolist()
    red, blue = heat_colours(np.array([[1.0, -1.0]]), 1.0, signed=True)[0].astype(int)
    assert red[0] > red[2] and blue[2] > blue[0]


def test_the_scale_is_as_far_from_zero_on_both_sides():
    bar = figures.relevance(signed_map(), PHOTO, GRID, "A", "logits", signed=True).colour_scale
    assert (bar.low, bar.high) == (-2, 2) and bar.unit == "logits"
    assert relevance_scale_top(-signed_map(), True) == 2


def test_amounts_are_heat_from_zero():
    values = np.abs(signed_map())
    fig = figures.relevance(values, PHOTO, GRID, "A", "%")
    bar = fig.colour_scale
    assert (bar.low, bar.high) == (0, 2 / values.mean()) and bar.unit == "times the map's mean"
    assert heat_colours(values, relevance_scale_top(values, False))[0, -1].tolist() == darkened_colour_table(SEQUENTIAL)[0].tolist()


def test_a_picture_states_its_largest_value_in_its_unit_and_in_even_shares():
    values = np.abs(signed_map())
    for style in ("heat", "paper"):
        told = figures.relevance(values, PHOTO, GRID, "A", "% of the total", style=style, even_share=1.6).subtitle
        assert told.startswith("Largest: 2 % of the total, 1.2× an even share"), "2 / 1.6 in two digits"
    assert figures.relevance(values, PHOTO, GRID, "A", "logits", subtitle="B").subtitle == "B · Largest: 2 logits"
    signed = figures.relevance(-signed_map(), PHOTO, GRID, "A", "logits", signed=True)
    assert signed.subtitle == "Farthest from 0: −2 logits"
    whole = figures.rollout(values / values.sum(), PHOTO, GRID)
    assert whole.title == "Rollout of the class token" and whole.subtitle.startswith("Largest: 66.7 % of the total")


def test_maps_that_hardly_differ_look_like_nothing():
    least = 100 / signed_map().size
    assert (
        relevance_scale_top(signed_map() * 1e-3, True, least) == least
        and relevance_scale_top(signed_map() * 100, True, least) == 200
    )


def test_the_pointer_is_told_the_numbers():
    fig = figures.relevance(signed_map(), PHOTO, GRID, "A", "logits", signed=True)
    text = fig.marks[0].text
    assert text[3][5] == "row 3, column 5: -1" and np.array(text).shape == (4, 6)


def test_the_paper_draws_amounts_and_never_signs():
    amounts = figures.relevance(np.abs(signed_map()), PHOTO, GRID, "A", "%", style="paper")
    assert amounts.colour_scale is None
    signed = figures.relevance(signed_map(), PHOTO, GRID, "A", "logits", signed=True, style="paper")
    assert signed.colour_scale


def test_the_patch_that_asks_is_outlined():
    (box,) = figures.relevance(signed_map(), PHOTO, GRID, "A", "%", query_patch=8).shapes
    assert (box.x, box.y, box.wide, box.high) == (2, 1, 1, 1)


@pytest.mark.parametrize("signed", [True, False])
def test_a_map_of_zeros_is_no_trouble(signed):
    figures.relevance(np.zeros((4, 6)), PHOTO, GRID, "A", "%", signed=signed)
    assert relevance_scale_top(np.zeros((4, 6)), signed) == 0


# The build-up


def growing(count=3):
    y, x = np.mgrid[:4, :6]
    return np.stack([(i + 1) * (0.01 + 0.002 * x + 0.001 * y) for i in range(count)])


def test_a_build_up_has_the_scale_of_its_last_frame():
    maps = growing()
    drawn = heat_colours(maps, rollout_per_layer_top(maps, GRID))
    assert rollout_per_layer_top(maps, GRID) == max(maps[-1].max(), 2.5 / GRID.tokens) and drawn.shape == (3, 4, 6, 3)
    bright = drawn.astype(int).sum((1, 2, 3))
    assert bright[0] < bright[1] < bright[2]


@pytest.mark.parametrize("count", [1, 3, 4, 12, 24])
def test_every_layer_has_its_picture_and_its_name(count):
    maps = growing(count)
    fig = figures.rollout_per_layer(maps, PHOTO, GRID, "The build-up")
    assert [note.text for note in fig.labels] == [f"layer {i}" for i in range(count)]
    assert len({(note.x, note.y) for note in fig.labels}) == count
    width, height = fig.x.range[1], fig.y.range[0]
    assert all(0 <= note.x < width and 0 <= note.y < height for note in fig.labels)
    bar = fig.colour_scale
    assert bar.high == pytest.approx(rollout_per_layer_top(maps, GRID) * GRID.tokens)
    assert bar.high == pytest.approx(rollout_per_layer_scale(maps, GRID).high)

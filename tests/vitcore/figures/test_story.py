"""Pictures of the story: the numbers they are given are the numbers they show, and they can be printed."""

import numpy as np
import pytest
from PIL import Image

from vitcore.analysis.patches import normalise_pixels
from vitcore.figures import story_steps
from vitcore.grid import Grid
from vitcore.probabilities import probabilities

GRID = Grid(3, 5, 4)
RNG = np.random.default_rng(0)


def shown(layer) -> np.ndarray:
    return layer.pixels


def words(fig) -> list[str]:
    return [note.text for note in fig.labels]


def test_channels_add_up_to_the_photo():
    pixels = RNG.integers(0, 256, (6, 8, 3), np.uint8)
    assert np.array_equal(sum(story_steps.colour_channels(pixels)), pixels)


def test_a_flattened_patch_stands_in_reading_order_with_bars_as_high_as_its_numbers():
    patch = RNG.integers(0, 256, (4, 4, 3), np.uint8)
    given = normalise_pixels(patch, (0.5, 0.25, 0.0), (0.5, 1.0, 2.0))
    fig = story_steps.flattened_patch(patch, given)
    enlarged, line, bars = fig.rasters
    assert np.array_equal(shown(enlarged)[..., :3], patch)
    assert np.array_equal(shown(line)[0], patch.reshape(-1, 3))
    drawn = shown(bars)
    heights = [(drawn[:, 4 * i, 3] > 0).sum() for i in range(48)]
    np.testing.assert_allclose(heights, patch.reshape(-1) / 255 * 64, atol=1)
    assert [tuple(drawn[-1, 4 * i, :3]) for i in range(3)] == list(story_steps.CHANNELS)
    r, g, b = patch[0, 1]
    made = " ".join(f"{value:.2f}".replace("-", "−") for value in (r / 127.5 - 1, g / 255 - 0.25, b / 510))
    assert words(fig)[0].split("<br>")[1] == f"{r} {g} {b} → {made}"


def test_of_a_large_patch_the_first_numbers_are_drawn_and_that_is_said():
    fig = story_steps.flattened_patch(RNG.integers(0, 256, (16, 16, 3), np.uint8), np.zeros((16, 16, 3)))
    assert "the first 192 of its 768 values, before they are normalised" in words(fig)
    assert shown(fig.rasters[1]).shape[1] == 64


def test_a_projection_writes_the_sums_of_its_products():
    patch, filters, bias = RNG.normal(size=(4, 4, 3)), RNG.normal(size=(9, 4, 4, 3)), RNG.normal(size=9)
    fig = story_steps.patch_projection(patch, filters, bias)
    sums = [(filters[i] * patch).sum() + bias[i] for i in range(6)]
    written = [text for text in words(fig) if text.startswith("<b>")]
    assert written == [f"<b>{v:+.2f}</b>".replace("-", "−") for v in sums]
    products = [shown(trace) for trace in fig.rasters[2::2]]
    most = max(abs((filters[i] * patch).sum(-1)).max() for i in range(6))
    red = [(p[..., 0].astype(int) > p[..., 2]).mean() for p in products]
    positive = [((filters[i] * patch).sum(-1) > 0.02 * most).mean() for i in range(6)]
    np.testing.assert_allclose(red, positive, atol=0.15)


@pytest.mark.parametrize("prefix", [0, 1, 5])
def test_a_sequence_outlines_the_token_of_the_patch(prefix):
    grid = Grid(3, 5, 4, prefix)
    cuts = RNG.integers(0, 256, (15, 4, 4, 3), np.uint8)
    names = ("class", *[f"register {i}" for i in range(1, prefix)])[:prefix]
    fig = story_steps.token_sequence(cuts, grid, names, 7)
    box, drawn = fig.shapes[0], shown(fig.rasters[0])
    x, y = round(box.x + box.wide / 2), round(box.y + box.high / 2)
    inside = drawn[y - 10 : y + 10 : 5, x - 10 : x + 10 : 5, :3]
    assert np.array_equal(inside, cuts[7]), "what is outlined is the patch"
    told = [cell for row in fig.marks[0].text for cell in row]
    assert told[prefix + 7] == f"place {prefix + 7}: patch 7" and told.count("") == len(told) - grid.tokens
    assert words(fig) == ["<b>C</b>", *["<b>R</b>"] * (prefix - 1)][:prefix]


def test_a_lit_photo_is_brightest_where_attention_is():
    amounts = np.full((2, 3, 5), 0.01)
    amounts[1, 2, 4] = 1
    even, one = story_steps.photo_under_maps(Image.new("RGB", (200, 120), (120, 120, 120)), amounts, GRID).astype(int).sum(-1)
    assert one.shape == (101, 168)
    assert one[-5, -5] == one.max() > 2 * one[5, 5] > 0
    assert np.ptp(even) == 0 and even.max() < one.max() / 2, "what is spread evenly stays dark"


def test_a_lens_draws_the_last_classes_and_whoever_led_before():
    share = np.full((4, 6), 0.02)
    share[0, 5], share[1, 4], share[2:, 0], share[2:, 1] = 0.9, 0.9, 0.7, 0.2
    fig = story_steps.logit_lens(share, tuple("abcdef"), count=2)
    assert [t.name for t in fig.marks][:2] == ["a", "b"] and {t.name for t in fig.marks[2:]} == {"e", "f"}
    np.testing.assert_allclose(fig.marks[0].y, 100 * share[:, 0], rtol=1e-6)
    assert list(fig.marks[0].x) == [0, 1, 2, 3]


def test_an_answer_shows_logits_and_shares_of_all_classes():
    logits = np.log(np.array([1.0, 5, 2, 12], np.float32))
    fig = story_steps.logits_and_probabilities(logits, probabilities(logits), ("a", "b", "c", "d"), count=2)
    np.testing.assert_allclose(fig.marks[0].x, [60, 25], rtol=1e-5)
    assert words(fig) == ["d: logit 2.48 → 60.0 %", "b: logit 1.61 → 25.0 %"]
    assert "the other 2 classes share 15.0 %" in fig.subtitle

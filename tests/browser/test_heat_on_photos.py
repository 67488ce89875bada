"""Heat in a real browser: its pixels are Python's, brighter is more, and a press held long shows the photo alone."""

import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect
from scipy.stats import spearmanr
from wait_and_look import at_rest, in_both, pixels, settled

import vitcore
from vitcore.assets import asset_path
from vitcore.figures.attention import resize_for_figure
from vitcore.figures.heat_overlay import LUMA, fine_detail, heat_on_photo, scale_top
from vitcore.images import sharp_crop

GATHERED = ".st-key-gathered canvas"


def brightness(drawn: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Mean luma of each patch."""
    (high, wide), (rows, cols) = drawn.shape[:2], shape
    bright = drawn @ LUMA
    return np.array(
        [[bright[r * high // rows : (r + 1) * high // rows, c * wide // cols : (c + 1) * wide // cols].mean()
          for c in range(cols)] for r in range(rows)]
    )  # fmt: skip


def apart(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one.astype(float) - other).mean())


def comes_near(page: Page, picture: np.ndarray, most: float) -> None:
    """What is drawn becomes this picture, however busy the machine is."""
    settled(page, lambda: apart(pixels(page.locator(GATHERED)), picture), lambda distance: distance < most)


@pytest.fixture(scope="module")
def rec(shipped):
    return vitcore.record(shipped, asset_path("samples/dahlia.jpg"), maps=range(shipped.blocks))


def drawn_as_python_does(drawn: np.ndarray, mask: np.ndarray, rec: vitcore.Recording, correlation: float = 0.95) -> np.ndarray:
    """Python's own picture, of the same size."""
    assert spearmanr(mask.ravel(), brightness(drawn, mask.shape).ravel()).statistic >= correlation
    detail = fine_detail(resize_for_figure(sharp_crop(rec.photo, rec.model_input)), rec.grid)
    ours = heat_on_photo(mask, detail, scale_top(mask, 1 / rec.grid.tokens))
    ours = np.asarray(Image.fromarray(ours).resize(drawn.shape[1::-1], Image.Resampling.BOX)).astype(float)
    assert apart(drawn, ours) < 3
    return ours


def test_the_browser_draws_heat_as_python_does_and_a_press_held_long_shows_the_photo_and_chooses_nothing(visit, rec, subtests):
    page, mask = at_rest(visit("rollout?photo=dahlia")), rec.rollout()
    for theme in in_both(page):
        with subtests.test(theme):
            drawn = pixels(page.locator(GATHERED))
            ours = drawn_as_python_does(drawn, mask, rec)
            off = np.abs(brightness(drawn, mask.shape) - brightness(ours, mask.shape))
            assert off.mean() < 0.5 and off.max() < 4, "a pixel at a patch's edge is of both"
    heat = pixels(page.locator(GATHERED))
    photo = resize_for_figure(sharp_crop(rec.photo, rec.model_input)).convert("RGB").resize(heat.shape[1::-1])
    photo = np.asarray(photo).astype(float)
    page.locator(GATHERED).hover(position={"x": 90, "y": 90})
    page.mouse.down()
    assert apart(heat, photo) > 4
    comes_near(page, photo, 4)
    page.mouse.up()
    page.mouse.move(2, 2)
    comes_near(at_rest(page), heat, 1)  # the heat again
    assert "ask=" not in page.url, "no patch was asked"
    page.locator(GATHERED).focus()
    page.keyboard.down("p")
    comes_near(page, photo, 4)
    page.keyboard.up("p")
    comes_near(page, heat, 1)
    expect(page.locator(".st-key-gathered figcaption")).to_contain_text("hold P")
    page.locator(GATHERED).click(position={"x": 90, "y": 90})
    expect(page).to_have_url(re.compile("ask=true"))


def test_the_explorer_draws_it_so_too(visit, rec):
    page = at_rest(visit("attention?photo=dahlia&block=4&token=100"))
    lit = rec.grid.to_map(rec.maps[4][:, 100].astype(np.float32).mean(0))
    drawn_as_python_does(pixels(page.locator("canvas.lit")), lit, rec, correlation=0.9)


def test_the_paper_s_figure_stands_beside_its_photo_and_says_it_is_no_scale(visit):
    page = at_rest(visit("rollout?photo=dahlia&style=paper&compare=false"))
    expect(page.get_by_text("brightness is no scale", exact=False)).to_be_visible()
    photo, drawn = page.get_by_test_id("stImage").first, page.locator(".st-key-gathered canvas")
    boxes = photo.bounding_box(), drawn.bounding_box()
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"] and abs(boxes[0]["y"] - boxes[1]["y"]) < 40

"""Compare in a real browser: another B, another picture, both pointed at together, and the link that reopens it all."""

import re

import numpy as np
from playwright.sync_api import Page, expect
from wait_and_look import at_rest, figures_are_accessible, pick, pixels, resize, serious, too_wide, unfold

from app.state.preset_pairs import PRESET_PAIRS


def said(page: Page, key: str) -> str:
    return page.locator(f".st-key-{key} figcaption").inner_text()


def test_choose_b_switch_the_picture_point_and_share(visit, subtests):
    page = at_rest(visit("compare", width=390, height=844))
    assert too_wide(page) <= 1
    figures_are_accessible(resize(page, 1440, 1000), subtests)
    far = unfold(page, page.get_by_role("combobox", name="B", exact=True), "ViT-Ti/16")
    expect(far).to_have_attribute("data-far", "23 MB download")
    far.click()
    expect(page.get_by_text("B did not change: The same, with random weights.")).to_be_visible()  # no hub is reached
    assert not re.search("[?&]b=", at_rest(page).url), "nor has the address what could not be had"
    pick(at_rest(page), page.get_by_role("combobox", name="B", exact=True), "The same, with another input")
    expect(page).to_have_url(re.compile("b=The"))
    at_rest(page).get_by_role("button", name="Settings").click()
    pick(page, page.get_by_role("combobox", name="Input of B"), "64 px")
    page.keyboard.press("Escape")
    at_rest(page).get_by_role("button", name="How to read this").click()
    expect(page.get_by_text("Resampled", exact=False)).to_be_visible()
    page.keyboard.press("Escape")
    at_rest(page).get_by_role("radio", name="attention", exact=True).click()
    at_rest(page)
    page.locator(".st-key-b_map canvas").hover(position={"x": 100, "y": 60})
    places = [said(page, key).split(" px")[0] for key in ("a_map", "b_map", "differ")]
    assert places[0].startswith("patch") and len(set(places)) == 1, "pointed at together"
    numbers = page.locator("[data-testid=stMetricValue]").all_inner_texts()
    assert serious(page) == []
    theirs = at_rest(visit(page.url))
    expect(theirs.get_by_role("radio", name="attention", exact=True)).to_be_checked()
    expect(theirs.get_by_role("heading", name="B · Inside ViT Ti/8 · 128 px, given 64 px")).to_be_visible()
    assert theirs.locator("[data-testid=stMetricValue]").all_inner_texts() == numbers
    card, main = theirs.locator("[class*=st-key-pair_own_random]"), theirs.get_by_test_id("stMain")
    card.get_by_role("img", name="rollout").scroll_into_view_if_needed()
    x, y, *_ = card.get_by_role("img").bounding_box().values()
    assert main.evaluate("m => m.scrollTop") > 0
    theirs.mouse.click(x + 9, y + 9)  # on its picture: the whole card is the button
    expect(theirs).not_to_have_url(re.compile("another"))
    expect(theirs.get_by_role("radio", name="attention", exact=True)).to_be_checked()  # a kind that was chosen stays
    assert at_rest(theirs).get_by_test_id("stMain").evaluate("m => m.scrollTop") == 0, "what was chosen is seen"
    drawn = theirs.locator("[class*=st-key-pair_] img").evaluate_all("all => all.filter(e => e.naturalWidth === 412).length")
    assert drawn == len(PRESET_PAIRS)
    theirs.get_by_role("button", name="Supervised and DINOv2").press("Enter")
    expect(theirs.get_by_text("B did not change: The same, with random weights.")).to_be_visible()  # no dead click: no hub here


def test_a_curtain_is_drawn_by_mouse_finger_and_keys(visit):
    """Left of it is A's map, right of it B's, to the pixel; what is pointed at is read in both."""
    page = at_rest(visit("compare?view=curtain", width=1440, height=900))
    curtain, picture = page.get_by_role("slider", name="Curtain between A and B"), page.locator(".st-key-both_maps canvas")
    curtain.press("End")
    only_a = both_maps(page)
    curtain.press("Home")
    only_b = both_maps(page)
    assert not np.array_equal(only_a, only_b)
    box = picture.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 3, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"] + 3, middle, steps=4)
    page.mouse.up()
    expect(curtain).to_have_attribute("aria-valuenow", re.compile("^(69|70|71)$"))
    both, edge = both_maps(page), round(0.7 * only_a.shape[1])
    assert np.array_equal(both[:, : edge - 12], only_a[:, : edge - 12]) and np.array_equal(
        both[:, edge + 12 :], only_b[:, edge + 12 :]
    )
    curtain.press("ArrowLeft")
    expect(curtain).to_have_attribute("aria-valuenow", re.compile("^(67|68|69)$"))
    wire, there = page.context.new_cdp_session(page), curtain.bounding_box()
    x = there["x"] + there["width"] / 2
    for kind, at in (("touchStart", x), ("touchMove", x - 50), ("touchMove", x - 0.3 * box["width"])):
        wire.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": at, "y": middle}]})
    wire.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(curtain).to_have_attribute("aria-valuenow", re.compile("^3[6-9]$|^40$"))
    picture.hover(position={"x": 20, "y": 60})
    expect(page.locator(".st-key-both_maps figcaption")).to_have_text(re.compile(r"^patch \d+ .*A [\d.]+\s% .*B [\d.]+\s%"))
    assert serious(page) == []
    resize(page, 390, 844)
    assert too_wide(page) <= 1


def both_maps(page: Page) -> np.ndarray:
    """What is drawn on the picture with the curtain, when nothing is pointed at."""
    page.mouse.move(5, 5)
    return pixels(at_rest(page).locator(".st-key-both_maps canvas"))


def test_a_second_photo_is_chosen_and_shared(visit):
    page = at_rest(visit("compare?photo=cat", width=1440, height=900))
    pick(page, page.get_by_role("combobox", name="Photo of B"), "Espresso")
    expect(
        page.get_by_role("heading", name="B · Espresso · Inside ViT Ti/8 · 128 px", exact=True)
    ).to_be_visible()  # no random weights
    for part in ("photo=Chelsea", "b_photo=Espresso", "b=The"):
        expect(page).to_have_url(re.compile(rf"[?&]{part}"))
    at_rest(page).locator(".st-key-b_map canvas").hover(position={"x": 100, "y": 60})
    places = [said(page, key).split(" px")[0] for key in ("a_map", "b_map")]
    assert places[0].startswith("patch") and len(set(places)) == 1, "the same place of both inputs"
    theirs = at_rest(visit(page.url, width=390, height=844))
    expect(theirs.get_by_role("heading", name="A · Chelsea the cat", exact=False)).to_be_visible()
    maps = [pixels(theirs.locator(f".st-key-{key} canvas")) for key in ("a_map", "b_map")]
    assert maps[0].shape == maps[1].shape and not np.array_equal(*maps) and serious(theirs) == [] and too_wide(theirs) <= 1

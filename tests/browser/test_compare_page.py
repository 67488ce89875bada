"""Compare in a real browser: another B, another picture, both pointed at together, and the link that reopens it all."""

import re

from looking import at_rest, pick, resize, serious, too_wide, unfold
from playwright.sync_api import Page, expect


def said(page: Page, key: str) -> str:
    return page.locator(f".st-key-{key} figcaption").inner_text()


def test_choose_b_switch_the_picture_point_and_share(visit):
    page = at_rest(visit("compare", width=390, height=844))
    assert too_wide(page) <= 1
    resize(page, 1440, 1000)
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
    pick(at_rest(page), page.get_by_role("combobox", name="Picture"), "attention")
    at_rest(page)
    page.locator(".st-key-b_map canvas").hover(position={"x": 100, "y": 60})
    places = [said(page, key).split(" px")[0] for key in ("a_map", "b_map", "differ")]
    assert places[0].startswith("patch") and len(set(places)) == 1, "pointed at together"
    numbers = page.locator("[data-testid=stMetricValue]").all_inner_texts()
    assert serious(page) == []
    theirs = at_rest(visit(page.url))
    expect(theirs.get_by_role("combobox", name="Picture")).to_have_value("attention")
    expect(theirs.get_by_role("heading", name="B · Inside ViT Ti/8 · 128 px, given 64 px")).to_be_visible()
    assert theirs.locator("[data-testid=stMetricValue]").all_inner_texts() == numbers
    theirs.get_by_role("button", name="Ready pairs").click()
    theirs.get_by_role("button", name="Before it learned anything").click()
    expect(theirs.get_by_test_id("stPopoverBody")).to_have_count(0)  # it would cover what was chosen
    expect(theirs).not_to_have_url(re.compile("another"))

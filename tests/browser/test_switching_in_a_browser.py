"""Switch off in a real browser: parts are switched by mouse and keys, every head is tried, and a link shows it again."""

import re

from playwright.sync_api import Page, expect
from wait_and_look import at_rest, copied, figures_are_accessible, resize, shows_the_photo_while_held, too_wide


def told(page: Page, words: str) -> None:
    """Python has answered, and says so."""
    expect(page.locator("figure:not(.waiting) .told")).to_contain_text(words)
    at_rest(page)


def test_switch_off_try_every_head_and_send_the_link(visit, subtests):
    page = at_rest(visit("switch"))
    told(page, "Nothing is off.")
    shows_the_photo_while_held(page, "figure canvas[data-when=before]:visible >> nth=0")
    figures_are_accessible(page, subtests)
    page.get_by_role("switch", name="Layer 2, head 0").click()
    told(page, "1 part is off.")
    expect(page).to_have_url(re.compile("off=L2H0"))
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    told(page, "2 parts are off.")
    expect(page.get_by_role("switch", name="Layer 3, attention")).not_to_be_checked()
    page.get_by_role("switch", name="Class token").click()
    told(page, "3 parts are off.")
    page.get_by_role("button", name="Try every head").click()
    expect(page.locator(".named")).to_contain_text(re.compile(r"Head \d of layer \d+ matters most"))
    strongest = page.locator(".cell.strongest")
    expect(strongest).to_have_count(1)
    strongest.hover()
    expect(page.locator(".pointed")).to_contain_text(re.compile(r"falls by \d"))
    at_rest(page)
    other = at_rest(visit(copied(page)))
    told(other, "3 parts are off.")
    assert other.locator(".told").text_content() == page.locator(".told").text_content()
    expect(other.locator(".named")).to_have_text(page.locator(".named").text_content())
    page.get_by_role("button", name="All on").click()
    told(page, "Nothing is off.")
    assert too_wide(resize(page, 390, 844)) <= 1

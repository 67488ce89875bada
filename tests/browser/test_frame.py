"""The frame of every page in a real browser: the rooms and their pages, what stands in sight, and what is done anywhere."""

import pytest
from looking import at_rest, follow, resize, too_wide
from playwright.sync_api import Locator, expect

from app import texts
from app.menu import PAGES, ROOMS

NAMES = texts.prose("menu", "en")


def named(links: Locator) -> list[str]:
    """What links say, without their icons."""
    return links.filter(visible=True).locator("p").all_inner_texts()


def test_seven_rooms_and_the_pages_of_each_in_one_row(visit, subtests):
    page = at_rest(visit("filters"))
    menu = page.get_by_test_id("stSidebarNav").get_by_role("link")
    assert named(menu) == [NAMES[f"room {room}"] for room in ROOMS] and len(ROOMS) == 7
    for slug in ("filters", "story", "outliers", "bring", "quiz"):
        with subtests.test(slug):
            at_rest(follow(page, slug))
            room = next(row.room for row in PAGES if row.slug == slug)
            assert named(page.locator("[data-testid=stSidebarNavLink][aria-current]")) == ([NAMES[f"room {room}"]] if room else [])
            names = [NAMES[row.slug] for row in ROOMS.get(room, [])]
            row = page.locator(".st-key-room")
            assert named(row.locator("a")) == (names if len(names) > 1 else [])
            if len(names) > 1:
                assert named(row.locator("a[aria-current=page]")) == [NAMES[slug]]
                title, below = page.get_by_role("heading", level=1).bounding_box(), row.bounding_box()
                assert below["y"] + below["height"] - title["y"] - title["height"] <= 44
    at_rest(follow(page, "attention"))
    page.get_by_role("heading", level=1).click()
    page.locator(".st-key-room a").filter(visible=True).first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(NAMES["outliers"])


def test_a_phone_has_the_rooms_in_its_menu_and_the_page_shown_in_sight(visit):
    page = at_rest(visit("distance", width=390, height=844))
    expect(page.locator(".st-key-room a[aria-current=page]").filter(visible=True)).to_be_in_viewport(ratio=1)
    assert too_wide(page) <= 1
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=NAMES["room attention"]).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(NAMES["attention"])
    expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")


@pytest.mark.parametrize("slug", ["patches", "train"])
def test_photo_model_and_language_are_in_sight_without_scrolling(visit, slug):
    page = at_rest(visit(slug, width=1440, height=900))
    foot = page.locator(".st-key-foot").bounding_box()
    expect(page.locator(".st-key-lang")).to_be_in_viewport(ratio=1)
    for key in ("photo", "model") if slug == "patches" else ():
        box = page.locator(f".st-key-{key}").bounding_box()
        assert box["y"] + box["height"] <= foot["y"]
    resize(page, 390, 844)
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(page.locator(".st-key-lang")).to_be_in_viewport(ratio=1)

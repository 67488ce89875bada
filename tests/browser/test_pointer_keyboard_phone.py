"""The app in a real browser: what only a person with a pointer, a keyboard, a phone or a screen reader would find."""

import re

import numpy as np
import pytest
from picture_files import SVG, corners, saved
from PIL import Image
from playwright.sync_api import Page, expect
from wait_and_look import (
    FOCUSED,
    LONG_MS,
    at_rest,
    canvas,
    changed,
    copied,
    drawn,
    figures_are_accessible,
    follow,
    in_both,
    number,
    resize,
    serious,
    slider,
    too_wide,
)

from app import texts
from app.menu import PAGES, ROOMS
from vitcore.figures.theme_colours import INK_COLOURS, hex_to_rgb

LOOKING = [row for row in PAGES if row.uses_model]  # the others are in test_training.py
SLUGS = ["", *[row.slug for row in LOOKING[1:]]]  # the first page's address is the root
NAMES = texts.prose("menu", "en")
OTHERS = {"", *"live story attention tokens rollout cover switch maptests compare report quiz".split()}  # they ask axe
ENOUGH = 4.5  # of contrast is what WCAG asks of words (AA)


def touch(page: Page, row: int, col: int, rows: int = 16, cols: int = 16, *, click: bool = True) -> None:
    """Point at a patch, and choose it."""
    box = canvas(page).bounding_box()
    where = {"x": (col + 0.5) / cols * box["width"], "y": (row + 0.5) / rows * box["height"]}
    (canvas(page).click if click else canvas(page).hover)(position=where)


def choose(page: Page, option: str) -> None:
    page.get_by_role("radio", name=option, exact=True).click()


def bring(page: Page, name: str, mime: str, data: bytes) -> None:
    """Drop in a photo."""
    page.get_by_role("tab", name="Upload").click()
    page.locator("[data-testid=stSidebar] input[type=file]").set_input_files({"name": name, "mimeType": mime, "buffer": data})


def test_bring_a_photo_and_follow_a_patch_and_a_link_says_what_it_cannot_carry(visit):
    page = at_rest(visit("patches"))
    before = drawn(page)
    photo = Image.fromarray(np.random.default_rng(0).integers(0, 256, (300, 300, 3), np.uint8))
    bring(page, "mine.jpg", "image/jpeg", saved(photo, "JPEG"))
    mine = changed(page, before)
    expect(page.get_by_role("combobox", name="Photo")).to_have_value("Your photo")
    expect(page.get_by_role("tab", name="Upload")).to_have_attribute("aria-selected", "true")
    again = at_rest(visit(the_link_that_lacks_the_photo(page)))
    expect(again.get_by_role("combobox", name="Photo")).to_have_value("Red panda")
    touch(page, 2, 5)
    expect(number(page, "Patch")).to_have_value("37")
    expect(page.get_by_text("Patch 37: row 2, column 5").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"patch=37"))
    assert not np.array_equal(changed(page, mine), mine), "the chosen patch is outlined"
    touch(page, 15, 0, click=False)
    expect(page.locator("figcaption")).to_contain_text("patch 240 · row 15, column 0 · x 0–7, y 120–127 px")
    page.get_by_label("Shuffle the patches").click(force=True)
    page.get_by_text("Show the answer").click()
    expect(page.get_by_role("figure", name="Patches shuffled, position embeddings move along: top 5")).to_be_visible()
    expect(page.locator("figcaption")).to_contain_text(": patch 37 · row 2, column 5")
    for slug in ("rollout", "", "patches"):  # the photo stays from page to page
        follow(page, slug or "overview")
        expect(page.get_by_role("combobox", name="Photo")).to_have_value("Your photo")
    expect(number(page, "Patch")).to_have_value("37")
    page.get_by_test_id("stMain").get_by_role("link", name="Make a handout").click()
    expect(page.frame_locator("iframe").get_by_role("heading", level=1)).to_have_text("mine.jpg", timeout=LONG_MS)


def the_link_that_lacks_the_photo(page: Page) -> str:
    """What is copied; the page says that the photo is not in it, and offers the handout."""
    places = "[...document.querySelectorAll('h1, .st-key-share, canvas')].map(e => e.getBoundingClientRect().y)"
    before = at_rest(page).evaluate(places)
    address = copied(page)
    said = page.locator(".st-key-copy_link output")
    expect(said).to_contain_text(texts.prose("report", "en")["lacks photo"])
    assert page.evaluate(places) == before, "nothing gives way to what is said"
    box = said.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 1440
    assert serious(page) == []
    page.keyboard.press("Escape")
    expect(said).to_have_text("")
    return address


def test_pages_opened_in_quick_succession_over_a_slow_line_come(visit):
    """Where messages are replaced by references to those that the browser has kept, it has thrown some away before the answer."""
    page = at_rest(visit("patches"))
    page.evaluate("window.lag = 600")  # ms
    links = page.get_by_test_id("stSidebarNav").get_by_role("link")
    for room in ("learn", "paper", "why") * 2:
        links.filter(has_text=NAMES[f"room {room}"]).evaluate("link => link.click()")
        page.wait_for_timeout(100)  # the next is asked for before this one has come
    expect(page.get_by_role("heading", level=1)).to_have_text(NAMES["rollout"])
    at_rest(page)
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert drawn(page).any()


def test_a_photo_and_a_choice_of_light_or_dark_outlive_a_reload(visit, server):
    page = at_rest(visit("filters"))
    at_rest(follow(page, "patches"))  # Streamlit keeps the choice for the address that the tab began with
    photo = Image.fromarray(np.random.default_rng(1).integers(0, 256, (300, 300, 3), np.uint8))
    before = drawn(page)
    bring(page, "holiday.jpg", "image/jpeg", saved(photo, "JPEG"))
    mine = changed(page, before)
    page.get_by_role("button", name="Dark", exact=True).click()
    expect(page.locator("html")).to_have_attribute("data-mode", "dark")
    at_rest(page)
    for _ in range(2):
        at_rest(page).reload()
        expect(page.get_by_role("combobox", name="Photo")).to_have_value("Your photo")
        expect(page.locator("html")).to_have_attribute("data-mode", "dark")
        assert np.array_equal(drawn(at_rest(page)), mine)
        assert page.get_by_test_id("stMain").get_by_text("is not here").count() == 0
    held = page.evaluate("sessionStorage.getItem('inside-vit-visit')")
    assert held not in page.url
    assert held not in {cookie["value"] for cookie in page.context.cookies()}, "what was shown at the door is put away"
    for slug in ("", "filters"):  # each an address of its own to Streamlit
        page.goto(f"{server}/{slug}")
        expect(page.locator("html")).to_have_attribute("data-mode", "dark")
    other = page.context.new_page()  # of the same browser: its choice of light or dark, not this tab's photo
    other.goto(page.url.replace("filters", "patches?photo=your-photo"))
    expect(other.get_by_text("The photo of this link is not here.")).to_be_visible()
    expect(other.locator("html")).to_have_attribute("data-mode", "dark")
    at_rest(other).get_by_role("button", name="Light", exact=True).click()
    expect(other.locator("html")).to_have_attribute("data-mode", "light")
    at_rest(page).reload()
    expect(page.locator("html")).to_have_attribute("data-mode", "light")


def test_what_cannot_be_shown_is_said_and_the_picture_stays_until_there_is_another(visit):
    page = at_rest(visit("patches"))
    before = drawn(page)
    for name, mime, data, said in (
        ("drawing.svg", "image/svg+xml", SVG, "drawing.svg is an SVG or HTML drawing"),
        ("te_x*t*.jpg", "image/jpeg", b"hello", "te_x*t*.jpg is not a picture"),
        ("cut.jpg", "image/jpeg", saved(corners((400, 300)), "JPEG")[:-400], "cut.jpg is damaged"),
    ):
        bring(page, name, mime, data)
        alert = page.get_by_test_id("stAlert")
        expect(alert).to_have_count(1)
        expect(alert).to_contain_text(said)
        assert np.array_equal(drawn(at_rest(page)), before)
        expect(page.get_by_role("combobox", name="Photo")).to_have_value("Red panda")
    page.get_by_role("tab", name="Gallery").click()
    page.get_by_role("button", name="Espresso").click()
    espresso = changed(page, before)
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    expect(page).to_have_url(re.compile("photo=Espresso"))
    at_rest(page).get_by_role("tab", name="Camera").click()
    page.get_by_label("Use the camera").click(force=True)
    page.wait_for_function("document.querySelector('video')?.readyState === 4")  # the camera has warmed up
    page.get_by_role("button", name="Take Photo").click()
    changed(page, espresso)
    expect(page.get_by_role("combobox", name="Photo")).to_have_value("Your photo")
    expect(page.get_by_role("button", name="Clear photo")).to_be_visible()  # the tab is still the camera's


def test_the_keyboard_is_enough(visit):
    page = at_rest(visit("patches"))
    reached = []
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.append(" ".join(page.evaluate(FOCUSED)))
    assert any(name.startswith("CANVAS") for name in reached)
    names = " | ".join(reached)
    own = "Photo", "Model", "Gallery", "Red panda", "Gap, model pixels", "Patch", "Shuffle the patches"
    for control in (*own, *(NAMES[f"room {room}"] for room in ROOMS), *(NAMES[row.slug] for row in ROOMS["look"])):
        assert control in names, f"{control} can't be reached: {names}"
    canvas(page).focus()
    for key in ("ArrowUp", "ArrowUp", "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.locator("figcaption")).to_contain_text("patch 103 · row 6, column 7")
    expect(number(page, "Patch")).to_have_value("136")
    page.keyboard.press("Enter")
    expect(number(page, "Patch")).to_have_value("103")
    expect(page.get_by_text("Patch 103: row 6, column 7").first).to_be_visible()
    at_rest(page)
    page.keyboard.press("ArrowDown")  # the focus is still where it was
    page.keyboard.press("Space")
    expect(number(page, "Patch")).to_have_value("119")


def test_heads_a_patch_and_the_link(visit):
    """Change head fusion, ask a patch; a link opens the same picture for somebody else."""
    page = at_rest(visit("rollout"))
    first = drawn(page)
    page.get_by_role("button", name="Settings").first.click()
    choose(page, "maximum")
    page.keyboard.press("Escape")
    fused = changed(page, first)
    expect(page).to_have_url(re.compile("fusion=max"))
    touch(page, 4, 9)
    expect(number(page, "Patch")).to_have_value("73")
    expect(page.get_by_role("heading", name="Rollout of patch 73")).to_be_visible()
    asked = changed(page, fused)
    page.get_by_role("tab", name="Gallery").click()
    page.get_by_role("button", name="Espresso").click()
    changed(page, asked)
    page.mouse.move(5, 5)
    page.get_by_role("button", name="Settings").first.click()
    slider(page, "Discard the weakest, %").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("discard=3"))
    page.locator("body").press("Escape")
    mine = drawn(at_rest(page))
    theirs = at_rest(visit(page.url))
    assert np.abs(drawn(theirs).astype(int) - mine).max() <= 2
    for each in (page, theirs):
        each.get_by_role("button", name="Settings").first.click()
    for label in ("Discard the weakest, %", "Residual weight, %", "First layer"):
        assert slider(theirs, label).input_value() == slider(page, label).input_value()
    expect(number(theirs, "Patch")).to_have_value("73")
    expect(theirs.get_by_role("radio", name="maximum", exact=True)).to_be_checked()
    expect(theirs.get_by_role("combobox", name="Photo")).to_have_value("Espresso")


def test_light_and_dark(visit):
    """Both can be read, and a page that is open follows when the screen changes."""
    ink = "getComputedStyle(document.querySelector('.stPlotlyChart .annotation-text')).fill"
    paper = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    title = "getComputedStyle(document.querySelector('[data-testid=stMain] strong')).color"
    soft = f"rgb{hex_to_rgb(INK_COLOURS['light']['soft'])}"

    def contrast(page: Page, words: str) -> float:
        def luminance(colour: str) -> float:
            light = [int(v) / 255 for v in re.findall(r"\d+", colour)[:3]]
            linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in light]
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

        low, high = sorted((luminance(page.evaluate(words)), luminance(page.evaluate(paper))))
        return (high + 0.05) / (low + 0.05)

    page = at_rest(visit("patches", theme="dark"))
    page.wait_for_selector(".stPlotlyChart .annotation-text")
    assert page.evaluate(paper) == "rgb(12, 15, 21)"
    assert contrast(page, ink) > ENOUGH and contrast(page, title) > 7
    picture = drawn(page)
    page.emulate_media(color_scheme="light")
    page.wait_for_function(f"{ink} === '{soft}'")
    at_rest(page)
    assert page.evaluate(paper) == "rgb(251, 250, 247)" and contrast(page, ink) > ENOUGH and contrast(page, title) > 7
    assert np.array_equal(drawn(page), picture), "a colour means the same in light and dark"


@pytest.mark.parametrize("slug", [slug for slug in SLUGS if slug not in OTHERS])
def test_a_page_is_accessible_and_fits_a_phone(visit, slug, subtests):
    """The pages that have no file of their own here, and the sidebar's tabs."""
    page = at_rest(visit(f"{slug}?shuffle=true"))
    figures_are_accessible(page, subtests)
    for theme in in_both(page) if slug == "patches" else ():
        for tab in ("Upload", "Camera", "Gallery"):
            page.get_by_role("tab", name=tab).click()
            with subtests.test(tab, theme=theme):
                at_rest(page)
                assert serious(page, "[data-testid=stSidebar]", theme=theme) == []
    assert too_wide(resize(page, 390, 844)) <= 1
    if slug == "positions":
        touch(page, 3, 3)
        expect(number(page, "Position")).to_have_value("51")


def test_a_patch_is_touched_and_the_menu_opened_on_a_phone(visit, server):
    """That no page scrolls sideways there is asked where each of them is tested."""
    page = visit("about:blank", width=390, height=844)
    for slug in ("patches", "rollout"):
        page.goto(f"{server}/{slug}?ask=true")
        assert too_wide(at_rest(page)) <= 1
        touch(page, 3, 3)
        expect(number(page, "Patch")).to_have_value("51")
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("combobox", name="Model").scroll_into_view_if_needed()
    assert page.evaluate("document.documentElement.scrollWidth") <= 391


def test_a_nonsense_address_shows_the_page_it_names_and_what_cannot_be_had_changes_nothing(visit):
    page = at_rest(visit("rollout?photo=nobody&cls=&query=1e400&first=-7&fusion=sum&ask=true&style=%00"))
    expect(page.get_by_role("heading", level=1)).to_have_text(NAMES["rollout"])
    expect(number(page, "Patch")).to_have_value("136")
    expect(page).not_to_have_url(re.compile("1e400|photo=nobody|cls|sum|first"))
    at_rest(page).reload()  # what is missing is said again, and to whom the address is sent
    expect(page.get_by_text("No photo here is called nobody.")).to_be_visible()
    at_rest(page).get_by_role("button", name="Go on without it").click()
    expect(page).not_to_have_url(re.compile("nobody"))
    at_rest(page)
    before = drawn(page)
    box = page.get_by_role("combobox", name="Model")
    box.fill("no_such_model")
    box.press("Enter")
    alert = page.get_by_test_id("stAlert")
    expect(alert).to_contain_text("timm has no trained model named 'no_such_model'")
    expect(alert).to_contain_text("The app stays on Inside ViT Ti/8")
    assert np.array_equal(drawn(at_rest(page)), before)
    expect(page.get_by_role("button", name="Try again")).to_be_visible()

"""Lecture mode in a real browser: what is seen and what is not, ways in and out, pickers and pages at hand."""

import re

import pytest
from playwright.sync_api import Page, expect
from wait_and_look import at_rest, canvas, changed, drawn, in_both, resize, serious, settled, too_wide

from tests.benchmarks.first_screen_layout import LEAST_LONGEST, LEAST_SHARE, LOOK, figures

SIZE = "parseFloat(getComputedStyle(document.documentElement).fontSize)"
GROWN = "parseFloat(getComputedStyle(document.querySelector('.stPlotlyChart .xtitle')).fontSize) > 15"  # figures too, from 12
ENDS = "h => { const words = document.createRange(); words.selectNodeContents(h); return words.getBoundingClientRect().right }"


def chrome_is_hidden(page: Page) -> None:
    for name in ("stSidebar", "stHeader", "stToolbar"):
        expect(page.get_by_test_id(name).first).to_be_hidden()


def test_into_a_lecture_and_out_again(visit):
    page = at_rest(visit("patches"))
    assert page.evaluate(SIZE) == 16
    for asked, now in (("Dark", "dark"), ("Light", "light")):  # at a desk, too
        page.get_by_role("button", name=asked, exact=True).click()
        expect(page.locator("html")).to_have_attribute("data-mode", now)
        expect(page.get_by_test_id("stMainMenuPopover")).to_have_count(0)
    at_rest(page)
    narrow = canvas(page).bounding_box()["width"]
    page.get_by_test_id("stMain").evaluate("e => e.scrollTo(0, 500)")
    page.get_by_role("switch", name="Lecture mode").click(force=True)
    expect(page).to_have_url(re.compile("lecture=true"))
    chrome_is_hidden(page)
    hint = page.locator("div:has(> .st-key-by_keys_here)")
    hint.evaluate("e => { const [goes] = e.getAnimations(); goes.pause(); goes.currentTime = 0 }")
    expect(page.get_by_text("Escape leaves the lecture")).to_be_in_viewport(ratio=1)
    hint.evaluate("e => e.getAnimations()[0].play()")
    expect(hint).to_be_hidden()  # by itself
    assert at_rest(page).get_by_test_id("stMain").evaluate("e => e.scrollTop") == 0, "it begins with the title"
    assert page.evaluate(SIZE) >= 20
    at_rest(page)
    assert canvas(page).bounding_box()["width"] > narrow
    canvas(page).click()  # the focus is in a component
    page.get_by_test_id("stMain").evaluate("e => e.scrollTo(0, e.scrollHeight)")
    expect(page.locator(".st-key-bar")).not_to_be_in_viewport()  # it covers nothing that is read
    page.get_by_test_id("stMain").evaluate("e => e.scrollTo(0, 0)")
    page.locator(".st-key-bar").get_by_role("link", name="Embedding filters").hover()
    expect(page.get_by_role("tooltip")).to_be_visible()
    page.keyboard.press("PageDown")  # as a presenter's clicker
    expect(page.get_by_role("heading", level=1)).to_have_text("Embedding filters")
    expect(at_rest(page).get_by_role("tooltip")).to_have_count(0)  # of what the pointer lay on before
    expect(page.get_by_text("Escape leaves the lecture")).to_have_count(0)  # said once
    assert at_rest(page).get_by_test_id("stMain").evaluate("e => e.scrollTop") == 0, "a page begins at its top"
    page.keyboard.press("PageUp")
    expect(page.get_by_role("heading", level=1)).to_have_text("Patches")
    at_rest(page).get_by_test_id("stMain").focus()  # as a click on blank space does
    assert page.get_by_test_id("stMain").evaluate("e => getComputedStyle(e, '::before').content") == "none", "no frame"
    canvas(page).click()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    expect(page).not_to_have_url(re.compile("lecture"))
    assert at_rest(page).evaluate(SIZE) == 16
    assert page.get_by_test_id("stSidebarContent").evaluate("e => e.scrollTop") == 0, "to the pages, not to the switch"


HIDDEN = """() => { // titles whose words lie below the bar
  const bar = document.querySelector(".st-key-bar").parentElement, edge = bar.getBoundingClientRect()
  const all = root => [...root.querySelectorAll("*")].flatMap(e => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])])
  const words = e => { const range = document.createRange(); range.selectNodeContents(e); return [...range.getClientRects()] }
  const under = b => b.width && b.left < edge.right && b.right > edge.left && b.top < edge.bottom && b.bottom > edge.top
  const titles = all(document.querySelector("[data-testid=stMain]")).filter(e => e.matches("h1, h2, h3, p") && !bar.contains(e))
  return titles.filter(e => e.checkVisibility() && words(e).some(under)).map(e => e.innerText)
}"""


LARGE = {"attention", "bring", "cover", "learn", "live", "positions", "quiz"}  # pictures
TITLED = {"attention", "cover", "filters", "learn", "outliers", "paper", "quiz", "story", "tokens", ""}


def fills_a_projector(page: Page, slug: str) -> None:
    """At 1920 × 1080 the picture is large, and the bar hides no title."""
    row = figures(page.evaluate(LOOK), 0)
    assert slug not in LARGE or (row["longest"] >= LEAST_LONGEST and row["cut"] == 0), row
    page.mouse.move(300, 900)
    page.mouse.move(310, 905)
    expect(page.locator(".st-key-bar")).to_be_visible()
    assert slug not in TITLED or page.evaluate(HIDDEN) == []


@pytest.mark.parametrize("slug", sorted((LARGE | TITLED) - {"", "attention", "filters", "positions"}))  # which have tests below
def test_a_picture_fills_a_projector_and_the_bar_hides_no_title(visit, slug):
    fills_a_projector(at_rest(visit(f"{slug}?lecture=true", width=1920, height=1080)), slug)


INKS = {"light": ["rgb(255, 255, 255)", "rgb(0, 0, 0)"], "dark": ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]}  # paper, ink


def test_a_link_opens_a_lecture_with_full_contrast_and_the_bar_gives_way_to_a_pointer_that_rests_but_not_to_keys(visit, subtests):
    page = at_rest(visit("filters?lecture=true", width=1920, height=1080))
    chrome_is_hidden(page)
    for theme in in_both(page):
        with subtests.test(theme):
            colours = "e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).color]"
            assert page.locator("[data-testid=stApp]").evaluate(colours) == INKS[theme]
            caption = page.locator("[data-testid=stCaptionContainer] p").first
            assert caption.evaluate("e => getComputedStyle(e).color") == INKS[theme][1]
            page.wait_for_function(GROWN)
            assert serious(page, theme=theme) == []
    fills_a_projector(page, "filters")
    bar = page.locator("div:has(> .st-key-bar)")
    expect(page.locator("html")).to_have_attribute("data-idle", "")
    expect(bar).to_have_css("opacity", "0")
    page.keyboard.press("Tab")
    bar.get_by_role("button", name="Exit lecture").focus()
    expect(bar).to_have_css("opacity", "1")
    page.get_by_test_id("stMain").focus()
    expect(bar).to_have_css("opacity", "0")
    move = "x => document.dispatchEvent(new PointerEvent('pointermove', { movementX: x }))"
    moved = f"x => ({move})(x) && document.documentElement.dataset.idle"
    assert page.evaluate(moved, 0) == "", "a page that moves under the pointer is no hand at it"
    assert page.evaluate(moved, 3) is None
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    resize(page, 3840, 2160)
    assert page.evaluate(SIZE) > 24, "type grows with the screen"
    page.wait_for_function(GROWN)
    assert page.locator(".st-key-components").bounding_box()["width"] > 1.5 * 300, "and controls with a width in pixels"


def test_all_of_look_is_on_a_projectors_screen_and_numbers_fill_it_with_one_picture(visit):
    page = at_rest(visit("?lecture=true", width=1920, height=1080))
    page.locator(".heads .tile").first.wait_for()
    fills_a_projector(page, "")
    names = ("patches", "filters", "positions", "distance", "rollout")
    for name in names:
        expect(page.locator(f"section.{name}")).to_be_in_viewport(ratio=1)
    alone = page.locator("[data-alone]")
    for key, name in (("3", 3), ("PageDown", 4), ("ArrowRight", 5), ("ArrowLeft", 4), ("4", None), ("2", 2), ("0", None), ("5", 5)):
        page.keyboard.press(key)
        expect(alone).to_have_count(int(name is not None))
        if name is not None:
            expect(page.locator(f"section.{names[name - 1]}")).to_have_attribute("data-alone", "")
            settled(page, alone.bounding_box, lambda box: box and box["width"] > 1800 and box["height"] > 1000)
    page.keyboard.press("PageDown")  # past the last: on with the lecture
    expect(page).to_have_url(re.compile("/story"))
    assert page.evaluate("document.fullscreenElement") is None


def test_the_bar_leaves_the_longest_title_free(visit):
    page = at_rest(visit("positions?lecture=true", width=1920, height=1080))
    fills_a_projector(page, "positions")
    for width in (1280, 1440, 1600):
        ends = resize(page, width, 900).locator("h1").evaluate(ENDS)
        assert ends < page.locator(".st-key-bar").bounding_box()["x"], width


def test_the_whole_picture_is_on_the_screen_and_pages_pickers_and_the_way_out_are_in_the_bar(visit):
    page = at_rest(visit("patches?lecture=true", width=1920, height=1080))
    box, words = canvas(page).bounding_box(), page.get_by_text("A Transformer reads a sequence").bounding_box()
    assert box["y"] + box["height"] < 1080 < words["y"], "title, picture, then what is said of it"
    assert box["height"] >= 860, "it fills a projector"
    resize(page, 1440, 900)
    before = drawn(page)
    bar = page.locator(".st-key-bar")
    place = bar.bounding_box()
    assert place["y"] + place["height"] <= 900 and place["x"] + place["width"] <= 1440, "seen without scrolling"
    bar.get_by_role("button", name=re.compile("Red panda")).click()
    page.locator("[data-testid=stPopoverBody]").get_by_role("button", name="Espresso").click()
    expect(page.locator("[data-testid=stPopoverBody]")).to_have_count(0)
    expect(page).to_have_url(re.compile("photo=Espresso"))
    changed(page, before)
    bar.get_by_role("button", name=re.compile("Espresso")).click()
    expect(page.locator("[data-testid=stPopoverBody]")).to_be_visible()
    page.keyboard.press("Escape")  # at once, while what was touched before may still be answered
    expect(page.locator("[data-testid=stPopoverBody]")).to_have_count(0)
    at_rest(page)
    expect(page.locator("[data-testid=stPopoverBody]")).to_have_count(0)
    expect(page).to_have_url(re.compile("lecture=true"))  # it closed the popover, not the lecture
    bar.get_by_role("link", name="Embedding filters").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Embedding filters")
    chrome_is_hidden(page)
    page.locator(".st-key-bar").get_by_role("button", name="Dark").click()
    page.wait_for_function("document.documentElement.dataset.mode === 'dark'")
    expect(page.locator(".st-key-bar").get_by_role("button", name="Light")).to_be_visible()
    chrome_is_hidden(page)
    page.locator(".st-key-bar").get_by_role("button", name="Exit lecture").click()
    expect(page.get_by_test_id("stSidebar")).to_be_visible()


def test_notes_stay_folded_and_a_phone_goes_to_any_page_and_never_scrolls_sideways(visit, subtests):
    page = at_rest(visit("?lecture=true"))
    note = page.get_by_text("Ask the room first")
    expect(note).to_be_hidden()
    summary = page.get_by_text("Presenter's notes").locator("xpath=ancestor::summary")
    assert summary.evaluate("e => getComputedStyle(e, '::after').rotate") == "45deg", "an arrow says that it opens"
    summary.click()
    expect(note).to_be_visible()
    resize(page, 390, 844)
    for title in ("Look", "Patches", "Attention distance", "Watch it learn"):
        with subtests.test(title):
            bar = page.locator(".st-key-bar")
            if title != "Look":
                bar.locator(".st-key-to_page button").click()
                page.get_by_role("menuitem", name=title, exact=True).click()
            expect(page.get_by_role("heading", level=1)).to_have_text(title)
            assert too_wide(at_rest(page)) <= 1
            assert bar.evaluate("e => e.scrollWidth - e.clientWidth") <= 1, "all that is in the bar is seen"
            expect(bar.get_by_role("button", name="Exit lecture")).to_be_in_viewport(ratio=1)


BIG = """() => [...document.querySelectorAll("[data-testid=stMain] *")]
  .flatMap(e => [e, ...(e.shadowRoot?.querySelectorAll("*") ?? [])])
  .filter(e => e.matches("canvas, img, svg")).map(e => e.getBoundingClientRect())
  .filter(b => b.width > 120 && b.height > 120 && b.bottom < innerHeight)
  .map(b => [b.left + b.width / 2, b.top + b.height / 2])[0]"""
WHOLE = """() => { // of a component the document knows the host alone
  let whole = document.fullscreenElement
  while (whole?.shadowRoot?.fullscreenElement) whole = whole.shadowRoot.fullscreenElement
  return whole && whole.getBoundingClientRect().width >= innerWidth
}"""


def test_f_fills_the_screen_with_every_kind_of_picture_and_a_button_names_the_keys(visit, server, subtests):
    page = visit("about:blank")
    for slug in ("filters", "learn", "bring"):  # a chart of Streamlit's, one of ours, a picture in a list
        with subtests.test(slug):
            page.goto(f"{server}/{slug}")
            at_rest(page).wait_for_function(BIG)
            for pointed in (True, False):  # at a picture; or at none, which takes the largest in sight
                page.mouse.move(*(page.evaluate(BIG) if pointed else (2, 2)))
                page.keyboard.press("f")
                page.wait_for_function(WHOLE)
                page.keyboard.press("f")
                page.wait_for_function("!document.fullscreenElement")
    resize(page, 1920, 1080)
    page.get_by_role("switch", name="Lecture mode").click(force=True)
    page.mouse.move(900, 500)
    page.locator(".st-key-bar").get_by_role("button", name="Keys").click()
    expect(page.get_by_role("dialog")).to_contain_text("the picture under the pointer")


def test_the_photo_of_the_explorer_is_as_high_as_the_full_screen_allows(visit):
    page = at_rest(visit("attention?lecture=true", width=1920, height=1080))
    fills_a_projector(page, "attention")
    canvas(page).hover()
    page.keyboard.press("f")
    page.wait_for_function("document.fullscreenElement")
    at_rest(page)
    assert 0.88 * 1080 < canvas(page).bounding_box()["height"] < 1080
    for key in ("2", "Shift+ArrowRight"):
        canvas(page).press(key)
    expect(page).to_have_url(re.compile("region="))
    page.keyboard.press("Escape")  # leaves the full screen alone
    page.wait_for_function("!document.fullscreenElement")
    expect(page.locator(".most").first).to_contain_text("Region of 2 patches")
    expect(at_rest(page)).to_have_url(re.compile("lecture=true.*(one_head=2.*region=|region=.*one_head=2)"))


@pytest.mark.parametrize("slug", ["attention", "compare", "cover", "learn", "positions", "quiz", "story", "switch"])
def test_pictures_hold_most_of_a_short_screen(visit, slug):
    page = visit(slug, width=1280, height=720)
    for size in ((1280, 720), (1024, 768))[: 2 if slug in ("positions", "story") else 1]:
        row = figures(resize(page, *size).evaluate(LOOK), 0)
        assert row["share"] >= LEAST_SHARE and row["cut"] == 0, (size, row)


@pytest.mark.parametrize(("slug", "sizes"), [("rollout", [(1280, 720), (1440, 900)]), ("paper", [(1280, 720)])])
def test_how_to_read_a_picture_opens_below_its_button_not_over_the_picture(visit, slug, sizes):
    page = visit(slug, width=1280, height=720)
    for size in sizes:
        button = resize(page, *size).get_by_test_id("stMain").get_by_role("button", name=re.compile("How to read")).first
        button.click()
        body = page.get_by_test_id("stPopoverBody")
        body.wait_for()
        page.wait_for_function("() => !document.getAnimations().some(a => a.playState === 'running')")
        expect(body).to_be_in_viewport(ratio=0.95)
        below = button.bounding_box()
        page.wait_for_timeout(200)
        assert body.bounding_box()["y"] >= below["y"] + below["height"] - 1, size
        page.keyboard.press("Escape")
        expect(body).to_have_count(0)

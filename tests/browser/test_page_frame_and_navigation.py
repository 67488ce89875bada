"""The frame of every page in a real browser: the rooms and their pages, what stands in sight, and what is done anywhere."""

import base64
import re

import pytest
from picture_files import corners, saved
from playwright.sync_api import Locator, Page, expect
from wait_and_look import at_rest, changed, drawn, follow, resize, settled, too_wide

from app import texts
from app.menu import PAGES, ROOMS

NAMES = texts.prose("menu", "en")


def named(links: Locator) -> list[str]:
    """What links say, without their icons."""
    return links.filter(visible=True).locator("p").all_inner_texts()


def test_seven_rooms_and_below_one_its_pages(visit, subtests):
    page = at_rest(visit("filters"))
    menu = page.get_by_test_id("stSidebarNavLink")
    row = page.locator(".st-key-room")
    assert len(ROOMS) == 7
    for slug in ("filters", "story", "outliers", "bring", "quiz"):
        with subtests.test(slug):
            at_rest(follow(page, slug))
            room = next(row.room for row in PAGES if row.slug == slug)
            below = {one: [NAMES[row.slug] for row in rows[1:]] if one == room else [] for one, rows in ROOMS.items()}
            assert named(menu) == [name for one in ROOMS for name in (NAMES[f"room {one}"], *below[one])]
            shown = [NAMES[f"room {one}"] for one in ROOMS if one == room]
            shown += [name for name in below.get(room, []) if name == NAMES[slug]]
            assert named(page.locator("[data-testid=stSidebarNavLink][aria-current]")) == shown
            assert named(row.locator("a")) == [], "the menu has them"
    at_rest(follow(page, "bring"))
    page.get_by_test_id("stSidebarHeader").hover()
    page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()
    expect(row.locator("a[aria-current=page]").filter(visible=True)).to_have_text(re.compile(NAMES["bring"]))
    assert named(row.locator("a")) == [NAMES[row.slug] for row in ROOMS["compare"]]
    title, links = at_rest(page).get_by_role("heading", level=1).bounding_box(), page.locator(".st-key-room").bounding_box()
    assert links["y"] + links["height"] - title["y"] - title["height"] <= 44
    row.locator("a").filter(visible=True).first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(NAMES["card"])


def test_what_is_said_of_a_link_goes_with_a_click(visit):
    page = at_rest(visit("rollout"))
    tooltip = page.get_by_test_id("stTooltipContent").filter(visible=True)
    menu = page.get_by_test_id("stSidebarNavLink").filter(visible=True)
    for clicked in (menu.filter(has_text=NAMES["room learn"]), menu.filter(has_text=NAMES["room attention"]),
                    page.locator(".st-key-pickers button").filter(visible=True)):  # fmt: skip
        clicked.hover()
        expect(tooltip).to_have_count(1)
        clicked.click()  # the menu moves: another link lies under the pointer
        expect(tooltip).to_have_count(0)
        at_rest(page).wait_for_timeout(1000)  # Streamlit waits before it says anything
        expect(tooltip).to_have_count(0)


def a_phone_has_the_rooms_in_its_menu_and_the_page_shown_in_sight(page: Page) -> None:
    expect(page.locator(".st-key-room a[aria-current=page]").filter(visible=True)).to_be_in_viewport(ratio=1)
    assert too_wide(page) <= 1
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_test_id("stSidebarNavLink").and_(page.locator("[href$='/attention']")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(NAMES["attention"])
    expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")


def in_sight_without_scrolling(page: Page, *pickers: str) -> None:
    """Photo, model and language, at a desk and on a phone."""
    foot = page.locator(".st-key-foot").bounding_box()
    expect(page.locator(".st-key-lang")).to_be_in_viewport(ratio=1)
    for key in pickers:
        box = page.locator(f".st-key-{key}").bounding_box()
        assert box["y"] + box["height"] <= foot["y"]
    resize(page, 390, 844)
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(page.locator(".st-key-lang")).to_be_in_viewport(ratio=1)


def test_pickers_are_in_sight_uploaders_say_what_they_take_and_a_pointer_opens_the_menu_at_the_upper_right(visit):
    page = at_rest(visit("patches", width=1440, height=900))
    a_pointer_opens_the_menu(page)
    page.get_by_role("tab").nth(1).click()
    uploads_at_most(page, "At most 25 MB a file")
    page.get_by_role("tab").nth(0).click()
    in_sight_without_scrolling(at_rest(page), "photo", "model")
    page.get_by_test_id("stSidebarCollapseButton").locator("button").click()
    a_pointer_opens_the_menu(at_rest(page))  # on a phone, too
    a_phone_has_the_rooms_in_its_menu_and_the_page_shown_in_sight(at_rest(page))


def a_pointer_opens_the_menu(page: Page) -> None:
    page.get_by_test_id("stMainMenuButton").click()
    expect(page.get_by_test_id("stMainMenuPopover")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stMainMenuPopover")).to_have_count(0)


def uploads_at_most(page: Page, said: str) -> None:
    """What uploaders take, in the visitor's language: not in Streamlit's words."""
    expect(page.get_by_text("25MB per file")).to_be_hidden()
    box = page.locator("[data-testid=stFileUploaderDropzoneInstructions] > div").first
    settled(page, lambda: box.evaluate("e => getComputedStyle(e, '::after').content"), lambda words: words == f'"{said}"')


# What mends Streamlit's words when the page changes hears of no change.
UNHEARD = """const Observer = MutationObserver
window.MutationObserver = class extends Observer { constructor(hear) { super(hear.name === "mend" ? () => {} : hear) } }"""


def test_an_uploader_says_what_it_takes_also_where_nothing_on_the_page_changes_later(visit, server):
    """Else the line comes in at the first touch and moves all below it away from the pointer."""
    page = visit("about:blank", new=True)
    page.add_init_script(UNHEARD)
    page.goto(server)
    at_rest(page).emulate_media(color_scheme="dark")
    page.wait_for_function("document.documentElement.dataset.mode === 'dark'")
    boxes = at_rest(page).locator("[data-testid=stFileUploaderDropzoneInstructions] > div")
    assert boxes.evaluate_all("all => all.map(e => e.dataset.limit)") == ["At most 25 MB a file"] * 2, (
        "in the sidebar and in the page"
    )


DRAG = """([kind, data, name, type]) => {
  const transfer = new DataTransfer()
  transfer.items.add(new File([Uint8Array.from(atob(data), c => c.charCodeAt(0))], name, { type }))
  const event = new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: transfer })
  document.querySelector("h1").dispatchEvent(event)
  return [event.defaultPrevented, document.documentElement.dataset.dropping ?? ""]
}"""
PHOTO = base64.b64encode(saved(corners((300, 300)), "JPEG")).decode()
LONG_NAME = "a-walk-in-the-mountains-in-the-autumn-of-last-year.jpg"


def drag(page: Page, kind: str, name: str = LONG_NAME, mime: str = "image/jpeg") -> list:
    """A file over the page, or dropped there: whether it stays with the page, and what the page says."""
    return page.evaluate(DRAG, [kind, PHOTO, name, mime])


def test_a_photo_dropped_anywhere_is_looked_at_and_the_page_keeps_its_place(visit):
    page = at_rest(visit("patches?patch=7"))
    before = drawn(page)
    page.get_by_test_id("stMain").evaluate("e => e.scrollTo(0, 100)")
    assert drag(page, "dragover") == [True, "Drop the photo"]
    assert drag(page, "drop", "notes.txt", "text/plain") == [True, ""], "the browser does not leave for it, either"
    expect(page.get_by_role("combobox", name="Photo")).to_have_value("Red panda")
    drag(page, "drop")
    expect(page.get_by_role("combobox", name="Photo")).to_have_value("Your photo")
    changed(page, before)
    expect(page).to_have_url(re.compile(r"/patches\?.*patch=7\b"))
    assert page.get_by_test_id("stMain").evaluate("e => e.scrollTop") == 100
    at_rest(follow(page, "train"))
    assert drag(page, "dragover") == [True, ""] and drag(page, "drop") == [True, ""], "no photo is looked at here"


def test_the_head_is_one_row_with_a_photo_of_ones_own_and_what_copy_link_says(visit, subtests):
    page = at_rest(visit("positions"))
    drag(page, "drop")
    expect(page.get_by_role("combobox", name="Photo")).to_have_value("Your photo")
    for width, rows in ((1440, 1), (1024, 1), (390, 3)):  # on a phone the title, and what is folded, have rows of their own
        with subtests.test(width):
            resize(page, width, 900)
            if width == 390:
                more = page.get_by_role("button", name="More actions")
                expect(page.get_by_role("button", name="Copy link")).to_have_count(0)
                expect(more).to_have_attribute("aria-expanded", "false")
                more.press("Enter")
                expect(more).to_have_attribute("aria-expanded", "true")
            page.get_by_role("button", name="Copy link").click()
            expect(page.locator(".st-key-copy_link output")).to_contain_text("can't hold the photo")
            keys = ("bar", "copy_link", "glossary", "light_dark", "to_lecture")
            parts = [page.locator("h1"), *(page.locator(f".st-key-{key}") for key in keys)]
            middles = [box["y"] + box["height"] / 2 for part in parts if (box := part.bounding_box())]
            assert sum(any(abs(y - other) < 12 for other in middles[:i]) is False for i, y in enumerate(middles)) == rows
            at_rest(page)
            assert page.locator(".st-key-copy_link output").evaluate("""e => {
              const { x, y, width, height } = e.getBoundingClientRect()
              const at = (x, y) => e.getRootNode().elementFromPoint(x, y)
              return e.contains(at(x + 5, y + 5)) && e.contains(at(x + width - 5, y + height - 5))
            }"""), "it is seen whole"  # fmt: skip


def test_a_link_shows_its_theme_in_this_tab_and_keeps_what_its_reader_chose(visit, server):
    page = at_rest(visit("distance?layer=3"))
    shown, copy = page.locator("html"), page.get_by_role("button", name="Copy link")
    copy.click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    assert "theme" not in page.evaluate("navigator.clipboard.readText()"), "the screen asks for it"
    page.get_by_role("button", name="Dark", exact=True).click()
    expect(shown).to_have_attribute("data-mode", "dark")
    at_rest(page)
    copy.click()
    page.wait_for_function("navigator.clipboard.readText().then(link => link.includes('theme=dark'))")
    link = page.evaluate("navigator.clipboard.readText()")
    page.get_by_role("button", name="Light", exact=True).click()  # what this reader wants
    expect(shown).to_have_attribute("data-mode", "light")
    page = page.context.new_page()
    page.goto(link)
    shown = page.locator("html")
    for there in (None, "filters", "distance"):  # this tab, also on other pages and loaded again
        if there:
            at_rest(page).goto(f"{server}/{there}")
        expect(shown).to_have_attribute("data-mode", "dark")
        assert "theme" not in at_rest(page).url
    other = page.context.new_page()
    other.goto(f"{server}/distance")
    at_rest(other)
    expect(other.locator("html")).to_have_attribute("data-mode", "light")
    page.get_by_role("button", name="Light", exact=True).click()  # chosen here: the link has said enough
    expect(shown).to_have_attribute("data-mode", "light")
    at_rest(page).reload()
    at_rest(page)
    expect(shown).to_have_attribute("data-mode", "light")


def test_a_question_mark_shows_the_keys_unless_somebody_types(visit):
    page = at_rest(visit("train", width=1440, height=900))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Page Down")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_text("Settings", exact=True).click()
    name = page.get_by_role("textbox", name="Name of the run")
    name.fill("what")
    name.press("?")
    expect(name).to_have_value("what?")
    at_rest(page)
    expect(page.get_by_role("dialog")).to_have_count(0)
    in_sight_without_scrolling(page)


IN_LINE = """() => [...document.querySelectorAll("[data-testid=stHorizontalBlock] [data-testid=stButtonGroup]")].flatMap(group => {
  const top = e => e.querySelector("[data-testid=stWidgetLabel]")?.getBoundingClientRect().top ?? 0, own = top(group)
  const row = group.closest("[data-testid=stHorizontalBlock]")
  const fields = row.querySelectorAll("[data-testid=stSelectbox], [data-testid=stSlider], [data-testid=stNumberInput]")
  return own ? [...fields].map(top).filter(other => other && Math.abs(other - own) < 20).map(other => other - own) : []
})"""
LINK = """() => [...document.querySelectorAll("[data-testid=stMain] [data-testid=stPageLink-NavLink]")]
  .filter(link => link.checkVisibility() && !link.closest(".st-key-bar, .st-key-room, .st-key-share")).map(link =>
    link.querySelector("[data-testid=stIconMaterial]").getBoundingClientRect().left -
    link.closest("[data-testid=stPageLink]").getBoundingClientRect().left)"""

CUT = """() => [...document.querySelectorAll("[data-testid=stMain] [data-testid=stPageLink-NavLink] :is(p, span)")]
  .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflow !== "visible")
  .map(e => e.innerText)"""


def test_labels_beside_each_other_and_links_to_pages_stand_in_line(visit, server, subtests):
    page = visit("about:blank", width=1440, height=900)
    for slug, seen in (
        ("compare", IN_LINE),
        ("compare?b_photo=cat&picture=tokens", LINK),
        ("cover", IN_LINE),
        ("fewshot", IN_LINE),
    ):
        with subtests.test(slug):
            page.goto(f"{server}/{slug}")
            at_rest(page).wait_for_function(f"({seen})().length > 0")
            for offsets in map(page.evaluate, (IN_LINE, LINK)):
                assert offsets == pytest.approx([0] * len(offsets), abs=1)
            assert page.evaluate(CUT) == []

"""Components without the app: what their scripts draw and send, in a page that holds nothing else; its clock is set by hand."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from app.components.component_files import bundle_script, read_source_with_imports

MOUNT = """async ([script, data]) => {
  const module = await import("data:text/javascript;charset=utf-8," + encodeURIComponent(script))
  window.sent = []
  window.show = data => window.end = module.default({ data, parentElement: root, setTriggerValue: (...what) => sent.push(what) })
  show(data)
}"""


@pytest.fixture
def mount(chromium) -> Iterator:
    """`mount("stepper", data)`: the component's own HTML, CSS and script; a mistake in the script fails the test."""
    pages, wrong = [], []

    def show(name: str, data: dict, html: str = "", around: str = "") -> Page:
        page = chromium.new_page(viewport={"width": 600, "height": 800})
        pages.append(page)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.clock.install()
        html = html or re.sub(r"\{(\w+)\}", r"\1", read_source_with_imports(f"{name}/{name}.html"))
        page.set_content(f"<style>{read_source_with_imports(f'{name}/{name}.css')}</style>{around}<div id=root>{html}</div>")
        page.evaluate(MOUNT, [bundle_script(f"{name}/{name}.js"), data])
        return page

    yield show
    for page in pages:
        page.close()
    assert wrong == []


def sent(page: Page) -> list:
    return page.evaluate("sent")


# The player


def pixel(colours: str) -> str:
    """A picture of one pixel in each of these colours, one below the other."""
    rows = "".join(f"<rect y='{i}' width='1' height='1' fill='{colour}'/>" for i, colour in enumerate(colours.split()))
    size = f"width='1' height='{len(colours.split())}'"
    return f"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' {size}>{rows}</svg>".replace("#", "%23")


WORDS = {"play": "Play", "pause": "Pause", "hold": "Hold P."}
MAPS = {
    "image": pixel("white"), "frames": pixel("maroon green navy"), "detail": pixel("black"), "ratio": 1, "rows": 1, "cols": 1,
    "marks": None, "label": "Maps", "captions": ["one", "two", "three"], "names": ["layer 0", "layer 1", "layer 2"], "words": WORDS,
}  # fmt: skip
COLOUR = "c => [...c.getContext('2d').getImageData(c.width / 2, c.height / 2, 1, 1).data].slice(0, 3)"


def test_the_player_plays_to_its_last_frame_and_begins_again_from_the_first(mount):
    page = mount("player", MAPS)
    caption, play = page.locator("figcaption"), page.locator(".play")
    expect(caption).to_have_text("three")
    page.clock.pause_at(page.evaluate("Date.now() + 1000"))  # until then it goes by itself
    play.click()
    assert (caption.inner_text(), play.get_attribute("aria-label")) == ("one", "Pause")
    for words in ("two", "three"):
        page.clock.run_for(1100)
        assert caption.inner_text() == words
    page.clock.run_for(1100)
    assert (caption.inner_text(), play.get_attribute("aria-label")) == ("three", "Play"), "it has ended"


def test_the_player_stops_where_it_is_touched_and_keeps_its_place(mount):
    page = mount("player", MAPS)
    caption, play = page.locator("figcaption"), page.locator(".play")
    play.click()
    page.get_by_role("button", name="layer 1").click()
    page.clock.run_for(5000)
    assert (caption.inner_text(), play.get_attribute("aria-label")) == ("two", "Play")
    page.keyboard.press("ArrowLeft")
    expect(caption).to_have_text("one")
    page.keyboard.press("ArrowLeft")
    expect(caption).to_have_text("one")  # there is none before
    page.evaluate("data => show(data)", MAPS | {"captions": ["eins", "zwei"], "names": ["a", "b"]})
    expect(caption).to_have_text("eins")
    expect(page.locator(".thumbs button")).to_have_text(["a", "b"])
    assert page.locator(".thumbs button").nth(0).get_attribute("aria-pressed") == "true"


def test_the_player_draws_the_frame_it_names(mount):
    page = mount("player", MAPS)
    page.emulate_media(reduced_motion="reduce")  # nothing fades
    for name, colour in (("layer 0", [128, 0, 0]), ("layer 1", [0, 128, 0]), ("layer 2", [0, 0, 128])):
        page.get_by_role("button", name=name).click()
        assert page.locator(".stage canvas").evaluate(COLOUR) == colour
    assert page.locator(".thumbs canvas").nth(1).evaluate(COLOUR) == [0, 128, 0]


# The stepper


STEPS = {"step": 2, "names": ["a", "b", "c"], "spoken": ["Step 1", "Step 2", "Step 3"], "titled": False, "clicker": False}


@pytest.mark.parametrize(("keys", "steps"), [
    (["ArrowRight"], [3]), (["ArrowRight", "ArrowRight"], [3]), (["ArrowLeft", "ArrowLeft"], [1]), (["Home", "End"], [1, 3]),
    (["PageDown"], []), (["Shift+ArrowRight"], []),
], ids=str)  # fmt: skip
def test_keys_turn_the_steps_and_count_on_while_python_is_busy(mount, keys, steps):
    page = mount("stepper", STEPS)
    for key in keys:
        page.keyboard.press(key)
    assert sent(page) == [["to", step] for step in steps]
    expect(page.locator("[aria-current=step]")).to_have_text(f"{steps[-1] if steps else 2}{'abc'[(steps[-1] if steps else 2) - 1]}")


def test_a_clickers_keys_turn_the_steps_and_what_needs_a_key_keeps_it(mount):
    page = mount("stepper", STEPS | {"clicker": True}, around="<input type=range><textarea></textarea>")
    for key in ("PageDown", "PageDown", "PageUp"):
        page.keyboard.press(key)
    assert sent(page) == [["to", 3], ["to", 2]], "past the last step the page is turned"
    for what in ("input", "textarea"):
        page.locator(what).focus()
        page.keyboard.press("ArrowRight")
    assert len(sent(page)) == 2
    page.get_by_role("button", name="Step 1").click()
    assert sent(page)[-1] == ["to", 1]
    page.evaluate("end()")
    page.keyboard.press("Home")
    page.locator("body").press("ArrowRight")
    assert len(sent(page)) == 3, "a component that is gone hears nothing"


# Vectors


def test_vectors_are_bars_over_the_largest_of_a_row_and_formulas_have_their_letters(mount):
    row = {
        "kind": "x",
        "name": "Query",
        "formula": "q_{h} = \\rm{LN}z^{p}",
        "values": [2, -1, 0],
        "numbers": "2, −1",
        "alt": "Bars",
    }
    looks = {
        "kind": "y",
        "name": "Looks",
        "looks": [{"sign": "[C]", "weight": "9 %", "name": "class token"}],
        "size": "3",
        "unit": "px",
    }
    page = mount("vectors", {"rows": [row, looks], "label": "Numbers", "flat": True})
    bars = page.locator("rect").evaluate_all(
        "all => all.map(e => [e.getAttribute('y'), e.getAttribute('height'), e.className.baseVal])"
    )
    assert bars == [["-16", "16", "up-bar"], ["0", "8", "down-bar"], ["-0.4", "0.4", "up-bar"]]
    formula = page.locator(".formula").evaluate("e => e.innerHTML")
    assert formula == 'q<sub>h</sub> = <span class="up">LN</span>z<sup>p</sup>'
    expect(page.get_by_role("img", name="Bars")).to_have_count(1)
    expect(page.locator("li").nth(1)).to_contain_text("[C]9 %class token")
    assert page.locator("ol").get_attribute("class") == "flat"


# The frame of every page


FRAME = {
    "page": "patches", "mode": "light", "lecture": True, "chosen": "en cat", "far": {"B/16": "346 MB"}, "scale": 1,
    "narrow": 0, "high": 0,
}  # fmt: skip
AROUND = """<div data-testid=stMain><div class=st-key-after><a onclick="window.turned = 'after'">next</a></div>
<div class=st-key-before><a onclick="window.turned = 'before'">back</a></div><b data-escape tabindex=0>own</b></div>"""


@pytest.mark.parametrize(("key", "focus", "sent_", "turned"), [
    ("Escape", None, [["left", True]], None), ("Escape", "b", [], None), ("PageDown", None, [], "after"),
    ("PageUp", "b", [], "before"), ("Control+PageDown", None, [], None),
])  # fmt: skip
def test_keys_of_a_lecture(mount, key, focus, sent_, turned):
    page = mount("page_style", FRAME, "<i hidden></i>", AROUND)
    if focus:
        page.locator(focus).focus()
    page.keyboard.press(key)
    assert ([what for what in sent(page) if what[0] != "size"], page.evaluate("window.turned")) == (sent_, turned)


def test_python_hears_how_large_type_and_screen_are_and_the_page_is_dressed(mount):
    page = mount("page_style", FRAME | {"lecture": False}, "<i hidden></i>", AROUND)
    root = page.locator("html")
    assert root.evaluate("e => [e.dataset.mode, e.dataset.page, e.hasAttribute('data-lecture')]") == ["light", "patches", False]
    page.clock.run_for(100)
    assert sent(page) == [["size", {"scale": 1, "narrow": 600, "high": 0}]], "narrower than Streamlit's columns"
    root.evaluate("e => { e.style.fontSize = '24px' }")
    page.set_viewport_size({"width": 1200, "height": 860})
    page.wait_for_function("sent.length > 1")
    assert sent(page)[-1] == ["size", {"scale": 1.5, "narrow": 0, "high": 800}]

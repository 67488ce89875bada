"""The attention explorer in a real browser: by mouse, by keys and by touch, through a link, in light and dark, on a phone."""

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from wait_and_look import LONG_MS, at_rest, changed, copied, in_both, languages, pick, resize, said_by, serious, slider, too_wide

import vitcore
from vitcore.analysis import attention_as_bytes
from vitcore.analysis.outlier_tokens import outliers_in_map
from vitcore.forward.mask_outliers import mask_outlier_tokens, outliers_in_recording
from vitcore.outlier_sentences import masked_outliers_sentence, outlier_sentence

SIDE = 16  # patches a side of the model that ships
PHOTO = "red-panda"


def ready(page: Page) -> Page:
    """Wait until the server rests and the heads are painted."""
    hit(page).wait_for(timeout=LONG_MS)  # the first visitor waits for torch to be loaded
    at_rest(page)
    page.wait_for_function("""() => {
      const find = root => root.querySelector("figure .hit") ? root.querySelector("figure") :
        [...root.querySelectorAll("*")].map(e => e.shadowRoot && find(e.shadowRoot)).find(Boolean)
      const f = find(document)
      return f && !f.classList.contains("waiting") && f.querySelector(".most").textContent
    }""")
    return page


def hit(page: Page) -> Locator:
    return page.locator("canvas.hit")


def place(page: Page, row: int, col: int) -> tuple[float, float]:
    box = hit(page).bounding_box()
    return box["x"] + (col + 0.5) * box["width"] / SIDE, box["y"] + (row + 0.5) * box["height"] / SIDE


def point(page: Page, row: int, col: int) -> None:
    page.mouse.move(*place(page, row, col))


def title(page: Page) -> Locator:
    return page.locator("figure .look h3")


def control(page: Page, label: str) -> Locator:
    return page.get_by_role("combobox" if label == "Head" else "spinbutton", name=re.compile(rf"\b{label}\b"))


def field(page: Page, key: str) -> Locator:
    """The field of a pinned patch."""
    return page.locator(f".st-key-{key} input")


def pixels(page: Page, selector: str = "canvas.map0") -> list[str]:
    """Every canvas of this kind, as it is drawn."""
    return page.locator(selector).evaluate_all("all => all.map(c => c.toDataURL())")


def heard(visit, server: str, path: str) -> tuple[Page, list[bytes]]:
    """A page, and what it sends to the server."""
    page, sent = visit("about:blank"), []
    page.on("websocket", lambda w: w.on("framesent", lambda data: sent.append(data)))
    page.goto(f"{server}/{path}")
    return ready(page), sent


def test_by_mouse(visit, server):
    page, sent = heard(visit, server, "attention?layer=6&one_head=1")
    before = pixels(page)
    quiet = len(sent)
    for col in range(SIDE):  # hover is the browser's
        point(page, 3, col)
        expect(title(page)).to_contain_text(f"(row 3, column {col}) (pointed at) attends to · layer 6, head 1")
    assert all(a != b for a, b in zip(pixels(page), before, strict=True)), "every head answers"
    assert len(sent) == quiet, "the server hears nothing of it"
    expect(field(page, "patch")).to_have_value("136")

    page.mouse.click(*place(page, 3, 5))
    expect(field(page, "patch")).to_have_value(str(3 * SIDE + 5))
    expect(page).to_have_url(re.compile("patch=53"))
    at_rest(page)
    said = [frame for frame in sent[quiet:] if b"chosen" in frame]
    assert len(said) == 1, "a click reaches Python once"
    page.mouse.move(5, 5)
    expect(title(page)).to_contain_text("patch 53 (row 3, column 5)")

    page.keyboard.down("Shift")
    page.mouse.click(*place(page, 9, 9))
    page.keyboard.up("Shift")
    expect(field(page, "second_patch")).to_have_value(str(9 * SIDE + 9))
    at_rest(page)
    page.mouse.move(5, 5)
    first, second = pixels(page), pixels(page, "canvas.map1")
    assert page.locator("canvas.map1").first.is_visible() and first != second

    page.get_by_role("radio", name="Who attends to it").click()
    expect(title(page)).to_contain_text("Who attends to patch 53")
    at_rest(page)
    assert all(a != b for a, b in zip(pixels(page), first, strict=True))
    page.get_by_role("button", name=re.compile("^class token")).click()
    expect(field(page, "patch_instead")).to_have_value("")  # it names the class token
    expect(page).to_have_url(re.compile("[?&]token=0"))
    expect(title(page)).to_contain_text("Who attends to the class token")


def test_by_keys(visit):
    page = ready(visit("attention?layer=6&patch=136"))
    hit(page).focus()
    for key in ("ArrowUp", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    expect(title(page)).to_contain_text("patch 118 (row 7, column 6)")
    expect(field(page, "patch")).to_have_value("118")
    at_rest(page)
    page.keyboard.press("Alt+ArrowDown")
    expect(field(page, "second_patch")).to_have_value("134")
    at_rest(page)
    page.keyboard.press("]")
    expect(title(page)).to_contain_text("layer 7")
    page.keyboard.press("[")
    page.keyboard.press("[")
    expect(title(page)).to_contain_text("layer 5")
    expect(slider(page, "Layer")).to_have_value("5")
    at_rest(page)
    page.keyboard.press("2")
    expect(control(page, "Head")).to_have_value("2")
    page.keyboard.press("9")  # there is no such head
    expect(title(page)).to_contain_text("layer 5, head 2")
    page.keyboard.press("Escape")
    expect(control(page, "Head")).to_have_value("")
    at_rest(page)
    page.keyboard.press("c")
    expect(page).to_have_url(re.compile("[?&]token=0"))
    expect(title(page)).to_contain_text("What the class token attends to")
    at_rest(page)
    page.keyboard.press("r")
    expect(title(page)).to_contain_text("Rollout of the class token · through all layers")
    expect(page).to_have_url(re.compile("rolled=true"))
    at_rest(page)
    page.keyboard.press("r")
    expect(title(page)).to_contain_text("layer 5, mean of 3 heads")
    at_rest(page)
    expect(page.get_by_role("status").filter(has_text="What the class token attends to")).to_have_count(1)
    the_strip_leads_into_a_head(page)


def the_strip_leads_into_a_head(page: Page) -> None:
    cell = page.get_by_role("button", name=re.compile(r"^layer 2, head 2: "))
    cell.click()
    expect(title(page)).to_contain_text("layer 2, head 2")
    expect(control(page, "Head")).to_have_value("2")
    expect(cell).to_have_attribute("aria-pressed", "true")
    expect(slider(page, "Layer")).to_have_value("2")
    at_rest(page)
    cell.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(title(page)).to_contain_text("layer 3, head 1")
    expect(page.locator(".card").nth(1)).to_have_attribute("aria-pressed", "true")


def test_space_plays_through_the_layers(visit, server):
    page, sent = heard(visit, server, "attention?layer=9&one_head=0")
    hit(page).focus()
    quiet = len(sent)
    heads, drawn = said_by(cards_title(page)), said_by(title(page))
    page.keyboard.press("Space")
    expect(title(page)).to_contain_text("layer 11, head 0")
    expect(page.get_by_role("button", name="Play layers")).to_be_visible()
    expect(slider(page, "Layer")).to_have_value("11")
    at_rest(page)
    assert layers(heads()) == [9, 10, 11]
    assert layers(drawn())[-1] == 11 and layers(drawn()) == sorted(layers(drawn())), "the picture goes with them"
    said = len([frame for frame in sent[quiet:] if b"chosen" in frame])
    assert 1 <= said <= 3, "the slider follows: the server hears of each layer once, and of the end"
    cards_title(page).evaluate(SPACE_AT_LAYER_1)
    hit(page).focus()
    page.keyboard.press("Space")
    expect(cards_title(page)).to_contain_text(re.compile(r"layer 1(?!\d)"))
    at_rest(page)
    expect(slider(page, "Layer")).to_have_value("1")
    expect(title(page)).to_contain_text("layer 1, head 0")
    expect(page.get_by_role("button", name="Play layers")).to_be_visible()
    assert layers(heads()) == [9, 10, 11, 0, 1], "from the first, until it is stopped"


SPACE_AT_LAYER_1 = """e => {
  const space = new KeyboardEvent("keydown", { key: " ", bubbles: true, composed: true })
  const stop = new MutationObserver(() => {
    if (!/layer 1(?!\\d)/.test(e.textContent)) return
    stop.disconnect()
    e.closest("figure").querySelector(".hit").dispatchEvent(space)
  })
  stop.observe(e, { childList: true, characterData: true, subtree: true })
}"""


def cards_title(page: Page) -> Locator:
    return page.locator("figure .all h3")


def layers(said: list[str]) -> list[int]:
    return [int(re.search(r"layer (\d+)", words)[1]) for words in said]


def test_by_touch(visit):
    page = ready(visit("attention", width=390, height=844, has_touch=True, is_mobile=True))
    hit(page).scroll_into_view_if_needed()
    page.touchscreen.tap(*place(page, 2, 3))
    expect(field(page, "patch")).to_have_value(str(2 * SIDE + 3))
    at_rest(page)
    page.get_by_role("button", name="Compare", exact=True).tap()
    page.touchscreen.tap(*place(page, 12, 12))
    expect(field(page, "second_patch")).to_have_value(str(12 * SIDE + 12))
    at_rest(page)
    hit(page).scroll_into_view_if_needed()
    finger = page.context.new_cdp_session(page)

    def drag(*points: tuple[float, float]) -> None:
        for kind, where in zip(["touchStart", *["touchMove"] * (len(points) - 1)], points, strict=True):
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": where[0], "y": where[1]}]})
            page.wait_for_timeout(60)

    drag(*[place(page, 6, col) for col in range(2, 12)])
    expect(title(page)).to_contain_text("(row 6, column 11)")
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(title(page)).to_contain_text("(row 2, column 3)")
    scrolled = "document.querySelector('[data-testid=stMain]').scrollTop"
    before = page.evaluate(scrolled)
    x, y = place(page, 8, 8)  # the controls lie at the foot of the screen
    drag(*[(x, y - 25 * i) for i in range(10)])
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function(f"{scrolled} > {before} + 100")  # a finger that moves up or down scrolls the page


def test_what_is_done_in_quick_succession_all_counts_and_a_link_opens_the_same_view(visit):
    page = ready(visit("attention"))
    page.evaluate("window.lag = 400")  # ms
    two_patches(page, (4, 9), (11, 2))
    page.get_by_role("button", name=re.compile(r"^layer 8, head 1: ")).click()
    page.get_by_role("radio", name="Who attends to it").click()  # while Python still answers the others
    at_rest(page)
    fields_say(page, patch=73, second_patch=178, head=1, layer=8)
    two_patches(page, (5, 9), (12, 2))
    page.locator(".card").nth(2).click()
    page.keyboard.press("[")
    fields_say(page, patch=89, second_patch=194, head=2, layer=7)
    at_rest(page)
    expect(title(page)).to_contain_text("layer 7, head 2")
    page.mouse.move(5, 5)
    ready(page)
    for part in ("[?&]patch=89", "second_patch=194", "layer=7", "one_head=2", "direction="):
        expect(page).to_have_url(re.compile(part))
    theirs = ready(visit(copied(page)))
    page.mouse.move(5, 5)
    assert pixels(theirs, "figure canvas") == pixels(ready(page), "figure canvas")
    assert theirs.locator("figure h3").all_inner_texts() == page.locator("figure h3").all_inner_texts()


def two_patches(page: Page, one: tuple[int, int], other: tuple[int, int]) -> None:
    page.mouse.click(*place(page, *one))
    page.keyboard.down("Shift")
    page.mouse.click(*place(page, *other))
    page.keyboard.up("Shift")


def fields_say(page: Page, patch: int, second_patch: int, head: int, layer: int) -> None:
    expect(field(page, "patch")).to_have_value(str(patch))
    expect(field(page, "second_patch")).to_have_value(str(second_patch))
    expect(control(page, "Head")).to_have_value(str(head))
    expect(slider(page, "Layer")).to_have_value(str(layer))


def drawings(page: Page) -> list[str]:
    """The lit photo and the first head's map."""
    return pixels(ready(page), "canvas.lit") + pixels(page)


def test_scales_drawings_and_the_menu_of_languages(visit):
    page = visit("attention?layer=6&one_head=0")
    seen = [drawings(page)]
    page.get_by_role("button", name="Drawing").click()
    for label in ("Logarithmic scale", "One scale for all heads", "Rollout instead of a head"):
        page.get_by_role("switch", name=label).click(force=True)
        seen.append(changed(page, seen[-1], drawings))
    page.get_by_role("radio", name="darkness").click()
    assert changed(page, seen[-1], drawings)[0] != seen[-1][0]
    page = ready(visit("attention?layer=1&one_head=0&patch=136"))  # one patch gets almost all
    scale = page.locator(".look .scale")
    on_card = re.search(r"\(([\d.]+)×\)", page.locator(".card .largest").first.inner_text())[1]
    assert scale.locator("span").last.inner_text() == on_card
    expect(scale).not_to_contain_text("or more")
    page.keyboard.press("Escape")
    the_menu_of_languages_changes_the_words_and_not_the_picture(ready(page))


def the_menu_of_languages_changes_the_words_and_not_the_picture(page: Page) -> None:
    before = pixels(page) + pixels(page, "canvas.lit")
    pick(page, languages(page), "简体中文")
    expect(title(page)).to_contain_text("注意什么")
    assert pixels(ready(page)) + pixels(page, "canvas.lit") == before
    point(page, 3, 5)
    expect(title(page)).to_contain_text("图像块 53")


def test_axe_finds_nothing_serious_and_on_a_phone_nothing_is_too_wide_or_too_small(visit, subtests):
    page = ready(visit("attention?second_patch=39"))
    for summary in ("What the words on the heads mean", "Keys"):
        page.locator("summary", has_text=summary).click()
    for theme in in_both(page):
        with subtests.test(theme):
            assert serious(ready(page), theme=theme) == []
    ready(resize(page, 390, 844))
    assert too_wide(page) <= 1
    sizes = page.locator("figure button, figure summary").evaluate_all(
        "all => all.filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect()).map(b => [b.width, b.height])"
    )
    assert len(sizes) > 40 and np.min(sizes) >= 24


@pytest.mark.parametrize(("lang", "words"), [("en", "attends to"), ("zh-TW", "注意什麼")])
def test_on_a_phone_layer_head_and_arrow_are_there_at_once_in_the_visitors_language(visit, lang, words, subtests):
    page = ready(visit(f"attention?lang={lang}", width=390, height=844))
    expect(title(page)).to_contain_text(words)
    left = page.locator("figure").inner_text()
    assert lang == "en" or not re.search(r"\{\w+\}|\b(head|layer|patch|attends)\b", left), left
    bar = page.locator(".st-key-explorer_controls")
    for width in (390, 360, 320):
        with subtests.test(width):
            page.set_viewport_size({"width": width, "height": 844})
            right = bar.evaluate("e => e.getBoundingClientRect().right")
            assert bar.locator(".st-key-layer").bounding_box()["width"] == width - 24, "room for twelve layers"
            assert 844 - bar.locator("..").bounding_box()["y"] <= 0.12 * 844, "the picture has the screen"
            assert bar.locator(".st-key-patch").bounding_box()["x"] >= right - 45, "no field is seen in part"
            for button in bar.locator(".st-key-direction button").all():
                box = button.bounding_box()
                assert box["x"] + box["width"] <= right - 44, "the last 44 px fade out"
                assert button.evaluate("e => e.scrollWidth <= e.clientWidth + 1 && e.scrollHeight <= e.clientHeight + 1")
    edge = bar.bounding_box()
    page.mouse.click(edge["x"] + edge["width"] - 40, edge["y"] + edge["height"] - 30)  # the sign of more
    page.wait_for_function("document.querySelector('.st-key-explorer_controls').scrollLeft > 150")
    last = bar.get_by_test_id("stPopover").locator("button")
    last.scroll_into_view_if_needed()
    assert last.bounding_box()["x"] + last.bounding_box()["width"] <= right - 15, "what comes after them can be pushed in"


def the_value_under_the_pointer_is_the_recordings(page: Page, rec: vitcore.Recording, block: int, head: int) -> None:
    """Of what token 100 attends to."""
    for row, col in ((0, 0), (5, 12), (15, 3), (8, 8)):
        point(page, row, col)
        expect(title(page)).to_contain_text(f"(row {row}, column {col})")
        said = page.locator(".pointed").inner_text()
        found = float(re.search(r"weight ([\d.e-]+)", said)[1])
        expected = float(rec.maps[block][head, 100, 1 + row * SIDE + col])
        assert f"to patch {row * SIDE + col} " in said and f"layer {block}, head {head}" in said
        assert found == pytest.approx(expected, rel=attention_as_bytes.WORST + 0.051, abs=2**-16), "within the code and two digits"
    card = page.locator("canvas.map0").nth(0)
    point_at = card.bounding_box()
    page.mouse.move(point_at["x"] + 2.5 * point_at["width"] / SIDE, point_at["y"] + 7.5 * point_at["height"] / SIDE)
    expect(page.locator(".pointed")).to_contain_text("to patch 114 (row 7, column 2)")
    expect(page.locator(".pointed")).to_contain_text(f"layer {block}, head 0")
    most = page.locator(".card .largest").all_inner_texts()
    for one, text in enumerate(most):
        peak = 100 * float(rec.maps[block][one, 100, 1:].max())
        assert float(re.search(r"[\d.e-]+", text)[0]) == pytest.approx(peak, rel=attention_as_bytes.WORST + 0.051)


def test_outlier_tokens_are_named_exactly_where_they_hold_much_and_masked_at_a_touch(visit, server, rec):
    """The browser's rule is Python's: for heads and layers on both sides of the line, and for a patch that is pointed at."""
    patches, line, cards = outliers_in_recording(rec).patches, ".outlying span", "figure .card .largest"
    decoded = {block: attention_as_bytes.decode_weights(attention_as_bytes.encode_weights(rec.maps[block])) for block in (2, 9)}

    def expected(values) -> str:
        return outlier_sentence(outliers_in_map(rec.grid.to_map(values), patches), rec.grid)

    said, page = set(), visit("about:blank")
    for block, head, token in ((2, 0, 137), (9, 0, 100), (9, 2, 0)):
        page.goto(f"{server}/attention?photo={PHOTO}&block={block}&one_head={head}&token={token}")
        ready(page)
        weights = decoded[block][:, token]
        expect(page.locator(line)).to_have_text(expected(weights[head]))
        said.add(expected(weights[head]))
        marked = [len(outliers_in_map(rec.grid.to_map(one), patches)) for one in weights]
        lines = page.locator(cards).evaluate_all("all => all.map(one => one.textContent)")
        assert [f"{count} outlier token" in one for count, one in zip(marked, lines, strict=True)] == [bool(n) for n in marked]
        point(page, 3, 5)
        expect(page.locator(line)).to_have_text(expected(decoded[block][head, 1 + 3 * SIDE + 5]))
        if token == 100:
            the_value_under_the_pointer_is_the_recordings(page, rec, block, head)
        page.mouse.move(1, 1)
    assert "" in said and len(said) > 1, "both sides of the line"
    before = pixels(page, "canvas.hit")
    page.get_by_role("button", name="Mask outlier tokens").click()
    expect(page.locator(line)).to_have_text(masked_outliers_sentence(len(patches)))
    expect(page).to_have_url(re.compile("mask_outliers=true"))
    at_rest(page)
    assert pixels(page, "canvas.hit") != before, "nothing is framed any more"
    most = mask_outlier_tokens(rec).maps[9][2, 0, 1:]
    expect(page.locator("figure .most")).to_contain_text(f"patch {int(most.argmax())} ")
    page.get_by_role("button", name="Mask outlier tokens").click()
    expect(page).not_to_have_url(re.compile("mask_outliers"))

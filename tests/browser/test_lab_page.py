"""The rollout lab in a real browser: two methods side by side, a class at a touch, a build-up that needs no server."""

import json
import re
from urllib.parse import parse_qs, urlparse

import pytest
from looking import LONG_MS, in_both, resize, said_by, serious, too_wide
from looking import at_rest as quiet
from playwright.sync_api import Locator, Page, expect

LAST = "After layer 11: "


def at_rest(page: Page) -> Page:
    """Wait until the build-up is there, which comes last, and the server has nothing more to say."""
    expect(build_up(page).locator("figcaption")).to_contain_text("After layer", timeout=LONG_MS)
    return quiet(page)


def build_up(page: Page) -> Locator:
    return page.locator(".st-key-build_up")


def picture(page: Page, key: str) -> Locator:
    return page.locator(f".st-key-{key} canvas[role=application]")


def look(canvas: Locator) -> str:
    return canvas.evaluate("c => c.toDataURL()")


def choose(page: Page, label: str, option: str) -> None:
    box = page.get_by_role("combobox", name=label, exact=True)
    box.click()
    box.fill(option)
    page.get_by_role("option", name=option, exact=True).click()


def test_two_methods_a_class_and_the_link(visit):
    page = at_rest(visit("rollout?compare=true"))
    before = [look(picture(page, key)) for key in ("gathered", "b_gathered", "differ")]
    choose(page, "Compared with", "Grad-CAM")
    expect(page).to_have_url(re.compile("b_method=Grad-CAM"))
    expect(page.get_by_role("heading", name="Rollout minus Grad-CAM")).to_be_visible()
    choose(page, "Class", "zebra")
    expect(page.get_by_role("heading", name="Grad-CAM for zebra")).to_be_visible()
    at_rest(page)
    after = [look(picture(page, key)) for key in ("gathered", "b_gathered", "differ")]
    assert after[0] == before[0] and after[1] != before[1] and after[2] != before[2]
    asked = parse_qs(urlparse(page.url).query)
    assert asked["class"] == ["zebra"] and asked["b_method"] == ["Grad-CAM"]
    number = page.locator("[data-testid=stMetricValue]").inner_text()
    theirs = at_rest(visit(page.url))
    expect(theirs.locator("[data-testid=stMetricValue]")).to_have_text(number)
    expect(theirs.get_by_role("heading", name="Grad-CAM for zebra")).to_be_visible()
    by_number = at_rest(visit("rollout?class=340&b_method=grad_cam"))
    expect(by_number.locator("[data-testid=stMetricValue]")).to_have_text(number)
    expect(by_number).to_have_url(re.compile("class=zebra"))


def test_a_likely_class_at_a_touch(visit):
    page = at_rest(visit("rollout?compare=true"))
    button = page.locator(".st-key-likeliest button").nth(1)
    label = re.sub(r" (< )?[\d.]+ %$", "", button.inner_text())
    button.click()
    expect(page.get_by_role("heading", name=f"Relevance for {label}")).to_be_visible()
    expect(page).to_have_url(re.compile("class="))


def test_the_build_up_by_keys_and_by_touch_without_the_server(visit):
    page = at_rest(visit("rollout"))
    said, layer = build_up(page).locator("figcaption"), build_up(page).get_by_role("slider", name="Layer")
    expect(said).to_contain_text(LAST)
    heard = []
    page.on("request", lambda request: heard.append(request.url))
    page.on("websocket", lambda socket: heard.append(socket.url))
    runs = page.evaluate(COUNT_RUNS)
    layer.focus()
    stage = build_up(page).locator(".stage canvas")
    page.emulate_media(reduced_motion="reduce")  # nothing fades: each is drawn at once
    seen = {look(stage)}
    for place in (10, 9, 8):
        page.keyboard.press("ArrowLeft")
        expect(said).to_contain_text(f"After layer {place}: ")
        seen.add(look(stage))
    assert len(seen) == 4, "every layer has a picture of its own"
    page.emulate_media(reduced_motion="null")
    build_up(page).get_by_role("button", name="layer 0", exact=True).click()
    expect(said).to_contain_text("After layer 0: ")
    shown = said_by(said)
    said.evaluate(PAUSE_AT_LAYER_2)
    build_up(page).get_by_role("button", name="Play").press("Enter")
    expect(said).to_contain_text("After layer 2: ")
    page.wait_for_timeout(1200)
    assert layers(shown()) == [0, 1, 2]
    build_up(page).get_by_role("button", name="layer 8", exact=True).click()
    build_up(page).get_by_role("button", name="Play").click()
    expect(said).to_contain_text(LAST)
    expect(build_up(page).get_by_role("button", name="Play")).to_be_visible()
    assert layers(shown()) == [0, 1, 2, 8, 9, 10, 11]
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("ArrowLeft")  # wherever the focus is; the picture comes into view
    expect(said).to_contain_text("After layer 10: ")
    expect(stage).to_be_in_viewport()
    assert heard == [] and page.evaluate("window.runs") == runs


PAUSE_AT_LAYER_2 = """e => {
  const pause = new MutationObserver(() => {
    if (!e.textContent.includes("After layer 2: ")) return
    pause.disconnect()
    setTimeout(() => e.closest("figure").querySelector(".play").click()) // once it is said what is shown
  })
  pause.observe(e, { childList: true, characterData: true, subtree: true })
}"""


def layers(said: list[str]) -> list[int]:
    return [int(re.search(r"After layer (\d+)", words)[1]) for words in said]


COUNT_RUNS = """() => {
  window.runs = 0
  const app = document.querySelector("[data-testid=stApp]")
  new MutationObserver(() => window.runs++).observe(app, { attributes: true, attributeFilter: ["data-test-script-state"] })
  return window.runs
}"""


def test_the_build_up_minds_a_wish_for_less_motion(visit):
    page = at_rest(visit("rollout"))
    page.emulate_media(reduced_motion="reduce")
    build_up(page).get_by_role("button", name="layer 0", exact=True).click()
    page.evaluate("() => new Promise(requestAnimationFrame)")
    at_once = look(build_up(page).locator(".stage canvas"))
    page.wait_for_timeout(600)
    assert look(build_up(page).locator(".stage canvas")) == at_once, "nothing fades"


def test_a_patch_touched_on_any_picture_is_asked(visit):
    page = at_rest(visit("rollout?compare=true"))
    for key, row, col in (("b_gathered", 3, 4), ("differ", 5, 6)):
        box = picture(page, key).bounding_box()
        picture(page, key).click(position={"x": (col + 0.5) / 16 * box["width"], "y": (row + 0.5) / 16 * box["height"]})
        expect(page.get_by_role("heading", name=f"Rollout of patch {16 * row + col}")).to_be_visible()
        expect(page).to_have_url(re.compile(f"patch={16 * row + col}"))
        at_rest(page)
    resize(page, 1024, 768)
    seen = picture(page, "gathered").evaluate("e => (innerHeight - e.getBoundingClientRect().top) / e.offsetHeight")
    assert seen > 0.5, "a small tablet shows most of the pictures"
    resize(page, 1920, 1080)
    page.locator(".st-key-to_lecture").get_by_role("button").first.click()
    expect(page.get_by_role("button", name="Exit lecture")).to_be_visible()
    at_rest(page)
    left, right = (picture(page, key).bounding_box() for key in ("gathered", "b_gathered"))
    assert left["y"] == right["y"] > 200 and left["width"] + right["width"] > 0.6 * 1920, "a projector is filled"
    assert left["y"] + left["height"] < 1080, "and shows them whole"


def test_on_a_phone_the_pictures_stand_one_below_the_other(visit):
    page = at_rest(visit("rollout?compare=true", width=390, height=844))
    boxes = [picture(page, key).bounding_box() for key in ("gathered", "b_gathered", "differ")]
    assert [box["x"] for box in boxes] == [boxes[0]["x"]] * 3 and all(box["width"] > 300 for box in boxes)
    assert boxes[0]["y"] < boxes[1]["y"] < boxes[2]["y"]
    assert boxes[0]["y"] < 844, "the picture before the words about it"
    assert too_wide(page) <= 1
    wide = at_rest(resize(page, 1440, 1000))
    one, two = (picture(wide, key).bounding_box() for key in ("gathered", "b_gathered"))
    assert one["y"] == pytest.approx(two["y"], abs=1) and two["x"] > one["x"] + one["width"]


def test_axe_finds_nothing_serious_whatever_the_method(visit, subtests):
    page = at_rest(visit("rollout?method=integrated_gradients&b_method=rollout&ask=true"))
    page.get_by_role("button", name="Download").first.click()
    for theme in in_both(page):
        with subtests.test(theme):
            expect(page.get_by_role("button", name="Numbers, CSV").first).to_be_visible()
            found = serious(at_rest(page), theme=theme)
            assert found == [], json.dumps(found, indent=1)

"""The rollout lab in a real browser: two methods side by side, a class at a touch, a build-up that needs no server."""

import re
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Locator, Page, expect
from wait_and_look import LONG_MS, copied, figures_are_accessible, follow, resize, said_by, slider, too_wide
from wait_and_look import at_rest as quiet

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
    """Send a colleague exactly the picture you are looking at."""
    page = at_rest(visit("rollout?compare=true"))
    keys = ("gathered", "b_gathered", "differ")
    before = [look(picture(page, key)) for key in keys]
    choose(page, "Compared with", "Grad-CAM")
    expect(page).to_have_url(re.compile("b_method=Grad-CAM"))
    expect(page.get_by_role("heading", name="Rollout minus Grad-CAM")).to_be_visible()
    choose(page, "Class", "zebra")
    expect(page.get_by_role("heading", name="Grad-CAM for zebra")).to_be_visible()
    at_rest(page)
    after = [look(picture(page, key)) for key in keys]
    assert after[0] == before[0] and after[1] != before[1] and after[2] != before[2]
    asked = parse_qs(urlparse(page.url).query)
    assert asked["class"] == ["zebra"] and asked["b_method"] == ["Grad-CAM"]
    number = page.locator("[data-testid=stMetricValue]").inner_text()
    theirs = at_rest(visit("rollout?class=340&b_method=grad_cam"))
    expect(theirs.locator("[data-testid=stMetricValue]")).to_have_text(number)
    expect(theirs).to_have_url(re.compile("class=zebra"))
    page.get_by_role("button", name="Settings").first.click()
    slider(page, "Residual weight, %").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile("residual=46"))
    page.keyboard.press("Escape")
    mine = [look(picture(at_rest(page), key)) for key in keys]
    assert mine[0] != before[0]
    number = page.locator("[data-testid=stMetricValue]").inner_text()
    theirs.goto(copied(page))
    at_rest(theirs)
    expect(theirs.locator("[data-testid=stMetricValue]")).to_have_text(number)
    expect(theirs.get_by_role("heading", name="Grad-CAM for zebra")).to_be_visible()
    assert [look(picture(theirs, key)) for key in keys] == mine
    follow(theirs, "report")  # and the handout of the same picture
    assert "residual=46" in copied(quiet(theirs))


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
    first = build_up(page).get_by_role("button", name="layer 0", exact=True)
    assert first.evaluate(DRAWN_AT_ONCE), "nothing fades for who wishes for less motion"
    expect(said).to_contain_text("After layer 0: ")
    page.emulate_media(reduced_motion="null")
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


DRAWN_AT_ONCE = """async button => {
  const stage = button.closest("figure").querySelector(".stage canvas")
  button.click()
  await new Promise(requestAnimationFrame)
  const first = stage.toDataURL()
  await new Promise(done => setTimeout(done, 600))
  return stage.toDataURL() === first
}"""
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


def test_on_a_phone_the_pictures_stand_one_below_the_other_and_a_patch_touched_on_any_is_asked(visit):
    page = at_rest(visit("rollout?compare=true", width=390, height=844))
    boxes = [picture(page, key).bounding_box() for key in ("gathered", "b_gathered", "differ")]
    assert [box["x"] for box in boxes] == [boxes[0]["x"]] * 3 and all(box["width"] > 300 for box in boxes)
    assert boxes[0]["y"] < boxes[1]["y"] < boxes[2]["y"]
    assert boxes[0]["y"] < 844, "the picture before the words about it"
    assert too_wide(page) <= 1
    wide = at_rest(resize(page, 1440, 1000))
    one, two = (picture(wide, key).bounding_box() for key in ("gathered", "b_gathered"))
    assert one["y"] == pytest.approx(two["y"], abs=1) and two["x"] > one["x"] + one["width"]
    for key, row, col in (("b_gathered", 3, 4), ("differ", 5, 6)):
        picture(page, key).scroll_into_view_if_needed()
        box = picture(at_rest(page), key).bounding_box()
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
    title = page.locator("h1").bounding_box()
    assert left["y"] == right["y"] > title["y"] + title["height"]
    assert left["width"] + right["width"] > 0.6 * 1920, "a projector is filled"
    assert left["y"] + left["height"] < 1080, "and shows them whole"


def test_axe_finds_nothing_serious_whatever_the_method(visit, subtests):
    figures_are_accessible(at_rest(visit("rollout?method=integrated_gradients&b_method=rollout&ask=true")), subtests)

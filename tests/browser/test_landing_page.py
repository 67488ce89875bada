"""The landing page in a real browser: a picture at once, little to carry, a photo brought on a phone, the bar of pickers."""

import io
import re

import numpy as np
import pytest
from picture_files import saved
from PIL import Image
from playwright.sync_api import Route, expect
from wait_and_look import at_rest, canvas, changed, drawn, heat, resize, serious, too_wide

import vitcore

MOST_BYTES = 1_500_000
LOOKS = ("1. Patches", "2. Filters", "3. Positions", "4. Attention distance", "5. Rollout")
STEADY = 0.1  # of layout shift is what browsers call good


def a_photo() -> bytes:
    return saved(Image.fromarray(np.random.default_rng(0).integers(0, 256, (300, 300, 3), np.uint8)), "JPEG")


SQUEEZED = """() => document.querySelectorAll('[data-testid=stBidiComponentIsolated]').forEach(e => {
  const figure = e.shadowRoot.querySelector('figure')
  if (figure) figure.style.width = '20px'
})"""


def shifted(page) -> float:
    """What moved without a touch since this, or the page, was asked for last (the browser's layout shift entries)."""
    at_rest(page)
    moved, what = page.evaluate("[window.shift, window.shifts]")
    page.evaluate("window.shift = 0; window.shifts = []")
    print(*what, sep="\n")  # shown where a test fails
    return moved


@pytest.mark.parametrize(("width", "height", "theme"), [(1920, 900, "light"), (390, 844, "dark")])
def test_the_page_loads_without_a_jump_shows_a_picture_at_once_and_axe_finds_nothing_serious(visit, width, height, theme):
    page = visit(width=min(width, 1440), height=844, theme=theme)
    assert shifted(page) <= STEADY
    page.locator(".heads .tile").first.wait_for()
    assert too_wide(page) <= 1
    assert serious(page, also=("heading-order",)) == []
    resize(page, width, height)
    box = canvas(page).bounding_box()
    assert box["y"] + box["height"] / 2 < height and box["width"] > 250, "seen without scrolling"
    assert len(np.unique(heat(page).reshape(-1, 3), axis=0)) > 1000, "a picture, not one colour"
    canvas(page).hover(position={"x": box["width"] / 2, "y": 30})
    expect(page.locator(".painted")).to_contain_text(re.compile(r"could reach patch \d+ \(row \d"))
    expect(page.locator(".pointed")).to_contain_text(re.compile(r"× an even share"))
    # A page that is laid out may be narrower than its charts' labels for a moment: they are drawn all the same.
    page.evaluate(f"({SQUEEZED})()")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")


HOLD_IDLE = """window.idle = []; window.requestIdleCallback = task => window.idle.push(task)"""
ALL_LAYERS_FETCHED = """() => {
  for (const task of window.idle.splice(0)) task()
  return performance.getEntriesByType('resource').filter(e => e.name.endsWith('.bin') && e.decodedBodySize === %d).length === %d
}"""


def test_what_a_first_visit_carries(visit, server):
    """Beyond Streamlit's own bundle: what came over the line and the websocket; all attention only once the browser is idle."""
    page = visit("about:blank", new=True)
    page.add_init_script(HOLD_IDLE)
    wire, urls, carried = page.context.new_cdp_session(page), {}, []
    wire.send("Network.enable")
    wire.on("Network.requestWillBeSent", lambda e: urls.update({e["requestId"]: e["request"]["url"]}))
    wire.on("Network.loadingFinished", lambda e: carried.append((urls.get(e["requestId"], ""), e["encodedDataLength"])))
    wire.on("Network.webSocketFrameReceived", lambda e: carried.append(("socket", len(e["response"]["payloadData"]) * 3 // 4)))

    def ours() -> int:
        return sum(size for url, size in carried if "/static/" not in url or "/app/static/" in url)

    page.goto(server)
    at_rest(page)
    first = ours()
    assert first < MOST_BYTES
    fonts = {url.rpartition("/")[2] for url in urls.values() if url.endswith(".woff2")}
    assert fonts and {font for font in fonts if "chinese" in font} <= {"noto-sans-chinese-menu.woff2"}, "English needs no other"
    vit = vitcore.load()
    layer_bytes = vit.heads * vit.grid.tokens**2
    page.wait_for_function(ALL_LAYERS_FETCHED % (layer_bytes, vit.blocks), polling=50)
    at_rest(page)
    assert ours() - first < 1.1 * vit.blocks * layer_bytes, "then one byte for a weight"
    assert not [url for url, _ in carried if "plotly" in url.lower()], "the page draws its charts without Plotly's megabytes"
    page.goto(f"{server}/distance?lang=zh-TW")
    at_rest(page)
    chinese = {name for url in urls.values() if "chinese" in (name := url.rpartition("/")[2])} - {"noto-sans-chinese-menu.woff2"}
    assert chinese == {"noto-sans-chinese-regular.woff2", "noto-sans-chinese-bold.woff2"}, "a font of ours"
    assert page.evaluate("document.fonts.check('16px Inter', '離')")


def test_the_five_pictures_of_my_photo(visit, shipped, tmp_path):
    """Bring your own photo and see the five pictures of it, on a phone, where the sidebar is hidden."""
    Image.open("assets/samples/macaw.jpg").transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(tmp_path / "own.png")
    own = vitcore.record(shipped, tmp_path / "own.png")
    page = visit(width=390, height=900)
    shifted(page)
    before = heat(page)
    with page.expect_file_chooser() as chooser:
        page.get_by_test_id("stMain").get_by_text("Upload", exact=True).click()
    chooser.value.set_files(tmp_path / "own.png")
    changed(page, before, heat)
    assert shifted(page) <= STEADY, "what was there keeps its place"
    expect(page.get_by_role("button", name=re.compile("own.png · "))).to_be_visible()
    expect(canvas(page)).to_be_visible()
    for look in LOOKS:
        expect(page.get_by_test_id("stMain").get_by_role("heading", name=look)).to_be_visible()
    expect(page.locator(".pointed")).to_contain_text(f"patch {own.rollout().argmax()} (")
    label, p = own.top_classes(1)[0]
    expect(page.locator(".answer li").first).to_have_text(f"{label}{100 * p:.1f} %")
    assert too_wide(page) <= 1


def test_photo_and_model_are_chosen_on_a_phone(visit):
    page = at_rest(visit("patches", width=390, height=844))
    before = drawn(page)
    bar = page.get_by_role("button", name=re.compile("Red panda"))
    box, link = bar.bounding_box(), page.get_by_role("button", name="More actions").bounding_box()
    assert box["x"] + box["width"] <= link["x"], "a long name gives way to what stands beside it"
    bar.click()
    box = page.locator("[data-testid=stPopoverBody]")
    expect(box.get_by_role("combobox", name="Model")).to_be_visible()
    box.get_by_role("button", name="Espresso").click()
    changed(page, before)
    expect(page).to_have_url(re.compile("photo=Espresso"))
    expect(page.get_by_role("button", name=re.compile("Espresso ·"))).to_be_visible()
    assert too_wide(page) <= 1
    menu = page.get_by_test_id("stSidebar")
    at_rest(page).get_by_test_id("stExpandSidebarButton").click()
    menu.get_by_role("tab", name="Upload").click()
    at_rest(page)
    menu.locator("input[type=file]").first.set_input_files({"name": "mine.jpg", "mimeType": "image/jpeg", "buffer": a_photo()})
    expect(menu).to_have_attribute("data-collapsed", "true")  # it covers what was brought


def test_nothing_jumps_where_our_components_come_late_or_the_server_is_slow_to_begin(visit, server):
    """As over a slow line: what draws them is a script that Streamlit asks for later, and they bring styles."""
    page = visit("about:blank", width=390, height=844, new=True)
    late: list[Route] = []
    page.route("**/static/js/BidiComponent*", lambda route: late.append(route))
    page.goto(server)
    page.wait_for_function("'settled' in document.documentElement.dataset")  # who waited so long is shown the title
    assert late and page.evaluate("'waiting' in document.documentElement.dataset")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    for route in late:
        route.continue_()
    canvas(page).wait_for()
    assert shifted(page) <= STEADY
    page.unroute_all()
    page.add_init_script("window.stall = ['inside_vit_look', 1000]")
    page.goto(server)
    page.wait_for_function("'settled' in document.documentElement.dataset", polling=10)  # from now on it is seen
    drawn = "window.stalling && document.querySelectorAll('.st-key-look_early, .st-key-look').length"
    assert page.evaluate(drawn), "not before its first screen is full"
    assert shifted(page) <= STEADY, "what came before the first picture waited for it"


def test_the_first_picture_is_the_same_once_the_model_is_there_and_the_bar_names_it(visit):
    """What ships and what is computed look the same: nothing jumps when one takes the other's place."""
    page = at_rest(visit())
    shipped = np.asarray(Image.open(io.BytesIO(page.locator(".photo").first.screenshot())).convert("RGB")).astype(int)
    for photo in ("Espresso", "Red panda"):
        page.get_by_test_id("stSidebar").get_by_role("button", name=photo).click()  # not the bar, which may name it still
        expect(page.get_by_role("combobox", name="Photo")).to_have_value(photo)
    at_rest(page)
    page.mouse.move(5, 5)
    at_rest(page)
    again = np.asarray(Image.open(io.BytesIO(page.locator(".photo").first.screenshot())).convert("RGB")).astype(int)
    assert again.shape == shipped.shape and np.abs(again - shipped).mean() < 3
    bar = page.locator(".st-key-bar")  # seen where there is room, or no sidebar
    expect(bar).to_contain_text("Red panda · Inside ViT Ti/8")
    resize(page, 1024, 768)
    expect(bar).to_be_hidden()
    page.get_by_test_id("stSidebar").hover()  # the button shows then
    page.get_by_test_id("stSidebarCollapseButton").locator("button").click()
    expect(bar).to_be_visible()


STOP = """() => { // pressed in the page, at the moment it is there: from outside it may be gone between two looks
  const seen = [...document.querySelectorAll("[data-testid=stMain] button")].find(e => e.textContent.includes("Stop"))
  seen?.click()
  return Boolean(seen)
}"""


def test_nothing_jumps_while_an_average_is_made_and_one_of_many_photos_can_be_stopped(visit, tmp_path):
    page = visit("distance")
    assert shifted(page) <= STEADY
    page.get_by_role("radio", name="samples", exact=True).click()
    expect(page.get_by_text("18 images")).to_be_visible()
    assert shifted(page) <= STEADY
    photos = 20  # some seconds of work
    for place in range(photos):
        Image.effect_noise((400, 300), 50 + place).convert("RGB").save(tmp_path / f"{place}.jpg")
    at_rest(page).get_by_role("radio", name="folder", exact=True).click()
    page.locator("[data-testid=stMain] input[type=file]").set_input_files(tmp_path)
    page.wait_for_function(STOP, polling=10)
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_text(f"{photos} images")).to_be_visible()
    expect(page.get_by_role("button", name="Go on")).to_have_count(0)

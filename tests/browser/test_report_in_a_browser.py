"""Take it away in a real browser: the handout opens with no network, the ZIP stops and ends, the link brings one back."""

import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from picture_files import saved
from PIL import Image
from playwright.sync_api import Page, expect
from wait_and_look import LONG_MS, at_rest, copied, in_both, number, resize, serious, too_wide

import vitcore
from app import texts
from vitcore.assets import asset_path
from vitcore.translation import percent_in_two_digits

TEXT = texts.prose("report", "en")


def taken(page: Page, key: str, folder: Path) -> Path:
    """Download a file."""
    with page.expect_download(timeout=LONG_MS) as waiting:
        page.locator(f".st-key-{key} button").first.click()
    file = folder / waiting.value.suggested_filename
    waiting.value.save_as(file)
    return file


@pytest.fixture
def offline(chromium):
    """`offline(file, theme, width)`: a page that opens a file and nothing else; what it asks for besides fails the test."""
    contexts, asked = [], []

    def go(file: Path, theme: str = "light", width: int = 1200) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, offline=True, java_script_enabled=True
        )
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda r: asked.append(r.url) if r.url != file.as_uri() and not r.url.startswith("data:") else None)
        page.on("pageerror", lambda error: asked.append(str(error)))
        page.goto(file.as_uri())
        return page

    yield go
    for context in contexts:
        context.close()
    assert asked == []


def test_the_handout_opens_with_no_network_and_prints_on_a4(visit, offline, tmp_path):
    page = at_rest(visit("report?photo=cat"))
    file = taken(page, "handout_html", tmp_path)
    assert file.name == "handout-cat-vit-tiny-patch8-128.html" and 100_000 < file.stat().st_size <= 6 * 2**20
    for theme, width in (("light", 1200), ("dark", 1200), ("light", 390)):
        handout = offline(file, theme, width)
        sizes = handout.evaluate("Promise.all([...document.images].map(i => i.decode().then(() => i.naturalWidth)))")
        assert len(sizes) == 6 + 12 + 3 + 1 and min(sizes) > 0, "every picture is shown"
        assert handout.evaluate("document.documentElement.scrollWidth") <= width
        assert width < 1200 or serious(handout, theme=theme) == []
        ink, paper = (
            [int(v) for v in re.findall(r"\d+", handout.evaluate(f"getComputedStyle(document.documentElement).{name}"))[:3]]
            for name in ("color", "backgroundColor")
        )
        assert (sum(ink) > sum(paper)) == (theme == "dark")
    pages = len(re.findall(rb"/Type\s*/Page[^s]", handout.pdf(prefer_css_page_size=True)))
    assert 3 <= pages <= 8
    said = json.loads(handout.locator("#numbers").text_content())
    values = at_rest(visit(page.url.replace("/report", "/distance")))
    expect(values.locator("[data-testid=stPlotlyChart] .main-svg").first).to_be_visible()
    dots = values.evaluate(
        """() => { const all = document.querySelector('.js-plotly-plot')._fullData
        const heads = [...new Set(all.map(t => t.customdata[0][1]))]
        const of = h => all.filter(t => t.customdata[0][1] === h).map(t => [...t.y])
        return heads.map(h => of(h).reduce((a, b) => a.map((y, i) => y || b[i]))) }"""
    )  # what is hollow is a trace of its own
    assert np.allclose(np.array(dots).T, said["distance_px"], atol=1e-3), "the dots of the app's figure"


def test_downloads_arrive_and_open(visit, shipped):
    page = at_rest(visit("rollout?photo=dahlia&compare=false"))
    page.get_by_role("button", name="Download").first.click()

    def take(label: str) -> bytes:
        with page.expect_download() as found:
            page.get_by_role("button", name=label, exact=True).click()
        assert found.value.suggested_filename == f"rollout-dahlia-vit-tiny-patch8-128.{label.split()[-1].lower()}"
        return found.value.path().read_bytes()

    png = Image.open(io.BytesIO(take("Picture, PNG")))
    assert png.format == "PNG" and min(png.size) >= 600 and len(png.convert("RGB").getcolors(1 << 24)) > 1000
    svg = take("Picture, SVG").decode()
    assert svg.lstrip().startswith(("<?xml", "<svg")) and svg.rstrip().endswith("</svg>")
    arrays = np.load(io.BytesIO(take("Numbers, NPZ")))
    expected = vitcore.record(shipped, asset_path("samples/dahlia.jpg")).rollout()
    assert np.allclose(arrays["rollout"], expected, atol=1e-6)
    table = take("Numbers, CSV").decode().splitlines()
    assert len(table) == 257 or len(table) == 17, "a head and one line a patch or a row"
    html = take("Picture, HTML").decode()
    foreign = re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=[\"']https?:[^\"']*", html)
    assert foreign == [], "self-contained"
    own = page.context.new_page()
    own.on("request", lambda r: None if r.url.startswith(("about:", "data:", "blob:", "file:")) else pytest.fail(r.url))
    own.set_content(html)
    own.wait_for_selector(".js-plotly-plot .main-svg")
    own.close()


SHOWN = {  # the first's handout is opened in another tab, too
    "a head of Look, masked": "?patch=37&layer=3&one_head=2&mask_outliers=true",
    "a patch's rollout": "?patch=200",
    "what a patch is given": "attention?patch=40&layer=2&one_head=1&direction=Who+attends+to+it",
}


@pytest.mark.parametrize("address", SHOWN.values(), ids=SHOWN)
def test_the_button_makes_a_handout_of_what_is_on_the_screen(visit, address):
    """To the digit, and under an address that another tab opens with the same."""
    page = at_rest(visit(address))
    told = page.locator(".most" if "attention" in address else ".pointed").first.inner_text()
    patch, share = re.search(r"patch (\d+) .*?([\d.]+)\s%", told).groups()
    button = page.get_by_role("link", name=TEXT["to handout"])
    there = button.get_attribute("href")
    button.click()
    page.wait_for_url(re.compile("/report"))
    said = shown_numbers(page)
    amounts = np.array((said["attention"] or {"patches": said["rollout"]})["patches"]).ravel()
    assert (amounts.argmax(), percent_in_two_digits(amounts.max())) == (int(patch), f"{share} %")
    given = said["settings"]
    asked = dict(re.findall(r"(\w+)=([^&]+)", address))
    assert (given["layer"], given["head"]) == (int(asked.get("layer", 11)), int(asked["one_head"]) if "one_head" in asked else None)
    assert bool(given["masked_patches"]) == ("mask_outliers" in asked) and given["received"] == ("direction" in asked)
    assert {*re.findall(r"(patch|pin|layer|one_head|received|mask_outliers)=", page.url)} == {
        *re.findall(r"(patch|pin|layer|one_head|received|mask_outliers)=", there)
    }, "the address has it, too"
    if address == SHOWN["a head of Look, masked"]:
        assert shown_numbers(visit(f"{there}"))["attention"] == said["attention"]


def shown_numbers(page: Page) -> dict:
    """The numbers of the handout that the page shows."""
    handout = at_rest(page).locator("iframe[srcdoc]").first.get_attribute("srcdoc")
    return json.loads(re.search(r'id="numbers">(.*?)</script>', handout, re.S)[1])


def test_the_page_is_accessible_the_animation_comes_as_a_file_and_all_fits_a_phone(visit, tmp_path, subtests):
    for theme in in_both(page := at_rest(visit("report"))):
        with subtests.test(theme):
            assert serious(page, theme=theme) == []
    still = page.get_by_role("img", name="Rollout through 12 layers")
    expect(still).not_to_have_attribute("src", re.compile("^data:"))
    page.get_by_label("Play", exact=True).click(force=True)
    expect(still).to_have_attribute("src", re.compile("^data:image/webp"))
    for key, kind in (("animation_webp", "WEBP"), ("animation_gif", "GIF")):
        image = Image.open(taken(page, key, tmp_path))
        assert image.format == kind and image.n_frames == 12
    resize(page, 390, 844)
    assert too_wide(page) <= 1
    page.get_by_role("button", name="More actions").click()
    expect(page.get_by_role("button", name="Copy link")).to_be_visible()


def test_a_zip_of_the_gallery_can_be_stopped_and_finished(visit, tmp_path):
    page = at_rest(visit("report"))
    page.locator("summary").filter(has_text=TEXT["many title"]).click()
    at_rest(page)  # the button in it stays where it is
    page.get_by_role("button", name="Make the ZIP of 18 photos").click()
    expect(page.get_by_text(re.compile(r"^[1-9]\d* of 18 photos"))).to_be_visible(timeout=LONG_MS)
    page.locator(".st-key-stop_batch button").click()
    expect(page.get_by_role("button", name="Go on")).to_be_visible(timeout=LONG_MS)
    finish = page.get_by_role("button", name=re.compile(r"^Finish with \d+$"))
    count = int(finish.inner_text().split()[-1])
    assert 1 <= count < 18
    finish.click()
    ready = "1 photo is ready." if count == 1 else f"{count} photos are ready."
    expect(page.get_by_text(ready)).to_be_visible(timeout=LONG_MS)
    assert serious(page) == []
    with zipfile.ZipFile(taken(page, "zip", tmp_path)) as archive:
        assert archive.testzip() is None
        assert len([name for name in archive.namelist() if name.endswith("handout.html")]) == count
    page.get_by_role("button", name="Start again").click()
    expect(page.get_by_role("button", name="Start again")).to_be_hidden(timeout=LONG_MS)
    at_rest(page)  # and the section is still open
    expect(page.get_by_role("button", name="Make the ZIP of 18 photos")).to_be_visible(timeout=LONG_MS)


def test_everything_about_three_photos_as_one_file(visit, offline, shipped, tmp_path):
    """Take everything about three photos home as one file, and open the handout of one of them without a network."""
    whole = Image.open(asset_path("samples/red-panda.jpg"))
    third = whole.width // 3
    crops = {f"part-{i}": whole.crop((i * third, 0, (i + 1) * third, whole.height)) for i in range(3)}
    page = at_rest(visit("report"))
    page.locator("summary").filter(has_text=TEXT["many title"]).click()
    at_rest(page)  # the button in it stays where it is
    page.get_by_role("radio", name="My own", exact=True).click()
    page.get_by_test_id("stMain").locator("input[type=file]").set_input_files(
        [{"name": f"{n}.png", "mimeType": "image/png", "buffer": saved(crop, "PNG")} for n, crop in crops.items()]
    )
    page.get_by_role("button", name="Make the ZIP of 3 photos").click()
    ready = page.get_by_role("button", name=re.compile(r"ZIP, [\d.]+ MB"))
    ready.wait_for(timeout=LONG_MS)
    with page.expect_download() as waiting:
        ready.click()
    with zipfile.ZipFile(waiting.value.path()) as box:
        assert {name.partition("/")[0] for name in box.namelist() if name.endswith("/handout.html")} == set(crops)
        box.extractall(tmp_path)
    handout = offline(tmp_path / "part-1" / "handout.html")
    expect(handout.get_by_role("heading", level=1)).to_have_text("part-1.png")
    label, share = vitcore.record(shipped, saved(crops["part-1"], "PNG")).top_classes(1)[0]
    expect(handout.get_by_text(f"Its prediction: {label}, {100 * share:.1f} %")).to_be_visible()
    assert handout.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 0)")


def test_the_link_has_the_view_and_can_be_copied_by_hand_where_there_is_no_clipboard(visit):
    page = at_rest(visit("patches?photo=castle"))
    number(page, "Patch").fill("77")
    number(page, "Patch").press("Enter")
    at_rest(page)
    address = copied(page)
    assert "photo=Neuschwanstein+Castle" in page.url, "what the menu says; a link says it the same in every language"
    assert "photo=castle" in address and "patch=77" in address
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.get_by_role("button", name="Copy link").click()
    field = page.get_by_role("textbox", name=TEXT["address"])
    expect(field).to_have_value(re.compile("photo=castle"))
    expect(field).to_be_focused()
    expect(page.locator(".st-key-copy_link output")).to_contain_text(TEXT["copy failed"])

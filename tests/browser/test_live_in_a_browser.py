"""Live in Chromium, with a file for a camera: it answers as `vitcore.record` does, and no frame leaves the browser."""

import base64
import json
import re
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import urlopen

import numpy as np
import pytest
from conftest import FLAGS, _on_path
from PIL import Image
from playwright.sync_api import expect
from renderer_memory import allocators_mb
from wait_and_look import LISTEN, LONG_MS, at_rest, in_both, resize, serious, settled, too_wide

import vitcore
from app.server.live_shipped_files import missing_live_files
from tests.picture_files import oriented, saved, swapped_primaries_profile
from vitcore.assets import asset_path
from vitcore.faithfulness.covered_patches import logits_without_patches

LATEST = """() => { const { id, logits, rolled, rgba, width, height, covered, off } = latest
  const text = bytes => new FileReaderSync().readAsDataURL(new Blob([bytes])).split(",")[1]
  return { id, width, height, covered, off, logits: text(logits), rolled: text(rolled), rgba: text(rgba) } }"""
SOME = ("cat", "espresso", "suspension-bridge")
FRAMES = 12  # of the camera


@pytest.fixture
def camera(tmp_path) -> Path:
    """A camera that looks at two photos of the gallery in turn: Motion JPEG is JPEGs in a row."""
    file = tmp_path / "camera.mjpeg"
    with file.open("wb") as film:
        for name in ("macaw", "giant-panda"):
            frame = Image.open(asset_path(f"samples/{name}.jpg")).convert("RGB").resize((640, 480))
            for _ in range(15):
                frame.save(film, "JPEG", quality=92)
    return file


def seen(page) -> dict:
    """The frame that the worker answered last, and its answer."""
    found = page.workers[0].evaluate(LATEST)
    numbers = {name: np.frombuffer(base64.b64decode(found[name]), "<f4") for name in ("logits", "rolled")}
    pixels = np.frombuffer(base64.b64decode(found["rgba"]), np.uint8).reshape(found["height"], found["width"], 4)
    return found | numbers | {"image": Image.fromarray(pixels[..., :3])}


def seen_with(page, what: str, expected: list[int]) -> dict:
    """What is seen once these patches are covered (or these heads are off), and the frame that says so has been answered."""
    return settled(page, lambda: seen(page), lambda found: sorted(found[what]) == expected)


def covers(page, figure, shipped) -> None:
    """A stroke of the brush and a key cover patches; the answer is that of Python's covering, until they are let go."""
    whole, hit = seen(page), figure.locator(".hit")
    figure.locator("[data-act=cover]").click()
    box = hit.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.47, box["y"] + box["height"] * 0.41)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.73, box["y"] + box["height"] * 0.41, steps=12)
    page.mouse.up()
    hit.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    found = seen_with(page, "covered", [*range(6 * 16 + 7, 6 * 16 + 12), 9 * 16 + 8])
    pixels = vitcore.record(shipped, asset_path("samples/red-panda.jpg")).model_input.pixels
    expected = logits_without_patches(shipped, pixels, [found["covered"]])[0]
    assert np.abs(found["logits"] - expected).max() < 1e-4 < 0.05 < np.abs(found["logits"] - whole["logits"]).max()
    figure.locator("[data-act=clear]").click()
    assert np.array_equal(seen_with(page, "covered", [])["logits"], whole["logits"])
    figure.locator("[data-act=cover]").click()
    page.keyboard.press("Escape")


def switches(page, figure, shipped) -> None:
    """Heads are switched off by a click and by keys; the answer and the map are those of `switch_off`, until all are on."""
    whole, heads = seen(page), shipped.heads
    figure.locator(".heads summary").click()
    figure.get_by_role("switch", name="Layer 3, head 1", exact=True).click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    found = seen_with(page, "off", [3 * heads + 1, 4 * heads + 2])
    assert figure.locator(".board [aria-checked=false]").count() == 2 and figure.locator(".heads .count").inner_text() == "(off: 2)"
    agrees(vitcore.switch_off(shipped, ["L3H1", "L4H2"]), found, asset_path("samples/red-panda.jpg"))
    assert np.abs(found["logits"] - whole["logits"]).max() > 0.05
    figure.locator("[data-act=on]").click()
    assert np.array_equal(seen_with(page, "off", [])["logits"], whole["logits"])


def walks(page, figure, shipped, folder: Path) -> None:
    """A GIF is walked frame by frame, each frame Pillow's own; its film is a clip that can be walked in turn."""
    file, photos = (
        folder / "clip.gif",
        [Image.open(asset_path(f"samples/{name}.jpg")).convert("RGB").resize((240, 160)) for name in SOME],
    )
    photos[0].save(file, save_all=True, append_images=photos[1:], duration=[200, 400, 300], loop=0)
    figure.locator("input[type=file]").set_input_files(file)
    place = figure.locator(".clip output")
    expect(place).to_contain_text("of 3")
    figure.locator(".scrubber").fill("0")
    expect(place).to_have_text("1 of 3")
    gif = Image.open(file)
    for at, key in enumerate(("", ".", ".", ",")):
        if key:
            page.keyboard.press(key)
        expect(place).to_have_text(f"{(at, 1)[at == 3] + 1} of 3")
        gif.seek((at, 1)[at == 3])
        expected = np.asarray(gif.convert("RGB"))
        found = settled(page, lambda: seen(page), lambda found: np.array_equal(np.asarray(found["image"]), expected))  # noqa: B023
        agrees(shipped, found, Image.fromarray(expected))
    with page.expect_download() as download:
        figure.locator("[data-act=film]").click()
    film = folder / download.value.suggested_filename
    assert film.name == "live-attention.webm"
    download.value.save_as(film)
    figure.locator("input[type=file]").set_input_files(film)
    settled(page, lambda: seen(page), lambda one: one["width"] == 960 and place.is_visible())  # frame and heat side by side
    coarse = lambda square: np.asarray(square.convert("RGB").resize((8, 8)), float)  # noqa: E731
    middles, found, count = [coarse(photo.crop((40, 0, 200, 160))) for photo in photos], [], int(place.inner_text().split()[-1])
    figure.locator(".scrubber").fill("1")
    page.wait_for_timeout(1000)  # it plays no more
    for at in range(count):
        figure.locator(".scrubber").fill(str(at))
        expect(place).to_have_text(f"{at + 1} of {count}")
        answer = settled(page, lambda: seen(page), lambda one: str(one["id"]) == figure.get_attribute("data-asked"))
        found.append(np.argmin([np.abs(coarse(answer["image"].crop((0, 0, 480, 480))) - middle).mean() for middle in middles]))
    assert list(dict.fromkeys(found)) == [0, 1, 2] and sorted(found) == found, found
    figure.locator(".scrubber").fill("0")
    figure.locator("[data-act=onward]").click()
    expect(place).to_have_text(re.compile(r"2 of \d+"))
    page.evaluate("delete globalThis.ImageDecoder")
    figure.locator("input[type=file]").set_input_files(file)
    expect(figure.locator(".told")).to_have_text("This browser can't play animated images: this is the file's first frame.")


def opens_as_python_does(page, figure, folder: Path) -> None:
    """Photos of other kinds: transparent parts are white, colours sRGB, EXIF is followed; what the browser can't do is said."""
    photo = Image.open(asset_path("samples/macaw.jpg")).convert("RGB").resize((60, 44))
    clear = photo.copy()
    clear.putalpha(Image.linear_gradient("L").resize(photo.size))
    kinds = {
        "cmyk.jpg": saved(photo.convert("CMYK"), "JPEG"),
        "icc.jpg": saved(photo, "JPEG", icc_profile=swapped_primaries_profile()),
        "turned.jpg": oriented(5),
        "clear.png": saved(clear, "PNG"),
        "palette.png": saved(photo.quantize(9), "PNG"),
    }
    for name, data in kinds.items():
        (folder / name).write_bytes(data)
        expected = np.asarray(vitcore.open_photo(data).image)
        figure.locator("input[type=file]").set_input_files(folder / name)
        settled(page, lambda: seen(page), lambda found: np.array_equal(np.asarray(found["image"]), expected))  # noqa: B023
    (folder / "turned.webp").write_bytes(oriented(5, "WEBP"))
    figure.locator("input[type=file]").set_input_files(folder / "turned.webp")
    expect(figure.locator(".told")).to_contain_text("This browser can't read turned.webp.")


def frames_mb(page) -> dict[str, float]:
    """What the browser's processes keep of images that were drawn, and of arrays of scripts with what is sent of them."""
    parts = {"images": ["cc/image_memory"], "arrays": [f"partition_alloc/partitions/{name}" for name in ("array_buffer", "buffer")]}
    kept = allocators_mb(page).values()
    found = {kind: sum(one.get(name, 0) for one in kept for name in names) for kind, names in parts.items()}
    assert all(any(name in one for one in kept for name in names) for names in parts.values()), "the browser has said nothing"
    return found


def agrees(shipped, found: dict, photo) -> None:
    rec = vitcore.record(shipped, photo)
    assert np.abs(found["logits"] - rec.logits).max() < 1e-4
    rolled = rec.rollout().ravel()
    assert np.abs(found["rolled"][rec.grid.prefix :] - rolled).max() < 1e-5 * rolled.max()


@pytest.mark.skipif(bool(missing_live_files()), reason="onnxruntime-web is not installed here: run `make live`")
def test_the_browser_answers_as_python_does_and_sends_no_frame(chromium, server, shipped, camera):
    flags = [flag for flag in FLAGS if not flag.startswith("--js-flags")] + [f"--use-file-for-fake-video-capture={camera}"]
    browser = chromium.browser_type.launch(executable_path=_on_path(), args=flags)
    context = browser.new_context(permissions=["camera"])
    context.set_default_timeout(LONG_MS)
    context.add_init_script(LISTEN)
    page = context.new_page()
    asked, sent, wrong = [], [], []
    in_memory = ("blob:", "data:")  # of this browser
    page.on("request", lambda request: request.url.startswith(in_memory) or asked.append((request.method, request.url)))
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(len(frame))))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(f"{server}/live")
    figure = page.locator("figure:has(.hit)")
    frames = lambda: int(figure.get_attribute("data-frames"))  # noqa: E731
    expect(figure.locator(".checked")).to_contain_text("differ from the server's by at most 0.0000")
    agrees(shipped, seen(page), asset_path("samples/red-panda.jpg"))
    covers(page, figure, shipped)
    switches(page, figure, shipped)
    for theme in in_both(page):
        assert serious(at_rest(page), theme=theme) == []
    assert too_wide(resize(page, 390, 844)) <= 1 and len(page.workers) == 1, "it runs on while the page is drawn anew"
    at_rest(resize(page, 1440, 1000))
    before, asked[:], sent[:] = frames(), [], []
    for name in SOME:
        figure.locator("input[type=file]").set_input_files(asset_path(f"samples/{name}.jpg"))
        expect(figure).not_to_have_attribute("data-frames", str(before))
        before = frames()
        agrees(shipped, seen(page), asset_path(f"samples/{name}.jpg"))
    opens_as_python_does(page, figure, camera.parent)
    walks(page, figure, shipped, camera.parent)
    before, kept = frames(), frames_mb(page)
    figure.locator("[data-source=camera]").click()
    settled(page, frames, lambda count: count > before + FRAMES)
    more, frame = frames_mb(page), 4 * 640 * 480 / 1e6
    assert more["images"] - kept["images"] < FRAMES * frame / 3, "frames that are over take memory"
    assert more["arrays"] - kept["arrays"] < FRAMES * frame, "and so do their arrays, until a collector comes"
    figure.locator(".hit").focus()
    page.keyboard.press(" ")
    expect(figure.locator("[data-act=freeze]")).to_have_attribute("aria-pressed", "true")
    expect(figure).to_have_attribute("data-frames", figure.get_attribute("data-asked"))  # what was on its way has come
    before, found = frames(), seen(page)
    assert found["image"].size == (640, 480)
    agrees(shipped, found, found["image"])
    page.wait_for_timeout(500)
    assert frames() == before, "it is frozen"
    assert asked == [] and sent == [], "while it runs nothing is asked for, and nothing is told"
    figure.locator("[data-act=keep]").click()
    expect(figure.locator(".told")).to_have_text("Every page now shows this frame.")
    expect(figure.locator("[data-source=photo]")).to_have_attribute("aria-pressed", "true")
    given = settled(page, lambda: seen(page), lambda one: one["image"].size == (128, 128))
    assert max(sent) > 50_000
    agrees(shipped, given, found["image"])  # what Python opened is the frame, to the bit
    assert {(method, urlparse(url).hostname) for method, url in asked} <= {("GET", urlparse(server).hostname)}, json.dumps(asked)
    assert wrong == []
    page.get_by_role("link", name="Patches", exact=True).click()
    expect(page.get_by_role("heading", name="Patches", level=1)).to_be_visible()
    settled(page, lambda: page.workers, lambda workers: workers == [])  # the worker ends with the page
    browser.close()


@pytest.mark.skipif(bool(missing_live_files()), reason="onnxruntime-web is not installed here: run `make live`")
def test_the_first_photo_is_answered_before_the_page_asks_and_another_is_not(visit, server):
    page = visit("positions")
    page.get_by_role("figure").first.wait_for(timeout=LONG_MS)  # a page has loaded the model
    settled(page, lambda: urlopen(f"{server}/live").read(), lambda html: b"data-first=" in html)  # the server has made it ready
    page = visit("live", new=True)
    figure, checked = page.locator("figure:has(.hit)"), "differ from the server's by at most 0.0000"
    expect(figure.locator(".checked")).to_contain_text(checked)
    assert figure.get_attribute("data-frames") == "1" and page.workers[0].evaluate("latest.id") == 0, "the page asked for none"
    figure.locator("[data-act=cover]").click()
    figure.locator(".hit").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(figure).to_have_attribute("data-frames", "2")
    held: list = []  # a slow line: the page is here before the photo that was asked for early
    pictures = re.compile(r"\.(png|jpg)$")
    page.route(pictures, lambda route: held.append(route) if route.request.resource_type == "fetch" else route.continue_())
    page.goto(f"{server}/live")
    figure.wait_for()
    page.wait_for_function("!window.insideVitLive")
    names = lambda: sorted(route.request.url.rpartition("-")[2] for route in held)  # noqa: E731
    settled(page, names, lambda found: found == ["pixels.png", "sharp.jpg"])
    page.wait_for_timeout(500)
    assert len(held) == 2, "the photo is fetched once"
    for route in held:
        route.continue_()
    expect(figure.locator(".checked")).to_contain_text(checked)
    assert page.workers[0].evaluate("latest.id") == 0, "and answered once"
    page.unroute(pictures)
    page.goto(f"{server}/live?photo=cat")
    expect(figure.locator(".checked")).to_contain_text(checked)
    assert page.workers[0].evaluate("latest.id") == 1

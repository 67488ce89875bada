"""The page Tokens in a real browser: pointing, pinning, views, the film and the keys; light and dark, on a phone."""

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from wait_and_look import LONG_MS, at_rest, figures_are_accessible, number, resize, serious, too_wide

import vitcore
from vitcore.assets import asset_path

SIDE, LAYER, PATCH = 16, 9, 136
# Controls of a row that lie on each other, or stand out of the row, with all that is drawn in them.
LAID_OVER = """row => {
  const drawn = e => [e, ...e.querySelectorAll("*")].map(e => e.getBoundingClientRect())
  const boxes = [...row.children].map(e => ({ name: e.className, all: drawn(e) }))
  const between = (a, b, from, to) => Math.min(a[to], b[to]) - Math.max(a[from], b[from]) > 1
  const meet = (a, b) => between(a, b, "left", "right") && between(a, b, "top", "bottom")
  const over = (one, two) => one.all.some(a => two.all.some(b => meet(a, b)))
  const pairs = boxes.flatMap((one, i) => boxes.slice(i + 1).filter(two => over(one, two)).map(two => `${one.name} on ${two.name}`))
  const right = row.getBoundingClientRect().right + 1
  return [...pairs, ...boxes.filter(({ all }) => all.some(b => b.right > right)).map(({ name }) => name)].join(", ")
}"""


def ready(page: Page) -> Page:
    page.locator(".photo0 .hit").wait_for(timeout=LONG_MS)  # the first visitor waits for torch to be loaded
    return at_rest(page)


def place(page: Page, patch: int, photo: int = 0) -> tuple[float, float]:
    box, (row, col) = page.locator(f".photo{photo} .hit").bounding_box(), divmod(patch, SIDE)
    return box["x"] + (col + 0.5) * box["width"] / SIDE, box["y"] + (row + 0.5) * box["height"] / SIDE


def lit(page: Page, photo: int) -> str:
    return page.locator(f".photo{photo} .lit").evaluate("c => c.toDataURL()")


def told(page: Page) -> Locator:
    return page.locator("figure .told")


@pytest.fixture(scope="module")
def tokens(shipped) -> vitcore.PatchTokens:
    return vitcore.patch_tokens(shipped, [asset_path(f"samples/{name}.jpg") for name in ("red-panda", "cat")], layers=LAYER)


def said_of(matches, patch: int) -> re.Pattern:
    best, following = int(matches.best[patch]), int(matches.runner_up[patch])
    mutual = " Each is the other's best match." * bool(matches.cycle_consistent[patch])
    words = (f"Best match: patch {best} (row {best // SIDE}, column {best % SIDE}), cosine {matches.cosine[patch]:.2f}.{mutual} "
             f"Runner-up: patch {following} ")  # fmt: skip
    return re.compile("^" + re.escape(words))


def test_two_photos_answer_each_other(visit, server, tokens, subtests):
    page, sent = visit("about:blank"), []
    page.on("websocket", lambda w: w.on("framesent", lambda data: sent.append(data)))
    page.goto(f"{server}/tokens?photo=red-panda&layer={LAYER}")
    figures_are_accessible(ready(page), subtests)
    rest, quiet = [lit(page, 0), lit(page, 1)], len(sent)
    forth, back = vitcore.correspondences(tokens), vitcore.correspondences(tokens, 1, 0)
    cosines = vitcore.cosine_similarity(tokens, PATCH)[0, 1]
    expect(told(page)).to_contain_text(f"In layer {LAYER}, the components shown hold")
    page.mouse.move(*place(page, PATCH))
    expect(told(page)).to_have_text(said_of(forth, PATCH))
    height = page.locator("figure .row").bounding_box()["height"]
    assert height < 40, "one row, where there is room"
    for width in (1280, 1100, 900, page.viewport_size["width"]):
        assert not resize(page, width, 900).locator("figure .row").evaluate(LAID_OVER), width
        page.mouse.move(*place(page, PATCH))
    expect(page.locator(".photo1 h3")).to_have_text("Similarity to patch 136 (row 8, column 8)")
    ends = [float(text) for text in page.locator("figure .scale span").all_inner_texts()]
    assert ends == pytest.approx([np.sort(cosines)[SIDE * SIDE // 2], cosines.max()], abs=0.011)
    assert lit(page, 0) == rest[0] and lit(page, 1) != rest[1]
    page.mouse.move(*place(page, 100, 1))
    expect(told(page)).to_have_text(said_of(back, 100))
    assert lit(page, 0) != rest[0] and lit(page, 1) == rest[1], "the first photo answers to the second"
    assert len(sent) == quiet, "the server hears nothing of it"

    page.mouse.click(*place(page, PATCH))
    page.mouse.move(5, 5)
    expect(number(page, "Patch")).to_have_value(str(PATCH))
    expect(page).to_have_url(re.compile(f"patch={PATCH}"))
    expect(told(page)).to_have_text(said_of(forth, PATCH))
    at_rest(page)
    page.locator(".photo0 .hit").focus()
    for key in ("ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
    expect(number(page, "Patch")).to_have_value(str(PATCH - 1 - SIDE))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("patch="))
    page.get_by_role("button", name="Draw matches").click()
    expect(page.locator("figure .lines")).to_be_visible()
    expect(page).to_have_url(re.compile("match_lines=true"))
    page.get_by_role("button", name="Layer 10").click()
    expect(page).to_have_url(re.compile("layer=10"))
    expect(page.locator(".photo0 h3")).to_have_text("Colours of the tokens · layer 10")
    at_rest(page)

    page.get_by_role("button", name="Foreground").click()
    expect(page).to_have_url(re.compile("tokens_view=Foreground"))
    at_rest(page)
    before = lit(page, 0)
    page.get_by_role("slider", name="Threshold").fill("1.5")
    expect(page).to_have_url(re.compile("threshold=1.5"))
    assert lit(page, 0) != before
    page.get_by_role("button", name="Mask outlier tokens").click()
    expect(page).to_have_url(re.compile("mask_outliers=true"))
    page.get_by_role("button", name="Segments").click()
    expect(page.locator(".photo0 h3")).to_have_text("Segments · layer 10")
    at_rest(page)
    page.emulate_media(reduced_motion="reduce")
    quiet = len(sent)
    page.get_by_role("button", name="Play layers").click()
    expect(page.locator(".photo0 h3")).to_have_text("Segments · layer 11")
    expect(page).to_have_url(re.compile("tokens_view=Segments"))
    expect(page).not_to_have_url(re.compile("layer=10"))
    at_rest(page)
    assert len([frame for frame in sent[quiet:] if b"chosen" in frame]) == 1, "the film is the browser's; its end is told"
    assert page.evaluate("document.documentElement.dataset.mode") == "dark" and serious(page) == []
    resize(page, 390, 844)
    assert too_wide(page) == 0
    assert page.locator(".photo0 .hit").bounding_box()["width"] > 150

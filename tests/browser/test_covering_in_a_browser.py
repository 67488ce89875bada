"""Cover and see in a real browser: patches are covered by mouse, finger and keys, undone, and shown again by a link."""

import re

import numpy as np
from playwright.sync_api import Page, expect
from wait_and_look import at_rest, canvas, copied, drawn, figures_are_accessible, resize, shows_the_photo_while_held, too_wide

from app.state.recordings import covered_photos
from vitcore.grid import Grid

GRID = Grid(16, 16, 8)


def covered(page: Page) -> list[int]:
    """Which patches the address says are covered."""
    found = re.search(r"covered=([^&]*)", page.url)
    return covered_photos.decode_patches(found[1] if found else "", GRID).nonzero()[0].tolist()


def told(page: Page, count: int) -> None:
    """Python has answered to so many covered patches, and the address holds them."""
    words = page.locator("figure:not(.waiting) .told")
    expect(words).to_contain_text(f"{count} of 256 patches" if count else "Nothing is covered")
    expect(page).to_have_url(re.compile("covered=" if count else "^((?!covered=).)*$"))
    at_rest(page)


def stroke(page: Page, *places: tuple[int, int]) -> None:
    """The pointer pressed, moved from patch to patch (row, column), and let go."""
    box = canvas(page).bounding_box()
    at = [(box["x"] + (col + 0.5) / 16 * box["width"], box["y"] + (row + 0.5) / 16 * box["height"]) for row, col in places]
    page.mouse.move(*at[0])
    page.mouse.down()
    for one in at[1:]:
        page.mouse.move(*one)
    page.mouse.up()


def test_cover_undo_and_send_the_link(visit):
    """Cover the panda's eyes, take it back, and send the address to somebody else."""
    page = at_rest(visit("cover?fill=noise"))
    shows_the_photo_while_held(page, "figure .maps canvas[data-map=rollout][data-when=before]")
    bare = drawn(page)
    stroke(page, (3, 2), (3, 8))
    told(page, 7)
    assert covered(page) == [50, 51, 52, 53, 54, 55, 56] and not np.array_equal(drawn(page), bare)
    page.get_by_role("button", name="Rectangle").click()
    stroke(page, (9, 9), (7, 12))
    told(page, 7 + 12)
    page.get_by_role("button", name="Undo").click()
    told(page, 7)
    page.keyboard.press("Control+Shift+Z")
    told(page, 19)
    page.get_by_role("button", name="Eraser").click()
    stroke(page, (3, 2), (3, 3))
    told(page, 17)
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.locator(".told")).to_contain_text("are removed; the model reads 240 tokens")
    expect(page.get_by_text("A Transformer can do this.")).to_be_visible()
    now, picture = covered(page), drawn(page)
    other = at_rest(visit(copied(page)))
    told(other, 17)
    assert covered(other) == now and np.array_equal(drawn(other), picture)
    page.get_by_role("button", name="Clear").click()
    told(page, 0)
    page.get_by_role("button", name="Object").click()
    stroke(page, (8, 8))
    expect(page.locator("figure:not(.waiting) .told")).not_to_contain_text("Nothing is covered")
    assert 1 < len(covered(at_rest(page))) < 80 and 8 * 16 + 8 in covered(page)
    page.locator(".st-key-cover_them button").click()
    told(page, 51)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("figure:not(.waiting) .told")).not_to_contain_text("51 of 256")


def test_cover_by_keys_and_on_a_phone(visit, subtests):
    page = at_rest(visit("cover"))
    figures_are_accessible(page, subtests)
    canvas(page).focus()
    for key in ("ArrowUp", "Space", "Shift+ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(key)
    told(page, 3)
    assert covered(page) == [7 * 16 + 8, 7 * 16 + 9, 7 * 16 + 10]
    page.keyboard.press("u")
    told(page, 2)
    for key in ("r", "Enter", "ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    told(page, 2 + 6)
    assert too_wide(resize(page, 390, 844)) <= 1
    assert canvas(page).bounding_box()["y"] < 330
    page.get_by_role("button", name="Brush", exact=True).click()
    stroke(page, (14, 3), (14, 6))
    expect(page.locator("figure:not(.waiting) .told")).to_contain_text("12 of 256")

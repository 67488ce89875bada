"""The Look page in a real browser: what is pointed at lights up in all five pictures, and what is chosen stays."""

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from wait_and_look import at_rest, canvas, changed, heat

import vitcore

PLACE = {"x": 5.5 / 16, "y": 2.5 / 16}  # of patch 37, on the photo


def point(page: Page, *, click: bool = False) -> None:
    box = canvas(page).bounding_box()
    where = {axis: part * box[side] for (axis, part), side in zip(PLACE.items(), ("width", "height"), strict=True)}
    (canvas(page).click if click else canvas(page).hover)(position=where)


def pixels(page: Page, selector: str) -> str:
    """What is drawn on a canvas, as an address that differs where it does."""
    return page.locator(selector).first.evaluate("c => c.toDataURL()")


def test_five_pictures_are_linked(visit, rec, subtests):
    """One visitor does one after the other; each lets go of what was chosen."""
    page = at_rest(visit(width=1440, height=900))
    page.locator(".heads .tile").first.wait_for()
    page.wait_for_function(LANDED)
    for step in (
        what_the_class_token_used, a_patch_that_is_pointed_at_lights_up_everywhere, rollout_plays_through_the_layers,
        a_click_pins_keys_walk_and_escape_lets_go, a_region_says_what_it_gets, a_head_of_the_chart_draws_its_map_and_its_distance,
        a_section_opens_its_page_with_what_is_pinned,
    ):  # fmt: skip
        with subtests.test(step.__name__):
            step(at_rest(page), rec)


LANDED = """() => { // the patches: their embedding is drawn then
  const look = document.querySelector(".st-key-look [data-testid=stBidiComponentIsolated]")
  const embedding = look?.shadowRoot.querySelector("canvas.embedding")
  return embedding?.getContext("2d").getImageData(0, 0, embedding.width, embedding.height).data.some(v => v)
}"""


def what_the_class_token_used(page: Page, rec: vitcore.Recording) -> None:
    """Show which patches the class token used for this photo, through all layers."""
    expect(page.locator(".painted")).to_have_text("Rollout: what could reach the class token from each patch")
    mask = rec.rollout()
    row, col = rec.grid.row_col(int(mask.argmax()))
    said = page.locator(".pointed")
    expect(said).to_contain_text(f"patch {mask.argmax()} (row {row}, column {col})")
    share = float(re.search(r"([\d.]+)\s%", said.inner_text()).group(1))
    assert share == pytest.approx(100 * mask.max(), rel=0.05)


def a_patch_that_is_pointed_at_lights_up_everywhere(page: Page, rec: vitcore.Recording) -> None:
    names = (".lit", ".sequence .over", ".embedding", ".filters canvas", ".positions .one", ".rollout canvas")
    before = {name: pixels(page, name) for name in names}
    point(page)
    expect(page.locator(".painted")).to_have_text("Rollout: what could reach patch 37 (row 2, column 5) from each patch")
    assert [name for name in names if pixels(page, name) == before[name]] == []
    share = float(re.search(r"column 5\) gives the class token ([\d.]+)\s%", page.locator(".pointed").inner_text())[1])
    assert share == pytest.approx(100 * rec.rollout()[2, 5], rel=0.05)
    for section in ("patches", "filters", "positions"):
        expect(page.locator(f"section.{section} .caption")).to_contain_text(re.compile("patch 37", re.IGNORECASE))
    page.mouse.move(5, 5)
    expect(page.locator(".painted")).to_have_text("Rollout: what could reach the class token from each patch")
    assert pixels(page, ".lit") == before[".lit"]


def a_click_pins_keys_walk_and_escape_lets_go(page: Page, rec: vitcore.Recording) -> None:
    point(page, click=True)
    expect(page).to_have_url(re.compile("patch=37"))
    page.mouse.move(5, 5)
    expect(page.locator(".painted")).to_contain_text("patch 37")
    canvas(page).press("ArrowDown")
    expect(page).to_have_url(re.compile("patch=53"))
    canvas(page).press("]")
    expect(page).to_have_url(re.compile("layer=11"))
    canvas(page).press("2")
    expect(page).to_have_url(re.compile("one_head=2"))
    expect(page.locator(".painted")).to_have_text("Layer 11, head 2: what patch 53 (row 3, column 5) attends to")
    canvas(page).press("Escape")
    expect(page).not_to_have_url(re.compile("patch="))
    canvas(page).press("Escape")
    expect(page).not_to_have_url(re.compile("layer=|one_head="))
    expect(page.locator(".painted")).to_contain_text("Rollout")


def a_region_says_what_it_gets(page: Page, rec: vitcore.Recording) -> None:
    """Rows 2 to 4 and columns 3 to 6, drawn out by the mouse, then by keys."""
    mask, said = rec.rollout(), page.locator(".pointed")
    for row, col, touch in ((2, 3, page.mouse.down), (4, 6, page.mouse.up)):
        box = canvas(page).bounding_box()
        canvas(page).hover(position={"x": (col + 0.5) / 16 * box["width"], "y": (row + 0.5) / 16 * box["height"]})
        touch()
    share = mask[2:5, 3:7].sum()
    expect(said).to_contain_text("Region of 12 patches:")
    percent, times = (float(number) for number in re.findall(r"([\d.]+)(?:\s%|×)", said.inner_text()))
    assert (percent, times) == pytest.approx((100 * share, share * rec.grid.tokens / 12), rel=0.05)
    canvas(page).hover(position={"x": 5, "y": 5})
    expect(said).to_contain_text("Region of 12 patches:")  # nothing else is pointed at
    page.keyboard.press("Escape")
    expect(said).not_to_contain_text("Region")
    expect(page).not_to_have_url(re.compile("region="))  # the address follows a moment later, and would be taken for the next one
    page.mouse.move(5, 5)
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        canvas(page).press(f"Shift+{key}")
    expect(said).to_contain_text("Region of 6 patches:")
    expect(page).to_have_url(re.compile("region=.*-16x16"))
    link = at_rest(page).url  # of the last key: a smaller region may have been in it
    page.reload()  # as a colleague opens it
    expect(page.locator(".pointed")).to_contain_text("Region of 6 patches:")
    assert page.url == link
    canvas(at_rest(page)).press("Escape")
    expect(page).not_to_have_url(re.compile("region="))
    expect(page.locator(".painted")).to_have_text("Rollout: what could reach the class token from each patch")


def a_head_of_the_chart_draws_its_map_and_its_distance(page: Page, rec: vitcore.Recording) -> None:
    chart = page.locator("section.distance canvas")
    chart.scroll_into_view_if_needed()
    dot = page.evaluate(
        """() => { const c = document.querySelector('.st-key-look [data-testid=stBidiComponentIsolated]').shadowRoot
          .querySelector('section.distance canvas'), b = c.getBoundingClientRect(); return [b.width, b.height] }"""
    )
    before = heat(page)
    for share in np.linspace(0.05, 0.95, 60):  # down the column of the last layer until a head is met
        box = chart.bounding_box()
        page.mouse.move(box["x"] + dot[0] - 30, box["y"] + share * dot[1])
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        if "Layer 11, head" in page.locator("section.distance .caption").inner_text():
            break
    said = page.locator("section.distance .caption").inner_text()
    head, px = re.search(r"Layer 11, head (\d): ([\d.]+) px", said).groups()
    assert float(px) == pytest.approx(float(rec.distance_px[11, int(head)]), abs=0.06)
    assert not np.array_equal(heat(page), before)
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile(f"layer=11.*one_head={head}|one_head={head}.*layer=11"))
    page.mouse.move(5, 5)
    expect(page.locator(".painted")).to_contain_text(f"Layer 11, head {head}")
    canvas(at_rest(page)).press("Escape")
    expect(page).not_to_have_url(re.compile("layer=|one_head="))


def rollout_plays_through_the_layers(page: Page, rec: vitcore.Recording) -> None:
    before = heat(page)
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".painted")).to_contain_text("Rollout after layer")
    changed(page, before, heat)
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.mouse.move(5, 5)
    expect(page.locator(".painted")).to_contain_text("what could reach")


def a_section_opens_its_page_with_what_is_pinned(page: Page, rec: vitcore.Recording) -> None:
    point(page, click=True)
    expect(page).to_have_url(re.compile("patch=37"))
    page.get_by_role("link", name="Follow a patch").click()
    expect(page).to_have_url(re.compile("/patches.*patch=37"))

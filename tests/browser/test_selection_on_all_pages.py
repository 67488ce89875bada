"""One patch, one layer and one head for all pages, in a browser: chosen in one picture, there in the next, and in its address."""

import re

from playwright.sync_api import expect
from wait_and_look import at_rest, follow


def test_a_patch_and_a_layer_go_along_through_the_menu(visit):
    page = at_rest(visit("patches"))
    box = page.locator(".st-key-split canvas").bounding_box()
    page.locator(".st-key-split canvas").click(position={"x": 5.5 / 16 * box["width"], "y": 2.5 / 16 * box["height"]})
    for slug in ("positions", "filters", "rollout", "story", "attention"):
        follow(page, slug)
        expect(page).to_have_url(re.compile(rf"/{slug}" + ("" if slug == "filters" else r"\?(.*&)?patch=37\b")))
        at_rest(page)
        if slug != "filters":
            expect(page.locator(".st-key-patch input")).to_have_value("37")
    page.locator(".st-key-layer").get_by_role("slider").focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"layer=8\b"))
    page.get_by_role("button", name=re.compile("^class token")).click()
    expect(page).to_have_url(re.compile(r"token=0\b"))
    at_rest(page)
    follow(page, "outliers")
    expect(page).to_have_url(re.compile(r"/outliers\?(.*&)?layer=8\b"))
    assert "token=" not in at_rest(page).url
    follow(page, "attention")
    expect(page).to_have_url(re.compile(r"/attention\?(?=.*\blayer=8\b)(?=.*\btoken=0\b)"))


def test_the_labs_way_to_another_patch_leads_there(visit):
    page = at_rest(visit("rollout?photo=cat&patch=37"))
    way = page.get_by_role("button", name=re.compile(r"Patch \d+ in the explorer")).first
    patch = re.search(r"Patch (\d+)", way.inner_text())[1]
    assert patch not in ("37", "136"), "else nothing is seen of it"
    way.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Attention explorer")
    expect(page).to_have_url(re.compile(rf"/attention\?(.*&)?patch={patch}\b"))
    at_rest(page)
    expect(page.locator(".st-key-patch input")).to_have_value(patch)
    expect(page.locator("figure")).to_contain_text(f"patch {patch} (row")
    page.reload()
    expect(page.locator(".st-key-patch input")).to_have_value(patch)

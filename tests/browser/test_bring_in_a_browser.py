"""Somebody brings a model nobody here has seen: dropped in, asked about, opened, on every page; and theirs alone."""

import re

from playwright.sync_api import expect
from safetensors.torch import save
from wait_and_look import LONG_MS, at_rest, follow, pick, resize, serious, too_wide

from app import texts

TEXT = texts.prose("bring", "en")


def test_a_model_is_dropped_opened_and_its_visitor_s_alone(visit, make_module):
    page = at_rest(visit("bring"))
    assert serious(page) == []
    ghosts = page.locator(".st-key-ghost_sheet img")
    expect(ghosts).to_have_count(6)
    top = ghosts.first.bounding_box()
    assert top and top["y"] < 330, "what a model will show is seen on the first screen"
    weights = {"name": "field-trip.safetensors", "mimeType": "application/octet-stream",
               "buffer": save({name: w.clone() for name, w in make_module().state_dict().items()})}  # fmt: skip
    page.locator("[data-testid=stMain] input[type=file]").first.set_input_files(weights)
    expect(page.get_by_role("heading", name="field-trip.safetensors")).to_be_visible(timeout=LONG_MS)
    expect(page.get_by_role("cell", name="4×4, 32×32 px")).to_be_visible()
    pick(at_rest(page), page.get_by_role("combobox", name="How many attention heads does each block have?"), "3")
    at_rest(page)
    assert serious(page) == []
    assert too_wide(resize(page, 390, 844)) <= 1
    page.get_by_role("button", name=TEXT["open"]).click()
    page.set_viewport_size({"width": 1440, "height": 1000})  # the page speaks of it before it has heard of the next

    expect(page.get_by_role("heading", level=1)).to_have_text(texts.prose("menu", "en")["overview"], timeout=LONG_MS)
    expect(page.get_by_role("combobox", name="Model")).to_have_value("field-trip (yours)", timeout=LONG_MS)
    expect(page).to_have_url(re.compile(r"model=field-trip\+%28yours%29"))
    at_rest(follow(page, "distance"))
    expect(page.get_by_text("field-trip.safetensors").first).to_be_visible()
    at_rest(follow(page, "bring"))
    expect(page.locator(".st-key-sheet img")).to_have_count(6)  # its own, in colour
    expect(ghosts).to_have_count(0)
    at_rest(follow(page, "distance"))
    other = at_rest(visit(page.url))
    expect(other.get_by_text("The model of this link is not here.")).to_be_visible()
    expect(other.get_by_text("field-trip")).to_have_count(0)
    expect(other.get_by_role("combobox", name="Model")).not_to_have_value("field-trip (yours)")

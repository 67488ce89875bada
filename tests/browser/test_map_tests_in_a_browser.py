"""The page that tests maps in a real browser: the curves, the fill, the names at the right, and the way to it from rollout."""

import re

from playwright.sync_api import Page, expect
from wait_and_look import LONG_MS, at_rest, figures_are_accessible, resize, too_wide

from app import texts


def test_the_tests_of_a_gallery_photo(visit, server, subtests):
    page: Page = visit(f"{server}/maptests?photo=red-panda")
    page.locator(".js-plotly-plot .main-svg").nth(2).wait_for(timeout=LONG_MS)
    at_rest(page)
    curves = page.locator(".js-plotly-plot").first
    assert curves.locator(".scatterlayer .trace").count() == 9
    names = [" ".join(text.split()) for text in curves.locator(".annotation").all_text_contents()]
    assert {"by chance", "rollout", "Grad-CAM"} <= {re.sub(r"^[\d.]+ ", "", name) for name in names}
    areas = [float(name.split()[0]) for name in names if re.match(r"\d\.\d\d ", name)]
    assert len(areas) == 9 and areas == sorted(areas), "of deletion the smallest area is the best"
    width, plot = curves.bounding_box()["width"], curves.locator(".annotation").last.bounding_box()
    assert plot["x"] + plot["width"] <= curves.bounding_box()["x"] + width
    page.get_by_role("radio", name="Insertion").click()
    expect(page).to_have_url(re.compile("test_curve=Insertion"))
    expect(page.get_by_text("Insertion: the strongest patches come first")).to_be_visible()
    page.get_by_role("radio", name="Blur").click()
    expect(page.get_by_text(re.compile(r"Best over \d+ photos \(patches blurred\)"))).to_be_visible()
    expect(page.get_by_role("button", name="Compare with 50 random orders")).to_have_count(0)
    assert not too_wide(page)
    figures_are_accessible(page, subtests)
    assert too_wide(resize(page, 390, 844)) <= 1
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.goto(f"{server}/rollout?photo=red-panda")
    page.get_by_text("Is rollout the best map?").click(timeout=LONG_MS)
    page.get_by_role("link", name=texts.prose("common")["maps tested"]).first.click()
    expect(page.get_by_role("heading", name="Test the maps")).to_be_visible(timeout=LONG_MS)

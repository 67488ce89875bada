"""The quiz in a real browser, by keyboard alone: in a lecture nothing until it is asked for, then an answer of one's own."""

import itertools
import re

from playwright.sync_api import expect
from wait_and_look import at_rest, resize, serious, too_wide


def test_a_class_is_asked_by_keyboard(visit):
    page = at_rest(visit("quiz?photo=cat&quiz_seed=7&question=2&lecture=true"))
    told, heading = page.locator("[data-testid=stAlert]"), page.get_by_role("heading", level=3)
    expect(told).to_have_count(0)
    page.keyboard.press("s")
    expect(told).to_contain_text(re.compile("The answer is [A-D]"))
    at_rest(page).keyboard.press("PageDown")  # as a presenter's clicker
    expect(heading).to_contain_text("3 ·")
    expect(told).to_have_count(0)
    at_rest(page).keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("lecture"))
    page = at_rest(resize(page, 390, 844))
    page.keyboard.press("b")
    options = page.get_by_role("group", name="Choices").get_by_role("button")
    expect(options.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text(re.compile("[01] of 1 answered right so far"))).to_be_visible()
    options.nth(0).click(force=True)  # it is known: nothing is answered twice
    at_rest(page).keyboard.press("ArrowRight")
    expect(heading).to_contain_text("4 ·")
    expect(page.get_by_text(re.compile("[01] of 1 answered right so far"))).to_be_visible()
    assert too_wide(at_rest(page)) <= 1 and serious(page) == []


def test_the_stepper_says_what_its_numbers_and_its_arrows_are(visit, subtests):
    page = visit("quiz?photo=cat&quiz_seed=7", width=1440, height=900)
    stepper, heading = page.locator(".st-key-quiz_steps"), page.get_by_role("heading", level=3)
    for width in (1440, 390):
        with subtests.test(width):
            resize(page, width, 900)
            expect(stepper.get_by_text("Questions, named after the page with the answer")).to_be_visible()
            expect(stepper.get_by_text("Previous question")).to_be_visible()
            place = stepper.bounding_box()
            stepper.get_by_text("Next question").click()
            expect(heading).to_contain_text("2 ·")
            assert at_rest(page) and stepper.bounding_box() == place, "what is pressed again and again stays in its place"
            stepper.get_by_role("button", name="Previous question", exact=True).click()
            expect(heading).to_contain_text("1 ·")
            assert too_wide(at_rest(page)) <= 1
            edges = stepper.locator("li .name").evaluate_all(EDGES)
            assert all(after[0] - one[1] > 15 for one, after in itertools.pairwise(edges)), "names keep apart"


EDGES = """all => all.filter(e => e.checkVisibility()).map(e => {
  const words = document.createRange()
  words.selectNodeContents(e)
  const { left, right } = words.getBoundingClientRect()
  return [left, right]
})"""

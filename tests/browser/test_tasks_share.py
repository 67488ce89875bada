"""What a newcomer wants to do with the app, as tasks: ask each layer, compare methods, lecture."""

import re
from pathlib import Path

import numpy as np
import test_rollout_in_a_browser as lab
from playwright.sync_api import expect
from test_lecture_in_a_browser import SIZE, chrome_is_hidden
from wait_and_look import at_rest, pick, resize

from vitcore.analysis.relevance import difference_points
from vitcore.forward.logit_lens import logit_lens
from vitcore.forward.relevance import relevance

SAMPLES = Path(__file__).parents[2] / "assets" / "samples"


def test_after_which_layer_the_answer_is_there(visit, shipped, rec):
    """After which layer would the model first give the answer it finally gives? What would it say after layer 3?"""
    best = logit_lens(shipped, rec.model_input).argmax(1)  # [0]: the embeddings alone
    final, after_3 = shipped.labels[best[-1]], shipped.labels[best[4]]
    passed = next(i for i in range(len(best)) if (best[i:] == best[-1]).all())
    page = at_rest(visit("story"))
    page.get_by_role("button", name="Layer after layer").click()
    expect(page.get_by_role("heading", level=2)).to_have_text("8 · Layer after layer")
    tiles = at_rest(page).locator(".st-key-story_depth li")
    expect(tiles).to_have_count(shipped.blocks)
    page.get_by_text("somewhere on the way", exact=True).click()  # what they say is kept back until then
    expect(tiles.nth(3)).to_contain_text("%")
    told = [re.fullmatch(r"Layer (\d+)\s*(.+) \d+\s%", tile).groups() for tile in tiles.all_inner_texts()]
    assert told[3] == ("3", after_3)
    assert next(layer for layer, label in told if label == final) == str(list(best[1:]).index(best[-1]))
    sentence = f"After {passed} of 12 layers (the picture of layer {passed - 1}) “{final}” leads for good."
    expect(page.get_by_text(sentence)).to_be_visible()


def test_where_two_methods_differ_most(visit, shipped, rec):
    """Rollout and a method that asks for a class disagree: show both for the second-likeliest class, and where most."""
    second = rec.top_classes(2)[1][0]
    asked = relevance(shipped, rec.model_input, "chefer", shipped.labels.index(second)).maps
    points = difference_points(rec.rollout(), asked.reshape(rec.grid.rows, rec.grid.cols))
    row, col = np.unravel_index(np.abs(points).argmax(), points.shape)
    page = lab.at_rest(visit("rollout?compare=true"))
    page.get_by_role("button", name=re.compile(rf"^{second} (< )?[\d.]+\s%$")).click()
    expect(page.get_by_role("heading", name=f"Chefer relevance for {second}")).to_be_visible()
    who = "Rollout" if points[row, col] > 0 else "Chefer relevance"
    expect(page).to_have_url(re.compile("class="))
    expect(page.get_by_text("The maps differ most at")).to_have_text(
        f"The maps differ most at patch {row * rec.grid.cols + col} (row {row}, column {col}). "
        f"There {who} gives {abs(points[row, col]):.2f} percentage points more."
    )


def test_step_7_on_the_projector(visit):
    """Put step 7 of the tour on the projector, large, without menus, in traditional Chinese, turn two pages, get out."""
    page = at_rest(visit("story", width=1920, height=1080))
    small = page.evaluate(SIZE)
    page.get_by_role("button", name="Inside one layer").click()
    expect(page.get_by_role("heading", level=2)).to_have_text("7 · Inside one layer")
    languages = page.get_by_role("combobox", name=re.compile("Language"))
    expect(languages).to_be_in_viewport()  # of the menu's top
    pick(page, languages, "繁體中文")
    expect(page.get_by_role("heading", level=2)).to_have_text("7 · 一層之內")
    page.get_by_role("switch").last.click(force=True)
    chrome_is_hidden(page)
    at_rest(page)
    assert page.evaluate(SIZE) > 1.4 * small
    fields = page.get_by_test_id("stNumberInput").filter(visible=True)
    assert fields.count() == 1 and fields.get_by_role("button").count() == 2, "the patch, with − and +"
    bar, stepper = (page.locator(f".st-key-{key}").bounding_box() for key in ("bar", "steps"))
    assert bar["y"] + bar["height"] <= stepper["y"] + 5, "the bar covers nothing"
    for step, name in ((8, "一層接一層"), (9, "預測")):
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("heading", level=2)).to_have_text(f"{step} · {name}")
        at_rest(page)
    resize(page, 1440, 620)
    answer = page.locator("[class*=st-key-answer_]")
    answer.locator("summary").evaluate("e => { e.scrollIntoView({ block: 'end' }); e.click() }")  # at the lower edge
    expect(answer.get_by_test_id("stExpanderDetails").locator("p").first).to_be_in_viewport(ratio=1)
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    expect(page.get_by_role("heading", level=2)).to_have_text("9 · 預測")

"""What a newcomer wants to do with the app, as tasks: send a view, ask each layer, compare methods, lecture, take it home."""

import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
import test_explorer_page as explorer
import test_lab_page as lab
from files import saved
from looking import LONG_MS, at_rest, copied, follow, pick, resize, slider
from PIL import Image
from playwright.sync_api import expect
from test_lecture_page import SIZE, chrome_is_hidden

import vitcore
from vitcore.analysis.relevance import difference_points
from vitcore.forward.logit_lens import logit_lens
from vitcore.forward.relevance import relevance

SAMPLES = Path(__file__).parents[2] / "assets" / "samples"


@pytest.fixture(scope="module")
def vit() -> vitcore.Vit:
    return vitcore.load()


@pytest.fixture(scope="module")
def rec(vit) -> vitcore.Recording:
    return vitcore.record(vit, SAMPLES / "red-panda.jpg")


def test_send_the_rollout_you_are_looking_at(visit):
    """Send a colleague exactly the picture you are looking at."""
    page = lab.at_rest(visit("rollout?compare=true"))
    before = lab.look(lab.picture(page, "gathered"))
    page.get_by_role("button", name="Settings").first.click()
    slider(page, "Residual weight, %").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile("residual=46"))
    mine = [lab.look(lab.picture(lab.at_rest(page), key)) for key in ("gathered", "b_gathered", "differ")]
    assert mine[0] != before
    theirs = lab.at_rest(visit(copied(page)))
    assert [lab.look(lab.picture(theirs, key)) for key in ("gathered", "b_gathered", "differ")] == mine
    follow(theirs, "report")  # and the handout of the same picture
    assert "residual=46" in copied(at_rest(theirs))


def test_send_the_attention_you_are_looking_at(visit):
    """Send a colleague exactly the picture you are looking at."""
    page = explorer.ready(visit("attention"))
    page.mouse.click(*explorer.place(page, 6, 5))
    expect(page).to_have_url(re.compile("patch=101"))
    slider(page, "Layer").focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile("layer=3"))
    page.mouse.move(2, 2)
    explorer.ready(page)
    expect(explorer.title(page)).to_contain_text("layer 3")
    title = explorer.title(page).inner_text()
    assert "patch 101 (row 6, column 5)" in title
    heads = explorer.pixels(page, "figure canvas")
    theirs = explorer.ready(visit(copied(page)))
    expect(explorer.title(theirs)).to_have_text(title)
    assert explorer.pixels(theirs, "figure canvas") == heads


def test_after_which_layer_the_answer_is_there(visit, vit, rec):
    """After which layer would the model first give the answer it finally gives? What would it say after layer 3?"""
    best = logit_lens(vit, rec.model_input.pixels).argmax(1)  # [0]: the embeddings alone
    final, after_3 = vit.labels[best[-1]], vit.labels[best[4]]
    passed = next(i for i in range(len(best)) if (best[i:] == best[-1]).all())
    page = at_rest(visit("story"))
    page.get_by_role("button", name="Layer after layer").click()
    expect(page.get_by_role("heading", level=2)).to_have_text("8 · Layer after layer")
    tiles = at_rest(page).locator(".st-key-story_depth li")
    expect(tiles).to_have_count(vit.blocks)
    page.get_by_text("somewhere on the way", exact=True).click()  # what they say is kept back until then
    expect(tiles.nth(3)).to_contain_text("%")
    told = [re.fullmatch(r"Layer (\d+)\s*(.+) \d+\s%", tile).groups() for tile in tiles.all_inner_texts()]
    assert told[3] == ("3", after_3)
    assert next(layer for layer, label in told if label == final) == str(list(best[1:]).index(best[-1]))
    sentence = f"After {passed} of 12 layers (the picture of layer {passed - 1}) “{final}” leads for good."
    expect(page.get_by_text(sentence)).to_be_visible()


def test_where_two_methods_differ_most(visit, vit, rec):
    """Rollout and a method that asks for a class disagree: show both for the second-likeliest class, and where most."""
    second = rec.top_classes(2)[1][0]
    asked = relevance(vit, rec.model_input.pixels, "chefer", vit.labels.index(second)).maps
    points = difference_points(rec.rollout(), asked.reshape(rec.grid.rows, rec.grid.cols))
    row, col = np.unravel_index(np.abs(points).argmax(), points.shape)
    page = lab.at_rest(visit("rollout?compare=true"))
    page.get_by_role("button", name=re.compile(rf"^{second} (< )?[\d.]+ %$")).click()
    expect(page.get_by_role("heading", name=f"Relevance for {second}")).to_be_visible()
    who = "Rollout" if points[row, col] > 0 else "Chefer relevance"
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


def test_everything_about_three_photos_as_one_file(visit, chromium, vit, tmp_path):
    """Take everything about three photos home as one file, and open the handout of one of them without a network."""
    whole = Image.open(SAMPLES / "red-panda.jpg")
    third = whole.width // 3
    crops = {f"part-{i}": whole.crop((i * third, 0, (i + 1) * third, whole.height)) for i in range(3)}
    page = at_rest(visit("report"))
    page.locator("summary").filter(has_text="Many photos as a ZIP").click()
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
    context = chromium.new_context(offline=True)
    try:
        handout = context.new_page()
        handout.goto((tmp_path / "part-1" / "handout.html").as_uri())
        expect(handout.get_by_role("heading", level=1)).to_have_text("part-1.png")
        label, share = vitcore.record(vit, saved(crops["part-1"], "PNG")).top_classes(1)[0]
        expect(handout.get_by_text(f"Its prediction: {label}, {100 * share:.1f} %")).to_be_visible()
        assert handout.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
    finally:
        context.close()

"""Tasks of a newcomer who looks: done by what is seen on the page, and answered as the recording says."""

import re

from playwright.sync_api import Locator, Page, expect
from test_attention_in_a_browser import place, ready, title
from test_pointer_keyboard_phone import choose
from wait_and_look import at_rest, follow, resize, slider

import vitcore
from vitcore.analysis import attention_as_bytes, patches
from vitcore.forward.predict import predict
from vitcore.probabilities import top_classes

EYE = (8, 5)  # row, column of the red panda's eye


def most(page: Page) -> Locator:
    return page.locator("figure .most").first


def test_what_is_asked_of_one_photo(visit, shipped, rec, subtests):
    """A newcomer goes from question to question, by the menu."""
    page = visit()
    tasks = a_near_head_and_a_far_head, the_farthest_head_on_a_phone, the_eye_and_its_two_arrows, what_shuffling_does_to_the_answer
    for task in tasks:
        with subtests.test(task.__name__):
            task(at_rest(page), shipped, rec)


def a_near_head_and_a_far_head(page: Page, vit: vitcore.Vit, rec: vitcore.Recording) -> None:
    """Find the head in layer 0 that looks nearest, and the one that looks farthest: how far does each, in pixels?"""
    at_rest(follow(page, "distance"))
    drawn = rec.distance_px[0]  # with the class token dropped
    px = rec.distance_renormalised_px[0]  # among the patches: a head that looks at the class token is not near
    near, far = px.argmin(), px.argmax()
    assert 3 * px[near] < px[far], "they can be told apart"
    said = f"head {near} has the shortest distance, {drawn[near]:.1f} px ({px[near]:.1f} px). "
    said += f"Head {far} has the longest, {drawn[far]:.1f} px ({px[far]:.1f} px)."
    expect(page.get_by_text(said)).to_be_in_viewport()


def the_farthest_head_on_a_phone(page: Page, vit: vitcore.Vit, rec: vitcore.Recording) -> None:
    """Which head looks farthest of all, if what the class token gets is left out and the rest made to sum to 1?"""
    resize(page, 390, 844)
    choose(page, "renormalise")
    px = rec.distance_renormalised_px
    block, head = divmod(int(px.argmax()), px.shape[1])
    found = page.get_by_text(f"layer {block}, head {head} has the longest distance, {px.max():.1f} px")
    expect(found).to_be_visible()
    at_rest(page)
    chart = page.get_by_test_id("stPlotlyChart").bounding_box()
    assert found.bounding_box()["y"] - (chart["y"] + chart["height"]) < 200, "right below its chart"
    resize(page, 1440, 1000)


def the_eye_and_its_two_arrows(page: Page, vit: vitcore.Vit, rec: vitcore.Recording) -> None:
    """Put your finger on the animal's eye: what does that patch attend to in layer 5, and who attends to it?"""
    ready(follow(page, "attention"))
    page.mouse.click(*place(page, *EYE))
    patch = EYE[0] * rec.grid.cols + EYE[1]
    token = rec.grid.prefix + patch
    expect(page.locator(".st-key-patch input")).to_have_value(str(patch))
    expect(page.get_by_role("combobox", name="Head")).to_have_value("")
    slider(page, "Layer").press("ArrowLeft")
    expect(title(page)).to_contain_text("layer 5, mean of 3 heads")
    weights = rec.maps[5].astype("float64").mean(0)
    for arrow, asked, given in (
        ("What it attends to", "What patch 133 (row 8, column 5) attends to", weights[token]),
        ("Who attends to it", "Who attends to patch 133 (row 8, column 5)", weights[:, token]),
    ):
        choose(page, arrow)
        at_rest(page)
        page.mouse.move(5, 5)
        expect(title(page)).to_contain_text(asked)
        best = int(given[rec.grid.prefix :].argmax())
        expect(most(page)).to_contain_text(f"patch {best} (row {best // 16}, column {best % 16})")
        said = re.search(r"([\d.]+)\s%", most(page).inner_text())
        assert said and abs(float(said[1]) / 100 / given[rec.grid.prefix + best] - 1) < attention_as_bytes.WORST + 0.01, (
            "two digits"
        )


def what_shuffling_does_to_the_answer(page: Page, vit: vitcore.Vit, rec: vitcore.Recording) -> None:
    """What happens to the model's answer when the patches are shuffled, and when their positions move along?"""
    at_rest(follow(page, "patches"))
    page.get_by_label("Shuffle the patches").click(force=True)
    order = patches.shuffled_patch_order(rec.grid.patches, 0)
    mixed = patches.join_patches(patches.split_patches(rec.model_input.pixels, rec.grid)[order], rec.grid)
    answers = {
        "Patches in order": rec.top_classes(1)[0],
        "Patches shuffled, position embeddings stay": top_classes(predict(vit, mixed), vit.labels, 1)[0],
        "Patches shuffled, position embeddings move along": rec.top_classes(1)[0],
    }
    assert len({label for label, _ in answers.values()}) == 2, "the scrambled picture is something else to the model"
    guess = page.get_by_role("radio", name="another class, or a much lower probability")
    expect(guess).to_be_in_viewport()  # beside the switch
    drawings = [page.get_by_role("figure", name=f"{name}: top 5") for name in answers]
    assert not any(drawing.is_visible() for drawing in drawings), "predict first"
    guess.click()  # and the answer is open
    for drawing, (label, p) in zip(drawings, answers.values(), strict=True):
        expect(drawing).to_be_visible()
        expect(drawing).to_contain_text(f"{label} {100 * p:.1f} %")
    expect(page.get_by_text("You were right.")).to_be_in_viewport()


def test_two_patches_on_a_projector(visit, rec):
    """Mark a patch on the animal's eye and a second one in the background: what does each look at most in the last layer?"""
    page = ready(visit("attention?lecture=true&block=11", width=1920, height=1080))
    page.mouse.click(*place(page, *EYE))
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_role("heading", name="Now choose a second patch")).to_be_in_viewport()  # and said to those who listen
    page.mouse.click(*place(page, 2, 13))
    expect(page).to_have_url(re.compile("second_patch=45"))
    ready(page).mouse.move(5, 5)
    for row, col in (EYE, (2, 13)):
        weights = rec.maps[11].astype("float64").mean(0)[rec.grid.prefix + row * 16 + col, rec.grid.prefix :]
        best = int(weights.argmax())
        expect(most(page)).to_contain_text(f"patch {best} (row {best // 16}, column {best % 16})")
    expect(most(page)).to_contain_text("The second token, patch 45 (row 2, column 13)")
    expect(most(page)).to_be_in_viewport()

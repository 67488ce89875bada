"""Training in a real browser: start a run through the page, see it finish, watch its film."""

import re
from pathlib import Path

import pytest
from app_process import served
from playwright.sync_api import Page, expect
from test_landing_page import STEADY, shifted
from wait_and_look import at_rest, changed, follow, resize, serious, too_wide

TINY = {"Steps": "30", "Batch, images": "8", "Image side, px": "32", "Width": "24", "Blocks": "1"}


def fill(page: Page, label: str, value: str) -> None:
    box = page.get_by_role("spinbutton", name=label, exact=True)
    box.fill(value)
    box.press("Enter")


def drawn(page: Page, alt: str) -> str:
    """What a chart shows: its pictures, and where its points are."""
    chart = page.get_by_role("img", name=re.compile(f"^{re.escape(alt)}"))
    expect(chart).to_have_count(1)
    told = "e => (e.dataset.source || e.style.transform) + e.style.visibility"
    return chart.evaluate(f"svg => [...svg.querySelectorAll('image, path')].map({told}).join()")


def narrow(page: Page) -> None:
    """Nothing scrolls sideways on a phone."""
    resize(page, 390, 844)
    assert too_wide(page) <= 1
    resize(page, 1440, 1000)


@pytest.fixture
def home(tmp_path):
    """Of a server of its own: a run is seen by everybody on the server where it runs."""
    return tmp_path


HOLD = """import os, sys, time
class Hold:
    def find_spec(self, name, path=None, target=None):
        while name == "torch" and not os.path.exists({go!r}):
            time.sleep(0.05)
sys.meta_path.insert(0, Hold())
"""


@pytest.fixture
def server(home, monkeypatch):
    """It loads torch only when there is a file `go`: however fast or slow a machine is, its first visitor waits."""
    (home / "sitecustomize.py").write_text(HOLD.format(go=str(home / "go")))
    monkeypatch.setenv("PYTHONPATH", str(home))
    with served(home) as address:
        yield address


WAITS = """() => { // at one moment: from outside the model may be there between two looks
  const seen = (what, words) => [...document.querySelectorAll(`[data-testid=stMain] ${what}`)].some(
    e => e.textContent.includes(words) && e.checkVisibility({ visibilityProperty: true }))
  return "waiting" in document.documentElement.dataset && seen("[data-testid=stSpinner]", "Loading the model") && seen("h1", "")
    && document.querySelector("[data-testid=stMain]").textContent.includes("Each tile compares") && !seen("p", "Each tile compares")
}"""


def nothing_jumps_while_the_first_visitor_waits_for_torch(page: Page, go: Path) -> None:
    loading, intro = (page.get_by_text("Loading the model"), page.get_by_text("Each tile compares one position"))
    page.wait_for_function(WAITS)
    go.touch()
    assert shifted(page) <= STEADY, "what came before the model waited for it"
    expect(loading).to_be_hidden()
    expect(intro).to_be_visible()


def test_nothing_jumps_for_the_first_visitor_then_train_a_model_and_watch_it_learn(visit, home):
    """The one server that nobody has used before serves both."""
    page = visit("positions", width=390, height=844)
    nothing_jumps_while_the_first_visitor_waits_for_torch(page, home / "go")
    resize(page, 1440, 1000)
    at_rest(follow(page, "train"))
    for folded in ("Settings", "Size of the model, learning rate"):
        page.get_by_text(folded, exact=True).click()
    for label, value in TINY.items():
        fill(page, label, value)
    fill(at_rest(page), "Heads", "5")
    expect(page.get_by_test_id("stAlert")).to_contain_text("can't be shared evenly among 5 heads")
    fill(at_rest(page), "Heads", "3")
    at_rest(page).get_by_text("Schedule", exact=True).click()
    fill(page, "Warmup, steps", "2")
    at_rest(page)
    name = page.get_by_role("textbox", name="Name of the run")
    name.fill("mine")
    name.press("Enter")
    at_rest(page)
    page.get_by_role("button", name="Measure the time on this machine").click()
    expect(page.get_by_text("The whole run")).to_be_visible()
    assert serious(page) == []
    narrow(page)
    page.get_by_role("button", name="From a shell").click()
    expect(page.locator(".listing")).to_contain_text("--steps 30")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Start training").click()
    expect(page).to_have_url(re.compile("run=mine"))
    page.reload()  # the run does not mind
    expect(page.get_by_text("Finished").first).to_be_visible()
    expect(page.get_by_text("Step 30 of 30")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Loss over steps. Loss: .* at step 30"))).to_be_visible()
    at_rest(page)
    assert serious(page) == []
    narrow(page)
    watch_the_film(page)
    follow(page, "train")
    page.get_by_role("link", name="Open its model in the app").click()
    expect(page.get_by_role("combobox", name="Model")).to_have_value("runs/mine")
    expect(page.get_by_text("trained here")).to_be_visible()


HEIGHTS = """slider => { // of the page in every frame, until the film's end: then the page is drawn again
  const heights = []
  const look = () => {
    if (slider.getAttribute("aria-valuetext") === "30") return
    heights.push(document.querySelector("[data-testid=stMain]").scrollHeight)
    requestAnimationFrame(look)
  }
  look()
  return heights
}"""


def watch_the_film(page: Page) -> None:
    page.get_by_role("link", name="Watch it learn").last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Watch it learn")
    slider = page.get_by_role("group", name="Training step").get_by_role("slider")
    expect(slider).to_have_attribute("aria-valuetext", "0")
    slider.focus()
    page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuetext", "30")
    at_rest(page)
    before = {alt: drawn(page, alt) for alt in ("Principal components", "Mean attention distance", "Attention rollout")}
    page.keyboard.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "0")
    at_rest(page)
    assert all(drawn(page, alt) != seen for alt, seen in before.items())
    assert serious(page) == []
    narrow(page)
    high = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    heights = slider.evaluate_handle(HEIGHTS)
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    expect(slider).to_have_attribute("aria-valuetext", "30")
    assert set(heights.json_value()) == {high}, "nothing jumps while it plays"
    # The film tells the server by itself that it has come to its end, and the last snapshot is what it was.
    assert changed(page, False, lambda page: {alt: drawn(page, alt) for alt in before} == before)

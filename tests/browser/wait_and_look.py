"""How a browser test waits and looks: for what is there, never for a while; at pixels, and with axe-core."""

import base64
import contextlib
import functools
import io
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Error, Locator, LocatorAssertions, Page, TimeoutError, expect

from app import texts
from app.menu import PAGES, ROOMS, PageRow

LONG_MS = 300_000  # for whatever there is to wait for: where thirty processes share two cores, the first visitor waits for minutes
COLOURS = ("color-contrast", "link-in-text-block")  # what axe can find in the dark that it did not find in the light
# After a hand was at the page Streamlit waits 200 ms for a slider or a field to come to rest before it tells the server; after
# the server has spoken the page has only to draw, and what it asks for then is heard.
QUIET_MS = {"hand": 250, "server": 80}
NAMED = "[data-testid=stPlotlyChart], [data-testid=stMain] img, [role=application], .pair canvas[role=img]"


def _once_there_is_one(method: Callable) -> Callable:
    """While one page takes another's place, what is meant may be there twice, and Playwright gives up at once: ask again. What
    stays there twice fails as before."""

    @functools.wraps(method)
    def ask(*args: Any, **kwargs: Any) -> Any:
        until = time.monotonic() + 30
        while True:
            try:
                return method(*args, **kwargs)
            except (AssertionError, Error) as error:
                if "strict mode violation" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.1)

    return ask


ACTIONS = (
    *("bounding_box", "click", "evaluate", "fill", "focus", "get_attribute", "hover", "inner_text", "input_value", "is_visible"),
    *("press", "scroll_into_view_if_needed", "set_input_files", "tap", "text_content", "wait_for"),
)
for _name in ACTIONS:
    setattr(Locator, _name, _once_there_is_one(getattr(Locator, _name)))
for _name in dir(LocatorAssertions):
    if _name.startswith(("to_", "not_to_")):
        setattr(LocatorAssertions, _name, _once_there_is_one(getattr(LocatorAssertions, _name)))

# Told to every page before its own scripts: remember when the page, the server and the hand at it last spoke, by a clock that
# stands still while the page gets no core (what is due then comes late, too), and hold the grey bars still that Streamlit
# shows while it loads: they pulse, and to draw them cost as much as the page itself.
# Where `window.lag` (ms) is set, the page hears of the server that much later, as over a slow line; where `window.stall` is
# [word, ms], so much later from the first message with this word on, as of a server that has to load something first.
# `window.shift` sums what the layout has shifted by itself; `window.shifts` says what.
LISTEN = """
window.clock = window.spoke = window.touched = window.sending = window.shift = 0
window.shifts = []
const called = node => `${node?.dataset?.testid ?? node?.nodeName} "${node?.textContent.slice(0, 40)}"`
const moved = s => `${called(s.node)} ${s.previousRect.y} → ${s.currentRect.y}`
setInterval(() => { window.clock += 25 }, 25)
new PerformanceObserver(list => list.getEntries().forEach(e => {
  if (e.hadRecentInput) return
  window.shift += e.value
  window.shifts.push(`${e.value}: ${e.sources.map(moved).join("; ")}`)
}))
  .observe({ type: "layout-shift", buffered: true })
const late = data => window.stalling ||= new TextDecoder().decode(data).includes(window.stall[0])
const stalled = data => window.stall && late(data) ? window.stall[1] : 0
const speaks = () => { window.spoke = window.clock }
window.WebSocket = class extends WebSocket {
  constructor(...all) {
    super(...all)
    super.addEventListener("message", speaks)
  }
  addEventListener(kind, hear, ...more) {
    const hears = event => {
      const ms = (window.lag ?? 0) + stalled(event.data)
      ms ? setTimeout(() => { speaks(); hear(event) }, ms) : hear(event)
    }
    super.addEventListener(kind, kind === "message" ? hears : hear, ...more)
  }
  send(data) {
    speaks()
    super.send(data)
  }
}
const send = XMLHttpRequest.prototype.send
XMLHttpRequest.prototype.send = function (...all) {
  window.sending++
  this.addEventListener("loadend", () => { window.sending--; speaks() })
  return send.apply(this, all)
}
const ask = window.fetch
window.fetch = (...all) => {
  window.sending++
  return ask(...all).finally(() => { window.sending--; speaks() })
}
const Picture = window.Image // of no page, of which our canvases are drawn
window.pictures = new Set()
window.Image = function (...all) {
  const image = new Picture(...all)
  window.pictures.add(image)
  for (const end of ["load", "error"]) image.addEventListener(end, () => { window.pictures.delete(image); speaks() })
  return image
}
window.Image.prototype = Picture.prototype
for (const kind of ["keydown", "keyup", "pointerdown", "pointerup", "click", "input", "change"])
  window.addEventListener(kind, () => { window.touched = window.clock }, true)
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", speaks)
window.addEventListener("resize", speaks)
const sizes = new ResizeObserver(speaks)
window.watch = main => { // the menu beside it glides, and pictures follow the room that is left
  if (!main || window.watched === main) return
  sizes.disconnect()
  for (const part of [(window.watched = main), main.firstElementChild]) part && sizes.observe(part)
}
const still = new CSSStyleSheet()
still.replaceSync("[data-testid=stSkeleton], [data-testid=stAppSkeleton] * { animation: none !important }")
document.adoptedStyleSheets.push(still)
"""
# No run is on its way, nothing of an older one is left, the page is shown, our components have dressed it and drawn theirs,
# nothing glides or fades, nothing has changed its size, nobody has spoken for a while, and a frame has come: our canvases are
# drawn in the next.
AT_REST = """quiet => {
  const app = document.querySelector("[data-testid=stApp]"), main = document.querySelector("[data-testid=stMain]")
  window.watch(main)
  const old = "[data-stale=true], [data-testid=stSkeleton], [data-testid=stSpinner]"
  const { mode, settled, waiting } = document.documentElement.dataset
  if (app?.dataset.testScriptState !== "notRunning" || !mode || settled === undefined || waiting === "") return false
  if (window.clock - window.spoke < quiet.server || window.clock - window.touched < quiet.hand) return false
  if (window.sending || document.querySelector(old) || ![...window.pictures].every(image => image.complete)) return false
  const ends = a => a.playState === "running" && a.effect?.getComputedTiming().iterations !== Infinity
  if (document.getAnimations().some(ends)) return false
  const shown = "[data-testid=stPlotlyChart], svg[role=img], canvas[role], img"
  const below = root => [...root.querySelectorAll("*")].flatMap(e => (e.shadowRoot ? inside(e.shadowRoot) : []))
  const inside = root => [...root.querySelectorAll(shown), ...below(root)]
  const drawn = e => {
    if (!e.checkVisibility()) return true
    if (e.tagName === "IMG") return e.complete
    if (e.tagName !== "CANVAS") return Boolean(e.querySelector(e.tagName === "DIV" ? ".main-svg" : "*"))
    return e.width > 10 && e.height > 0 && e.getContext("2d").getImageData(0, 0, e.width, e.height).data.some(v => v)
  }
  return inside(main).every(drawn) && new Promise(framed => requestAnimationFrame(() => framed(true)))
}"""


def at_rest(page: Page, server_ms: int = QUIET_MS["server"]) -> Page:
    """Wait until the server has nothing more to say (for so long) and the page has drawn what it said."""
    page.wait_for_function(AT_REST, arg=QUIET_MS | {"server": server_ms}, timeout=LONG_MS, polling=50)
    return page


def resize(page: Page, width: int, height: int) -> Page:
    """Another window, and wait until the page has followed."""
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return at_rest(page)


def in_both(page: Page) -> Iterator[str]:
    """The page as it is, light or dark, then in the other, as a page that is open follows its screen."""
    for theme in sorted(("light", "dark"), key=lambda theme: theme != page.evaluate("document.documentElement.dataset.mode")):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function("theme => document.documentElement.dataset.mode === theme", arg=theme)
        at_rest(page)
        yield theme


def unfold(page: Page, menu: Locator, option: str) -> Locator:
    """An option of a menu that is opened; Streamlit closes one that has just opened when the page moves: it is opened again."""
    menu.scroll_into_view_if_needed()
    at_rest(page)
    menu.click()
    choice = page.get_by_role("option", name=option).first
    with contextlib.suppress(TimeoutError):
        choice.wait_for(timeout=10_000)
    if not choice.is_visible() and at_rest(page) and not choice.is_visible():  # it may have come late: a click would close it
        menu.click()
    return choice


def pick(page: Page, menu: Locator, option: str) -> None:
    """Choose from a menu."""
    unfold(page, menu, option).click()


# Rules that can find nothing serious cost a third of the time, most of it to look for media.
RUN_AXE = """async ([part, only, also]) => {
  const light = axe._audit.rules.filter(rule => ["minor", "moderate"].includes(rule.impact) && !also.includes(rule.id))
  const rules = Object.fromEntries(light.map(rule => [rule.id, { enabled: false }]))
  const asked = only.length ? { runOnly: only } : { rules }
  return (await axe.run(part || document, { resultTypes: ["violations"], ...asked })).violations
}"""


def serious(page: Page, part: str | None = None, also: tuple[str, ...] = (), theme: str = "light") -> list[tuple[str, str, str]]:
    """axe-core's serious and critical violations, and those of the rules `also`: rule, selector, element.

    In dark only the rules of COLOURS are asked: with `in_both` the page is, or was, the same in light.
    """
    if not page.evaluate("'axe' in window"):  # once a page: to read it takes as long as to run it
        page.evaluate(Axe().axe_script)
    violations = page.evaluate(RUN_AXE, [part, list(COLOURS) if theme == "dark" else [], also])
    return [
        (rule["id"], " ".join(map(str, node["target"])), node["html"][:200])
        for rule in violations for node in rule["nodes"]
        if rule["impact"] in ("serious", "critical") or rule["id"] in also
    ]  # fmt: skip


def figures_are_accessible(page: Page, subtests: Any) -> None:
    """In light and dark, the sidebar and a figure's open downloads among it; no chart or picture is without words."""
    page.locator("[class*=_take] button").first.click()  # a table has a button of that name, too
    for theme in in_both(page):
        with subtests.test(theme):
            expect(page.get_by_role("button", name="Numbers, CSV").first).to_be_visible()
            found = serious(at_rest(page), theme=theme)
            assert found == [], json.dumps(found, indent=1)
            names = page.locator(NAMED).evaluate_all("all => all.map(e => e.getAttribute('aria-label') || e.alt || '')")
            assert names and all(len(name) > 4 for name in names), f"a chart or picture without words: {names}"
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Numbers, CSV")).to_have_count(0)


FOCUSED = """() => {
  let e = document.activeElement
  while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement
  return [e.tagName, e.getAttribute("aria-label") || e.title || e.innerText || ""]
}"""


def number(page: Page, label: str) -> Locator:
    return page.get_by_role("spinbutton", name=label, exact=True)


def slider(page: Page, label: str) -> Locator:
    return page.get_by_role("group", name=label, exact=True).get_by_role("slider")


def languages(page: Page) -> Locator:
    """The menu of languages."""
    return page.get_by_test_id("stSidebar").get_by_role("combobox", name=re.compile("语言"))


def follow(page: Page, slug: str, lang: str = "en") -> Page:
    """Go to a page as a person does: by its room in the menu and the page below it, or by what is for a class."""
    row = next(row for row in PAGES if row.slug == slug)
    at_rest(page)  # until then the links of the page before may be there
    link = page.get_by_test_id("stSidebarNavLink").and_(page.locator(f"[href$='/{_path(row)}']")).filter(visible=True)
    if not row.room:
        page.locator(".st-key-for_class button").click()
        page.get_by_test_id("stPopoverBody").locator(f"a[href$='{slug}']").filter(visible=True).click()
    elif link.count():
        link.click()
    else:
        first = ROOMS[row.room][0]
        page.get_by_test_id("stSidebarNavLink").and_(page.locator(f"[href$='/{_path(first)}']")).click()
        if row is not first:
            link.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(f"^\\s*{re.escape(texts.prose('menu', lang)[slug])}$"))
    return page


def _path(row: PageRow) -> str:
    return "" if row is PAGES[0] else row.slug


def copied(page: Page) -> str:
    """Press Copy link; what is on the clipboard then."""
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".st-key-copy_link output")).to_contain_text("Copied.")
    return page.evaluate("navigator.clipboard.readText()")


def too_wide(page: Page) -> int:
    """How many px the page scrolls sideways."""
    wide = "[document.documentElement, document.querySelector('[data-testid=stMain]')].map(e => e.scrollWidth)"
    return max(0, max(page.evaluate(wide)) - page.evaluate("innerWidth"))


def said_by(words: Locator) -> Callable[[], list[str]]:
    """All that these words say from now on, one after the other: of what moves by itself nothing is missed, however slow a
    machine is. (To look from outside at the right moment is a race.)"""
    heard = words.evaluate_handle("""e => {
      const heard = [e.textContent]
      const hear = () => { if (heard.at(-1) !== e.textContent) heard.push(e.textContent) }
      new MutationObserver(hear).observe(e, { childList: true, characterData: true, subtree: true })
      return heard
    }""")
    return lambda: heard.json_value()


def canvas(page: Page) -> Locator:
    """The picture to point at; of several the first."""
    return page.locator("canvas[role=application]").first


def pixels(on: Locator) -> np.ndarray:
    """What is drawn on a canvas, (H, W, 3)."""
    address = on.evaluate("c => c.toDataURL('image/png')")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))).convert("RGB"))


def drawn(page: Page) -> np.ndarray:
    """That picture's pixels, once it is there: the script that draws it may come after everything else is at rest."""
    canvas(page).wait_for()
    return pixels(canvas(at_rest(page)))


def heat(page: Page) -> np.ndarray:
    """The heat on the photo of the Look page, or of the explorer: what is pointed at lies on another canvas."""
    page.locator("canvas.lit").first.wait_for(state="attached")
    return pixels(at_rest(page).locator("canvas.lit").first)


def changed(page: Page, before: Any, look: Callable[[Page], Any] = drawn) -> Any:
    """Its pixels, or what else there is to look at, once they differ."""
    return settled(page, lambda: look(page), lambda now: not np.array_equal(now, before))


def settled(page: Page, read: Callable[[], Any], answers: Callable[[Any], bool]) -> Any:
    """What is read once it `answers` what is asked of it."""
    for _ in range(LONG_MS // 50):
        if answers(found := read()):
            return found
        page.wait_for_timeout(50)
    raise AssertionError(found)


def shows_the_photo_while_held(page: Page, where: str) -> None:
    """A map on a canvas gives way to the photo alone while the pointer is held on it, and comes back."""
    map_ = page.locator(where)

    def shown(_page: Page) -> np.ndarray:
        return pixels(map_).astype(int)

    heated = shown(at_rest(page))
    map_.hover()
    page.mouse.down()
    settled(page, lambda: np.abs(shown(page) - heated).mean(), lambda apart: apart > 4)
    page.mouse.up()
    page.mouse.move(2, 2)
    settled(page, lambda: np.abs(shown(page) - heated).max(), lambda apart: apart == 0)

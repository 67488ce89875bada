"""How a page uses its first screen: where its first picture is, how much of the screen pictures hold, and what stands above.

    python tests/benchmarks/first_screen_layout.py [--sizes desk laptop lecture narrow phone] [--pages patches …]
        [--theme light] [--json FILE] [--before FILE]

The script opens every page of the menu in Chromium, in English, with the photo and the model that the app begins with. It
waits until the page is at rest and prints a table for each size. Only the main area counts; the sidebar is left out.

- A picture is an image, canvas, SVG or video larger than 120×120 px. Iframes, and tables on a canvas, are left out
  with their words.
- Top: of the highest picture, in px from the top of the window. Share: what pictures cover of the main area of the first
  screen; where pictures overlap, their area counts once.
- Words: those that are seen with nothing unfolded. A formula is one word; words inside an SVG belong to the picture.
- Controls: enabled buttons, links, fields, sliders, menus. A field with its own buttons is one control; a help icon is none.
- Above: the middle of the word or control is higher than the top of the first picture; without a picture, all are above.
- Longest: the longer side of the largest picture, as far as it is on the first screen.
- Cut: lines of text and controls that a bar at the foot of the screen half covers.
- Shift: the sum of the browser's layout-shift entries. Errors: script errors and errors in the console.

`!` marks what misses a limit. `--before` takes a file that `--json` wrote, and prints its values beside the new ones.
"""

import argparse
import itertools
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SIZES = {"desk": (1440, 900, ""), "laptop": (1280, 720, ""), "lecture": (1920, 1080, "&lecture=true"), "narrow": (1024, 768, ""),
         "phone": (390, 844, "")}  # fmt: skip
COLUMNS = {"top": "top, px", "share": "share, %", "words_above": "words above", "controls_above": "controls above",
           "words": "words", "longest": "longest, px", "cut": "cut", "height": "height, px",
           "shift": "shift", "errors": "errors"}  # fmt: skip
MOST = {"words_above": 40, "controls_above": 6}
MOST_TOP, LEAST_SHARE, LEAST_LONGEST = 330, 40, 860  # px at the desk's size; % at every size; px in a lecture
EXPECTED = re.compile(r"/_stcore/(health|host-config)$")  # Streamlit looks for its server below the page's address, too
LOOK = """() => {
  const main = document.querySelector("[data-testid=stMain]"), screen = main.getBoundingClientRect()
  main.scrollTo(0, 0)
  const all = root => [...root.querySelectorAll("*")].flatMap(e => e.shadowRoot ? [e, ...all(e.shadowRoot)] : [e])
  const above = e => e.assignedSlot ?? e.parentElement ?? e.getRootNode().host
  const meet = (a, b) => [Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]), Math.min(a[3], b[3])]
  const box = e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom] }
  const known = new Map([[main, [screen.left, -Infinity, screen.right, Infinity]]])
  const frame = e => { // what the boxes around let through
    if (!e) return [0, 0, 0, 0]
    if (!known.has(e)) {
      const outer = frame(above(e))
      known.set(e, getComputedStyle(e).overflow === "visible" ? outer : meet(outer, box(e)))
    }
    return known.get(e)
  }
  const shown = e => e.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  const seen = (range, e) => {
    const part = meet(box(range), frame(e))
    return part[2] - part[0] > 2 && part[3] - part[1] > 2 && part
  }
  const elements = all(main), pictures = [], words = [], controls = []
  for (const e of elements) {
    if (!e.matches("img, canvas, svg, video") || e.closest("[data-testid=stDataFrame]") || !shown(e)) continue
    const [left, top, right, bottom] = box(e), part = seen(e, above(e))
    if (part && right - left > 120 && bottom - top > 120) pictures.push(part)
  }
  const middle = part => (part[1] + part[3]) / 2
  const say = (range, e) => { const part = seen(range, e); if (part) words.push(middle(part)) }
  for (const e of elements) {
    if (e.matches(".katex")) { if (shown(e)) say(e, e); continue }
    if (e.closest("svg, .katex") || !shown(e) || getComputedStyle(e).fontFamily.includes("Material Symbols")) continue
    for (const text of e.childNodes) {
      if (text.nodeType !== Node.TEXT_NODE) continue
      for (const word of text.data.matchAll(/\\S*[\\p{L}\\p{N}]\\S*/gu)) {
        const range = document.createRange()
        range.setStart(text, word.index)
        range.setEnd(text, word.index + word[0].length)
        say(range, e)
      }
    }
  }
  const kinds = "button, a[href], input, select, textarea, summary, [role=button], [role=slider], [role=tab]"
  const none = ["WidgetLabel", "MetricLabel", "DataFrame"].map(name => `[data-testid=st${name}] *`).join()
  const whole = ["NumberInput", "TextInput", "Selectbox", "MultiSelect", "Slider", "SelectSlider", "FileUploader", "TextArea"]
    .map(name => `[data-testid=st${name}]`).join()
  const once = new Set()
  for (const e of elements) {
    if (!e.matches(kinds) || e.disabled || e.ariaDisabled === "true" || e.matches(none)) continue
    const control = e.closest(whole) ?? e.closest("label, button, a[href], summary") ?? e
    const part = !once.has(control) && shown(control) && seen(control, above(control))
    once.add(control)
    if (part) controls.push(middle(part))
  }
  // bars that stay at the foot, over what scrolls; small things that end below their upper edge
  const stays = e => ["sticky", "fixed"].includes(getComputedStyle(e).position)
  const foot = e => shown(e) && stays(e) && Math.abs(e.getBoundingClientRect().bottom - innerHeight) < 3
  const bars = [...main.parentElement.querySelectorAll("[data-testid=stBottom], [data-testid=stMain] *")].filter(foot)
  const edge = Math.min(...bars.map(e => e.getBoundingClientRect().top))
  const crosses = ({ top, bottom, height }) => height > 4 && height < 60 && top < edge - 1 && bottom > edge + 1
  const cut = elements.filter(e => !bars.some(bar => bar.contains(e)) && shown(e)).flatMap(e => {
    if (e.matches(kinds)) return [e.getBoundingClientRect()].filter(crosses)
    const texts = [...e.childNodes].filter(node => node.nodeType === Node.TEXT_NODE && node.data.trim())
    return e.closest(kinds) ? [] : texts.flatMap(node => {
      const range = document.createRange()
      range.selectNodeContents(node)
      return [...range.getClientRects()].filter(crosses)
    })
  }).length
  const first = meet([screen.left, screen.top, screen.right, screen.bottom], [0, 0, innerWidth, innerHeight])
  return { screen: first, pictures, words, controls, cut, height: main.scrollHeight, shift: window.shift }
}"""


def union(boxes: list[list[float]], within: list[float]) -> float:
    """The area inside `within` that boxes (left, top, right, bottom) cover; where they overlap it counts once."""
    cut = [(max(a, within[0]), max(b, within[1]), min(c, within[2]), min(d, within[3])) for a, b, c, d in boxes]
    edges = sorted({x for left, _, right, _ in cut for x in (left, right)})
    area = 0.0
    for left, right in itertools.pairwise(edges):
        reached = within[1]
        for a, top, c, bottom in sorted(cut, key=lambda box: box[1]):
            if a <= left and right <= c and bottom > max(top, reached):
                area += (right - left) * (bottom - max(top, reached))
                reached = bottom
    return area


def figures(found: dict[str, Any], errors: int) -> dict[str, float | None]:
    """A row of the table, from what the browser found on a page."""
    top = min((picture[1] for picture in found["pictures"]), default=None)
    left, upper, right, lower = found["screen"]
    share = 100 * union(found["pictures"], found["screen"]) / ((right - left) * (lower - upper))
    count = {f"{name}_above": sum(top is None or y < top for y in found[name]) for name in ("words", "controls")}
    sides = ((min(c, right) - max(a, left), min(d, lower) - max(b, upper)) for a, b, c, d in found["pictures"])
    longest = max(map(max, sides), default=0)
    return {"top": None if top is None else round(top), "share": round(share), **count, "words": len(found["words"]),
            "longest": round(longest), "cut": found["cut"], "height": found["height"],
            "shift": round(found["shift"], 3), "errors": errors}  # fmt: skip


def misses(size: str, name: str, value: float | None) -> bool:
    """Whether a value misses its limit."""
    if name == "top":
        return value is None or (size == "desk" and value > MOST_TOP)
    assert value is not None
    if name == "longest":
        return size == "lecture" and value < LEAST_LONGEST
    if name == "cut":
        return size == "desk" and value > 0
    return value < LEAST_SHARE if name == "share" else value > MOST.get(name, value)


def table(size: str, rows: dict[str, dict], before: dict[str, dict]) -> str:
    """A size's table; a page that the run before had too has its values of then before those of now."""
    width, height, query = SIZES[size]
    lines = [f"\n### {width}×{height}{', lecture mode' if query else ''}\n",
             "| page | " + " | ".join(COLUMNS.values()) + " |", "|---" * (1 + len(COLUMNS)) + "|"]  # fmt: skip
    for page, row in rows.items():
        runs = [run[page] for run in (before, {page: row}) if page in run]
        cells = [" → ".join(_cell(size, name, run[name]) for run in runs) for name in COLUMNS]
        lines.append(f"| {page} | " + " | ".join(cells) + " |")
    runs = [{p: run[p] for p in rows} for run in (before, rows) if rows.keys() <= run.keys()]
    sums = {name: " → ".join(str(sum(row[name] for row in run.values())) for run in runs) for name in ("words", "errors")}
    return "\n".join([*lines, "| all | " + " | ".join(sums.get(name, "") for name in COLUMNS) + " |"])


def _cell(size: str, name: str, value: float | None) -> str:
    return ("–" if value is None else f"{value:g}") + ("!" if misses(size, name, value) else "")


def visit(browser: Any, address: str, size: str, theme: str) -> dict[str, float | None]:
    """A page as a new visitor has it."""
    from tests.browser.wait_and_look import LISTEN, LONG_MS, at_rest

    width, height, query = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme, locale="en")
    context.set_default_timeout(LONG_MS)
    context.add_init_script(LISTEN)  # it sums the layout's shifts
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" and not EXPECTED.search(m.location["url"]) else None)
    page.goto(f"{address}?lang=en{query}")
    at_rest(page)
    page.wait_for_timeout(700)  # what comes or jumps late
    found = at_rest(page).evaluate(LOOK)
    context.close()
    for error in errors:
        print(f"{address}: {error}", file=sys.stderr)
    return figures(found, len(errors))


def main() -> None:
    """Print the tables."""
    sys.path[0] = str(ROOT)  # not this folder, where the name `app` is another file
    from app.menu import PAGES

    slugs = [row.slug for row in PAGES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--pages", nargs="+", choices=slugs, default=slugs)
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    parser.add_argument("--json", type=Path, help="where the values are written")
    parser.add_argument("--before", type=Path, help="what --json wrote on an earlier run")
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    from tests.benchmarks.landing_page_load import launched, server

    before = json.loads(args.before.read_text(encoding="utf-8")) if args.before else {}
    found: dict[str, dict] = {}
    with server() as (address, _), sync_playwright() as playwright:
        browser = launched(playwright)
        visit(browser, address, "desk", args.theme)  # the server loads torch for its first visitor
        for size in args.sizes:
            places = {slug: address if slug == slugs[0] else f"{address}/{slug}" for slug in args.pages}
            found[size] = {slug: visit(browser, place, size, args.theme) for slug, place in places.items()}
            print(table(size, found[size], before.get(size, {})), flush=True)
            if args.json:
                args.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
        browser.close()


if __name__ == "__main__":
    main()

"""Benchmark: how soon the attention explorer repaints under the pointer, and how soon the page follows a click.

Run `python tests/benchmarks/explorer.py [--moves 500] [--clicks 30]`. It starts the app with two random models of 12 heads
(14×14 and 16×16 patches) beside the one that ships, and moves a real pointer in Chromium. All times are taken inside the
page with performance.now(): from the event's own timestamp to the first message after the next animation frame, when that
frame has been painted; a move counts only if the heading then names the patch pointed at. A page is updated when the
controls, which Python drew, hold what was chosen, and the strip of layers is the new patch's.
"""

import argparse
import random
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[0] = str(ROOT)
MODELS = {"12 heads, 14×14": ("runs/twelve14", 14, 12), "12 heads, 16×16": ("runs/twelve16", 16, 12),
          "shipped: 3 heads, 16×16": (None, 16, 3)}  # fmt: skip
BARS = {"hover": (16, 33), "click": (250, None), "block": (200, None), "block seen": (200, None)}

WATCH = """title => {
  const find = root => root.querySelector("figure .hit") ? root :
    [...root.querySelectorAll("*")].map(e => e.shadowRoot && find(e.shadowRoot)).find(Boolean)
  const root = find(document)
  const q = s => root.querySelector(s)
  const painted = done => requestAnimationFrame(() => {
    const channel = new MessageChannel()
    channel.port1.onmessage = () => done(performance.now())
    channel.port2.postMessage(0)
  })
  window.bench = { hover: [], work: [], q, wanted: null, bytes: 0 }
  let pending = false
  q(".hit").addEventListener("pointermove", event => {
    if (pending) return
    pending = true
    const begun = performance.now()
    painted(now => {
      pending = false
      if (q(title).textContent.includes(bench.wanted)) {
        bench.hover.push(now - event.timeStamp)
        bench.work.push(now - begun)
      }
    })
  }, true)
  bench.until = (test, event) => new Promise(done => {
    let begun = null
    const root = q("figure")
    root.addEventListener(event, e => { begun = e.timeStamp }, { capture: true, once: true })
    const look = () => painted(now => begun !== null && test() ? done(now - begun) : look())
    look()
  })
  bench.control = label => document.querySelector(`input[aria-label^="${label}"]`)?.value
}"""


def percentile(times: list[float], share: float) -> float:
    """The time that this share of all does not exceed."""
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def row(what: str, times: list[float], bar: tuple[float, float | None]) -> None:
    """A line of the table."""
    middle, high = statistics.median(times), percentile(times, 0.95)
    fails = middle > bar[0] or (bar[1] is not None and high > bar[1])
    bars = f"{bar[0]} / {bar[1] or '–'}"
    print(f"| {what} | {len(times)} | {middle:.1f} | {high:.1f} | {max(times):.1f} | {bars}{' ✗' if fails else ''} |", flush=True)


def watch(page, title: str) -> None:  # type: ignore[no-untyped-def]
    """Take times on the picture that is pointed at from now on; the element `title` names what it shows."""
    page.evaluate(WATCH, title)


def wait(page) -> None:  # type: ignore[no-untyped-def]
    """Until server and picture rest."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_timeout(400)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")


def at(page, row_: int, col: int, side: int) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    """Where a patch is on the screen."""
    box = page.locator("canvas.hit").bounding_box()
    return box["x"] + (col + 0.5) * box["width"] / side, box["y"] + (row_ + 0.5) * box["height"] / side


def hover(page, side: int, moves: int, luck: random.Random) -> tuple[list[float], list[float]]:  # type: ignore[no-untyped-def]
    """Point at one patch after another."""
    last = None
    box = page.locator("canvas.hit").bounding_box()
    page.evaluate("bench.hover = [], bench.work = []")
    for _ in range(moves):
        here = luck.choice([(r, c) for r in range(side) for c in range(side) if (r, c) != last])
        last = here
        page.evaluate(f"bench.wanted = '(row {here[0]}, column {here[1]})'")
        page.mouse.move(box["x"] + (here[1] + 0.5) * box["width"] / side, box["y"] + (here[0] + 0.5) * box["height"] / side)
        page.wait_for_timeout(luck.uniform(20, 40))
    return page.evaluate("[bench.hover, bench.work]")


def click(page, side: int, count: int, luck: random.Random) -> list[float]:  # type: ignore[no-untyped-def]
    """Pin one patch after another."""
    times = []
    for _ in range(count):
        r, c = luck.randrange(side), luck.randrange(side)
        token, name = 1 + r * side + c, f"(row {r}, column {c})"
        if page.evaluate("bench.control('Token')") == str(token):
            continue
        page.evaluate(f"window.waited = bench.until(() => bench.control('Token') === '{token}' && "
                      f"bench.q('.strip p').textContent.includes('{name}'), 'click'); 0")  # fmt: skip
        page.mouse.click(*at(page, r, c, side))
        times.append(page.evaluate("window.waited"))
        wait(page)
    return times


def enter(page, heads: int, count: int, luck: random.Random) -> tuple[list[float], list[float]]:  # type: ignore[no-untyped-def]
    """Click one thumbnail after another: until the layer's heads are painted, and until the page has followed."""
    seen, followed = [], []
    page.mouse.move(5, 5)
    last = None
    for _ in range(count):
        block, head = luck.choice([(b, h) for b in range(12) for h in range(1, heads + 1) if b != last])
        last = block
        page.evaluate(
            f"window.first = bench.until(() => bench.q('.look h3').textContent.includes('layer {block}, head {head}') && "
            f"!bench.q('figure').classList.contains('waiting'), 'click'); "
            f"window.second = bench.until(() => bench.control('Head') === '{head}', 'click'); 0"
        )
        page.get_by_role("button", name=f"layer {block}, head {head}:").click()
        seen.append(page.evaluate("window.first"))
        followed.append(page.evaluate("window.second"))
        wait(page)
    return seen, followed


def _size(response) -> int:  # type: ignore[no-untyped-def]
    return int(response.headers.get("content-length", 0))


def busy(session) -> float:  # type: ignore[no-untyped-def]
    """Processor time of the page's main thread so far, in ms: it does not mind what else the machine does."""
    found = session.send("Performance.getMetrics")["metrics"]
    return 1e3 * next(m["value"] for m in found if m["name"] == "TaskDuration")


def measure(browser, address: str, moves: int, clicks: int) -> None:  # type: ignore[no-untyped-def]
    """All models, one after another."""
    print("\n| what | times | median, ms | 95th percentile | worst | bars |\n|---|---|---|---|---|---|")
    luck = random.Random(0)
    for name, (model, side, heads) in MODELS.items():
        page = browser.new_page(viewport={"width": 1440, "height": 1200})
        received: list[int] = []
        page.on("response", lambda r, got=received: got.append(_size(r)) if "/media/" in r.url else None)
        frames: list[int] = []
        page.on("websocket", lambda w, got=frames: w.on("framereceived", lambda data: got.append(len(data))))
        page.goto(f"{address}/attention?lang=en" + (f"&model={model}" if model else ""))
        page.wait_for_selector("canvas.hit", timeout=120_000)
        wait(page)
        watch(page, ".look h3")
        hover(page, side, 20, luck)  # warm
        thread = page.context.new_cdp_session(page)
        thread.send("Performance.enable", {"timeDomain": "threadTicks"})
        begun = busy(thread)
        total, work = hover(page, side, moves, luck)
        cpu = (busy(thread) - begun) / moves
        row(f"{name}: hover to repaint, from the event's timestamp", total, BARS["hover"])
        row(f"{name}: of that, from the handler's start", work, BARS["hover"])
        click(page, side, 3, luck)
        before = len(frames)
        row(f"{name}: click to updated page", click(page, side, clicks, luck), BARS["click"])
        per_click = sum(frames[before:]) / clicks
        enter(page, heads, 3, luck)
        seen, followed = enter(page, heads, clicks, luck)
        row(f"{name}: entering a block, until its heads are painted", seen, BARS["block seen"])
        row(f"{name}: entering a block, until the page has followed", followed, BARS["block"])
        block = max(received)
        print(f"| {name}: {block / 1e3:.0f} kB a block, fetched once; {per_click / 1e3:.1f} kB of messages a click; "
              f"{cpu:.1f} ms of the page's main thread a move ||||||")  # fmt: skip
        page.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=500)
    parser.add_argument("--clicks", type=int, default=30)
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    from tests.benchmarks.landing_page_load import launched, server
    from tests.model_files import run_folder

    with tempfile.TemporaryDirectory() as home:
        for side in (14, 16):
            run_folder(Path(home) / f"twelve{side}", img_size=8 * side, patch_size=8, embed_dim=96, depth=12, num_heads=12)
        with server(VITCORE_RUNS=home, OMP_WAIT_POLICY="PASSIVE") as (address, _), sync_playwright() as playwright:
            browser = launched(playwright)
            measure(browser, address, args.moves, args.clicks)
            browser.close()


if __name__ == "__main__":
    main()

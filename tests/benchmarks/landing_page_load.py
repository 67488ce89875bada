"""The landing page as a first visitor has it: when its first picture is there, what came over the line, what jumped.

    python tests/benchmarks/landing_page_load.py [--runs 7] [--width 1440] [--path ""] [--at http://localhost:8501]

A cold browser (a new context: nothing in its cache) visits a warm server (asked once before). "First picture" is when a
canvas or an image of at least 200 px that is visible in the page's main part holds something else than one colour, in
milliseconds after navigation began; "all pictures" when the server has nothing more to say. Bytes are what the network
carried (headers and all, compressed where it was), and the websocket's frames; "Streamlit's own" are the scripts, styles
and fonts of Streamlit's bundle. "Layout shift" is the sum of the browser's layout-shift entries (0.1 and less is good).
"""

import argparse
import contextlib
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Playwright, sync_playwright

ROOT = Path(__file__).parents[2]
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync"]  # fmt: skip
FIRST_BAR_MS, BYTES_BAR = 2500, 1_500_000
WATCH = """
window.shift = 0
new PerformanceObserver(list => list.getEntries().forEach(e => { if (!e.hadRecentInput) window.shift += e.value }))
  .observe({ type: "layout-shift", buffered: true })
const all = (root, found = []) => {
  for (const e of root.querySelectorAll("*")) {
    if (e.matches("canvas, img, image")) found.push(e)
    if (e.shadowRoot) all(e.shadowRoot, found)
  }
  return found
}
const painted = e => {
  const box = e.getBoundingClientRect()
  if (box.width < 200 || box.height < 200 || box.top > innerHeight || getComputedStyle(e).visibility !== "visible") return false
  if (e.tagName === "IMG") return e.complete && e.naturalWidth > 1
  if (e.tagName === "image") return true
  if (e.width < 10) return false
  const { data } = e.getContext("2d").getImageData(e.width / 2 - 20, e.height / 2 - 20, 40, 40)
  return data.some((v, i) => v !== data[i % 4])
}
const look = () => {
  const main = document.querySelector("[data-testid=stMain]")
  if (main && all(main).some(painted)) return requestAnimationFrame(() => { window.first = performance.now() })
  requestAnimationFrame(look)
}
look()
"""


@contextlib.contextmanager
def server(**environment: str) -> Iterator[tuple[str, int]]:
    """The app on a free port: its address, and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app/main.py", "--server.headless", "true", "--server.port", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env=os.environ | environment) as process:  # fmt: skip
        try:
            for _ in range(600):
                with contextlib.suppress(OSError), urllib.request.urlopen(f"http://localhost:{port}/_stcore/health"):
                    break
                time.sleep(0.1)
            yield f"http://localhost:{port}", process.pid
        finally:
            process.terminate()


def visit(browser: Browser, address: str, width: int) -> dict[str, float]:
    """One visit of a cold browser: milliseconds, bytes, layout shift."""
    context = browser.new_context(viewport={"width": width, "height": 1000 if width > 600 else 844})
    page = context.new_page()
    wire = context.new_cdp_session(page)
    wire.send("Network.enable")
    asked: dict[str, str] = {}
    bytes_of = {"streamlit": 0, "app": 0, "socket": 0}

    def finished(event: dict[str, Any]) -> None:
        url = asked.get(event["requestId"], "")
        bytes_of["streamlit" if "/static/" in url and "/app/static/" not in url else "app"] += event["encodedDataLength"]

    def frame(event: dict[str, Any]) -> None:
        said = event["response"]["payloadData"]
        bytes_of["socket"] += len(said) * 3 // 4 if event["response"]["opcode"] == 2 else len(said)  # binary: as base64

    wire.on("Network.requestWillBeSent", lambda e: asked.update({e["requestId"]: e["request"]["url"]}))
    wire.on("Network.loadingFinished", finished)
    wire.on("Network.webSocketFrameReceived", frame)
    page.add_init_script(WATCH)
    page.goto(address)
    page.wait_for_function("window.first", timeout=60_000)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    done = page.evaluate("performance.now()")
    page.wait_for_timeout(1500)  # what is asked for last, and what jumps late
    seen = page.evaluate("[window.first, window.shift]")
    context.close()
    return {"first picture, ms": seen[0], "all pictures, ms": done, "layout shift": seen[1],
            "Streamlit's own, kB": bytes_of["streamlit"] / 1e3, "beyond it, kB": (bytes_of["app"] + bytes_of["socket"]) / 1e3,
            "of that the websocket, kB": bytes_of["socket"] / 1e3}  # fmt: skip


def launched(playwright: Playwright) -> Browser:
    """Chromium: that of the path, else Playwright's own."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    return playwright.chromium.launch(executable_path=found, args=FLAGS)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--width", type=int, default=1440)
    parser.add_argument("--path", default="")
    parser.add_argument("--at", help="a server that runs already")
    args = parser.parse_args()
    with sync_playwright() as playwright, contextlib.ExitStack() as stack:
        address = args.at or stack.enter_context(server())[0]
        browser = launched(playwright)
        rows = [visit(browser, f"{address}/{args.path}", args.width) for _ in range(args.runs + 1)][1:]
        browser.close()
    bars = {"first picture, ms": FIRST_BAR_MS, "beyond it, kB": BYTES_BAR / 1e3}
    print(f"\n### /{args.path}, {args.width} px wide, {args.runs} visits\n\n| | median | least | most | bar |")
    print("|---|---|---|---|---|")
    for name in rows[0]:
        found_here = [row[name] for row in rows]
        digits = 3 if name == "layout shift" else 0
        middle, bar = statistics.median(found_here), bars.get(name)
        mark = "" if bar is None else " ✓" if middle <= bar else " ✗"
        print(f"| {name} | {middle:.{digits}f}{mark} | {min(found_here):.{digits}f} | {max(found_here):.{digits}f} "
              f"| {'' if bar is None else f'≤ {bar:.0f}'} |")  # fmt: skip


if __name__ == "__main__":
    main()

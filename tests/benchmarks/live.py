"""How fast Live is in Chromium here: the first frame, frames a second, the parts of a frame, gaps of the page's own thread, memory.

python tests/benchmarks/live.py               # a camera that is a file, two photos in turn
python tests/benchmarks/live.py --minutes 30  # and for so long the memory of the renderer, with its growth
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "browser"), str(ROOT / "tests"), str(ROOT)]

import psutil  # noqa: E402
from app_process import served  # noqa: E402
from conftest import FLAGS, _on_path  # noqa: E402
from PIL import Image  # noqa: E402
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Playwright, sync_playwright  # noqa: E402
from renderer_memory import allocators_mb  # noqa: E402

Row = tuple[str, float, str]
MB = 1e6
SECONDS, STAY_S, ROW_S, LOADED_S = 10, 3, 30, 30
SETTLED_MIN = 2  # what a browser compiles and keeps at first is no growth
# Parts of a renderer as Chromium names them (memory-infra). wasm's memory, which holds the weights, is in none of them.
PARTS = {
    "malloc": "the page (malloc)",
    "partition_alloc/partitions/array_buffer": "arrays of scripts, pixels",
    "v8": "scripts (V8)",
    "cc/image_memory": "images that were drawn, discardable",
    "cc/tile_memory": "what is on the screen",
    "blink_gc": "elements",
    "web_cache": "files",
}
GAPS = """() => { const gaps = globalThis.gaps = []; let last = performance.now()
  const tick = now => { gaps.push(now - last); last = now; requestAnimationFrame(tick) }
  requestAnimationFrame(tick) }"""


def camera(folder: Path) -> Path:
    """Two photos of the gallery in turn, as Motion JPEG."""
    file = folder / "camera.mjpeg"
    with file.open("wb") as film:
        for name in ("macaw", "giant-panda"):
            frame = Image.open(ROOT / "assets" / "samples" / f"{name}.jpg").convert("RGB").resize((640, 480))
            for _ in range(15):
                frame.save(film, "JPEG", quality=92)
    return file


def flags_for(home: Path) -> list[str]:
    """Chromium's, with the camera."""
    return [*(flag for flag in FLAGS if not flag.startswith("--js-flags")), f"--use-file-for-fake-video-capture={camera(home)}"]


def first_frame(context: BrowserContext, server: str) -> tuple[Page, Locator, float]:
    """The page with its first answer, and after how many seconds that was there."""
    page = context.new_page()
    page.goto(f"{server}/_stcore/health")
    begun = time.monotonic()
    page.goto(f"{server}/live")
    figure = page.locator("figure[data-frames]")
    figure.wait_for(timeout=120_000)
    return page, figure, time.monotonic() - begun


def frames_so_far(figure: Locator) -> int:
    """How many frames have been answered."""
    return int(figure.get_attribute("data-frames") or 0)


def frames_a_second(page: Page, figure: Locator) -> list[Row]:
    """Of the camera; the parts of a frame, and how long the page's own thread was busy with something else."""
    figure.locator("[data-source=camera]").click()
    page.wait_for_timeout(3000)
    page.evaluate(GAPS)
    before, begun, spent = frames_so_far(figure), time.monotonic(), []
    while time.monotonic() - begun < SECONDS:
        page.wait_for_timeout(250)
        spent.append(page.workers[0].evaluate("latest.ms"))
    rows: list[Row] = [("frames", (frames_so_far(figure) - before) / (time.monotonic() - begun), "a second")]
    rows += [(f"{part}, of a frame", statistics.median(one[part] for one in spent), "ms") for part in spent[0]]
    gaps = sorted(page.evaluate("gaps"))
    return [*rows, ("gaps of the page's thread, p99", gaps[int(0.99 * (len(gaps) - 1))], "ms")]


def renderer_memory(playwright: Playwright, server: str, home: Path, minutes: float) -> list[Row]:
    """Of the renderer while the camera runs: PSS, its footprint, and how fast that grows.

    The browser is asked when the page is there: a renderer that DevTools watch keeps each file that comes, as base64 (34 MB).
    """
    command = [_on_path() or playwright.chromium.executable_path, *flags_for(home), f"--user-data-dir={home}/alone"]
    with subprocess.Popen([*command, "--remote-debugging-port=0", f"{server}/live"], stderr=subprocess.DEVNULL):
        time.sleep(LOADED_S)
        port = (home / "alone" / "DevToolsActivePort").read_text().split()[0]
        browser = playwright.chromium.connect_over_cdp(f"http://localhost:{port}")
        try:
            return memory_of(browser, browser.contexts[0].pages[0], minutes)
        finally:
            browser.new_browser_cdp_session().send("Browser.close")


def footprint_mb(pid: int) -> float:
    """Memory that is no file's and that no other process has: what Chromium's task manager calls the footprint, in MB."""
    found = re.findall(r"^(?:RssAnon|VmSwap):\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"), re.M)
    return sum(map(int, found)) * 1024 / MB


def memory_of(browser: Browser, page: Page, minutes: float) -> list[Row]:
    """Of the largest renderer of a browser whose one page is Live: a row each half minute, and at last what holds it."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    renderers = [psutil.Process(one["id"]) for one in processes if one["type"] == "renderer"]
    scripts = page.context.new_cdp_session(page)
    figure = page.locator("figure[data-frames]")
    figure.wait_for(timeout=120_000)
    figure.locator("[data-source=camera]").click()
    first = before = frames_so_far(figure)
    begun, kept = time.monotonic(), list[tuple[float, float, float]]()
    print(f"{'second':>8} {'PSS, MB':>8} {'footprint':>10} {'scripts':>8} {'frames a second':>16}")
    for row in range(1, max(2, round(60 * minutes / ROW_S) + 1)):
        page.wait_for_timeout(1000 * max(0.0, begun + row * ROW_S - time.monotonic()))
        now, frames = time.monotonic() - begun, frames_so_far(figure)
        rate = (frames - before) / (now - (60 * kept[-1][0] if kept else 0))
        pss, own = max((one.memory_full_info().pss / MB, footprint_mb(one.pid)) for one in renderers)
        heap = scripts.send("Runtime.getHeapUsage")["usedSize"] / MB
        print(f"{now:8.0f} {pss:8.1f} {own:10.1f} {heap:8.1f} {rate:16.2f}", flush=True)
        kept, before = [*kept, (now / 60, pss, own)], frames
    steady = [(minute, own) for minute, _, own in kept if minute >= SETTLED_MIN]
    growth = statistics.linear_regression(*zip(*steady, strict=True)).slope if len(steady) > 1 else float("nan")
    largest = max(renderers, key=lambda one: one.memory_full_info().pss).pid
    parts = sorted((-mb, name) for name, mb in allocators_mb(page)[largest].items() if name in PARTS)
    _, shares, owns = zip(*kept, strict=True)
    return [("renderer, PSS, median", statistics.median(shares), "MB"), ("renderer, PSS at most", max(shares), "MB"),
            ("renderer, footprint, median", statistics.median(owns), "MB"), ("renderer, footprint at most", max(owns), "MB"),
            (f"renderer, growth from minute {SETTLED_MIN} on", growth, "MB a minute"),
            ("frames meanwhile", (before - first) / kept[-1][0] / 60, "a second"),
            *((f"at the end, of the renderer: {PARTS[name]}", -mb, "MB") for mb, name in parts)]  # fmt: skip


def visits(playwright: Playwright, server: str, home: Path, minutes: float) -> tuple[list[Row], str]:
    """Of three browsers' visits, what a table says, and the page's own line; the last browser's is the second of one."""
    rows: list[Row] = []
    for visitor, names in (("somebody", ["a server just started"]), ("another", ["first visit", "second visit"])):
        context = playwright.chromium.launch_persistent_context(  # a private window keeps no file as large as the weights
            f"{home}/{visitor}", executable_path=_on_path(), args=flags_for(home), permissions=["camera"]
        )
        for name in names:
            page, figure, seconds = first_frame(context, server)
            rows.append((f"first frame, {name}", seconds, "s"))
            if name != "second visit":
                page.wait_for_timeout(1000 * STAY_S)  # nobody leaves at the first frame
                page.close()
        if visitor == "somebody":
            context.close()
    rows += frames_a_second(page, figure)
    said = figure.locator(".rate").inner_text()
    context.close()
    if minutes:
        rows += renderer_memory(playwright, server, home, minutes)
    return rows, said


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=0, help="for how long the renderer's memory is watched")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, served(Path(home)) as server, sync_playwright() as playwright:
        rows, said = visits(playwright, server, Path(home), asked.minutes)
    for name, value, unit in rows:
        print(f"{name:50} {value:8.2f} {unit}")
    print(said)


if __name__ == "__main__":
    main()

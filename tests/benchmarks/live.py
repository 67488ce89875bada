"""How fast Live is in Chromium here: the first frame, frames a second, the parts of a frame, gaps of the page's own thread, memory.

python tests/benchmarks/live.py            # a camera that is a file, two photos in turn
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "browser"), str(ROOT / "tests"), str(ROOT)]

from app_process import served  # noqa: E402
from conftest import FLAGS, _on_path  # noqa: E402
from PIL import Image  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

SECONDS = 10
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


def main() -> None:
    """Print a table of one visit."""
    with tempfile.TemporaryDirectory() as home, served(Path(home)) as server, sync_playwright() as playwright:
        flags = [flag for flag in FLAGS if not flag.startswith("--js-flags")]
        flags.append(f"--use-file-for-fake-video-capture={camera(Path(home))}")
        kept = f"{home}/browser"  # a private window keeps no file as large as the weights for a second visit
        context = playwright.chromium.launch_persistent_context(
            kept, executable_path=_on_path(), args=flags, permissions=["camera"]
        )
        rows = []
        for visit in ("first visit", "second visit"):
            page = context.new_page()
            page.goto(f"{server}/_stcore/health")
            begun = time.monotonic()
            page.goto(f"{server}/live")
            figure = page.locator("figure[data-frames]")
            figure.wait_for(timeout=120_000)
            rows.append((f"first frame, {visit}", time.monotonic() - begun, "s"))
            if visit == "first visit":
                page.close()
        figure.locator("[data-source=camera]").click()
        page.wait_for_timeout(3000)
        page.evaluate(GAPS)
        before, begun, spent = int(figure.get_attribute("data-frames")), time.monotonic(), []
        while time.monotonic() - begun < SECONDS:
            page.wait_for_timeout(250)
            spent.append(page.workers[0].evaluate("latest.ms"))
        rows.append(("frames", (int(figure.get_attribute("data-frames")) - before) / (time.monotonic() - begun), "a second"))
        rows += [(f"{part}, of a frame", statistics.median(one[part] for one in spent), "ms") for part in spent[0]]
        gaps = sorted(page.evaluate("gaps"))
        rows.append(("gaps of the page's thread, p99", gaps[int(0.99 * (len(gaps) - 1))], "ms"))
        threads = figure.locator(".rate").inner_text()
        context.close()
    for name, value, unit in rows:
        print(f"{name:34} {value:8.2f} {unit}")
    print(threads)


if __name__ == "__main__":
    main()

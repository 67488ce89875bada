"""Benchmark: how long the app's server takes over a new photo, over a changed setting, and from start to first picture.

Run `python tests/benchmarks/app.py [--runs 9] [--no-browser]`. Every number is a median; ways that are compared take turns
in one process, so that a machine that is busy is busy for all of them. A page's time is that of its whole script, as
Streamlit's AppTest runs it (no browser); the last table starts `streamlit run` and waits for a picture in Chromium.
"""

import argparse
import logging
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as app/main.py does, before torch is loaded
sys.path[0] = str(ROOT)  # not this folder, where the name `app` is this file
BAR_MS, FEW_PHOTOS_MS, START_BAR_S = 150, 2000, 10


def ms(run: Callable[[], object]) -> float:
    """One run, in milliseconds."""
    begun = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - begun)


def table(title: str, rows: dict[str, list[float]], bar: float, unit: str = "ms") -> None:
    """Median, best and worst of each row."""
    print(f"\n| {title} | median, {unit} | best | worst | bar |\n|---|---|---|---|---|")
    for name, times in rows.items():
        mark = "" if statistics.median(times) <= bar else " ✗"
        digits = 0 if unit == "ms" else 1
        print(
            f"| {name} | {statistics.median(times):.{digits}f}{mark} | {min(times):.{digits}f} | {max(times):.{digits}f} | {bar} |"
        )
    sys.stdout.flush()


def analyses(runs: int) -> None:
    """A new photo through all five analyses of the default model, as the app asks for them."""
    from app.state.photos import sample_photos
    from vitcore.analysis import filters, patches, position_embeddings
    from vitcore.forward.block_activations import patch_embeddings
    from vitcore.forward.recording import record
    from vitcore.images import open_photo
    from vitcore.models import load_model

    vit = load_model.load()
    files = sample_photos.sample_files()

    def of_the_photo(data: bytes) -> None:
        rec = record(vit, open_photo(data), maps=range(vit.blocks), fusions=("mean", "max", "min"))
        patches.split_patches(rec.model_input.pixels, vit.grid)
        patch_embeddings(vit, rec.model_input.pixels)
        rec.rollout(), rec.top_classes()

    def of_the_model() -> None:
        filters.principal_components(load_model.patch_kernel(vit))
        position_embeddings.position_similarity(load_model.position_embeddings(vit))

    ways = {
        "filters and positions remembered (they are the model's)": lambda data: of_the_photo(data),
        "filters and positions computed too": lambda data: (of_the_photo(data), of_the_model()),
        "of that, opening the file": lambda data: open_photo(data),
        "of that, filters and positions": lambda data: of_the_model(),
    }
    for way in ways.values():
        way(files[0][1])
    turns = [files[1 + i % (len(files) - 1)][1] for i in range(runs)]
    times = [[ms(lambda way=way, data=data: way(data)) for way in ways.values()] for data in turns]
    table("New photo to all five analyses", dict(zip(ways, map(list, zip(*times, strict=True)), strict=True)), BAR_MS)


# Page, what is changed, and the values it takes in turn: each a change of one control.
CHANGES = (
    ("attention", "layer", "layer", [3, 7, 0, 11, 5]),
    ("rollout", "head fusion", "fusion", ["max", "min", "mean"]),
    ("rollout", "discard", "discard", [10, 50, 90, 30]),
    ("rollout", "residual weight", "residual", [10, 30, 70]),
    ("rollout", "first layer", "first", [1, 4, 8, 2]),
    ("rollout", "asked patch", "patch", [3, 77, 200, 130]),
    ("patches", "chosen patch", "patch", [3, 77, 200, 130]),
    ("patches", "gutter", "gutter", [0, 3, 8]),
    ("filters", "components", "components", [12, 40, 28]),
    ("filters", "rebuilt from k", "k", [4, 60, 120]),
    ("positions", "tile", "patch", [3, 77, 200]),
    ("positions", "resolution", "side", [12, 20, 30]),
    ("distance", "class token", "cls", ["renormalise", "drop"]),
)


def pages(runs: int) -> None:
    """A page's whole script after one control changed; and after a photo was chosen for the first time."""
    from streamlit.testing.v1 import AppTest

    from app.menu import PAGES
    from app.state.memory import memory_cache
    from app.state.photos import sample_photos

    at = AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=300).run()
    rows: dict[str, list[float]] = {}
    for slug in dict.fromkeys(slug for slug, *_ in CHANGES):
        at.switch_page(f"views/{slug}/page.py").run()
        if slug == "rollout":
            at.get_by_key("ask").set_value(True).run()
        mine = [change for change in CHANGES if change[0] == slug]
        for turn in range(-1, runs):  # the first turn warms up
            for _, title, key, values in mine:
                at.get_by_key(key).set_value(values[turn % len(values)])
                took = ms(at.run)
                if turn >= 0:
                    rows.setdefault(f"{slug}: {title}", []).append(took)
        assert not at.exception, at.exception
    table("Page after a change", rows, BAR_MS)

    rows = {}
    names = [row["id"] for row in sample_photos.sample_photo_rows()][1:]
    for row in (row for row in PAGES if row.uses_model):
        at.switch_page(f"views/{row.slug}/page.py").run()
        memory_cache.CACHE.drop(lambda key: key[0].endswith("_recording"))
        for name in [names[-1], *names[:runs]]:
            at.get_by_key("photo").set_value(name)
            rows.setdefault(row.slug, []).append(ms(at.run))
        del rows[row.slug][0]
        assert not at.exception, at.exception
    table("Page after a photo nobody has asked for yet", rows, BAR_MS)


def few_photos(runs: int) -> None:
    """*Few photos* with ten new photos in each of five classes (of the dozen pieces, two are known); then once more."""
    from streamlit.testing.v1 import AppTest

    from app.state.memory import memory_cache

    at = AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=300).run()
    at.switch_page("views/fewshot/page.py").run()
    new, again = [], []
    for _ in range(runs):
        photos = [key for key in memory_cache.CACHE.keys() if key[0] == "app.state.photos.photo_collections"]
        new_ones = {key for i, key in enumerate(photos) if i % 6}
        memory_cache.CACHE.drop(lambda key, gone=new_ones: key in gone or key[0].startswith("app.state.photos.photo_collections."))
        new.append(ms(at.run))
        again.append(ms(at.run))
    assert not at.exception, at.exception
    table(f"Few photos, {len(new_ones)} of them new", {"for the first time": new, "again": again}, FEW_PHOTOS_MS)


def start(runs: int) -> None:
    """From `streamlit run` to the first picture in a browser that is open already."""
    from playwright.sync_api import sync_playwright

    from tests.benchmarks.landing_page_load import WATCH, launched

    with sync_playwright() as playwright:
        browser = launched(playwright)
        times = [_start_once(browser, WATCH) for _ in range(runs)]
        browser.close()
    words, pictures = zip(*times, strict=True)
    table("Start", {"to the first words": list(words), "to the first picture": list(pictures)}, START_BAR_S, "s")


def _start_once(browser, watch: str) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    page = browser.new_context().new_page()
    page.add_init_script(watch)
    begun = time.perf_counter()
    command = [sys.executable, "-m", "streamlit", "run", "app/main.py", "--server.headless", "true", "--server.port", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            while True:
                try:
                    page.goto(f"http://localhost:{port}")
                    break
                except Exception:
                    time.sleep(0.05)
            page.wait_for_selector("h1", timeout=120_000)
            words = time.perf_counter() - begun
            page.wait_for_function("window.first", timeout=120_000)
            return words, time.perf_counter() - begun
        finally:
            server.terminate()
            page.context.close()  # a page whose server is gone goes on asking for it


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--no-browser", action="store_true")
    args = parser.parse_args()
    logging.disable(logging.WARNING)  # Streamlit's, about running without a server
    analyses(args.runs)
    pages(args.runs)
    few_photos(args.runs)
    if not args.no_browser:
        start(max(3, args.runs // 2))


if __name__ == "__main__":
    main()

"""Benchmark: how soon all five pictures of the Look page follow the pointer, and what a tab of it holds.

Run `python tests/benchmarks/look.py [--moves 300]`. It starts the app with random models of the shapes B/16 at 224 px and
L/16 at 384 px beside the one that ships, and moves a real pointer over the photo in Chromium. Times are taken as in
`explorer.py`; memory is the heap of the page's JavaScript with what its buffers hold.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[0] = str(ROOT)
MODELS = {
    "shipped, Ti/8 at 128 px": (None, 16), "B/16 at 224 px": ("runs/base", 14), "L/16 at 384 px": ("runs/large", 24),
}  # fmt: skip
SHAPES = {
    "base": {"img_size": 224, "patch_size": 16, "embed_dim": 768, "depth": 12, "num_heads": 12},
    "large": {"img_size": 384, "patch_size": 16, "embed_dim": 1024, "depth": 24, "num_heads": 16},
}
MEGABYTE = 1e6


def measure(browser, address: str, moves: int) -> None:  # type: ignore[no-untyped-def]
    """All models, one after another: rollout of the patch that is pointed at, and its attention in a layer."""
    from tests.benchmarks.explorer import BARS, hover, row, wait, watch

    print("\n| what | times | median, ms | 95th percentile | worst | bars |\n|---|---|---|---|---|---|")
    luck = random.Random(0)
    for name, (model, side) in MODELS.items():
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        for what, layer in (("rollout", ""), ("attention of a layer", "&layer=3")):
            page.goto(f"{address}/?lang=en" + (f"&model={model}" if model else "") + layer)
            page.wait_for_selector(".heads .tile", timeout=300_000)
            wait(page)
            page.wait_for_timeout(3000)  # what is fetched while nothing else goes on
            watch(page, ".painted")
            hover(page, side, 20, luck)  # warm
            total, _ = hover(page, side, moves, luck)
            row(f"{name}: {what}, pointing to repaint of all pictures", total, BARS["hover"])
        tab = page.context.new_cdp_session(page)
        held = tab.send("Runtime.getHeapUsage")
        size = held["usedSize"] + held.get("backingStorageSize", 0)
        print(f"| {name}: {size / MEGABYTE:.0f} MB of the page's JavaScript ||||||", flush=True)
        page.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=300)
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    from tests.benchmarks.landing_page_load import launched, server
    from tests.model_files import run_folder

    with tempfile.TemporaryDirectory() as home:
        for name, shape in SHAPES.items():
            run_folder(Path(home) / name, **shape)
        with server(VITCORE_RUNS=home) as (address, _), sync_playwright() as playwright:
            browser = launched(playwright)
            measure(browser, address, args.moves)
            browser.close()


if __name__ == "__main__":
    main()

"""Benchmark: two models on one photo beside the sum of the two alone, and how long the server takes to switch a picture.

Run `python tests/benchmarks/compare.py [--runs 5] [--first NAME] [--second NAME]`. The ways take turns in one process, so that a
busy machine is busy for all; random weights of the first stand in for the second unless one is named. Bars: 1.1 × the sum, by
CPU time; 200 ms a picture, the page's whole script as Streamlit's AppTest runs it.
"""

import argparse
import logging
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as app/main.py does, before torch is loaded
sys.path[0] = str(ROOT)
MOST, SWITCH_MS = 1.1, 200
PICTURES = ("rollout", "attention", "distance", "tokens", "filters", "positions", "answers")


def ms(run: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """One run, in milliseconds."""
    begun = clock()
    run()
    return 1e3 * (clock() - begun)


def both(runs: int, first: str, second: str) -> None:
    """As the app does it, whose caches are emptied between: both and all that compares them, and each alone."""
    from app.state.memory import memory_cache
    from app.state.models import loaded_models
    from app.state.photos import sample_photos
    from app.state.recordings import cached_recordings, model_comparisons
    from vitcore.images import open_photo

    one = loaded_models.loaded_model(first)
    vits = one, loaded_models.loaded_model(second) if second else loaded_models.load_model_variant(one, "random")
    photos = [open_photo(data) for _, data in sample_photos.sample_files()[: runs + 1]]

    def fresh() -> None:
        memory_cache.CACHE.drop(lambda key: not key[0].endswith(".loaded"))
        time.sleep(0.3)  # what is thrown away is given back by a thread of its own

    def together(photo) -> None:  # type: ignore[no-untyped-def]
        model_comparisons.compare_models(vits, (photo, photo), mask_outliers=False)

    rows = []
    for photo in photos:
        turn = []
        for way in (
            lambda p: cached_recordings.cached_recording(vits[0], p),
            lambda p: cached_recordings.cached_recording(vits[1], p),
            together,
        ):
            fresh()
            turn.append(ms(lambda way=way, p=photo: way(p), time.process_time))
        rows.append(turn)
    rows = rows[1:]  # the first warms up
    print(f"\n| {vits[0].name} and {vits[1].name}, ms of CPU time | first | second | both, compared | of the sum | bar |")
    print("|---|---|---|---|---|---|")
    middle = [statistics.median(column) for column in zip(*rows, strict=True)]
    share = statistics.median(row[2] / (row[0] + row[1]) for row in rows)
    print(f"| median of {len(rows)} | {middle[0]:.0f} | {middle[1]:.0f} | {middle[2]:.0f} | {share:.2f} | {MOST} |")


def switches(runs: int) -> None:
    """The page's whole script after another picture was chosen, by wall time and by this process's own."""
    from streamlit.testing.v1 import AppTest

    at = AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=300).run()
    at.switch_page("views/compare/page.py").run()
    walls: dict[str, list[float]] = {picture: [] for picture in PICTURES}
    own: dict[str, list[float]] = {picture: [] for picture in PICTURES}
    for turn in range(-1, runs):  # the first turn warms up: what it makes is kept
        for picture in PICTURES:
            at.get_by_key("picture").set_value(picture)
            begun = time.process_time()
            took = ms(at.run)
            if turn >= 0:
                walls[picture].append(took)
                own[picture].append(1e3 * (time.process_time() - begun))
    assert not at.exception, at.exception
    print("\n| Switching to | median, ms | worst | CPU time, median | bar |\n|---|---|---|---|---|")
    for picture in PICTURES:
        middle, cpu = (statistics.median(times[picture]) for times in (walls, own))
        print(f"| {picture} | {middle:.0f} | {max(walls[picture]):.0f} | {cpu:.0f} | {SWITCH_MS} |")


def main() -> None:
    """Print the tables."""
    from vitcore.models.model_cards import DEFAULT_MODEL

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--first", default=DEFAULT_MODEL)
    parser.add_argument("--second", default="")
    parser.add_argument("--no-pages", action="store_true", help="the models alone")
    args = parser.parse_args()
    logging.disable(logging.WARNING)  # Streamlit's, about running without a server
    both(args.runs, args.first, args.second)
    if not args.no_pages:
        switches(args.runs)


if __name__ == "__main__":
    main()

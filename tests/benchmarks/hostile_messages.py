"""Messages made by hand, by a seed: every value of `tests/hostile/damage_messages.py` for every control, on every page.

    python -m tests.benchmarks.hostile_messages --pages overview patches --mixed 50 --seed 0

First each control is told each value alone, then all of them at once. A fault is a traceback within the page's run. Prints a table.
`tests/app/test_hostile_values.py` sends a few of them.
"""

import argparse
import logging
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "app"))

import test_hostile_values as hostile_values
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from visitor import SLUGS, App

from tests.hostile import damage_messages


def main() -> int:
    """1 if a message broke a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", nargs="+", default=SLUGS)
    parser.add_argument("--mixed", type=int, default=20, help="messages about all controls at once, for each page")
    parser.add_argument("--single", action=argparse.BooleanOptionalAction, default=True, help="each control's values one by one")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    print(f"{'page':12} {'messages':>9} {'faults':>7} {'seconds':>8}")
    all_faults = 0
    for slug in given.pages:
        started, app = time.perf_counter(), App(slug).fine()
        controls = hostile_values.controls_of(app)
        messages = list(damage_messages.hostile_messages(controls, given.mixed, given.seed))
        if given.single:
            messages += [
                WidgetStates(widgets=[state])
                for control, kind in controls.items()
                for state in damage_messages.hostile_values(control, *kind, every=False)
            ]
        faults: dict[str, int] = {}
        for message in messages:
            for error in hostile_values.send(app, message).at.exception:
                kind = f"{error.proto.type}: {error.message[:100]} {' '.join(error.proto.stack_trace[-1:])[:160]}"
                faults[kind] = faults.get(kind, 0) + 1
        print(f"{slug:12} {len(messages):9} {sum(faults.values()):7} {time.perf_counter() - started:8.1f}", flush=True)
        for kind, count in faults.items():
            print(f"    {count} × {kind}")
        all_faults += sum(faults.values())
    return int(all_faults > 0)


if __name__ == "__main__":
    raise SystemExit(main())

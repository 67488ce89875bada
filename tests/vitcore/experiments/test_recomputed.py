"""One verdict worked out from its shipped CSV by other means: the standard library, NumPy and SciPy, and none of our code."""

import csv
import io
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from vitcore.experiments import results_csv
from vitcore.experiments.catalogue import EXPERIMENTS, judge_claims, plateau_gains

FILE = Path(__file__).parents[3] / "assets" / "experiments" / "positions.csv"
SEEDS = range(20, 25)


@pytest.fixture
def told():
    """(facts, {(measure, curve, x): {seed: value}}) of the file, read by hand."""
    first, _, rest = FILE.read_text(encoding="utf-8").partition("\n")
    table = defaultdict(dict)
    for row in csv.DictReader(io.StringIO(rest)):
        table[row["measure"], row["curve"], row["x"]][int(row["seed"])] = float(row["value"])
    return json.loads(first[2:]), table


def test_the_gain_of_positions(told):
    facts, table = told
    assert facts["seeds"] == 5 and facts["overlap"] == 0, "five seeds, each with pictures of its own"
    gains = []
    for seed in SEEDS:
        with_positions = np.mean([table["test_top1", "stem", kind][seed] for kind in ("1-D", "2-D", "relative")])
        control = max(table["test_top1", "stem", "none"][seed], table["shuffled_top1", "stem", "1-D"][seed])
        gains.append(with_positions - control)
    low, high = stats.t.interval(0.99, 4, np.mean(gains), stats.sem(gains))
    longer = [table["test_top1", "stem, twice as long", "none"][s] - table["test_top1", "stem", "none"][s] for s in SEEDS]
    results = results_csv.read_results(FILE)
    said = judge_claims(EXPERIMENTS["positions"], results)[0][1]
    assert (said.mean, said.low, said.high) == pytest.approx((np.mean(gains), low, high), rel=1e-9)
    assert plateau_gains(EXPERIMENTS["positions"], results)["stem", "none"] == pytest.approx(np.mean(longer))
    if abs(np.mean(longer)) > 2:
        expected = "open"
    elif high < 0:
        expected = "opposite"
    elif low <= 0:
        expected = "open"
    elif low > 2.82 * 1.5 or high < 2.62 / 1.5:
        expected = "other size"
    else:
        expected = "as large" if low >= 2.62 / 1.5 and high <= 2.82 * 1.5 else "same"
    assert said.verdict == expected


def test_rates_are_those_that_were_best_on_validation_pictures_of_a_seed_that_is_not_reported(told):
    _, table = told
    cells = {curve for (measure, curve, _), by_seed in table.items() if set(by_seed) == {100}}
    assert cells == {"none", "1d", "2d", "relative"}
    assert all(set(by_seed) <= set(SEEDS) for (_, curve, _), by_seed in table.items() if curve not in cells)

"""Verdicts on made-up measurements: what clearly agrees, what clearly does not, and noise, which never agrees."""

import numpy as np
import pytest
from scipy import stats

from vitcore.analysis.verdicts import SURE, interval, judge, together

RNG = np.random.default_rng(2010_11929)


def test_clear_curves_are_told_apart():
    """Gains of 5 points that every seed shows, of -5, and none beside a spread of 5."""
    assert judge(5 + RNG.normal(0, 0.5, 5)).verdict == "agrees"
    assert judge(-5 + RNG.normal(0, 0.5, 5)).verdict == "disagrees"
    assert judge(RNG.normal(0, 5, 5)).verdict == "open"
    assert judge(5 + RNG.normal(0, 0.5, (5, 3)) * [1, 1, 20]).verdict == "open", "one of three contrasts is noise"
    assert judge(np.stack([np.full(5, 5.0), RNG.normal(-5, 0.5, 5)], 1)).verdict == "disagrees"


def test_noise_never_agrees():
    """Two contrasts of pure noise, as the experiments have them, 100 times, over 3 and over 5 seeds."""
    for seeds in (3, 5):
        found = [judge(RNG.normal(0, 3, (seeds, 2))).verdict for _ in range(100)]
        assert "agrees" not in found


def test_the_interval_holds_what_it_says():
    """Of a single contrast of noise one in a hundred lies outside, half of those above: Student's interval, found by drawing."""
    missed = 0
    for _ in range(500):
        low, high = interval(RNG.normal(7, 2, 4), SURE)
        missed += not low <= 7 <= high
    assert missed <= 15
    x = RNG.normal(0, 1, 6)
    low, high = interval(x, 95)
    exact = stats.t.interval(0.95, 5, x.mean(), x.std(ddof=1) / np.sqrt(6))
    assert (low, high) == pytest.approx(exact, rel=0.05)


def test_near_and_apart():
    assert judge(0.2 * RNG.normal(0, 1, 5), "near", 2.0).verdict == "agrees"
    assert judge(9 + 0.2 * RNG.normal(0, 1, 5), "near", 2.0).verdict == "disagrees"
    assert judge(RNG.normal(0, 5, 5), "near", 2.0).verdict == "open", "noise is not nearness"
    assert judge(-9 + RNG.normal(0, 1, 5), "apart", 0.2).verdict == "agrees"
    assert judge(0.01 * RNG.normal(0, 1, 5), "apart", 0.2).verdict == "disagrees"
    assert judge(RNG.normal(0, 5, 5), "apart", 0.2).verdict == "open"


def test_one_seed_tells_nothing_and_nothing_tells_nothing():
    assert judge([100.0]).verdict == "open" and judge([100.0]).seeds is None
    assert judge([[5.0], [float("nan")]]).verdict == "open"
    assert together([]) == "open" and together(["agrees", "open"]) == "open"
    assert together(["agrees", "open", "disagrees"]) == "disagrees" and together(["agrees", "agrees"]) == "agrees"


def test_the_smallest_data_that_would_tell_does_tell():
    """As many seeds with the same mean and deviation as are asked for are enough; one fewer are not."""
    few = np.array([1.0, -1.0, 3.0])  # mean 1, deviation 2
    need = judge(few).seeds
    assert need and need > 10

    def like(count: int) -> np.ndarray:
        x = np.linspace(-1, 1, count)
        return 1 + 2 * x / x.std(ddof=1)

    def exactly(count: int) -> bool:
        return bool(stats.t.ppf(0.5 + SURE / 200, count - 1) * like(count).std(ddof=1) / np.sqrt(count) < 1)

    assert exactly(need) and not exactly(need - 1)
    assert judge(like(2 * need)).verdict == "agrees"
    assert judge([1.0, -1.0, 1.0, -1.0]).seeds is None, "no difference at all can't be told from none"

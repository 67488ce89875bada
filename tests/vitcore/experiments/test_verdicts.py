"""Verdicts on made-up measurements: what is so, what is not, as large as the paper's or not, and noise, which tells nothing."""

import numpy as np
import pytest
from scipy import stats

from vitcore.experiments.verdict_statistics import VERDICT_INTERVAL_PERCENT, confidence_interval, is_at_plateau, judge_effects

RNG = np.random.default_rng(2010_11929)


def around(effect: float, sd: float = 0.2, seeds: int = 5) -> np.ndarray:
    """Effects whose mean and deviation are exactly those."""
    x = np.linspace(-1, 1, seeds)
    return effect + sd * x / x.std(ddof=1)


def test_directions_are_told_apart():
    assert judge_effects(around(5)).verdict == "same"
    assert judge_effects(around(-5)).verdict == "opposite"
    assert (told := judge_effects(RNG.normal(0, 5, 5))).verdict == "open" and told.open_reason == "noise"


def test_sizes_are_told_apart():
    """The paper's effect is 2 to 4: with a factor of 1.5, from 1.33 to 6."""
    size = lambda effect, sd=0.2: judge_effects(around(effect, sd), paper=(2, 4)).verdict  # noqa: E731
    assert [size(e) for e in (3, 1.9, 5)] == ["as large"] * 3
    assert [size(e) for e in (0.8, 9)] == ["other size"] * 2
    assert [size(e) for e in (1.3, 6.1)] == ["same"] * 2, "the interval holds both sizes"
    assert size(3, 1.8) == "open" and size(-3) == "opposite"
    assert size(4, 1.5) == "same", "a wide interval is never as large"


def test_near():
    assert judge_effects(around(0.2), "near", 2.0).verdict == "same"
    assert judge_effects(around(9), "near", 2.0).verdict == judge_effects(around(-9), "near", 2.0).verdict == "opposite"
    assert judge_effects(RNG.normal(0, 5, 5), "near", 2.0).verdict == "open", "noise is not nearness"


def test_noise_has_no_direction():
    """Of 1,000 draws of noise at most as many have one as the interval allows: 10, and some for luck."""
    for seeds in (3, 5):
        found = [judge_effects(RNG.normal(0, 3, seeds)).verdict for _ in range(1000)]
        assert sum(told != "open" for told in found) <= 20


def test_the_interval_is_student_s():
    x = RNG.normal(0, 1, 6)
    exact = stats.t.interval(0.95, 5, x.mean(), x.std(ddof=1) / np.sqrt(6))
    assert confidence_interval(x, 95) == pytest.approx(exact, rel=1e-9)


def test_seeds_that_share_pictures_have_the_corrected_interval():
    """Nadeau and Bengio's Eq. 2 by hand: 10 splits of 90 % and 10 %, so 1/10 + 1/9 for 1/10; and it holds what it says."""
    x = np.arange(10.0)
    low, high = confidence_interval(x, VERDICT_INTERVAL_PERCENT, overlap=1 / 9)
    half = stats.t.ppf(0.995, 9) * np.sqrt((1 / 10 + 1 / 9) * x.var(ddof=1))
    assert (high - low) / 2 == pytest.approx(half) and (high + low) / 2 == pytest.approx(4.5)
    outside = {0.0: 0, 1 / 9: 0}
    for _ in range(1000):  # effects whose correlation is test / (train + test) = 0.1
        effects = RNG.normal(0, np.sqrt(0.1)) + RNG.normal(0, np.sqrt(0.9), 5)
        for overlap in outside:
            low, high = confidence_interval(effects, 95, overlap)
            outside[overlap] += not low <= 0 <= high
    assert outside[1 / 9] <= 75 < outside[0.0], "5 in 100 are meant to be outside"


def test_one_seed_tells_nothing_and_nothing_tells_nothing():
    assert judge_effects([100.0]).open_reason == "seeds"
    assert judge_effects([5.0, float("nan")]).open_reason == "undefined"


def test_a_plateau_is_within_two_points_either_way():
    assert is_at_plateau([1.9, -1.9]) and is_at_plateau([])
    assert not is_at_plateau([0.1, 2.1]) and not is_at_plateau([-2.1])

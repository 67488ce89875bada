"""Verdicts: what measurements over several seeds say of one sentence, and of how large the paper found the effect.

The effect is one number of each seed alone: a difference of two trainings on the same pictures, so what is common cancels. Of
its mean over S seeds an interval is taken by Student's t with S - 1 degrees. Where seeds share their pictures their effects are
alike for that reason, and the variance of the mean is (1/S + test/train) times that of the seeds, not 1/S: the corrected
interval of Nadeau and Bengio (Machine Learning 52, 2003, doi 10.1023/A:1024068626366, Eq. 2). One seed tells nothing.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

ClaimKind = Literal["above", "near"]
Verdict = Literal["as large", "other size", "same", "opposite", "open", "untestable"]
OpenReason = Literal["", "seeds", "plateau", "noise", "undefined"]
VERDICT_INTERVAL_PERCENT = 99  # % that the interval of a verdict holds
CHART_INTERVAL_PERCENT = 95  # % that the bars of a chart hold
SAME_SIZE_FACTOR = 1.5  # within which an effect is as large as the paper's
PLATEAU_POINTS = 2.0  # points that twice the steps may change


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a sentence, the mean effect and its interval, and why none could be given where it is open."""

    verdict: Verdict
    mean: float = math.nan
    low: float = -math.inf
    high: float = math.inf
    open_reason: OpenReason = ""


def confidence_interval(
    values: ArrayLike, level: float = CHART_INTERVAL_PERCENT, overlap: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends of the interval of the mean over the first axis: (S, …) to (…) and (…); infinite for one seed.

    `overlap` is test/train, the numbers of pictures, where the seeds share theirs, and 0 where each has its own.
    """
    x = np.asarray(values, np.float64)
    mean, seeds = x.mean(0), len(x)
    if seeds < 2:
        return np.full_like(mean, -np.inf), np.full_like(mean, np.inf)
    half = stdtrit(seeds - 1, 0.5 + level / 200) * x.std(0, ddof=1) * np.sqrt(1 / seeds + overlap)
    return mean - half, mean + half


def judge_effects(
    effects: ArrayLike, kind: ClaimKind = "above", margin: float = 0.0, paper: tuple[float, float] | None = None,
    overlap: float = 0.0,
) -> Judgement:  # fmt: skip
    """The verdict on effects (S,) of which a sentence says that they are above 0, or near it: within ± margin.

    `paper` is the least and the largest effect that the paper prints. As large: the whole interval lies between the least
    divided by `SAME_SIZE_FACTOR` and the largest times `SAME_SIZE_FACTOR`; another size: all of it lies outside; else only the
    direction is told.
    """
    x = np.asarray(effects, np.float64)
    if not np.isfinite(x).all():
        return Judgement("open", open_reason="undefined")
    low, high = (float(end) for end in confidence_interval(x, VERDICT_INTERVAL_PERCENT, overlap))
    return Judgement(told := _verdict(low, high, kind, margin, paper), float(x.mean()), low, high,
                     "" if told != "open" else "noise" if len(x) > 1 else "seeds")  # fmt: skip


def _verdict(low: float, high: float, kind: ClaimKind, margin: float, paper: tuple[float, float] | None) -> Verdict:
    if kind == "near":
        return "same" if -margin <= low and high <= margin else "opposite" if low > margin or high < -margin else "open"
    if low <= 0:
        return "opposite" if high < 0 else "open"
    if not paper:
        return "same"
    least, most = paper[0] / SAME_SIZE_FACTOR, paper[1] * SAME_SIZE_FACTOR
    return "as large" if least <= low and high <= most else "other size" if high < least or low > most else "same"


def is_at_plateau(gains: ArrayLike) -> bool:
    """Whether twice the steps change each checked training by at most `PLATEAU_POINTS`, on average over its seeds."""
    return bool((np.abs(np.asarray(gains, np.float64)) <= PLATEAU_POINTS).all())

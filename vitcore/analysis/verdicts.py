"""Verdicts: whether measurements over several seeds agree with a finding, contradict it, or can't tell; and how many seeds would.

A finding is one or more contrasts, numbers worked out for each seed alone (the same seed shares its data, so what is common
cancels). Of their mean over S seeds a bootstrap interval is taken: seeds are drawn with replacement, and the deviation of the
means is widened for few seeds, by Student's t with S - 1 degrees and √(S / (S - 1)), as Hesterberg recommends for small samples
(arXiv 1411.5279 §5); percentiles of a few values could never reach beyond the values themselves. One seed tells nothing.
Shapes: S seeds, K contrasts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

Kind = Literal["above", "near", "apart"]
Verdict = Literal["agrees", "disagrees", "open"]
SURE = 99  # % that the interval of a verdict holds
SHOWN = 95  # % that the bars of a chart hold
DRAWS = 2000
MOST_SEEDS = 1000  # beyond which a difference counts as too small to be told


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on K contrasts together, the one that decides it, and what would tell where it is open.

    `mean`, `low` and `high` are of the contrast that comes nearest to contradicting. `seeds` is how many seeds would tell if
    they went on as these; None where none are needed, or where `MOST_SEEDS` would not do.
    """

    verdict: Verdict
    mean: float
    low: float
    high: float
    seeds: int | None = None


def interval(values: ArrayLike, level: float = SHOWN) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends of the bootstrap interval of the mean over the first axis: (S, …) to (…) and (…); infinite for one seed."""
    x = np.asarray(values, np.float64)
    mean, seeds = x.mean(0), len(x)
    if seeds < 2:
        return np.full_like(mean, -np.inf), np.full_like(mean, np.inf)
    chosen = np.random.default_rng(0).integers(seeds, size=(DRAWS, seeds))
    spread = x[chosen].mean(1).std(0) * np.sqrt(seeds / (seeds - 1))
    half = stdtrit(seeds - 1, 0.5 + level / 200) * spread
    return mean - half, mean + half


def judge(contrasts: ArrayLike, kind: Kind = "above", margin: float = 0.0) -> Judgement:
    """The verdict on contrasts (S, K), or (S,): all must be as found for "agrees", one of them contradicts.

    "above": found to be larger than `margin`. "near": found to be within ± margin. "apart": found to differ from 0;
    contradicted where it is within ± margin.
    """
    x = np.asarray(contrasts, np.float64)
    x = x.reshape(len(x), -1)
    if not np.isfinite(x).all():
        return Judgement("open", float("nan"), -np.inf, np.inf)
    low, high = interval(x, SURE)
    each = [_told(a, b, kind, margin) for a, b in zip(low, high, strict=True)]
    verdict = together(each)
    mean = x.mean(0)
    slack = {"above": mean - margin, "near": margin - np.abs(mean), "apart": np.abs(mean)}[kind]
    worst = min(range(len(each)), key=lambda k: (ORDER.index(each[k]), slack[k]))
    needed = [_seeds(x[:, k], kind, margin) for k in range(len(each)) if each[k] == "open"] if verdict == "open" else []
    seeds = max((n for n in needed if n), default=None) if all(needed) else None
    return Judgement(verdict, float(mean[worst]), float(low[worst]), float(high[worst]), seeds)


ORDER: tuple[Verdict, ...] = ("disagrees", "open", "agrees")


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """Of several at once: one that disagrees decides, then one that is open; none at all is open."""
    return min(verdicts, key=ORDER.index, default="open")


def _told(low: float, high: float, kind: Kind, margin: float) -> Verdict:
    if kind == "above":
        return "agrees" if low > margin else "disagrees" if high <= margin else "open"
    within = low >= -margin and high <= margin
    if kind == "near":
        return "agrees" if within else "disagrees" if low > margin or high < -margin else "open"
    return "agrees" if low > 0 or high < 0 else "disagrees" if within else "open"


def _seeds(x: NDArray[np.float64], kind: Kind, margin: float) -> int | None:
    """How many seeds would tell, if mean and deviation stayed as they are; None for one seed, or beyond `MOST_SEEDS`."""
    if len(x) < 2:
        return None
    mean, deviation = float(x.mean()), float(x.std(ddof=1))
    counts = np.arange(len(x) + 1, MOST_SEEDS + 1)
    half = stdtrit(counts - 1, 0.5 + SURE / 200) * deviation / np.sqrt(counts)
    told = (n for n, h in zip(counts, half, strict=True) if _told(mean - h, mean + h, kind, margin) != "open")
    return next(map(int, told), None)

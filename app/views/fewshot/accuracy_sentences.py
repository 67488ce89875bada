"""What few-shot draws say, in sentences: how much is right, and which photos are mistaken, of two classes or of more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.texts import Prose
from vitcore.translation import percent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vitcore.figures.charts.few_shot import FewShotCurve
    from vitcore.train.evaluation.few_shot import FewShotDraws

MAX_MISTAKEN = 6


def accuracy_title(best: FewShotDraws, pixels: FewShotDraws, shots: int, text: Prose, kind: str = "") -> str:
    """How many are right after how many photos a class, or "pieces", and how many by raw pixels."""
    of = f" {kind}".rstrip()
    return text["finding"].format(
        learned=text.fill(f"learned{of}", shots=shots), others=text.fill(f"others{of}", asked=best.tested_count),
        accuracy=_percent(best.mean_accuracy), pixels=_percent(pixels.mean_accuracy),
    )  # fmt: skip


def method_sentences(best: FewShotDraws, names: list[str], model: str, text: Prose) -> str:
    """Which classes are told apart, how, and between which accuracies the draws lie."""
    quoted = ("“{}”", "「{}」")[text.lang == "zh-TW"]
    return text["details"].format(
        names=text.join_names([quoted.format(name) for name in names]), model=model, range=_accuracy_range(best, text)
    )


def pixel_comparison(model: FewShotCurve, pixels: FewShotCurve, text: Prose, kind: str = "") -> str:
    """At which counts the model's mean is above the pixels', in the whole percents shown; of photos, or of "pieces".

    "On average", unless at every count one interval lies wholly above the other.
    """
    counts = model.shots
    ahead = [round(100 * mine) > round(100 * theirs) for mine, theirs in zip(model.mean, pixels.mean, strict=True)]
    apart = [model.low[i] > pixels.high[i] if ahead[i] else model.high[i] < pixels.low[i] for i in range(len(counts))]
    better, others = ([n for n, above in zip(counts, ahead, strict=True) if above is side] for side in (True, False))
    from_on = bool(better) and bool(others) and max(others) < min(better)
    found = "none" if not better else "all" if not others else "from" if from_on else "some"
    return text.fill(
        f"ahead {found}", average="" if all(apart) else text["average"],
        counts=text.join_names(counts), better=text.join_names(better), others=text.join_names(others),
        learned=text.fill(f"learned {kind}".strip(), shots=min(better, default=0)),
    )  # fmt: skip


def mistaken_photos(
    draws: FewShotDraws, labels: NDArray[np.int64], names: list[str], text: Prose, kind: str = ""
) -> list[tuple[int, str]]:
    """The photos that are mistaken most often, by their number, each with a caption; none where all are right.

    `kind` is what each is: a photo, or of "pieces" or "digits".
    """
    missed, other = draws.error_rates(labels), draws.most_frequent_errors(labels)
    told = text["mistaken of two" if len(names) == 2 else "mistaken one"]
    this = text[f"this {kind}".strip()]
    return [
        (i, told.format(this=this.format(name=names[labels[i]]), other=names[other[i]], percent=_percent(missed[i])))
        for i in draws.most_mistaken(labels, MAX_MISTAKEN)
    ]


def _accuracy_range(draws: FewShotDraws, text: Prose) -> str:
    """Between which accuracies the draws lie; one number is no range."""
    low, high = map(_percent, draws.interval)
    if low != high:
        return text["range"].format(low=low, high=high)
    alike = _percent(draws.accuracy.min()) == _percent(draws.accuracy.max())
    return text["range all"] if alike else text["range most"].format(inner=draws.interval_percent)


def _percent(share: float) -> str:
    return percent(share, 0)

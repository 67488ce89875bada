"""Few-shot linear accuracy: a ridge regression from frozen features to ±1 targets, learned from a few photos a class; over
many draws, how far it depends on which photos one happens to learn from, and what is mistaken.

As the paper (arXiv 2010.11929 §4.1) and its authors' code do it: google-research/big_vision, evaluators/fewshot_lsr.py,
with the settings of configs/common_fewshot.py. Pure functions of arrays, in numpy's float64: there is no gradient to
follow, and the constant feature of 100 makes the matrix so uneven that float32 loses digits.
Shapes: N photos to learn from, M to be asked about, D features, C classes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vitcore.errors import RefusalError

SHOTS = (1, 5, 10, 25)
SEEDS = 3
RIDGE_PENALTY = 2.0**10
CONSTANT_FEATURE = 100.0  # the bias as a feature, so large that it is hardly regularised
STD_FLOOR = 1e-5
DRAW_COUNT = 20
INTERVAL_PERCENT = 95  # % of the draws that an interval holds


class TooFewPhotosError(RefusalError):
    """A class has fewer photos than shots; the message is one sentence."""


def few_shot_accuracy(
    train_x: NDArray, train_y: NDArray, test_x: NDArray, test_y: NDArray, shots: int | Sequence[int] = SHOTS,
    seeds: int = SEEDS, l2: float = RIDGE_PENALTY, *, classes: Sequence[str] = (),
) -> dict[int, float]:  # fmt: skip
    """{photos a class: share of the test photos answered right, mean over seeds 0, 1, …}, as Figure 4 of the paper.

    train_x (N, D), test_x (M, D): frozen features; train_y (N,), test_y (M,): class numbers; classes: their names.
    Raises: TooFewPhotosError, when a class has fewer photos than shots, or is asked about and has none.
    """
    unknown = np.setdiff1d(test_y, train_y)
    if len(unknown):
        raise TooFewPhotosError("Few-shot accuracy: class {name} is tested but has no photo to learn from.",
                           name=_class_name(classes, unknown[0]))  # fmt: skip
    if not len(test_y):
        raise TooFewPhotosError("Few-shot accuracy: there is no photo to ask about.")
    accuracies = {}
    for count in [shots] if isinstance(shots, int) else shots:
        chosen = [choose_shots(train_y, count, seed, classes) for seed in range(seeds)]
        right = [ridge_predictions(train_x[rows], train_y[rows], test_x, l2) == test_y for rows in chosen]
        accuracies[count] = float(np.mean(right))
    return accuracies


def choose_shots(labels: NDArray, shots: int, seed: int, classes: Sequence[str] = ()) -> NDArray[np.int64]:
    """Rows (C · shots,) of the photos to learn from: the first `shots` of each class, shuffled by one seeded generator.

    Fewer shots of the same seed are a part of more. Raises: TooFewPhotosError.
    """
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
    short = [(label, len(r)) for label, r in zip(np.unique(labels), rows, strict=True) if len(r) < shots]
    if shots < 1:
        raise TooFewPhotosError("Few-shot accuracy: a class needs a photo at least, not {shots}.", shots=shots)
    if short:
        facts = {"name": _class_name(classes, short[0][0]), "count": short[0][1], "shots": shots, "classes": len(short)}
        raise TooFewPhotosError(
            "Few-shot accuracy: class {name} has {count} {count:photo|photos}, not {shots} "
            "({classes} such {classes:class|classes}).",
            **facts,
        )
    return np.concatenate([r[:shots] for r in rows])


def _class_name(classes: Sequence[str], label: int) -> str:
    return classes[label] if classes else str(label)


def ridge_predictions(train_x: NDArray, train_y: NDArray, test_x: NDArray, l2: float = RIDGE_PENALTY) -> NDArray:
    """The class (M,) whose regression is largest for each test photo."""
    labels = np.unique(train_y)
    return labels[ridge_scores(train_x, train_y, test_x, l2).argmax(1)]


def ridge_scores(train_x: NDArray, train_y: NDArray, test_x: NDArray, l2: float = RIDGE_PENALTY) -> NDArray[np.float64]:
    """Regression values (M, C) of the classes of `train_y`, in rising order."""
    x, rest = standardise_features(train_x, test_x)
    y = 2.0 * (train_y[:, None] == np.unique(train_y)) - 1
    return rest @ _ridge_weights(x, y, l2)


def standardise_features(train_x: NDArray, test_x: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both sets less the train mean, over the train deviation, with the constant feature appended: (N, D+1), (M, D+1)."""
    train = np.asarray(train_x, np.float64)
    mean, std = train.mean(0), train.std(0) + STD_FLOOR
    return _scaled(train, mean, std), _scaled(test_x, mean, std)


def _scaled(x: NDArray, mean: NDArray, std: NDArray) -> NDArray[np.float64]:
    """In one array: many draws of wide features are many large ones."""
    scaled = np.empty((len(x), x.shape[1] + 1))
    scaled[:, -1] = CONSTANT_FEATURE
    inner = scaled[:, :-1]
    np.subtract(x, mean, out=inner)
    inner /= std
    return scaled


def _ridge_weights(x: NDArray[np.float64], y: NDArray[np.float64], l2: float) -> NDArray[np.float64]:
    """Weights (D, C) that minimise |xw - y|² + l2·|w|², by the smaller of two symmetric eigenproblems.

    (xᵀx + l2 I)⁻¹ xᵀy where N ≥ D, else its dual xᵀ (xxᵀ + l2 I)⁻¹ y: the same weights.
    """
    if len(x) >= x.shape[1]:
        values, vectors = np.linalg.eigh(x.T @ x)
        return (vectors / (values + l2)) @ (vectors.T @ (x.T @ y))
    values, vectors = np.linalg.eigh(x @ x.T)
    return x.T @ ((vectors / (values + l2)) @ (vectors.T @ y))


class FewShotDraws(NamedTuple):
    """R draws of the photos to learn from; all others of the N are asked about.

    `accuracy` (R,) is the share answered right. `answers` (R, N) holds the class answered, -1 for photos learned from.
    """

    accuracy: NDArray[np.float64]
    answers: NDArray[np.int64]

    @property
    def mean_accuracy(self) -> float:
        """The share answered right, over all draws."""
        return float(self.accuracy.mean())

    @property
    def tested_count(self) -> int:
        """How many photos a draw asks about: those that it did not learn from."""
        return int((self.answers[0] >= 0).sum())

    @property
    def interval_percent(self) -> int:
        """% of the draws that the interval holds."""
        return INTERVAL_PERCENT

    @property
    def interval(self) -> tuple[float, float]:
        """The accuracies between which `INTERVAL_PERCENT` % of the draws lie."""
        low, high = np.percentile(self.accuracy, [(100 - INTERVAL_PERCENT) / 2, (100 + INTERVAL_PERCENT) / 2])
        return float(low), float(high)

    def confusion(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """(C, C): of the photos of a class (row), the share answered as each class (column), over all draws."""
        count = int(labels.max()) + 1
        table = np.zeros((count, count))
        for row in self.answers:
            asked = row >= 0
            np.add.at(table, (labels[asked], row[asked]), 1)
        return table / np.maximum(table.sum(1, keepdims=True), 1)

    def error_rates(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """(N,) share of the draws asking about a photo that answered wrong; 0 where none asked."""
        asked = self.answers >= 0
        wrong = asked & (self.answers != labels)
        return wrong.sum(0) / np.maximum(asked.sum(0), 1)

    def most_frequent_errors(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """(N,) the class each photo is most often mistaken for; -1 where it never is."""
        count = int(labels.max()) + 1
        wrong = np.where(self.answers == labels, -1, self.answers)
        votes = (wrong[..., None] == np.arange(count)).sum(0)
        return np.where(votes.any(1), votes.argmax(1), -1)

    def most_mistaken(self, labels: NDArray[np.int64], count: int) -> list[int]:
        """Up to `count` photos that are answered wrong most often, by their number, the most often first."""
        missed = self.error_rates(labels)
        return [int(i) for i in (-missed).argsort(kind="stable")[:count] if missed[i] > 0]


def few_shot_over_draws(
    x: NDArray, labels: NDArray[np.int64], shots: int, draws: int = DRAW_COUNT, l2: float = RIDGE_PENALTY, *,
    classes: Sequence[str] = (),
) -> FewShotDraws:  # fmt: skip
    """Learn from `shots` photos a class, ask about all others, `draws` times with seeds 0, 1, …

    x (N, D): frozen features; labels (N,): classes 0 … C-1, each with more photos than shots; classes: their names.
    Raises: TooFewPhotosError, when a class has fewer photos than shots, or all are learned from.
    """
    x = np.asarray(x, np.float64)  # once for all draws
    answers = np.full((draws, len(labels)), -1)
    right = np.zeros(draws)
    for seed in range(draws):
        learned = choose_shots(labels, shots, seed, classes)
        asked = np.setdiff1d(np.arange(len(labels)), learned)
        if not len(asked):
            raise TooFewPhotosError("Few-shot accuracy: there is no photo to ask about.")
        answers[seed, asked] = ridge_predictions(x[learned], labels[learned], x[asked], l2)
        right[seed] = (answers[seed, asked] == labels[asked]).mean()
    return FewShotDraws(right, answers)

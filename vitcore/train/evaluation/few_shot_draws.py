"""Few-shot accuracy over many draws: how far it depends on which photos one happens to learn from, and what is mistaken."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vitcore.train.evaluation.few_shot import RIDGE_PENALTY, choose_shots, ridge_predictions

DRAW_COUNT = 20
INTERVAL_PERCENT = 95  # % of the draws that an interval holds


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
    x: NDArray, labels: NDArray[np.int64], shots: int, draws: int = DRAW_COUNT, l2: float = RIDGE_PENALTY
) -> FewShotDraws:
    """Learn from `shots` photos a class, ask about all others, `draws` times with seeds 0, 1, …

    x (N, D): frozen features; labels (N,): classes 0 … C-1, each with more photos than shots.
    Raises: TooFewPhotos, when a class has fewer photos than shots.
    """
    x = np.asarray(x, np.float64)  # once for all draws
    answers = np.full((draws, len(labels)), -1)
    right = np.zeros(draws)
    for seed in range(draws):
        learned = choose_shots(labels, shots, seed)
        asked = np.setdiff1d(np.arange(len(labels)), learned)
        answers[seed, asked] = ridge_predictions(x[learned], labels[learned], x[asked], l2)
        right[seed] = (answers[seed, asked] == labels[asked]).mean()
    return FewShotDraws(right, answers)

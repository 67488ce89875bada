"""Few-shot linear accuracy: a ridge regression from frozen features to ±1 targets, learned from a few photos a class.

As the paper (arXiv 2010.11929 §4.1) and its authors' code do it: google-research/big_vision, evaluators/fewshot_lsr.py,
with the settings of configs/common_fewshot.py. Pure functions of arrays, in numpy's float64: there is no gradient to
follow, and the constant feature of 100 makes the matrix so uneven that float32 loses digits.
Shapes: N photos to learn from, M to be asked about, D features, C classes.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vitcore.translation import say

SHOTS = (1, 5, 10, 25)
SEEDS = 3
RIDGE_PENALTY = 2.0**10
CONSTANT_FEATURE = 100.0  # the bias as a feature, so large that it is hardly regularised
STD_FLOOR = 1e-5


class TooFewPhotos(ValueError):
    """A class has fewer photos than shots; the message is one sentence."""


def few_shot_accuracy(
    train_x: NDArray, train_y: NDArray, test_x: NDArray, test_y: NDArray, shots: int | Sequence[int] = SHOTS,
    seeds: int = SEEDS, l2: float = RIDGE_PENALTY,
) -> dict[int, float]:  # fmt: skip
    """{photos a class: share of the test photos answered right, mean over seeds 0, 1, …}, as Figure 4 of the paper.

    train_x (N, D), test_x (M, D): frozen features; train_y (N,), test_y (M,): class numbers.
    Raises: TooFewPhotos, when a class has fewer photos than shots, or is asked about and has none.
    """
    unknown = np.setdiff1d(test_y, train_y)
    if len(unknown):
        raise TooFewPhotos(say("Few-shot accuracy: class {name} is asked about but has no photo to learn from.", name=unknown[0]))
    if not len(test_y):
        raise TooFewPhotos(say("Few-shot accuracy: there is no photo to ask about."))
    accuracies = {}
    for count in [shots] if isinstance(shots, int) else shots:
        chosen = [choose_shots(train_y, count, seed) for seed in range(seeds)]
        right = [ridge_predictions(train_x[rows], train_y[rows], test_x, l2) == test_y for rows in chosen]
        accuracies[count] = float(np.mean(right))
    return accuracies


def choose_shots(labels: NDArray, shots: int, seed: int) -> NDArray[np.int64]:
    """Rows (C · shots,) of the photos to learn from: the first `shots` of each class, shuffled by one seeded generator.

    Fewer shots of the same seed are a part of more. Raises: TooFewPhotos.
    """
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
    short = [(label, len(r)) for label, r in zip(np.unique(labels), rows, strict=True) if len(r) < shots]
    if shots < 1:
        raise TooFewPhotos(say("Few-shot accuracy: a class needs a photo at least, not {shots}.", shots=shots))
    if short:
        raise TooFewPhotos(
            say(
                "Few-shot accuracy: class {name} has {count} {count:photo|photos}, not {shots} "
                "({classes} such {classes:class|classes}).",
                name=short[0][0],
                count=short[0][1],
                shots=shots,
                classes=len(short),
            )
        )
    return np.concatenate([r[:shots] for r in rows])


def ridge_predictions(train_x: NDArray, train_y: NDArray, test_x: NDArray, l2: float = RIDGE_PENALTY) -> NDArray:
    """The class (M,) whose regression is largest for each test photo."""
    labels = np.unique(train_y)
    return labels[ridge_scores(train_x, train_y, test_x, l2).argmax(1)]


def ridge_scores(train_x: NDArray, train_y: NDArray, test_x: NDArray, l2: float = RIDGE_PENALTY) -> NDArray[np.float64]:
    """Regression values (M, C) of the classes of `train_y`, in rising order."""
    x, rest = whiten(train_x, test_x)
    y = 2.0 * (train_y[:, None] == np.unique(train_y)) - 1
    return rest @ ridge_weights(x, y, l2)


def whiten(train_x: NDArray, test_x: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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


def ridge_weights(x: NDArray[np.float64], y: NDArray[np.float64], l2: float) -> NDArray[np.float64]:
    """Weights (D, C) that minimise |xw - y|² + l2·|w|², by the smaller of two symmetric eigenproblems.

    (xᵀx + l2 I)⁻¹ xᵀy where N ≥ D, else its dual xᵀ (xxᵀ + l2 I)⁻¹ y: the same weights.
    """
    if len(x) >= x.shape[1]:
        values, vectors = np.linalg.eigh(x.T @ x)
        return (vectors / (values + l2)) @ (vectors.T @ (x.T @ y))
    values, vectors = np.linalg.eigh(x @ x.T)
    return x.T @ ((vectors / (values + l2)) @ (vectors.T @ y))

"""What a model's outputs mean: shares of one answer, a probability for each class by itself, or features.

The words are those of the functions that make them: "softmax" (one class is right), "sigmoid" (each class is right or not,
whatever the others are), "features" (a vector and no classes: a projection, or a number that was regressed).
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Output = Literal["softmax", "sigmoid", "features"]
OUTPUTS: tuple[Output, ...] = ("softmax", "sigmoid", "features")


def probabilities(logits: ArrayLike, output: Output = "softmax") -> NDArray[np.float64]:
    """Probabilities of classes from logits, over the last axis. Raises: ValueError, for features, which have none."""
    if output == "features":
        raise ValueError("features are no logits: they have no probabilities")
    y = np.asarray(logits, np.float64)
    if output == "sigmoid":
        return np.exp(-np.logaddexp(0, -y))
    p = np.exp(y - y.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def top_classes(logits: NDArray, labels: tuple[str, ...], count: int = 5, output: Output = "softmax") -> list[tuple[str, float]]:
    """(label, probability) of the likeliest classes; empty for a model without classes."""
    if not labels:
        return []
    p = probabilities(logits, output)
    return [(labels[i], float(p[i])) for i in np.argsort(-p)[:count]]

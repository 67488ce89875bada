"""What spoke for a class: the recurrences of relevance methods, what each method is, and how two maps compare.

Gradients of a class's logit y_c with respect to attention weights A tell which of them speak for the class. Two ways to
carry them through the blocks are here (arXiv 2103.15679; jacobgil/vit-explain's idea on arXiv 2005.00928), as arithmetic
on arrays; `vitcore.forward.relevance` makes the gradients. Shapes: L blocks, H heads, T tokens = prefix + N patches.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitcore.analysis.rollout import (
    Convention,
    discard_weakest_between_patches,
    is_vit_explain,
    rollout,
    start_distribution,
    vit_explain_rollout,
)
from vitcore.grid import Grid


@dataclass(frozen=True, slots=True)
class RelevanceMethod:
    """One way to say which patches mattered: whether it asks for a class, whether its numbers have a sign, its source."""

    name: str
    asks_class: bool
    signed: bool
    source: str
    settings: tuple[str, ...] = ()
    needs_attention: bool = False  # over one grid of patches, in every block
    title: str = ""


METHODS = {
    method.name: method
    for method in (
        RelevanceMethod("rollout", False, False, "arXiv 2005.00928",
               ("start", "fusion", "discard_ratio", "residual", "first_block", "convention"), True, "rollout"),
        RelevanceMethod("gradient_rollout", True, False, "arXiv 2005.00928, github.com/jacobgil/vit-explain",
               ("discard_ratio", "residual", "first_block", "convention"), True, "gradient rollout"),
        RelevanceMethod("chefer", True, False, "arXiv 2103.15679", (), True, "Chefer's relevance"),
        RelevanceMethod("integrated_gradients", True, True, "arXiv 1703.01365", ("baseline", "steps"),
                        title="integrated gradients"),
        RelevanceMethod("grad_cam", True, False, "arXiv 1610.02391", title="Grad-CAM"),
    )
}  # fmt: skip


def positive_gradient_attention(
    weights: NDArray, gradients: NDArray, convention: Convention = "row-stochastic"
) -> NDArray[np.float64]:
    """mean_h (A ⊙ ∂y_c/∂A)⁺: the attention (…, H, T, T) that speaks for the class, heads averaged, (…, T, T).

    By vit-explain's convention the heads are averaged first, and what is negative then is dropped: (mean_h A ⊙ ∂y_c/∂A)⁺.
    """
    if is_vit_explain(convention):
        return np.maximum((weights * gradients).mean(-3, dtype=np.float64), 0)
    return np.maximum(weights * gradients, 0, dtype=np.float64).mean(-3)


def gradient_rollout(
    positive: NDArray, start: int | NDArray = 0, *, prefix: int = 1, discard_ratio: float = 0.0, residual: float = 0.5,
    first_block: int = 0, convention: Convention = "row-stochastic",
) -> NDArray[np.float64]:  # fmt: skip
    """Rollout (T,) with `positive_gradient_attention` (L, T, T) in place of attention.

    convention: "row-stochastic": rows normalised, then half (1 − residual) of them and half the identity; a row with nothing
    that speaks for the class is the identity. What never left its token, start ⊙ Π_l (share of the identity), is taken off, as
    Chefer's R loses its identity: a class token's picture does not change by it, and a class that depends on no patch gets 0
    everywhere. "vit-explain": `vit_explain_rollout`, where the identity outweighs the small products of attention and gradient,
    and of which nothing is taken off. Of both, each block's attention goes with its own gradient: vit-explain's script keeps
    gradients from the last block on, and attention from the first on.
    """
    settings = {"prefix": prefix, "discard_ratio": discard_ratio, "residual": residual, "first_block": first_block}
    if is_vit_explain(convention):
        return vit_explain_rollout(positive, start, keep_first=False, **settings)  # type: ignore[arg-type]
    whole = rollout(positive, start, **settings)  # type: ignore[arg-type]
    stayed = start_distribution(start, positive.shape[-1])
    for matrix in positive[first_block:]:
        hands_on = (
            discard_weakest_between_patches(matrix, discard_ratio, prefix).sum(-1) > 0
        )  # (T,): whether a token hands anything on
        stayed = stayed * np.where(hands_on, residual, 1.0)
    return np.maximum(whole - stayed, 0)  # below 0 by rounding only


def chefer_relevance(positive: NDArray, start: int | NDArray = 0) -> NDArray[np.float64]:
    """Relevance (T,) of every token for the class (arXiv 2103.15679, for a model of self-attention alone).

    R begins as the identity and each block adds: R ← R + Ā·R, with Ā = `positive_gradient_attention` of that block. Taken is the
    row of the class token, or `start` @ R for a model that reads a pool of tokens, less the identity R began with.
    """
    row = begin = start_distribution(start, positive.shape[-1])
    for matrix in positive[::-1]:
        row = row + row @ matrix
    return row - begin


def sum_per_patch(pixels: NDArray, grid: Grid) -> NDArray:
    """(…, height, width) values of the model's pixels summed over each patch, (…, rows, cols)."""
    high, wide = grid.step_px
    if pixels.shape[-2:] != grid.image_px:
        raise ValueError(f"{pixels.shape[-2]}×{pixels.shape[-1]} px are not the model's {grid.image_px}")
    return pixels.reshape(*pixels.shape[:-2], grid.rows, high, grid.cols, wide).sum((-3, -1))


def absolute_shares(values: NDArray) -> NDArray[np.float64]:
    """A map (rows, cols) as shares of its sum of absolute values: what makes two methods' maps comparable."""
    total = float(np.abs(values).sum())
    return np.asarray(values, np.float64) / total if total > 0 else np.zeros(values.shape)


def difference_points(a: NDArray, b: NDArray) -> NDArray[np.float64]:
    """One map minus another in percentage points, each as shares of its own sum of absolute values."""
    return 100 * (absolute_shares(a) - absolute_shares(b))


def rank_correlation(a: NDArray, b: NDArray) -> float:
    """Spearman's rank correlation of two maps, −1 to 1, equal values sharing their mean rank; NaN where a map is flat."""
    from scipy.stats import spearmanr  # a second to import

    a, b = np.asarray(a).ravel(), np.asarray(b).ravel()
    return float("nan") if np.ptp(a) == 0 or np.ptp(b) == 0 else float(spearmanr(a, b).statistic)

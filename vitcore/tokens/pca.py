"""Principal components of patch tokens, shared by photos: as three colours, and the first as foreground (arXiv 2304.07193 §7.6).

DINOv2's recipe is a picture without a text, and its users ask for it again and again (its issues 23, 45, 187, 292, 412), so here
it is written out. Fit: the tokens of one layer, of all photos together, less their mean, outlier tokens left out where they are
masked. Order: by variance, as scikit-learn has it. Sign of the first: see `pca`. Colours: see `TokenPca.colours`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitcore.grid import Grid
from vitcore.tokens.foreground import foreground_sign
from vitcore.tokens.one_blas_thread import one_blas_thread
from vitcore.tokens.patch_tokens import PatchTokens, check_tokens

COLOUR_SLOPE = 2.0  # of the sigmoid, as DINOv3's notebook pca.ipynb has it


@dataclass(frozen=True, eq=False, repr=False)
class TokenPca:
    """Principal components of the patch tokens of a layer. C components, B photos, N patches, D width of a token."""

    mean: NDArray[np.float64]  #: (D,)
    directions: NDArray[np.float64]  #: (C, D), of length 1
    variance: NDArray[np.float64]  #: (C,), of the tokens that were fitted
    share: NDArray[np.float64]  #: (C,): of all variance
    scores: NDArray[np.float64]  #: (B, N, C); whitened: divided by their standard deviations
    whitened: bool
    left_out: NDArray[np.bool_]  #: (B, N)

    def __repr__(self) -> str:
        photos, patches, components = self.scores.shape
        shares = ", ".join(f"{100 * one:.0f}" for one in self.share)
        return f"<TokenPca: {components} components of {photos} × {patches} patches; {shares} % of the variance>"

    @property
    def deviations(self) -> NDArray[np.float64]:
        """(C,): standard deviations of the components before whitening."""
        return np.sqrt(np.maximum(self.variance, 1e-30))

    def colours(self) -> NDArray[np.uint8]:
        """(B, N, 3): the first three components as red, green and blue, 255 · sigmoid(2z).

        z is a score in standard deviations: whitened, each component's own, so that all three are equally strong; not whitened,
        the first component's, so that the others are as weak as they are. The mean is mid grey, as is a component that isn't there.
        """
        z = np.zeros((*self.scores.shape[:2], 3))
        some = self.scores[..., :3]
        z[..., : some.shape[-1]] = some if self.whitened else some / self.deviations[0]
        return np.round(255 / (1 + np.exp(-COLOUR_SLOPE * z))).astype(np.uint8)

    def first_component(self) -> NDArray[np.float64]:
        """(B, N): scores of the first component, in its standard deviations."""
        return self.scores[..., 0] if self.whitened else self.scores[..., 0] / self.deviations[0]

    def foreground(self, threshold: float = 0.0) -> NDArray[np.bool_]:
        """(B, N): patches whose first component is above a threshold, in its standard deviations; none that is left out.

        Foreground is the side of the first component on which the patches at the picture's rim are not (see `pca`).
        """
        return (self.first_component() > threshold) & ~self.left_out


def pca(
    tokens: PatchTokens, layer: int | None = None, *, components: int = 3, whiten: bool = True, like: TokenPca | None = None
) -> TokenPca:
    """Principal components of a layer's patch tokens, of all photos together, equal to scikit-learn's but for their signs.

    Signs, so that layers and photos can be compared: the first component is positive on the side that the patches at the picture's
    rim lie less on: their mean score is at most that of the patches within. It is a guess that what was photographed is in the
    middle, and wrong for a photo without a middle. Each further one is positive where the same component of `like` (another layer,
    of the same photos) is, by the sign of their correlation; without `like`, its largest entry is positive, as in scikit-learn.
    Raises: ValueError, for a layer that was not kept, and for fewer than two patches or no component to fit.
    """
    from sklearn.decomposition import PCA

    check_tokens(tokens)
    given, keep = tokens.of_layer(layer).astype(np.float64), ~tokens.left_out
    fitted = given[keep]
    if len(fitted) < 2 or components < 1:
        raise ValueError(f"{components} principal components of {len(fitted)} patches are not defined")
    count = min(components, len(fitted) - 1, fitted.shape[1])
    with one_blas_thread():
        found = PCA(count, svd_solver="covariance_eigh" if len(fitted) > fitted.shape[1] else "full").fit(fitted)
    scores = (given - found.mean_) @ found.components_.T
    signs = _signs(scores, found.components_, tokens.grid, keep, like)
    variance = np.asarray(found.explained_variance_, np.float64)
    scores = scores * signs / (np.sqrt(np.maximum(variance, 1e-30)) if whiten else 1.0)
    return TokenPca(
        found.mean_, found.components_ * signs[:, None], variance, np.asarray(found.explained_variance_ratio_, np.float64), scores,
        whiten, tokens.left_out,
    )  # fmt: skip


def _signs(scores: NDArray, directions: NDArray, grid: Grid, keep: NDArray, like: TokenPca | None) -> NDArray[np.float64]:
    """(C,): 1 or −1, by which each component is multiplied."""
    largest = np.abs(directions).argmax(1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    if like is not None:
        for i in range(1, min(len(signs), like.scores.shape[-1])):
            together = float((scores[..., i] * like.scores[..., i])[keep].sum())
            signs[i] = np.sign(together) or signs[i]
    signs[0] = foreground_sign(scores[..., 0], grid.rim(), keep) or signs[0]
    return np.where(signs == 0, 1.0, signs)

"""Patch tokens in groups, as segments of the photo: k-means shared by photos, and one object by a normalised cut."""

import numpy as np
from numpy.typing import NDArray

from vitcore.errors import check_choice
from vitcore.tokens.one_blas_thread import one_blas_thread
from vitcore.tokens.patch_tokens import PatchTokens, check_tokens
from vitcore.tokens.pca import pca
from vitcore.tokens.similarity import normalise_tokens
from vitcore.tokens.token_cut import token_cut

METHODS = ("kmeans", "normalised_cut")
LEFT_OUT = -1  # in place of a segment
STARTS = 4  # of k-means, of which the best is kept


def segments(
    tokens: PatchTokens, layer: int | None = None, method: str = "kmeans", *,
    count: int = 5, tau: float | None = None, seed: int = 0,
) -> NDArray[np.int64]:  # fmt: skip
    """(B, N): the segment of each patch, `LEFT_OUT` for those left out.

    "kmeans" (scikit-learn's, of tokens of length 1, all photos together, as the groups of Amir et al., arXiv 2112.05814 §4.1):
    `count` segments, numbered by the mean of the first principal component, the lowest, most at the rim, first. "normalised_cut"
    (TokenCut, Wang et al., arXiv 2202.11539, each photo by itself): 1 is the object, 0 the rest. Two patches are joined where their
    cosine is above `tau`; the eigenvector of the second smallest eigenvalue is cut at its mean. The object is the side that lies
    less on the picture's rim, as in `pca` (the paper takes that of the largest entry). `tau` is 0.2 in the paper, for DINO's keys;
    by default it is that or the photo's median cosine, whichever is more: tokens of other models may all be more alike than 0.2,
    and where all are joined to all there is nothing to cut.
    Raises: ValueError, for a method or a layer that there is not, and for more segments than patches.
    """
    check_tokens(tokens)
    check_choice("method", method, METHODS)
    keep, unit = ~tokens.left_out, normalise_tokens(tokens.of_layer(layer))
    labels = np.full(keep.shape, LEFT_OUT, np.int64)
    if method == "normalised_cut":
        for photo, kept in enumerate(keep):
            if kept.sum() < 2:
                raise ValueError("fewer than two patches are left to cut apart")
            labels[photo, kept] = token_cut(unit[photo, kept], tokens.grid.rim()[kept], tau)
        return labels
    if not 1 <= count <= keep.sum():
        raise ValueError(f"{keep.sum()} patches make from 1 to {keep.sum()} segments, not {count}")
    from sklearn.cluster import KMeans

    with one_blas_thread():
        found = KMeans(count, n_init=STARTS, random_state=seed).fit_predict(unit[keep])
    first = pca(tokens, layer, components=1).scores[keep, 0] if keep.sum() > 1 else np.zeros(1)
    order = np.argsort([first[found == one].mean() if (found == one).any() else np.inf for one in range(count)], kind="stable")
    labels[keep] = np.argsort(order)[found]
    return labels

"""How alike patch tokens are: cosines of one patch to all, at every layer, and which patches of two photos match each other."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitcore.tokens.patch_tokens import PatchTokens, check_tokens

LEAST_NORM = 1e-8  # torch.nn.functional.cosine_similarity's


def cosine_similarity(tokens: PatchTokens, patch: int, photo: int = 0) -> NDArray[np.float32]:
    """(S, B, N): cosine of a patch of a photo with every patch of every photo, at every layer kept; its own is 1.

    Tokens are taken as they are, less no mean: where all share a large part, as after most last layers, all cosines are high.
    Raises: ValueError, for a photo or a patch that there is not.
    """
    check_tokens(tokens)
    tokens.check_photo(photo, patch)
    unit = normalise_tokens(tokens.values)
    return np.einsum("sd,sbnd->sbn", unit[:, photo, patch], unit)


@dataclass(frozen=True, eq=False, repr=False)
class Correspondences:
    """For each of the N patches of a first photo, its best match among those of a second, and the next best elsewhere."""

    best: NDArray[np.int64]  #: (N,): patches of the second photo
    cosine: NDArray[np.float32]  #: (N,): how alike they are
    runner_up: NDArray[np.int64]  #: (N,): the best of those that don't touch the best; −1 where there is none
    runner_up_cosine: NDArray[np.float32]  #: (N,): NaN where there is none
    cycle_consistent: NDArray[np.bool_]  #: (N,): whether the patch is itself the best match of its best match

    def __repr__(self) -> str:
        return f"<Correspondences of {len(self.best)} patches, {int(self.cycle_consistent.sum())} of them cycle-consistent>"


def correspondences(tokens: PatchTokens, first: int = 0, second: int = 1, layer: int | None = None) -> Correspondences:
    """Which patches of two photos match, by cosine similarity at a layer.

    Cycle-consistent pairs are the "best buddies" of Amir et al. (arXiv 2112.05814 §4.3). A runner-up that touched the best match,
    also by a corner, would nearly always be its neighbour; so it may not. Patches that are left out are nobody's match, and in no
    cycle-consistent pair. Raises: ValueError, for photos or a layer that there are not, and where no patch is left to match.
    """
    check_tokens(tokens)
    for photo in (first, second):
        tokens.check_photo(photo)
    unit = normalise_tokens(tokens.of_layer(layer))
    alike = unit[first] @ unit[second].T
    out, out_there = tokens.left_out[first], tokens.left_out[second]
    if out_there.all() or out.all():
        raise ValueError("no patch is left to match")
    forth = np.where(out_there, -np.inf, alike)
    back = np.where(out, -np.inf, alike.T)
    best, rows = forth.argmax(1), np.arange(len(alike))
    apart = np.where(tokens.grid.touching()[best], -np.inf, forth)
    next_best = apart.argmax(1)
    there = np.isfinite(apart[rows, next_best])
    return Correspondences(
        best=best,
        cosine=alike[rows, best],
        runner_up=np.where(there, next_best, -1),
        runner_up_cosine=np.where(there, alike[rows, next_best], np.float32(np.nan)),
        cycle_consistent=(back.argmax(1)[best] == rows) & ~out,
    )


def normalise_tokens(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Tokens (…, D) of length 1."""
    return values / np.maximum(np.linalg.norm(values, axis=-1, keepdims=True), LEAST_NORM)

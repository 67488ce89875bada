"""Principal components of the patch-embedding filters (arXiv 2010.11929 Fig. 7 left).

The kernel's D filters are D samples of P·P·C features; they are centred over D and decomposed by SVD. The paper does
not say how it scaled the picture; here zero is mid-grey and a component's largest absolute value is full scale.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_COMPONENTS = 0.9  # of the variance: how many components hold it is said


@dataclass(frozen=True, eq=False)
class PrincipalComponents:
    """`vectors` (K, P, P, C) are orthonormal, in order of the share of `variance` (K,) they explain.

    Component 1 is `vectors[0]`.
    """

    vectors: NDArray[np.float64]
    variance: NDArray[np.float64]

    def variance_share(self, count: int) -> float:
        """The share of the variance that the first `count` explain together."""
        return float(self.variance[:count].sum())


def principal_components(kernel: NDArray) -> PrincipalComponents:
    """Principal components of a kernel (D, C, P, P), as torch keeps it; K = min(D, P·P·C)."""
    filters = np.asarray(kernel, np.float64).transpose(0, 2, 3, 1)  # (D, P, P, C)
    rows = filters.reshape(len(filters), -1)
    _, s, vt = np.linalg.svd(rows - rows.mean(0), full_matrices=False)
    vt *= np.sign(np.take_along_axis(vt, np.abs(vt).argmax(1)[:, None], 1))  # a sign is arbitrary: the largest is positive
    power = s**2
    return PrincipalComponents(vt.reshape(-1, *filters.shape[1:]), power / max(power.sum(), 1e-300))


def component_projections(patches: NDArray, fitted: PrincipalComponents, count: int) -> NDArray[np.float64]:
    """How much of each patch's embedding each of the first components makes, (N, `count`), signed.

    Patches (N, P, P, C) as the model gets them. A filter is the mean filter plus a weighted sum of components, so this is the
    patch's product with a component, times that component's standard deviation over filters; up to one factor for all.
    """
    flat = patches.reshape(len(patches), -1).astype(np.float64)
    return (flat @ fitted.vectors[:count].reshape(min(count, len(fitted.vectors)), -1).T) * np.sqrt(fitted.variance[:count])


def components_for_variance(variance: NDArray, share: float) -> int:
    """How many components, the largest first, explain at least this share of the variance (K,)."""
    return int(np.searchsorted(np.cumsum(variance), share - 1e-9)) + 1


def low_frequency_share(kernel: NDArray) -> float:
    """The share of the energy of filters (D, C, P, P) in the quarter of spatial frequencies that are lowest (white noise: 0.25)."""
    power = (np.abs(np.fft.fft2(kernel.astype(np.float64))) ** 2).sum((0, 1))
    high, wide = (np.fft.fftfreq(n) for n in power.shape)
    lowest = np.argsort(np.hypot(high[:, None], wide), axis=None, kind="stable")[: power.size // 4]
    return float(power.ravel()[lowest].sum() / max(power.sum(), 1e-12))


def colour_share(vector: NDArray) -> float:
    """The share of the energy of a filter (P, P, 3) off the grey axis, on which red, green and blue are alike."""
    grey = float((vector.sum(-1) ** 2).sum() / 3)
    return 1 - grey / max(float((vector**2).sum()), 1e-300)


@dataclass(frozen=True)
class ComponentKinds:
    """How many components are mostly colour, the rest being mostly light and dark, and how many are smooth."""

    colour: int
    light: int
    smooth: int


def component_kinds(vectors: NDArray) -> ComponentKinds:
    """Of components (K, P, P, 3): in each, what more than half of the energy is."""
    colour = sum(colour_share(one) > 0.5 for one in vectors)
    smooth = sum(low_frequency_share(one.transpose(2, 0, 1)[None]) > 0.5 for one in vectors)
    return ComponentKinds(colour, len(vectors) - colour, smooth)


def components_as_picture(vectors: NDArray, scale: str = "symmetric") -> NDArray[np.uint8]:
    """(K, P, P, C) components as bytes: "symmetric" puts 0 at mid-grey, "minmax" stretches each to its own range.

    Of other than one or three bands each is a grey picture, and they lie side by side: (K, P, C·P, 3).
    """
    flat = vectors.reshape(len(vectors), -1)
    if scale == "symmetric":
        unit = 0.5 + 0.5 * flat / np.abs(flat).max(1, keepdims=True).clip(1e-12)
    elif scale == "minmax":
        low, high = flat.min(1, keepdims=True), flat.max(1, keepdims=True)
        unit = (flat - low) / (high - low).clip(1e-12)
    else:
        raise ValueError(f"scale is 'symmetric' or 'minmax', not {scale!r}")
    tiles = np.round(255 * unit).astype(np.uint8).reshape(vectors.shape)
    if vectors.shape[-1] in (1, 3):
        return tiles
    sides = tiles.transpose(0, 1, 3, 2).reshape(*tiles.shape[:2], -1)  # the bands of a row of pixels, one after the other
    return sides[..., None].repeat(3, -1)


@dataclass(frozen=True, eq=False)
class ReconstructedPatches:
    """Patches drawn with k components only, and what was lost: RMSE in pixel values 0–255, and share of variance kept."""

    patches: NDArray[np.float64]
    rmse: float
    variance_share: float


def reconstruct_patches(patches: NDArray, fitted: PrincipalComponents, k: int) -> ReconstructedPatches:
    """Project patches (N, P, P, C; 0–255), relative to mid-grey, on the first k components and back."""
    x = patches.reshape(len(patches), -1).astype(np.float64) - 127.5
    basis = fitted.vectors[:k].reshape(k, -1)
    drawn = (x @ basis.T) @ basis
    lost = float(((x - drawn) ** 2).mean())
    kept = 1 - lost / max(float((x**2).mean()), 1e-12)
    return ReconstructedPatches((drawn + 127.5).reshape(patches.shape), lost**0.5, kept)

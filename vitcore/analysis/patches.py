"""Patch splitting (arXiv 2010.11929 §3.1): x ∈ R^(H×W×C) becomes N rows of P·P·C numbers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vitcore.grid import Grid


def split_patches(pixels: NDArray, grid: Grid) -> NDArray:
    """(H, W, C) pixels as (N, P, P, C) patches in reading order."""
    return grid.cut(pixels)


def join_patches(patches: NDArray, grid: Grid) -> NDArray:
    """(N, P, P, C) patches as the (H, W, C) picture they were cut from."""
    high, wide = grid.step_px
    blocks = patches.reshape(grid.rows, grid.cols, high, wide, patches.shape[-1]).swapaxes(1, 2)
    return blocks.reshape(*grid.image_px, patches.shape[-1])


def normalise_pixels(pixels: NDArray, mean: Sequence[float], std: Sequence[float]) -> NDArray[np.float64]:
    """(…, 3) values from 0 to 255 as a model gets them: (v / 255 − mean) / std of each colour."""
    return (pixels / 255 - np.asarray(mean)) / np.asarray(std)


def identical_patches(patches: NDArray, patch: int) -> list[int]:
    """The other patches whose pixels are those of `patch`, in reading order."""
    alike = (patches == patches[patch]).all(axis=(1, 2, 3))
    return [int(other) for other in np.flatnonzero(alike) if other != patch]


def shuffled_patch_order(count: int, seed: int) -> NDArray[np.int64]:
    """A seeded order of `count` patches: slot i shows patch order[i]."""
    return np.random.default_rng(seed).permutation(count)

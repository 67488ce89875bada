"""Batches: which photos a step sees, and in whose hands they are; the step and the seed alone decide it.

So a run that goes on from a checkpoint sees what an unbroken one sees, and N processes see together what one sees.
"""

import functools
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vitcore.train.recipe import Recipe, RecipeError, needs_labels
from vitcore.train.seeds import MIXING, ORDER, seeded_generators


@dataclass(frozen=True, eq=False)
class Batch:
    """B photos: normalised `pixels` (B, 3, px, px), soft `targets` (B, classes) or None if unlabelled, `labels` (B,)."""

    pixels: Tensor
    targets: Tensor | None
    labels: Tensor
    step: int = 0  # the optimiser step they are for, from 0


def photo_indices_of_step(recipe: Recipe, count: int, step: int) -> NDArray[np.int64]:
    """Which of `count` photos the whole batch of a step (from 0) holds, (recipe.batch,).

    Each epoch is a permutation of its own; batches run across the borders between epochs.
    """
    return photo_indices_of_epoch_stream(recipe.seed, count, step * recipe.batch, recipe.batch)


def photo_indices_of_epoch_stream(seed: int, count: int, first: int, number: int) -> NDArray[np.int64]:
    """Photos `first` … `first + number` of the endless stream of epochs."""
    orders: list[NDArray[np.int64]] = []
    while number:
        epoch, at = divmod(first, count)
        part = _epoch(seed, count, epoch)[at : at + number]
        orders.append(part)
        first, number = first + len(part), number - len(part)
    return np.concatenate(orders)


@functools.lru_cache(maxsize=2)
def _epoch(seed: int, count: int, epoch: int) -> NDArray[np.int64]:
    return np.random.default_rng((ORDER, seed, epoch)).permutation(count)


def places_in_batch(recipe: Recipe, micro: int, pass_count: int, rank: int, process_count: int) -> range:
    """The places in the whole batch of pass `micro` of `pass_count` in process `rank` of `process_count`.

    One process with two passes takes what two processes with one take. Raises: RecipeError, where it can't be shared.
    """
    size, rest = divmod(recipe.batch, pass_count * process_count)
    if rest or not size:
        facts = {"batch": recipe.batch, "world": process_count, "passes": pass_count}
        raise RecipeError(
            "batch {batch} can't be shared by {world} {world:process|processes} in {passes} {passes:pass|passes} of whole images.",
            **facts,
        )
    check_even_batch(recipe, size)
    first = (micro * process_count + rank) * size
    return range(first, first + size)


def check_even_batch(recipe: Recipe, size: int) -> None:
    """Raises: RecipeError, if photos are to be mixed in pairs and their number is odd."""
    if _mixes_photos(recipe) and size % 2:
        raise RecipeError(
            "mixup and CutMix mix photos in pairs: a pass of {size} {size:image|images} is odd; choose an even number.", size=size
        )


def _mixes_photos(recipe: Recipe) -> bool:
    """Whether photos are mixed with one another."""
    return recipe.mixup > 0 or recipe.cutmix > 0


def make_batch(recipe: Recipe, pixels: Tensor, labels: Tensor, classes: int, step: int, part: int) -> Batch:
    """A batch of normalised pixels with soft targets: smoothed labels, and mixup or CutMix by timm.

    `part` numbers the passes of all processes within the step. `pixels` may be overwritten.
    """
    import timm  # noqa: F401
    from timm.data.mixup import Mixup, mixup_target

    labelled = bool(classes) and needs_labels(recipe)
    known = labels if labelled else torch.zeros_like(labels)
    options = {"label_smoothing": recipe.label_smoothing, "num_classes": max(classes, 1)}
    if _mixes_photos(recipe):
        with seeded_generators(MIXING, recipe.seed, step, part):
            pixels, targets = Mixup(recipe.mixup, recipe.cutmix, **options)(pixels, known)
    else:
        targets = mixup_target(known, options["num_classes"], smoothing=recipe.label_smoothing)
    return Batch(pixels, targets if labelled else None, labels, step)

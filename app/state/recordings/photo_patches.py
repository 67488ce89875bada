"""The patches a photo is cut into; and what a model answers when they are shuffled, with their positions or without."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import vitcore
from app.state.memory import memory_cache
from app.state.models import loaded_models
from vitcore.analysis import patches
from vitcore.analysis.patches import identical_patches as identical_patches
from vitcore.analysis.patches import normalise_pixels
from vitcore.analysis.patches import shuffled_patch_order as shuffled_patch_order
from vitcore.grid import Grid
from vitcore.models.vit import Vit
from vitcore.probabilities import probabilities, top_classes
from vitcore.translation import translated_labels


def split_patches(rec: vitcore.Recording, grid: Grid) -> NDArray[np.uint8]:
    """(N, P, P, 3) patches of what the model sees."""
    return patches.split_patches(rec.model_input.pixels, grid)


def normalise_patch(patch: NDArray, vit: Vit) -> NDArray[np.float64]:
    """(P, P, 3) values of a patch as the model gets them."""
    return normalise_pixels(patch, vit.mean, vit.std)


def shuffled_top_answers(rec: vitcore.Recording, seed: int) -> list[list[tuple[str, float]]]:
    """Top 5 for the photo, for its patches shuffled, and for patches shuffled with their positions, as they are read."""
    labels = translated_labels(rec.labels)
    return [top_classes(one, labels, output=rec.output) for one in _shuffled_logits(rec, seed)]


@memory_cache.cached
def _shuffled_logits(rec: vitcore.Recording, seed: int) -> list[NDArray[np.float32]]:
    """(classes,) logits for the photo, for its patches shuffled, and for patches shuffled with their positions."""
    from vitcore.forward.predict import predict
    from vitcore.models import load_model

    vit = loaded_models.loaded_model(rec.model)
    grid = vit.patches or vit.grid
    order = patches.shuffled_patch_order(grid.patches, seed)
    mixed = patches.join_patches(patches.split_patches(rec.model_input.numbers, grid)[order], grid)
    logits = [rec.logits, predict(vit, mixed)]
    if load_model.can_permute_positions(vit):
        logits.append(predict(vit, mixed, order, move_positions=True))
    return logits


@memory_cache.cached
def shuffled_top_probabilities(rec: vitcore.Recording, seed: int) -> tuple[float, float, float | None]:
    """The probability of the photo's likeliest class: in order, patches shuffled, all patches at one position (or None)."""
    from vitcore.forward.predict import predict, predict_without_positions
    from vitcore.models import load_model

    vit, best = loaded_models.loaded_model(rec.model), int(rec.logits.argmax())
    grid = vit.patches or vit.grid
    order = patches.shuffled_patch_order(grid.patches, seed)
    mixed = predict(vit, patches.join_patches(patches.split_patches(rec.model_input.numbers, grid)[order], grid))
    bare = predict_without_positions(vit, rec.model_input.numbers) if load_model.can_replace_positions_by_mean(vit) else None
    first, second = (float(probabilities(logits)[best]) for logits in (rec.logits, mixed))
    return first, second, None if bare is None else float(probabilities(bare)[best])

"""What a model answers when a photo's patches are shuffled, with their positions or without, or all stand at one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.state.memory import memory_cache
from app.state.models import loaded_models

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording


@memory_cache.cached
def top_answers(rec: Recording, seed: int) -> list[list[tuple[str, float]]]:
    """Top 5 for the photo, for its patches shuffled, and for patches shuffled with their positions."""
    from vitcore.analysis import patches
    from vitcore.forward.recording import predict, top_classes
    from vitcore.models import load_model

    vit = loaded_models.loaded(rec.model)
    grid = vit.patches or vit.grid
    order = patches.shuffle_order(grid.patches, seed)
    mixed = patches.join_patches(patches.split_patches(rec.model_input.pixels, grid)[order], grid)
    logits = [rec.logits, predict(vit, mixed)]
    if load_model.can_permute_positions(vit):
        logits.append(predict(vit, mixed, order, move_positions=True))
    return [top_classes(one, vit.labels, output=vit.output) for one in logits]


@memory_cache.cached
def top_probabilities(rec: Recording, seed: int) -> tuple[float, float, float | None]:
    """The probability of the photo's likeliest class: in order, patches shuffled, all patches at one position (or None)."""
    from vitcore.analysis import patches
    from vitcore.forward.recording import predict, predict_without_positions
    from vitcore.models import load_model
    from vitcore.probabilities import probabilities

    vit, best = loaded_models.loaded(rec.model), int(rec.logits.argmax())
    grid = vit.patches or vit.grid
    order = patches.shuffle_order(grid.patches, seed)
    mixed = predict(vit, patches.join_patches(patches.split_patches(rec.model_input.pixels, grid)[order], grid))
    bare = predict_without_positions(vit, rec.model_input.pixels) if load_model.can_replace_positions_by_mean(vit) else None
    first, second = (float(probabilities(logits)[best]) for logits in (rec.logits, mixed))
    return first, second, None if bare is None else float(probabilities(bare)[best])

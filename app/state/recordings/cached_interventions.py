"""Interventions on a photo's pass, computed once and kept: components switched off, every head tried, tokens of another photo."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import vitcore
from app.state.memory import memory_cache
from app.state.models import loaded_models
from app.state.photos import sample_photos
from app.state.recordings.covered_photos import ChangedPass
from vitcore.assets import SAMPLES
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit
from vitcore.translation import say

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording
    from vitcore.interventions.component_switches import Component

REPLACEMENTS = ("zero", "mean", "uniform")
OF_TOKENS = ("positions", "registers", "class_token")  # components that are not of one layer
BETWEEN = "-"  # names of components, in an address
MOST_OFF = 2000  # components that an address may name
Progress = Callable[[int, int], None]


class StrongestHead(NamedTuple):
    """The head without which the answer's logit falls most, and by how much."""

    layer: int
    head: int
    drop: float


def switchable_components(vit: Vit, replacement: str) -> list[Component]:
    """What can be switched off in this model, by a replacement; empty where nothing can (`why_nothing_switchable`)."""
    try:
        return list(vitcore.switchable_components(vit, replacement))  # type: ignore[arg-type]
    except ModelError:
        return []


def why_nothing_switchable(vit: Vit) -> str:
    """Why nothing can be switched off in this model, as a sentence."""
    from vitcore.interventions.activation_sites import check_activations_defined

    try:
        check_activations_defined(vit)
    except ModelError as error:
        return str(error)
    return say("The blocks of {name} do not hand on their heads apart, so none can be switched off.", name=vit.display_name)


def decode_components(code: str, switchable_names: list[str]) -> list[str]:
    """The components that an address names and that can be switched off, in the model's order."""
    named = {*code.split(BETWEEN)[:MOST_OFF]}
    return [name for name in switchable_names if name in named]


def encode_components(names: list[str]) -> str:
    """Components as text for an address; empty for none."""
    return BETWEEN.join(names)


@memory_cache.cached
def switched_pass(rec: Recording, code: str, replacement: str, mask_outliers: bool, _vit: Vit) -> ChangedPass:
    """One forward pass without some components; `mask_outliers`: its outlier tokens are masked in both maps. Raises: ModelError."""
    names = code.split(BETWEEN) if code else []
    mean = _gallery_mean(_vit, _mean_names(names)) if replacement == "mean" else None
    return _changed_pass(vitcore.switch_off(_vit, names, replacement, mean), rec, mask_outliers, _vit)  # type: ignore[arg-type]


def _changed_pass(changed: Vit, rec: Recording, mask_outliers: bool, vit: Vit) -> ChangedPass:
    """What a changed model makes of the photo; `vit` is the model as it is."""
    from vitcore.forward.mask_outliers import mask_outlier_tokens, outliers_in_recording
    from vitcore.forward.recording import record_batch

    with memory_cache.CACHE.reserve(loaded_models.model_size(vit).pass_bytes):
        made = record_batch(changed, [(rec.photo, rec.model_input)])[0]
    outliers = outliers_in_recording(made).patches.tolist()
    shown = mask_outlier_tokens(made) if mask_outliers else made
    return ChangedPass(made.logits, shown.rollout(), shown.pooled_attention(vit.blocks - 1), outliers)


def switched_off_arrays(names: list[str], vit: Vit) -> dict[str, NDArray[np.bool_]]:
    """What is off, for a file: heads (L, H), attention and MLP of each layer (L,), the three of tokens."""
    off = {*names}
    layers, heads = range(vit.blocks), range(vit.heads)
    return {
        "heads_off": np.array([[f"L{layer}H{head}" in off for head in heads] for layer in layers]),
        "attention_off": np.array([f"L{layer}.attn" in off for layer in layers]),
        "mlp_off": np.array([f"L{layer}.mlp" in off for layer in layers]),
        **{f"{name}_off": np.array([name in off]) for name in OF_TOKENS},
    }


def _mean_names(names: list[str]) -> list[str]:
    """The activations whose mean takes the place of these components."""
    wanted = {"attn_out": ".attn", "mlp_out": ".mlp"}
    found = [one for one, end in wanted.items() if any(name.endswith(end) for name in names)]
    tokens = ["k", "v"] if {"registers", "class_token"} & {*names} else []
    return [*found, *tokens, *(["z"] if any("H" in name for name in names) else [])]


def _gallery_mean(vit: Vit, names: list[str]) -> vitcore.Activations:
    import torch

    means = {name: torch.from_numpy(_layer_means(vit.name, name)) for name in names}
    values = {(name, layer): one for name, layers in means.items() for layer, one in enumerate(layers)}
    compute: dict[Any, Any] = {key: value.clone for key, value in values.items()}
    return vitcore.Activations(vit.name, torch.zeros(1, 0), vit.blocks, compute)


@memory_cache.cached
def _layer_means(model: str, name: str) -> NDArray[np.float32]:
    """(L, 1, T, …) of an activation, the mean over the gallery."""
    vit = loaded_models.loaded_model(model)
    with memory_cache.CACHE.reserve(2 * loaded_models.model_size(vit).pass_bytes):
        photos = [SAMPLES / f"{row['id']}.jpg" for row in sample_photos.sample_photo_rows()]
        mean = vitcore.mean_activations(vit, photos, [name])
    return np.stack([mean[name, layer].cpu().numpy() for layer in range(vit.blocks)])


@memory_cache.cached
def head_drops(rec: Recording, replacement: str, _vit: Vit, _progress: Progress) -> NDArray[np.float32]:
    """(L, H) by how much the likeliest class's logit falls without each head, one head at a time. Raises: ModelError."""
    mean = _gallery_mean(_vit, ["z"]) if replacement == "mean" else None
    with memory_cache.CACHE.reserve(2 * loaded_models.model_size(_vit).pass_bytes):
        target = int(rec.logits.argmax())
        return -vitcore.head_ablation(_vit, rec.model_input, target, replacement, mean, _progress)  # type: ignore[arg-type]


def head_drops_if_made(rec: Recording, replacement: str) -> NDArray[np.float32] | None:
    """The drops of all heads (L, H) where every head has been tried already, else None."""
    return memory_cache.cached_value_or_none(head_drops, rec, replacement)


def strongest_head(drops: NDArray[np.float32]) -> StrongestHead:
    layer, head = divmod(int(drops.argmax()), drops.shape[1])
    return StrongestHead(layer, head, float(drops[layer, head]))


def readout_tokens(rec: Recording) -> list[int]:
    """The tokens before the patches, where the answer is read from them."""
    return [place for place in range(rec.grid.prefix) if rec.pooling_weights[place] > 0]


@memory_cache.cached
def patched_by_depth(rec: Recording, other: Recording, _vit: Vit) -> vitcore.ActivationPatching:
    """Two groups of tokens taken from another photo's pass after each layer: those that the answer is read from (where they are
    no patches), and all patches. Raises: ModelError."""
    prefix, patches = readout_tokens(rec), range(rec.grid.prefix, rec.grid.tokens)
    return _patched(rec, other, [*([prefix] if prefix else []), patches], _vit, None)


@memory_cache.cached
def patched_squares(rec: Recording, other: Recording, side: int, _vit: Vit, _progress: Progress) -> NDArray[np.float32]:
    """(L, rows, cols): how far the answer goes over when the square of patches that one lies in is taken from another photo's
    pass after each layer; squares are `side` patches wide, cut at the rim. Raises: ModelError."""
    grid = rec.grid
    row, col = np.divmod(np.arange(grid.patches), grid.cols)
    square = (row // side) * -(-grid.cols // side) + col // side
    groups = [(grid.prefix + np.flatnonzero(square == one)).tolist() for one in range(int(square.max()) + 1)]
    share = _patched(rec, other, groups, _vit, _progress).share
    return share[:, square].reshape(-1, grid.rows, grid.cols).astype(np.float32)


def patched_squares_if_made(rec: Recording, other: Recording, side: int) -> NDArray[np.float32] | None:
    """The patched squares (L, rows, cols) where they have been computed already, else None."""
    return memory_cache.cached_value_or_none(patched_squares, rec, other, side)


def _patched(rec: Recording, other: Recording, groups: list, vit: Vit, progress: Progress | None) -> vitcore.ActivationPatching:
    with memory_cache.CACHE.reserve(2 * loaded_models.model_size(vit).pass_bytes):
        return vitcore.activation_patching(vit, rec.model_input, other.model_input, groups, progress=progress)


@memory_cache.cached
def _direction(rec: Recording, other: Recording, layer: int, _vit: Vit) -> NDArray[np.float32]:
    """(T, D) from this photo's residual stream after a layer to the other's. Raises: ModelError."""
    with memory_cache.CACHE.reserve(2 * loaded_models.model_size(_vit).pass_bytes):
        return vitcore.steering_direction(_vit, towards=other.model_input, away=rec.model_input, layer=layer).cpu().numpy()


@memory_cache.cached
def steered_logits(rec: Recording, other: Recording, layer: int, scale_percent: int, _vit: Vit) -> NDArray[np.float32]:
    """Logits of this photo, its residual stream moved towards the other's after a layer. Raises: ModelError."""
    with memory_cache.CACHE.reserve(loaded_models.model_size(_vit).pass_bytes):
        return vitcore.steering_sweep(_vit, rec.model_input, _direction(rec, other, layer, _vit), layer, [scale_percent / 100])[0]


@memory_cache.cached
def steered_pass(rec: Recording, other: Recording, layer: int, scale_percent: int, _vit: Vit) -> ChangedPass:
    """A pass steered towards the other photo's residual stream: its answer and maps. Raises: ModelError."""
    return _changed_pass(vitcore.steer(_vit, _direction(rec, other, layer, _vit), layer, scale_percent / 100), rec, False, _vit)

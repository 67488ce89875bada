"""Rollout and relevance maps of a recording, cached, and their overlays for the photo."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.state.memory import memory_cache
from app.state.models import loaded_models
from app.state.recordings import cached_outliers, cached_recordings
from vitcore.analysis.relevance import METHODS, RelevanceMethod, absolute_shares, difference_points, rank_correlation
from vitcore.analysis.rollout import map_overlap
from vitcore.figures.heat_overlay import fine_detail, heat_colours
from vitcore.figures.relevance import rollout_per_layer_top
from vitcore.figures.theme_colours import encode_png_or_jpeg, pixels_to_data_uri

if TYPE_CHECKING:
    from vitcore.forward.compare_models import Comparison
    from vitcore.forward.recording import Recording
    from vitcore.forward.relevance import Relevance
    from vitcore.models.load_model import Vit

Settings = tuple[tuple[str, float | str], ...]  # of a method, by name


class ResidualEffect(NamedTuple):
    """How much the rollouts of two tokens differ, with the residual connection and without; the rank correlation of the first's."""

    with_residual: float
    without_residual: float
    rank_correlation: float  # NaN where a map is flat


def defined_methods(has_attention: bool) -> dict[str, RelevanceMethod]:
    """The methods, by name, that are defined for a model with attention over one grid, or without."""
    return {name: method for name, method in METHODS.items() if has_attention or not method.needs_attention}


def map_difference(left: NDArray, right: NDArray) -> tuple[NDArray[np.float64], float]:
    """One map less another, (rows, cols) percentage points of each's total; the rank correlation of both, NaN where one is flat."""
    return difference_points(left, right), rank_correlation(left, right)


@memory_cache.cached
def residual_effect(rec: Recording, patch: int | None, other: int, mask_outliers: bool, _vit: Vit) -> ResidualEffect:
    """What the residual connection changes in the rollouts of a patch (or where the answer is read) and of another."""
    maps, differences = [], []
    for residual in (0.5, 0.0):
        settings: Settings = (("discard_ratio", 0.0), ("first_block", 0), ("fusion", "mean"), ("residual", residual))
        settings += (("mask_outliers", True),) if mask_outliers else ()
        one, two = (rollout_map(rec, query, settings, _vit) for query in (patch, other))
        differences.append(max(0.0, 1 - map_overlap(one, two)))
        maps.append(one)
    return ResidualEffect(differences[0], differences[1], rank_correlation(*maps))


@memory_cache.cached
def relevance_of_class(rec: Recording, method: str, target: int, settings: Settings, _vit: Vit) -> Relevance:
    """A method's map of what spoke for a class, (rows, cols); read-only."""
    from vitcore.forward.relevance import relevance as compute

    how: dict[str, Any] = dict(settings)
    with memory_cache.CACHE.reserve(loaded_models.model_size(_vit).gradient_bytes):
        results = compute(_vit, rec.model_input, method, target, **how)
    results.maps.flags.writeable = False
    return results


@memory_cache.cached
def rollout_map(rec: Recording, query: int | None, settings: Settings, _vit: Vit) -> NDArray[np.float64]:
    """What a patch gathered, or where the answer is read, (rows, cols); read-only."""
    read, how = _recording_and_settings(_vit, rec, settings)
    mask = read.rollout(None if query is None else rec.grid.prefix + query, **how)
    mask.flags.writeable = False
    return mask


@memory_cache.cached
def rollout_per_layer(rec: Recording, query: int | None, settings: Settings, _vit: Vit) -> tuple[NDArray[np.float64], str]:
    """Rollout after each block, (L, rows, cols), read-only; and as frames on one colour scale, a data address."""
    grid, (read, how) = rec.grid, _recording_and_settings(_vit, rec, settings)
    maps = read.rollout_per_layer(None if query is None else grid.prefix + query, **how)
    maps.flags.writeable = False
    return maps, pixels_to_data_uri(heat_colours(maps, rollout_per_layer_top(maps, grid)).reshape(-1, grid.cols, 3))


def _recording_and_settings(vit: Vit, rec: Recording, settings: Settings) -> tuple[Recording, dict[str, Any]]:
    """The recording that a rollout with these settings reads, and the settings that are left."""
    how = dict[str, Any](settings)
    rec = cached_recordings.recording_with_fusion(vit, rec, how["fusion"])
    return (cached_outliers.mask_outliers(rec) if how.pop("mask_outliers", False) else rec), how


@memory_cache.cached
def opaque_heat_map_uri(
    source: Recording | Comparison, map_key: Hashable, signed: bool, _values: NDArray, _top: float, mode: Any = "light"
) -> str:
    """A map in colours up to its top, to be laid on the photo, as a data address; `map_key`: which map of the source.

    `mode` ("light", "dark") is for signed maps alone: amounts look the same in both.
    """
    return pixels_to_data_uri(heat_colours(_values, _top, signed, mode))


@memory_cache.cached
def fine_detail_jpeg(rec: Recording) -> bytes:
    """The photo's fine detail, to be added to a map's colours, as a JPEG file."""
    return encode_png_or_jpeg(fine_detail(cached_recordings.input_picture(rec)[0], rec.grid), photo=True)[0]


def map_in_shown_unit(method: str, values: NDArray) -> NDArray[np.float64]:
    """A method's map as it is shown: integrated gradients as they are, gradient rollout in percent, others in percent of all."""
    if method == "integrated_gradients":
        return values
    return 100 * (values if method == "gradient_rollout" else absolute_shares(values))

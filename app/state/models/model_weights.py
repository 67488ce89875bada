"""Figures of a model's weights alone, cached: embedding filters, position embeddings, relative positions, its layers."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.state.memory import memory_cache
from app.state.models import loaded_models
from vitcore.analysis import filters, position_embeddings
from vitcore.analysis.filter_patterns import describe_filter
from vitcore.analysis.filters import MAX_COMPONENTS, ComponentKinds, PrincipalComponents
from vitcore.analysis.model_similarity import subspace_overlap
from vitcore.analysis.position_embeddings import MirrorSymmetry
from vitcore.analysis.position_embeddings import correlation_with_distance as correlation_with_distance
from vitcore.analysis.position_embeddings import matching_patch as matching_patch
from vitcore.figures.positions import similarity_mosaic
from vitcore.figures.theme_colours import encode_png_or_jpeg
from vitcore.grid import Grid

if TYPE_CHECKING:
    from vitcore.architectures.model_summary import ModulePart, Table1Row
    from vitcore.models.embeddings import RelativePositions
    from vitcore.models.load_model import Vit


PATCHES_APART = 5  # the least that is also the way of 3 rows and 4 columns
FEW_TILES = 7  # positions a side whose tiles can be told apart at a glance, as in the paper's Figure 7


def filter_patterns(model: str, count: int) -> list[dict[str, Any]]:
    """What the first components of a model's filters look like: the fields of `analysis.filter_patterns.FilterPattern`."""
    return [_filter_pattern(model, place) for place in range(count)]


@memory_cache.cached
def _filter_pattern(model: str, place: int) -> dict[str, Any]:
    """What one component looks like, by its place from 0: kept one by one, for whoever asks for more of them."""
    found = filter_components(model)
    assert found is not None, "only asked for models that have filters"
    return asdict(describe_filter(found.vectors[place]))


@memory_cache.cached
def model_summary(model: str, _vit: Vit) -> tuple[Table1Row, tuple[ModulePart, ...]]:
    """The row of the paper's Table 1 it would have, and its parts in the order they run."""
    from vitcore.architectures.model_summary import module_parts_with_repeats, table_1_row

    px = _vit.grid.image_px
    return table_1_row(_vit.module, px), module_parts_with_repeats(_vit.module, px)


@memory_cache.cached
def relative_positions(model: str, block: int, _vit: Vit) -> RelativePositions | None:
    """A block's relative position bias or the kernel of its rotations, from the middle patch, (H, N); None for neither."""
    from vitcore.models import load_model

    return load_model.relative_positions(_vit, block)


@memory_cache.cached
def filter_components(model: str) -> PrincipalComponents | None:
    """Principal components of a model's embedding filters, or of a hybrid's root convolution."""
    from vitcore.models import load_model

    vit = loaded_models.loaded_model(model)
    kernel = load_model.first_layer_filters(vit)
    return None if kernel is None else filters.principal_components(kernel)


class ComponentsNeeded(NamedTuple):
    """How many components hold half of a model's variance, and how many hold the `share` of it that is spoken of."""

    half_count: int
    share_count: int
    share: float


def components_needed(components: PrincipalComponents) -> ComponentsNeeded:
    half, most = (filters.components_for_variance(components.variance, share) for share in (0.5, MAX_COMPONENTS))
    return ComponentsNeeded(half, most, MAX_COMPONENTS)


def component_tiles(components: PrincipalComponents, count: int, scale: str = "symmetric") -> NDArray[np.uint8]:
    return filters.components_as_picture(components.vectors[:count], scale)


def component_kinds(components: PrincipalComponents, count: int) -> ComponentKinds:
    """How many of the first components are colour, how many light and dark, how many smooth."""
    return filters.component_kinds(components.vectors[:count])


def filter_overlap(one_model: PrincipalComponents, other_model: PrincipalComponents, count: int) -> tuple[float, float] | None:
    """How much of the spaces of the first components is shared, and by chance; None for filters of other shapes."""
    first, second = one_model.vectors[:count], other_model.vectors[:count]
    return (subspace_overlap(first, second), count / first[0].size) if first.shape == second.shape else None


@memory_cache.cached
def position_similarity(model: str, rows: int = 0, cols: int = 0, method: str = "paper") -> NDArray[np.float64] | None:
    """Cosines of a model's position embeddings (N, N), at its own grid or interpolated to rows × cols."""
    from vitcore.models import load_model

    vit = loaded_models.loaded_model(model)
    table = load_model.position_embeddings(vit)
    if table is None:
        return None
    return position_embeddings.position_similarity(load_model.resample_positions(vit, rows, cols, method) if rows else table)


def known_cosines(model: str, *sizes_and_method: Any) -> NDArray[np.float64]:
    """The same of a model that has a table of positions."""
    cosine = position_similarity(model, *sizes_and_method)
    assert cosine is not None, "only asked for models that have positions"
    return cosine


class InterpolatedPosition(NamedTuple):
    """Cosines (N,) of one position with all of a larger grid, interpolated as the paper does and as timm does."""

    paper: NDArray[np.float64]
    timm: NDArray[np.float64]

    @property
    def difference(self) -> NDArray[np.float64]:
        """The paper's less timm's."""
        return self.paper - self.timm

    @property
    def largest_difference(self) -> float:
        return float(abs(self.difference).max())


def interpolated_position(model: str, patches_per_side: int, position: int) -> InterpolatedPosition:
    """The cosines of a `position` among `patches_per_side` × `patches_per_side`, in both ways of interpolation."""
    paper, timm = (known_cosines(model, patches_per_side, patches_per_side, way) for way in ("paper", "timm"))
    return InterpolatedPosition(paper[position], timm[position])


def nearest_position(model: str, patch: int) -> tuple[int, float] | None:
    """The patch whose position embedding is most like that of `patch`, and the cosine of the two; None without a table."""
    cosine = position_similarity(model)
    return None if cosine is None else position_embeddings.most_similar_position(cosine, patch)


def random_position_cosines(count: int, width: int) -> NDArray[np.float64]:
    return position_embeddings.position_similarity(position_embeddings.random_position_embeddings(count, width))


class PositionFacts(NamedTuple):
    """What is found of a position: the most like it; its neighbours, by their way; how alike corners are; the least to mention."""

    most_similar: int
    most_similar_cosine: float
    neighbours: dict[str, tuple[int, float]]
    corners: tuple[float, float, float]  # down, up, and the mean
    least_cosine: float


def position_facts(cosines: NDArray, position: int, grid: Grid) -> PositionFacts:
    """What the cosines (N, N) say of a position."""
    most, alike = position_embeddings.most_similar_position(cosines, position)
    places, near = position_embeddings.neighbours(position, grid), position_embeddings.neighbour_cosines(cosines, position, grid)
    neighbours = {way: (places[way], near[way]) for way in near}
    return PositionFacts(most, alike, neighbours, position_embeddings.corner_cosines(cosines, grid), position_embeddings.MIRROR)


def position_embedding(vit: Vit, patch: int) -> NDArray[np.float32] | None:
    """The position embedding (D,) of a patch; None without a table."""
    from vitcore.models import load_model

    table = load_model.position_embeddings(vit)
    return None if table is None else table[patch]


@memory_cache.cached
def mirror_symmetries(model: str) -> list[MirrorSymmetry]:
    return position_embeddings.mirror_symmetries(known_cosines(model), loaded_models.loaded_model(model).grid)


@memory_cache.cached
def same_line_and_aslant_cosines(model: str) -> tuple[float, float]:
    """The mean cosine of positions `PATCHES_APART` in one row or column, and of others; NaN where there are none."""
    grid = loaded_models.loaded_model(model).grid
    return position_embeddings.cosines_some_patches_apart(known_cosines(model), grid, PATCHES_APART)


@memory_cache.cached
def most_similar_pair(model: str) -> tuple[int, int, float] | None:
    """The two positions that are most alike, and their cosine; None of one position."""
    cosine = known_cosines(model)
    return position_embeddings.most_similar_pair(cosine) if len(cosine) > 1 else None


@memory_cache.cached
def similarity_tiles_png(model: str, mode: Any) -> bytes:
    grid = loaded_models.loaded_model(model).grid
    return encode_png_or_jpeg(similarity_mosaic(known_cosines(model), grid, gutter=False, mode=mode))[0]

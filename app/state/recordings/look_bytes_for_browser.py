"""What the Look page sends the browser beside attention, cached as bytes: embeddings, filters, positions, rollout by layer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import vitcore
from app.state.memory import memory_cache
from app.state.models import loaded_models, model_weights
from app.state.recordings import attention_bytes_for_browser, cached_recordings, photo_patches
from vitcore.analysis.attention_as_bytes import encode_signed, encode_weights
from vitcore.analysis.attention_distance import uniform_distance_px as uniform_distance_px
from vitcore.analysis.filters import component_projections
from vitcore.figures.theme_colours import encode_png_or_jpeg, tile_mosaic
from vitcore.grid import Grid

MAX_COMPONENTS = 28  # of the filters, as the paper's Figure 7 has them
COMPONENT_COLUMNS = 14


class FilterTilesPng(NamedTuple):
    """The first components of a model's filters as a PNG of tiles, `cols` a row."""

    png: bytes
    shown: int
    cols: int


@memory_cache.cached
def filter_tiles_png(model: str) -> FilterTilesPng | None:
    """The first filter components of a model as one PNG of tiles; None for a model without filters."""
    components = model_weights.filter_components(model)
    if components is None:
        return None
    tiles = model_weights.component_tiles(components, MAX_COMPONENTS)
    cols = min(len(tiles), COMPONENT_COLUMNS)
    if tiles.shape[-1] != 3:  # of one channel, or of many: the first is shown
        tiles = tiles[..., :1].repeat(3, -1)
    return FilterTilesPng(
        encode_png_or_jpeg(tile_mosaic(tiles, cols, zoom=4 if tiles.shape[1] < 12 else 2, gutter=4))[0], len(tiles), cols
    )


@memory_cache.cached
def component_part_bytes(rec: vitcore.Recording, count: int) -> bytes | None:
    """How much of each patch's embedding each of the first components makes, N × `count` signed bytes.

    None where the filters do not read patches, as those of a hybrid's root.
    """
    vit, components = loaded_models.loaded_model(rec.model), model_weights.filter_components(rec.model)
    grid = vit.patches or rec.grid
    if components is None or components.vectors.shape[1:] != (*grid.step_px, 3):
        return None
    cut = photo_patches.normalise_patch(photo_patches.split_patches(rec, grid), vit)
    return encode_signed(component_projections(cut, components, count)).tobytes()


@memory_cache.cached
def embedding_bytes(rec: vitcore.Recording) -> tuple[bytes, int]:
    """Patch embeddings, N × D signed bytes on the scale of the largest, and D."""
    embeddings = cached_recordings.patch_embeddings(rec)
    return encode_signed(embeddings).tobytes(), embeddings.shape[1]


@memory_cache.cached
def input_png(rec: vitcore.Recording) -> bytes:
    return encode_png_or_jpeg(rec.model_input.pixels)[0]


@memory_cache.cached
def position_cosine_bytes(model: str, patches: tuple[int, ...] | None) -> bytes:
    """Cosine similarity of position embeddings, of all patches (None) or of some with all: signed bytes, 127 for 1."""
    cosine = model_weights.known_cosines(model)
    return encode_signed(cosine if patches is None else cosine[list(patches)], 1).tobytes()


@memory_cache.cached
def rollout_per_layer_bytes(rec: vitcore.Recording) -> bytes:
    """Rollout from where the answer is read after each block, L × N in float32: exact, for the largest is named."""
    return rec.rollout_per_layer().astype("float32").tobytes()


@memory_cache.cached
def readout_head_bytes(rec: vitcore.Recording, block: int) -> bytes:
    """What each head of a block gives each token where the answer is read from more tokens than one, H × T codes."""
    maps = rec.maps[block].astype(np.float32)
    return encode_weights(np.einsum("t,htk->hk", rec.pooling_weights, maps)).tobytes()


def reads_class_token(rec: vitcore.Recording) -> bool:
    """Whether the answer is read at the first token alone."""
    return rec.grid.prefix > 0 and float(rec.pooling_weights[0]) == 1.0


def evenly_spread_patches(grid: Grid) -> tuple[list[int], tuple[int, int]]:
    """Patches spread evenly over the grid, at most 7 × 7, and how many rows and columns of them there are."""
    rows, cols = (
        [(2 * i + 1) * size // (2 * min(size, model_weights.FEW_TILES)) for i in range(min(size, model_weights.FEW_TILES))]
        for size in (grid.rows, grid.cols)
    )
    return [grid.patch(row, col) for row in rows for col in cols], (len(rows), len(cols))


def sent_patch_tokens(rec: vitcore.Recording, pinned_token: int | None) -> list[int] | None:
    """The tokens whose rows of a T × T matrix are sent: None for all, else a lattice and the pinned."""
    return attention_bytes_for_browser.sent_query_tokens(rec, () if pinned_token is None else (rec.grid.prefix + pinned_token,), 1)

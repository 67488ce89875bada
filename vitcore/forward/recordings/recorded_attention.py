"""What a recording has kept of attention: maps of single heads, heads fused in each block, and rollout block by block.

Shapes: L blocks, H heads, T tokens.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vitcore.analysis.rollout import rollout_per_layer as roll_out_per_layer
from vitcore.analysis.rollout import start_distribution
from vitcore.forward.layer_indices import layer_index

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording


def attention_maps(rec: "Recording") -> NDArray[np.float32]:
    """(L, H, T, T) attention maps of all blocks, of half precision's accuracy; a row is a query.

    Raises: KeyError, where some were not kept; `record(vit, image, maps="all")` keeps them.
    """
    blocks = range(len(rec.distance_px))
    if not blocks or not {*blocks} <= rec.maps.keys():
        raise KeyError('the heads of all blocks were not kept: record(vit, image, maps="all") keeps them')
    return np.stack([rec.maps[block] for block in blocks]).astype(np.float32)


def head_maps(rec: "Recording", block: int, token: int | None = None) -> NDArray[np.float32]:
    """(H, rows, cols) attention of a token (default: where the answer is read) in a block.

    A negative block is counted from the last. Raises: ValueError, for a block that there is not; KeyError, for one whose maps
    were not kept; IndexError, for a token that there is not.
    """
    block = layer_index(block, len(rec.distance_px), "blocks")
    if block not in rec.maps:
        raise KeyError(f"the heads of block {block} were not kept: record(vit, image, maps=[{block}]) keeps them")
    start = start_distribution(rec.pooling_weights if token is None else token, rec.grid.tokens).astype(np.float32)
    rows = np.flatnonzero(start)  # mostly one
    return rec.grid.to_map(np.einsum("t,htk->hk", start[rows], rec.maps[block][:, rows].astype(np.float32)))


def attention_per_layer(rec: "Recording", fusion: str = "mean") -> NDArray[np.float32]:
    """(L, T, T) fused attention of each block; an axial block's is the product of its steps: a patch's reach."""
    fused = rec.fused[fusion]
    if rec.steps == 1:
        return fused
    return np.stack([last.astype(np.float32) @ first for first, last in zip(fused[::2], fused[1::2], strict=True)])


def readout_attention(rec: "Recording", block: int) -> NDArray[np.float64]:
    """(rows, cols) attention of where the answer is read, in one block, mean of its heads. Raises: ValueError."""
    weights = rec.attention_per_layer()[layer_index(block, len(rec.distance_px), "blocks")]
    return rec.grid.to_map(rec.pooling_weights.astype(np.float64) @ weights.astype(np.float64))


def rollout_per_layer(rec: "Recording", start: int | None = None, fusion: str = "mean", **settings: float) -> NDArray[np.float64]:
    """Rollout through the blocks up to each, (L, rows, cols); start, settings and errors as of `rollout`."""
    return rec._roll_out(roll_out_per_layer, start, fusion, **settings)[rec.steps - 1 :: rec.steps]

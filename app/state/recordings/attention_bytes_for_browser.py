"""Attention for the explorer, cached as bytes (`vitcore.analysis.attention_as_bytes`), and each head described in words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vitcore
from app.state.memory import memory_cache
from app.state.recordings import cached_outliers
from vitcore.analysis import head_descriptions
from vitcore.analysis.attention_as_bytes import LEAST as BYTE_SMALLEST_NONZERO  # noqa: F401 - of weights as bytes, for pages
from vitcore.analysis.attention_as_bytes import SPAN as BYTE_OCTAVES  # noqa: F401
from vitcore.analysis.attention_as_bytes import WORST as BYTE_MAX_RELATIVE_ERROR  # noqa: F401
from vitcore.analysis.attention_as_bytes import encode_weights
from vitcore.analysis.attention_distance import uniform_distance_px
from vitcore.analysis.head_descriptions import OUTLIER_SHARE, HeadDescription
from vitcore.analysis.rollout import rollout_matrix, transition_matrix
from vitcore.grid import Grid
from vitcore.translation import percent

MAX_BYTES = 800_000  # of attention at once; of more, the browser is given some queries only
ANSWER = -1  # in place of a token: where the answer is read
THUMBNAIL_CELLS = 16  # cells a side of a thumbnail, at most


def query_stride(rec: vitcore.Recording, heads: int) -> int:
    """Every how many rows and columns a patch's attention is sent, for `heads` heads at once: 1 for small models."""
    grid, most = rec.grid, max(rec.grid.rows, rec.grid.cols)
    if heads * grid.tokens**2 <= MAX_BYTES:
        return 1
    room = MAX_BYTES // (heads * grid.tokens) - grid.prefix - 2  # tokens that fit, beside those always sent
    return next((step for step in range(2, most) if len(_lattice(rec, step)) <= room), most)


def sent_query_tokens(rec: vitcore.Recording, pinned_tokens: tuple[int, ...], heads: int) -> list[int] | None:
    """The tokens whose attention in `heads` heads is sent: None for all, else a lattice that fits, prefix and pinned."""
    step = query_stride(rec, heads)
    return None if step == 1 else sorted({*range(rec.grid.prefix), *pinned_tokens, *_lattice(rec, step)})


def _lattice(rec: vitcore.Recording, step: int) -> set[int]:
    grid = rec.grid
    rows, cols = range(step // 2, grid.rows, step), range(step // 2, grid.cols, step)
    return {grid.prefix + grid.patch(r, c) for r in rows for c in cols}


@memory_cache.cached
def attention_bytes_by_block(rec: vitcore.Recording) -> dict[int, bytes]:
    """Each block's attention, all heads × queries × keys, of a recording that kept all blocks and is small enough to send."""
    return {block: encode_weights(maps).tobytes() for block, maps in rec.maps.items()}


@memory_cache.cached
def token_attention_bytes(rec: vitcore.Recording, block: int, tokens: tuple[int, ...], received: bool) -> bytes:
    """Attention of some tokens (heads × those × all): what they attend to, or who attends to them."""
    maps, some = rec.maps[block], list(tokens)
    return encode_weights(maps[:, :, some].swapaxes(1, 2) if received else maps[:, some]).tobytes()


def token_attention_weights(rec: vitcore.Recording, block: int, token: int, received: bool) -> NDArray[np.float32]:
    """What each head gives from a token to all, or with `received` from all to it: (heads, tokens), not cached."""
    maps = rec.maps[block]
    return (maps[:, :, token] if received else maps[:, token]).astype("float32")


@memory_cache.cached
def exact_weight_bytes(rec: vitcore.Recording, block: int | None, tokens: tuple[int, ...], received: bool) -> bytes:
    """Weights of a few tokens, tokens × heads × all in float32: what is pinned is not rounded to a byte.

    `block` None: of rollout, tokens × 1 × all. A token may be `ANSWER`.
    """
    if block is None:
        return rollout_row_per_token(rec, tokens, received).astype("float32").tobytes()
    rows = [
        np.einsum("t,htk->hk", rec.pooling_weights, rec.maps[block].astype("float32"))
        if token == ANSWER
        else token_attention_weights(rec, block, token, received)
        for token in tokens
    ]
    return np.stack(rows).astype("float32").tobytes()


@memory_cache.cached
def describe_heads(rec: vitcore.Recording, blocks: tuple[int, ...]) -> dict[int, list[HeadDescription]]:
    """Every head's numbers and words, by block."""
    tokens, px, left_px = cached_outliers.find_outlier_tokens(rec).tokens, rec.distance_px, rec.distance_renormalised_px
    return {b: head_descriptions.describe_heads(rec.maps[b], px[b], left_px[b], rec.grid, tokens) for b in blocks}


def _whole_percent(share: float) -> float:
    """Percent without digits; what is more than 0 and less than half a percent stays below 1."""
    return round(100 * share) or (0.5 if share > 0 else 0)


def _head_card(head: HeadDescription, grid: Grid, named: int) -> dict[str, Any]:
    """A head's numbers, rounded as they are shown, and its words; the browser makes the sentence.

    `named` tokens have a share each, the registers after them one together.
    """
    reach = head.reach_px / max(uniform_distance_px(grid), 1e-9)
    shares = [*head.shares[:named], *([sum(head.shares[named:])] if head.shares[named:] else [])]
    return {
        "bits": round(head.entropy_bits, 1), "spread": round(2**head.entropy_bits),
        "px": round(head.distance_px), "reach": round(100 * reach),
        "offset": round(100 * head.by_offset), "shares": [_whole_percent(share) for share in shares], "words": head.words,
        "sink": head.sink, "outlying": _whole_percent(head.outlying) if head.outlying >= OUTLIER_SHARE else None,
    }  # fmt: skip


def head_card_texts(rec: vitcore.Recording, named_prefixes: int) -> dict[int, list[dict[str, Any]]]:
    """The cards of the heads of each block whose maps were kept; `named_prefixes` tokens before the patches have a name each."""
    found = describe_heads(rec, tuple(rec.maps))
    return {block: [_head_card(head, rec.grid, named_prefixes) for head in heads] for block, heads in found.items()}


def head_word_thresholds(grid: Grid) -> dict[str, str]:
    px = uniform_distance_px(grid)
    return {
        "sink": percent(head_descriptions.SINK_SHARE, 0), "even": percent(head_descriptions.EVEN_ENTROPY_SHARE, 0),
        "bits": f"{math.log2(grid.tokens):.1f}",
        "local": percent(head_descriptions.LOCAL_REACH, 0), "local_px": f"{head_descriptions.LOCAL_REACH * px:.0f}",
        "global": percent(head_descriptions.GLOBAL_REACH, 0), "global_px": f"{head_descriptions.GLOBAL_REACH * px:.0f}",
        "px": f"{px:.0f}", "positional": percent(head_descriptions.POSITIONAL_SHARE, 0),
    }  # fmt: skip


def attention_thumbnail_shape(rec: vitcore.Recording) -> tuple[int, int]:
    return min(rec.grid.rows, THUMBNAIL_CELLS), min(rec.grid.cols, THUMBNAIL_CELLS)


@memory_cache.cached
def attention_thumbnails(rec: vitcore.Recording, token: int, received: bool) -> bytes:
    """Thumbnails of a token's attention, blocks × heads (or × their mean, where only some blocks were kept) × cells."""
    whole = len(rec.maps) == len(rec.distance_px)
    stacks = (rec.maps[b] for b in sorted(rec.maps)) if whole else (mean[None] for mean in rec.attention_per_layer())
    maps = rec.grid.to_map(np.stack([m[:, :, token] if received else m[:, token] for m in stacks]))
    return encode_weights(_downsample(maps, *attention_thumbnail_shape(rec))).tobytes()


def _downsample(maps: NDArray, rows: int, cols: int) -> NDArray:
    """(…, h, w) maps as the means of rows × cols areas."""
    if maps.shape[-2:] == (rows, cols):
        return maps
    for axis, count in ((-2, rows), (-1, cols)):
        edges = np.arange(count) * maps.shape[axis] // count
        sizes = np.diff([*edges, maps.shape[axis]])
        shape = (-1, 1) if axis == -2 else (-1,)
        maps = np.add.reduceat(maps.astype(np.float32), edges, axis) / sizes.reshape(shape)
    return maps


@memory_cache.cached
def rollout_bytes(rec: vitcore.Recording, tokens: tuple[int, ...] | None, received: bool) -> bytes:
    """Rollout (mean heads, residual 0.5) of all tokens, tokens × tokens; or that of some, from or to them."""
    if tokens is None:
        return encode_weights(rollout_matrix(rec.fused["mean"], prefix=rec.grid.prefix)).tobytes()
    return encode_weights(rollout_row_per_token(rec, tokens, received)).tobytes()


def rollout_row_per_token(rec: vitcore.Recording, tokens: tuple[int, ...], received: bool) -> NDArray[np.float64]:
    """Rollout of some tokens as numbers, tokens × all, not cached."""
    fused, prefix = rec.fused["mean"], rec.grid.prefix
    some = np.eye(rec.grid.tokens)[list(tokens)]  # a few vectors through all blocks cost less than all matrices
    for matrix in fused if received else fused[::-1]:
        step = transition_matrix(matrix, prefix)
        some = some @ (step.T if received else step)
    return some

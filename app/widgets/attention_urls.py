"""Where the browser fetches attention and rollout: all of a small model, of a large one some tokens of the layer at hand."""

from __future__ import annotations

from typing import Any

import vitcore
from app.components.component_files import media_url
from app.state.recordings import attention_bytes_for_browser

BYTES = "application/octet-stream"


def attention_urls(
    rec: vitcore.Recording, block_count: int, layer: int | None, queries: list[int] | None, received: bool = False
) -> list[dict[str, Any] | None]:
    """Where each block's attention is, None for what isn't at hand. `queries`: the tokens that are sent (None: all).

    `received`: what they are given; where all are sent, the browser turns the arrow itself.
    """
    urls: list[dict[str, Any] | None] = [None] * block_count
    if queries is None and len(rec.maps) == block_count:
        for block, data in attention_bytes_for_browser.attention_bytes_by_block(rec).items():
            urls[block] = {"url": media_url(data, BYTES, f"block{block}")}
    elif layer is not None:
        tokens = tuple(queries or range(rec.grid.tokens))
        data = attention_bytes_for_browser.token_attention_bytes(rec, layer, tokens, received and queries is not None)
        urls[layer] = {"url": media_url(data, BYTES, "block"), "queries": queries}
    return urls


def rollout_url(rec: vitcore.Recording, queries: list[int] | None, received: bool = False) -> dict[str, Any]:
    """Where rollout of these tokens is (None: of all)."""
    data = attention_bytes_for_browser.rollout_bytes(rec, tuple(queries) if queries else None, received and bool(queries))
    return {"url": media_url(data, BYTES, "rollout"), "queries": queries}


def exact_url(rec: vitcore.Recording, block: int | None, tokens: tuple[int, ...], received: bool = False) -> dict[str, Any]:
    """Where the weights of these pinned tokens are as they were computed; `block` None: of rollout."""
    data = attention_bytes_for_browser.exact_weight_bytes(rec, block, tokens, received)
    return {"url": media_url(data, BYTES, "exact"), "block": block, "tokens": [*tokens], "column": received}

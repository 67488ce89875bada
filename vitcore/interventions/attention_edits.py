"""Changes of attention itself: a head's queries, keys, values or attention map, before the block's attention is computed.

A changed map is made of the call's own parts: for the rows that change, queries are 0 and the logarithm of the new weights is
added to the scores. So whoever watches the pass (a recording, relevance) sees the attention that counted.
Shapes: B images, T tokens, t of them that change, d width of a head.
"""

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitcore.attention_hooks import AttentionCall, AttentionEvent, AttentionWatcher, mask_as_score_term
from vitcore.interventions.site_edits import Tokens
from vitcore.models.model_cards import ModelError
from vitcore.module_swaps import with_swapped_modules


@dataclass(frozen=True, eq=False)
class HeadAttentionEdit:
    """What replaces "q", "k" or "v" (B, t, d) of a head at some tokens, or its "pattern" (B, t, T): None for even attention.

    "hidden": no token attends to these, whatever else is edited; no values.
    """

    name: str
    head: int  # among all heads of the block
    tokens: Tokens
    values: Callable[[Tensor], Tensor] | None  # what it puts in the place of a tensor


def attention_edit_watcher(model: str, edits: Sequence[HeadAttentionEdit], heads: int) -> AttentionWatcher:
    """The watcher of a block that makes these edits, one after another; `heads` are those of each of its calls."""

    def watch(event: AttentionEvent) -> Tensor | None:
        mine = [edit for edit in edits if edit.head // heads == event.index]
        if not mine:
            return None
        if not isinstance(event, AttentionCall):
            raise not_fused_error(model)
        return _edited_output(event, sorted(mine, key=lambda edit: edit.name == "hidden"), heads)

    return watch


def not_fused_error(model: str) -> ModelError:
    """The refusal to change attention that is computed where its queries and keys are not seen."""
    return ModelError("{name} does not compute its attention with PyTorch's fused kernel, so it can't be changed.", name=model)


def _edited_output(event: AttentionCall, edits: Sequence[HeadAttentionEdit], heads: int) -> Tensor:
    """What the call returns with edited queries, keys, values and weights."""
    parts = {"q": event.q.clone(), "k": event.k.clone(), "v": event.v.clone()}
    before = None if event.mask is None else mask_as_score_term(event.mask, event.q.dtype).expand(event.shape)
    mask = None if before is None else before.clone()
    for edit in edits:
        rows = slice(None), edit.head % heads, edit.tokens
        if edit.name in parts:
            part = parts[edit.name]
            part[rows] = edit.values(part[rows]) if edit.values is not None else 0
            if edit.name == "q" and mask is not None:
                mask[rows] = 0 if before is None else before[rows]
            continue
        if edit.name == "hidden":
            mask = torch.zeros(event.shape, dtype=event.q.dtype, device=event.q.device) if mask is None else mask
            mask[:, edit.head % heads, :, edit.tokens] = -torch.inf
            continue
        parts["q"][rows] = 0
        if edit.values is None:
            if mask is not None:
                mask[rows] = 0
            continue
        mask = torch.zeros(event.shape, dtype=event.q.dtype, device=event.q.device) if mask is None else mask
        mask[rows] = edit.values(mask[rows]).log()
    return F.scaled_dot_product_attention(parts["q"], parts["k"], parts["v"], attn_mask=mask, scale=event.scale)


def part_in_context(part: nn.Module, context: Callable[[], AbstractContextManager[Any]]) -> Any:
    """A copy of a part that runs within a context of its own each time. It is of a class of its own, so that copies of it do, too:
    a forward method set on the copy would go on with this copy's parts."""
    kind = type(part)

    def call(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        with context():
            return kind.__call__(self, *args, **kwargs)

    clone = copy.copy(part)
    clone.__class__ = type(kind.__name__, (kind,), {"__call__": call, "__module__": kind.__module__, "__doc__": kind.__doc__})
    return clone


def with_fused_attention(module: nn.Module) -> Any:
    """A copy of `module` whose attention calls the fused kernel where timm's can: queries, keys and values are seen there."""
    manual = {name: copy.copy(part) for name, part in module.named_modules() if getattr(part, "fused_attn", True) is False}
    for part in manual.values():
        part.fused_attn = True
    return with_swapped_modules(module, **manual) if manual else module

"""Attention events: every attention call of a forward pass is watched, and the model knows nothing about it.

A `torch.overrides.TorchFunctionMode` sees each `F.scaled_dot_product_attention` made inside its `with` block, and each 4-D
softmax of models that do not call it, and hands it to a watcher as an `AttentionEvent`. The watcher may look (return None: the
model's own fused kernel then computes the output, so logits are bit-identical), differentiate (the weights carry gradients), or
answer with its own output. The mode stack is per thread, so one shared model can be watched by many threads at once. Shapes:
B images, H heads, T tokens, d width of a head.
"""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

_SOFTMAXES = (F.softmax, torch.softmax, Tensor.softmax)


@dataclass(frozen=True, eq=False)
class AttentionCall:
    """One attention call: `q`, `k`, `v` are (B, H, T, d); `mask` is added to the scores; `index` counts events from 0."""

    index: int
    q: Tensor
    k: Tensor
    v: Tensor
    mask: Tensor | None = None
    scale: float | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, queries, keys)."""
        return *self.q.shape[:-1], self.k.shape[-2]

    @property
    def factor(self) -> float:
        """What the scores q·kᵀ are multiplied by: 1/√d unless the model says otherwise."""
        return self.scale if self.scale is not None else 1 / math.sqrt(self.q.shape[-1])

    def weights(self, query: slice = slice(None)) -> Tensor:
        """Attention weights softmax(QKᵀ·factor + mask), (B, H, queries, T); `query` limits the rows."""
        scores = self.scores(query)
        weights = scores.softmax(dim=-1)
        return weights if self.mask is None else zero_if_fully_masked(weights, scores)

    def scores(self, query: slice = slice(None)) -> Tensor:
        """QKᵀ·factor + mask, (B, H, queries, T), whose softmax the attention weights are; `query` limits the rows."""
        scores = (self.q[:, :, query] * self.factor) @ self.k.transpose(-2, -1)
        if self.mask is None:
            return scores
        return scores + mask_as_score_term(self.mask, scores.dtype).expand(*scores.shape[:2], self.q.shape[2], -1)[:, :, query]

    def output(self, weights: Tensor) -> Tensor:
        """What the call returns where these are its weights."""
        return weights @ self.v


@dataclass(frozen=True, eq=False)
class SoftmaxCall:
    """One 4-D softmax of a model that does not call the fused kernel: `result` is (B, H, T, T)."""

    index: int
    result: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, queries, keys)."""
        return tuple(self.result.shape)

    def weights(self, query: slice = slice(None)) -> Tensor:
        """Attention weights, (B, H, queries, T)."""
        return self.result[:, :, query]

    def output(self, weights: Tensor) -> Tensor:
        """What the call returns where these are its weights."""
        return weights


def zero_if_fully_masked(weights: Tensor, scores: Tensor) -> Tensor:
    """A query that may attend to nothing (all its scores −inf) gets weights of 0, as the fused kernel has it, not NaN."""
    return weights.masked_fill(scores.isneginf().all(-1, keepdim=True), 0)


def mask_as_score_term(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask as a term of the scores: booleans (True = may attend) become 0 and −inf."""
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, -math.inf)


AttentionEvent = AttentionCall | SoftmaxCall
AttentionWatcher = Callable[[AttentionEvent], Tensor | None]


_at_watchers = threading.local()  # `busy`: a watcher is being shown an event, and what it computes is no model's attention


class AttentionHookMode(TorchFunctionMode):
    """Show `watch` every attention event of this thread; its answer, when there is one, replaces the output.

    Of captures inside each other each is shown every event; where several answer, the outermost is heard. If `rewrites`, the
    watcher answers by a call of its own, with other queries, keys, values or mask: captures around it are shown that call instead.
    """

    def __init__(self, watch: AttentionWatcher, rewrites: bool = False) -> None:
        super().__init__()
        self.watch, self.rewrites = watch, rewrites
        self.events = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        kwargs = kwargs or {}
        if getattr(_at_watchers, "busy", False):
            return func(*args, **kwargs)
        event: AttentionEvent
        if func is F.scaled_dot_product_attention:
            event, result = _attention_call(self.events, *args, **kwargs), None
        else:
            result = func(*args, **kwargs)
            if func not in _SOFTMAXES or result.ndim != 4:
                return result
            event = SoftmaxCall(self.events, result)
        answer = self._show(event)
        if answer is None:
            return func(*args, **kwargs) if result is None else result
        for outer in () if self.rewrites else reversed(_get_current_function_mode_stack()):  # the event would not come to them
            if isinstance(outer, AttentionHookMode) and result is None:
                again = outer._show(replace(event, index=outer.events))
                answer = answer if again is None else again
        return answer

    def _show(self, event: AttentionEvent) -> Tensor | None:
        self.events += 1
        _at_watchers.busy = not self.rewrites
        try:
            return self.watch(event)
        finally:
            _at_watchers.busy = False


def _attention_call(
    index: int, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> AttentionCall:  # fmt: skip
    """The event of a call with the signature of F.scaled_dot_product_attention."""
    if is_causal:
        attn_mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
    if enable_gqa:
        key, value = (one.repeat_interleave(query.shape[-3] // one.shape[-3], -3) for one in (key, value))
    return AttentionCall(index, query, key, value, attn_mask, scale)

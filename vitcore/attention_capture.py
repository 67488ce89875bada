"""Attention capture: every attention call of a forward pass is watched, and the model knows nothing about it.

A `torch.overrides.TorchFunctionMode` sees each `F.scaled_dot_product_attention` made inside its `with` block and hands
it to a watcher as a `Call`. The watcher may look (return None: the model's own fused kernel then computes the output,
so logits are bit-identical), differentiate (the weights carry gradients), or answer with its own output. The mode stack
is per thread, so one shared model can be watched by many threads at once. Shapes: B images, H heads, T tokens, d width
of a head.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode


@dataclass(frozen=True, eq=False)
class AttentionCall:
    """One attention call: `q`, `k`, `v` are (B, H, T, d); `mask` is added to the scores; `index` counts calls from 0."""

    index: int
    q: Tensor
    k: Tensor
    v: Tensor
    mask: Tensor | None = None
    scale: float | None = None

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
        return scores + additive_mask(self.mask, scores.dtype).expand(*scores.shape[:2], self.q.shape[2], -1)[:, :, query]


def zero_if_fully_masked(weights: Tensor, scores: Tensor) -> Tensor:
    """A query that may attend to nothing (all its scores −inf) gets weights of 0, as the fused kernel has it, not NaN."""
    return weights.masked_fill(scores.isneginf().all(-1, keepdim=True), 0)


@dataclass(frozen=True, eq=False)
class SoftmaxCall:
    """One 4-D softmax of a model that does not call the fused kernel: `result` is (B, H, T, T)."""

    index: int
    result: Tensor

    def weights(self, query: slice = slice(None)) -> Tensor:
        """Attention weights, (B, H, queries, T)."""
        return self.result[:, :, query]


def additive_mask(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask as a term of the scores: booleans (True = may attend) become 0 and −inf."""
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, -math.inf)


AttentionWatcher = Callable[[AttentionCall | SoftmaxCall], Tensor | None]
_SOFTMAXES = (F.softmax, torch.softmax, Tensor.softmax)


class AttentionCapture(TorchFunctionMode):
    """Show `watch` every attention call made by this thread; its answer, when there is one, replaces the output."""

    def __init__(self, watch: AttentionWatcher) -> None:
        super().__init__()
        self.watch = watch
        self.calls = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            answer = self.watch(self._next(_call, *args, **kwargs))
            return func(*args, **kwargs) if answer is None else answer
        result = func(*args, **kwargs)
        if func in _SOFTMAXES and result.ndim == 4:
            answer = self.watch(self._next(SoftmaxCall, result))
            return result if answer is None else answer
        return result

    def _next(self, make, *args, **kwargs):  # type: ignore[no-untyped-def]
        made = make(self.calls, *args, **kwargs)
        self.calls += 1
        return made


def _call(  # the signature of F.scaled_dot_product_attention
    index: int,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> AttentionCall:
    if is_causal:
        attn_mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    return AttentionCall(index, query, key, value, attn_mask, scale)

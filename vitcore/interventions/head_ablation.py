"""Head ablation: what the answer loses without each head (Michel, Levy & Neubig, "Are Sixteen Heads Really Better than One?",
arXiv 1905.10650).

A head is switched off where it hands its output to the layer's projection. The layers before it give what they gave, so they run
once; all heads of a layer run together. Shapes: B images, L layers, H heads, T tokens, D width, d width of a head.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from vitcore.attention_hooks import AttentionCall, AttentionEvent, AttentionHookMode, mask_as_score_term
from vitcore.errors import check_choice
from vitcore.forward.block_attention import read_only_array
from vitcore.forward.onednn_linear import with_faster_modules
from vitcore.forward.recordings.model_inputs import iterate_model_inputs
from vitcore.images import InputKind
from vitcore.interventions.activation_sites import check_activations_defined, find_site, head_width, heads_per_call
from vitcore.interventions.activations import Activations
from vitcore.interventions.attention_edits import not_fused_error, part_in_context, with_fused_attention
from vitcore.models.vit import Vit, class_index
from vitcore.module_swaps import with_block_hooks, with_hooks, with_swapped_modules

MOST_NUMBERS = 2**22  # that blocks hand on together (images · T · D): more of them are no faster on CPUs

Ablation = Literal["zero", "mean", "uniform"]
WAYS = ("zero", "mean", "uniform")


def head_ablation(
    vit: Vit, photos: Any, target: int | str | None = None, by: Ablation = "zero", mean: Activations | None = None,
    progress: Callable[[int, int], None] | None = None, *, inputs: InputKind | None = None,
) -> NDArray[np.float32]:  # fmt: skip
    """(L, H): how much the logit of a class changes without each head, ablated minus whole, in logits; the mean over photos.

    Below 0 the head spoke for the class. `target` is a class by index or name; None is each photo's own likeliest class. `by` puts
    zeros in the place of the head's output, or its mean: over all tokens of the photo, or, where `mean` is what
    `vitcore.mean_activations` gave, over those photos token by token; or it lets every token attend to all evenly ("uniform").
    `photos` and `inputs` are as of `vitcore.cache`. `progress` is called with how many heads are done, of all photos, and of how
    many. Raises: TypeError, for what is no Vit; ValueError, for a class or a way that there is not; PhotoError; ModelError.
    """
    check_activations_defined(vit)
    check_choice("what a head is ablated by", by, WAYS)
    column = class_index(vit, target)
    for layer in range(vit.blocks):
        find_site(vit, "z", layer)
        if by == "mean" and mean is not None and ("z", layer) not in mean:
            raise ValueError(f"the mean holds no z of layer {layer}")
    with torch.inference_mode():
        (count, each_input), each = iterate_model_inputs(vit, photos, inputs), vit.blocks * vit.heads
        total = torch.zeros(vit.blocks, vit.heads, dtype=torch.float32)
        for place, x in enumerate(each_input):
            tell = None if progress is None else partial(_tell, progress, place * each, count * each)
            total += _changes(vit, x, column, by, mean if by == "mean" else None, tell)
        return read_only_array(total / count)


def _tell(progress: Callable[[int, int], None], before: int, total: int, done: int) -> None:
    progress(before + done, total)


class SkippedBlock(nn.Module):
    """A block that hands on what it is given: the next one knows what would have come."""

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """x."""
        return x


def _changes(
    vit: Vit, x: Tensor, target: int | None, by: Ablation, mean: Activations | None, tell: Callable[[int], None] | None
) -> Tensor:
    """(L, H) for one model input (1, 3, H, W); `tell` is told how many heads are done."""
    model, given = with_faster_modules(vit.module), list[Tensor]()
    whole = with_block_hooks(model, lambda block, inputs, output: given.append(inputs[0]))(x)[0].float()
    column = int(whole.argmax()) if target is None else target
    at_once = max(1, MOST_NUMBERS // vit.structure.numbers)
    changes, done = torch.empty(vit.blocks, vit.heads, dtype=torch.float32), 0
    model = with_fused_attention(model) if by == "uniform" else model
    for layer in range(vit.blocks):
        later = with_swapped_modules(model, **{f"blocks.{before}": SkippedBlock() for before in range(layer)})
        for heads in torch.arange(vit.heads).split(at_once):
            spread = _spread(later, layer, given[layer], len(heads))
            means = None if mean is None else mean["z", layer]
            ablated = _attending_evenly if by == "uniform" else partial(_without_heads, by=by, means=means)
            logits = ablated(vit, spread, layer, heads.tolist())(x)
            changes[layer, heads] = (logits.float() - whole)[:, column].cpu()
            done += len(heads)
            if tell is not None:
                tell(done)
    return changes


def _spread(model: Any, layer: int, resid_pre: Tensor, count: int) -> Any:
    """A copy of the model that goes on from what goes into a layer, (1, T, D), so many times."""

    def pre_hook(block: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return resid_pre.expand(count, -1, -1), *inputs[1:]

    return with_hooks(model, "in", **{f"blocks.{layer}": pre_hook})


def _without_heads(vit: Vit, model: Any, layer: int, heads: list[int], by: Ablation, means: Tensor | None) -> Any:
    """The model with zeros or a mean in the place of one of these heads of a layer in each image; `means` is (1, T, H, d)."""
    width, count = head_width(vit, layer), heads_per_call(vit)

    def ablate(call: int) -> Any:
        def pre_hook(proj: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
            z = inputs[0].clone()
            for image, head in enumerate(heads):
                if head // count == call:
                    one = z[image, :, head % count * width : (head % count + 1) * width]
                    if by == "zero":
                        one.zero_()
                    else:
                        one.copy_(one.mean(0, keepdim=True).expand_as(one) if means is None else means[0, :, head])
            return z, *inputs[1:]

        return pre_hook

    return with_hooks(model, "in", **{part: ablate(i) for i, part in enumerate(find_site(vit, "z", layer).parts)})


def _attending_evenly(vit: Vit, model: Any, layer: int, heads: list[int]) -> Any:
    """The model with one of these heads of a layer attending to all tokens evenly in each image."""
    count = heads_per_call(vit)

    def watch(event: AttentionEvent) -> Tensor | None:
        mine = [(image, head % count) for image, head in enumerate(heads) if head // count == event.index]
        if not mine:
            return None
        if not isinstance(event, AttentionCall):
            raise not_fused_error(vit.display_name)
        images, places = (list(one) for one in zip(*mine, strict=True))
        q, mask = event.q.clone(), None
        q[images, places] = 0
        if event.mask is not None:
            mask = mask_as_score_term(event.mask, event.q.dtype).expand(event.shape).clone()
            mask[images, places] = 0
        return F.scaled_dot_product_attention(q, event.k, event.v, attn_mask=mask, scale=event.scale)

    block = part_in_context(model.blocks[layer], partial(AttentionHookMode, watch, rewrites=True))
    return with_swapped_modules(model, **{f"blocks.{layer}": block})

"""Head ablation: what the answer loses without each head (Michel, Levy & Neubig, "Are Sixteen Heads Really Better than One?",
arXiv 1905.10650).

A head is switched off where it hands its output to the layer's projection. The layers before it give what they gave, so they run
once; all heads of a layer run together. Shapes: B images, L layers, H heads, T tokens, D width, d width of a head.
"""

import difflib
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vitcore.forward.attention_reducers import read_only
from vitcore.forward.onednn_linear import with_onednn_linears
from vitcore.interventions.activation_sites import (
    check_activations_defined,
    check_indices,
    find_site,
    head_width,
    heads_of_call,
    is_index,
)
from vitcore.interventions.activations import to_model_inputs
from vitcore.models.vit import Vit, no_classes_error
from vitcore.module_swaps import with_forward_hooks, with_forward_pre_hooks, with_modules

MOST_NUMBERS = 2**22  # that blocks hand on together (images · T · D): more of them are no faster on CPUs
SIMILAR = 3  # names of classes that a refusal tells

Ablation = Literal["zero", "mean"]


def head_ablation(vit: Vit, photos: Any, target: int | str | None = None, by: Ablation = "zero") -> NDArray[np.float32]:
    """(L, H): how much the logit of a class changes without each head, ablated minus whole, in logits; the mean over photos.

    Below 0 the head spoke for the class. `target` is a class by index or name; None is each photo's own likeliest class. `by` puts
    zeros in the place of the head's output, or its mean over all tokens of the photo. `photos` is as of `vitcore.cache`.
    Raises: TypeError, for what is no Vit; ValueError, for a class or a way that there is not; PhotoError; ModelError.
    """
    check_activations_defined(vit)
    if by not in ("zero", "mean"):
        raise ValueError(f'a head is ablated by "zero" or "mean", not {by!r}')
    column = class_index(vit, target)
    for layer in range(vit.blocks):
        find_site(vit, "z", layer)
    with torch.inference_mode():
        changes = [_changes(vit, x[None], column, by) for x in to_model_inputs(vit, photos)]
        return read_only(torch.stack(changes).mean(0))


def class_index(vit: Vit, target: int | str | None) -> int | None:
    """The index of a class by index or name; None stays. Raises: ValueError; ModelError, for a model without classes."""
    if not vit.labels:
        raise no_classes_error(vit)
    if target is None or is_index(target):
        return None if target is None else check_indices("classes", [target], len(vit.labels))[0]
    found = [i for i, label in enumerate(vit.labels) if label == target]
    if len(found) > 1:
        raise ValueError(f"{target!r} names classes {', '.join(map(str, found))}: say which by its number")
    if not found:
        near = difflib.get_close_matches(str(target), vit.labels, SIMILAR, 0)
        raise ValueError(f"no class is named {target!r}; the nearest are {', '.join(map(repr, near))}")
    return found[0]


class _Skipped(nn.Module):
    """A block that hands on what it is given: the next one knows what would have come."""

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """x."""
        return x


def _changes(vit: Vit, x: Tensor, target: int | None, by: Ablation) -> Tensor:
    """(L, H) for one model input (1, 3, H, W)."""
    model, given = with_onednn_linears(vit.module), {}

    def note(layer: int) -> Any:
        return lambda block, inputs, output: given.update({layer: inputs[0]})

    whole = with_forward_hooks(model, **{f"blocks.{layer}": note(layer) for layer in range(vit.blocks)})(x)[0].float()
    column = int(whole.argmax()) if target is None else target
    at_once = max(1, MOST_NUMBERS // vit.structure.numbers)
    changes = torch.empty(vit.blocks, vit.heads)
    for layer in range(vit.blocks):
        later = with_modules(model, **{f"blocks.{before}": _Skipped() for before in range(layer)})
        for heads in torch.arange(vit.heads).split(at_once):
            logits = _without_heads(vit, later, layer, given[layer], heads, by)(x)
            changes[layer, heads] = (logits.float() - whole)[:, column]
    return changes


def _without_heads(vit: Vit, model: Any, layer: int, resid_pre: Tensor, heads: Tensor, by: Ablation) -> Any:
    """A copy of the model that goes on from what goes into a layer, (1, T, D), once without each of these heads."""
    width, count = head_width(vit, layer), heads_of_call(vit)

    def spread(block: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return resid_pre.expand(len(heads), -1, -1), *inputs[1:]

    def ablate(call: int) -> Any:
        def pre_hook(proj: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
            z = inputs[0].clone()
            for image, head in enumerate(heads.tolist()):
                if head // count == call:
                    one = z[image, :, head % count * width : (head % count + 1) * width]
                    one.copy_(one.mean(0, keepdim=True).expand_as(one) if by == "mean" else torch.zeros_like(one))
            return z, *inputs[1:]

        return pre_hook

    parts = find_site(vit, "z", layer).parts
    return with_forward_pre_hooks(model, **{f"blocks.{layer}": spread, **{part: ablate(i) for i, part in enumerate(parts)}})

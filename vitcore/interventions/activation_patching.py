"""Activation patching between two photos: where, and from which layer on, the answer of a pass is decided.

The residual stream of some tokens after a layer is taken from another photo's pass, the pass goes on with it, and the answer
is read: causal tracing (Meng et al., arXiv 2202.05262 §2.1) with another photo in place of noise, measured by the logit
difference of both answers (Zhang & Nanda, arXiv 2309.16042). The layers before give what they gave, so they run once.
Shapes: L layers, T tokens (those before the patches included), G groups of tokens, D width.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vitcore.forward.block_attention import read_only_array
from vitcore.forward.onednn_linear import with_faster_modules
from vitcore.forward.recordings.model_inputs import to_model_inputs
from vitcore.images import InputKind
from vitcore.interventions.activation_sites import TokenChoice, check_activations_defined, find_tokens
from vitcore.interventions.head_ablation import MOST_NUMBERS, SkippedBlock
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit, class_index
from vitcore.module_swaps import with_block_hooks, with_swapped_modules
from vitcore.translation import translated_labels

LEAST_GAP = 1e-6  # in logits: two passes that do not differ by more have no answers to tell apart


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ActivationPatching:
    """What a photo is answered with where some tokens carry on as another photo's; logits as the model gives them."""

    model: str
    answer: int  #: the photo's class, by its index
    other_answer: int  #: the other photo's
    tokens: tuple[tuple[int, ...], ...]  #: the groups, as places in the sequence, from 0
    logit_difference: NDArray[np.float32]  #: (L, G): logit of `answer` − logit of `other_answer`, tokens taken after layer l
    own: float  #: the same of the photo as it is
    other: float  #: the same of the other photo as it is

    def __repr__(self) -> str:
        return f"<ActivationPatching by {self.model}: {len(self.logit_difference)} layers, {len(self.tokens)} groups of tokens>"

    @property
    def share(self) -> NDArray[np.float64]:
        """(L, G): how far the answer has gone over, (own − patched) / (own − other): 0 nothing changed, 1 as the other photo."""
        return (self.own - self.logit_difference.astype(np.float64)) / (self.own - self.other)

    @property
    def even_share(self) -> float:
        """The share at which both answers' logits are equal; beyond it the other photo's is ahead."""
        return self.own / (self.own - self.other)

    def turning_layer(self, group: int) -> int | None:
        """The first layer from which on the other photo's class is ahead of the photo's own, where this group is taken after it.

        None where it is not ahead after the last layer. Raises: IndexError, for a group that there is not.
        """
        ahead = self.logit_difference[:, group] < 0
        return int(len(ahead) - np.argmin(ahead[::-1])) if ahead[-1] and not ahead.all() else 0 if ahead.all() else None


def activation_patching(
    vit: Vit, photo: Any, other: Any, tokens: Sequence[TokenChoice] | TokenChoice = None,
    classes: tuple[int | str, int | str] | None = None, progress: Callable[[int, int], None] | None = None,
    *, inputs: InputKind | None = None,
) -> ActivationPatching:  # fmt: skip
    """Take tokens of `other`'s pass into `photo`'s, after each layer, and read the logit difference: (L, G), in logits.

    `tokens` are groups that are taken together, each one place, several, "class" or "patches"; None is every token alone, G = T.
    `classes` are the photo's class and the other's, by index or name; None is each pass's own likeliest. Both photos and `inputs`
    are as of `vitcore.cache`, one each: the model cuts them to the same grid. `progress` is called with how many of L·G passes are
    done, and L·G. Raises: TypeError, for what is no Vit; ValueError, for tokens and classes that there are not, and more than one
    photo; PhotoError; ModelError, for a model without classes or one attention over its patches, and two photos of one answer.
    """
    check_activations_defined(vit)
    asked = tuple(class_index(vit, one) for one in ((None, None) if classes is None else classes))
    both = [to_model_inputs(vit, one, inputs) for one in (photo, other)]
    if any(len(one) != 1 for one in both):
        raise ValueError("activations go from one photo to one other")
    groups = _groups(vit, tokens)
    with torch.inference_mode():
        model = with_faster_modules(vit.module)
        passes = [_streams(model, x) for x in both]
        column, other_column = (
            int(logits.argmax()) if one is None else one for one, (_, logits) in zip(asked, passes, strict=True)
        )
        own, others = (float(logits[column] - logits[other_column]) for _, logits in passes)
        _check_answers(vit, column, other_column, own, others)
        difference = torch.empty(vit.blocks, len(groups), dtype=torch.float32)
        at_once, done = max(1, MOST_NUMBERS // vit.structure.numbers), 0
        for layer in range(vit.blocks):
            streams = [streams[layer] for streams, _ in passes]
            for some in torch.arange(len(groups)).split(at_once):
                logits = _patched(vit, model, layer, streams, [groups[i] for i in some])(both[0]).float()
                difference[layer, some] = (logits[:, column] - logits[:, other_column]).cpu()
                done += len(some)
                if progress is not None:
                    progress(done, vit.blocks * len(groups))
    return ActivationPatching(
        model=vit.name,
        answer=column,
        other_answer=other_column,
        tokens=groups,
        logit_difference=read_only_array(difference),
        own=own,
        other=others,
    )


def _groups(vit: Vit, tokens: Sequence[TokenChoice] | TokenChoice) -> tuple[tuple[int, ...], ...]:
    """Raises: ValueError, for tokens that there are not, and where there is no group."""
    alone = tokens is not None and (isinstance(tokens, str) or not isinstance(tokens, Iterable))
    given: Any = range(vit.grid.tokens) if tokens is None else [tokens] if alone else tokens
    groups = tuple(tuple(find_tokens(vit, one)) for one in given)
    if not groups:
        raise ValueError("there is no group of tokens to take")
    return groups


def _check_answers(vit: Vit, column: int, other_column: int, own: float, others: float) -> None:
    """Raises: ModelError, where there are no two answers, or both passes stand by each alike."""
    labels = translated_labels(vit.labels)
    if column == other_column:
        raise ModelError("{name} answers both photos with {label}, so no difference between two answers can be followed.",
                         name=vit.display_name, label=labels[column])  # fmt: skip
    if own - others <= LEAST_GAP:
        raise ModelError("{name} does not prefer {label} to {other} in the first photo more than in the second.",
                         name=vit.display_name, label=labels[column], other=labels[other_column])  # fmt: skip


def _streams(model: Any, x: Tensor) -> tuple[list[Tensor], Tensor]:
    """What leaves each layer, (1, …, D), and the logits (classes,)."""
    left: list[Tensor] = []
    logits = with_block_hooks(model, lambda block, inputs, output: left.append(output))(x)
    return left, logits[0].float()


class _Given(nn.Module):
    """In the place of a block: what leaves it, whatever goes in."""

    def __init__(self, left: Tensor) -> None:
        super().__init__()
        self.left = left

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """What was given."""
        return self.left


def _patched(vit: Vit, model: Any, layer: int, streams: list[Tensor], groups: list[tuple[int, ...]]) -> Any:
    """A copy of the model that goes on from what leaves a layer, (1, …, D), once with each of these groups as in the other pass."""
    own, other = (stream.reshape(1, vit.grid.tokens, -1) for stream in streams)  # axial attention keeps rows and columns apart
    mixed = own.repeat(len(groups), 1, 1)
    for image, group in enumerate(groups):
        tokens = torch.tensor(group, dtype=torch.long)
        mixed[image, tokens] = other[0, tokens]
    before = {f"blocks.{one}": SkippedBlock() for one in range(layer)}
    return with_swapped_modules(model, **before, **{f"blocks.{layer}": _Given(mixed.view(-1, *streams[0].shape[1:]))})

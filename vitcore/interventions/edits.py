"""Interventions: a model some of whose activations are scaled, moved, replaced or taken from another photo's pass.

    with vitcore.edit(vit) as e:
        e.head(11, 1).scale(0)
        e.resid(6).add(vector, token=0)
        e.patch(from_="other.jpg", at=("resid_post", 3, [5, 6]))
    rec = vitcore.record(e.vit, "photo.jpg")

`e.vit` is a Vit like any other, on the same weights; the model that was given stays as it is, also inside the `with`. Who runs it
there, or an `e.vit` taken before an edit, and never takes `e.vit` with all edits, is warned at the end (`UneditedModelWarning`).
Shapes: B images, T tokens (those before the patches included), D width, H heads, d width of a head.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Literal
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from vitcore.attention_hooks import AttentionHookMode
from vitcore.errors import check_choice, warn_caller
from vitcore.forward.layer_indices import layer_index
from vitcore.forward.recording import told_of_passes
from vitcore.forward.recordings.model_inputs import to_model_inputs
from vitcore.images import InputKind
from vitcore.interventions.activation_sites import (
    MADE_OF,
    NAMES,
    OF_HEADS,
    OF_MODEL,
    ActivationSite,
    TokenChoice,
    canonical_name,
    check_activations_defined,
    check_indices,
    find_site,
    find_tokens,
    head_width,
    heads_per_call,
    mlp_width,
    no_such_activation_error,
)
from vitcore.interventions.activations import Activations, run_keeping_activations
from vitcore.interventions.attention_edits import HeadAttentionEdit, attention_edit_watcher, part_in_context, with_fused_attention
from vitcore.interventions.site_edits import Change, SiteEdit, Tokens, broadcastable_values, values_for_images, with_site_edits
from vitcore.models.vit import Vit
from vitcore.module_swaps import with_swapped_modules
from vitcore.translation import say

READ_ONLY = ("scores", "resid_mid", *MADE_OF, *OF_MODEL)  # computed of others, or of no layer


class EditableActivation:
    """An activation of one layer, or a head of it, that can be changed. A token is counted from 0 with those before the patches;
    `token` is one, several or a slice of them, "class" or "patches", None for all.

    Every change raises ValueError for tokens that there are not, ModelError where the model's blocks have no such activation.
    """

    def __init__(self, edits: "Edits", name: str, layer: int, head: int | None = None) -> None:
        self._edits, self._name, self._layer, self._head = edits, name, layer, head

    def __repr__(self) -> str:
        of = "" if self._head is None else f" of head {self._head}"
        return f"<EditableActivation: {self._name}{of} in layer {self._layer} of {self._edits.original.name}>"

    def scale(self, factor: float, token: TokenChoice = None) -> None:
        """Multiply by a number: 0 switches it off, 1 changes nothing."""
        number = float(factor)
        broadcastable_values(number, 1, 1)
        self._add(lambda chosen, whole, share: chosen * number, token)

    def zero(self, token: TokenChoice = None) -> None:
        """Put 0 in its place."""
        self._add(lambda chosen, whole, share: torch.zeros_like(chosen), token)

    def add(self, values: Any, token: TokenChoice = None) -> None:
        """Add values: a number, (D,), (tokens, D) or (B, tokens, D); of a head d in place of D. Raises: ValueError."""
        given = self._values(values, token)
        self._add(lambda chosen, whole, share: chosen + values_for_images(given, chosen) * share, token)

    def replace(self, values: Any, token: TokenChoice = None) -> None:
        """Put values in its place, of a shape as for `add`. Raises: ValueError."""
        given = self._values(values, token)
        self._add(lambda chosen, whole, share: (values_for_images(given, chosen) * share).expand_as(chosen), token)

    def apply(self, function: Callable[[Tensor], Tensor], token: TokenChoice = None) -> None:
        """Put what a function makes of it in its place: it is given (B, tokens, D), of a head d in place of D, and gives as much.

        `lambda x: x - (x @ d)[..., None] * d` takes a direction d of length 1 out. Raises: ValueError, for an activation that is
        the sum of several parts; and when the model runs, for what is of another shape.
        """
        vit, name = self._edits.original, self._name
        if name != "z" and len(find_site(vit, name, self._layer).parts) > 1:
            raise ValueError(f"{name} of this model is the sum of several parts: a function can't be applied to it")

        def change(chosen: Tensor, whole: Tensor, share: float) -> Tensor:
            made = function(chosen)
            if not isinstance(made, Tensor) or made.shape != chosen.shape:
                shape = tuple(made.shape) if isinstance(made, Tensor) else type(made).__name__
                raise ValueError(f"the function gives {shape} for {name} of {tuple(chosen.shape)}")
            return made.to(chosen)

        self._add(change, token)

    def mean(self, token: TokenChoice = None) -> None:
        """Put its mean over all tokens of the image in its place."""
        self._add(lambda chosen, whole, share: whole.mean(1, keepdim=True).expand_as(chosen), token)

    def uniform(self, token: TokenChoice = None) -> None:
        """Let these tokens attend to all tokens evenly, 1/T each, in this head or all heads of the layer.

        Their queries then read 0 in a cache. Raises: ValueError, where it is no attention.
        """
        if self._name not in ("attn_out", "z"):
            raise ValueError(
                f"only attention can be uniform, not {self._name}: attn(layer).uniform() or head(layer, head).uniform()"
            )
        self._edits._edit_attention("pattern", self._layer, self._head, self._edits._tokens(token), None)

    def _values(self, values: Any, token: TokenChoice) -> Tensor:
        """The values, if they fit. Raises: ValueError."""
        count, width = self._edits._count(token), self._edits._width(self._name, self._layer)
        return broadcastable_values(values, count, width)

    def _add(self, change: Change, token: TokenChoice) -> None:
        self._edits._add(self._name, self._layer, self._head, self._edits._tokens(token), change)


class UneditedModelWarning(UserWarning):
    """Inside `with edit(vit) as e` a model without all its edits was run, and the one with all of them, `e.vit`, never taken."""


class Edits:
    """Changes of a model's activations, in the order in which they were said; `vit` is the model with those said so far."""

    def __init__(self, vit: Vit) -> None:
        check_activations_defined(vit)
        self.original = vit
        self._edits: list[SiteEdit] = []
        self._attention: list[tuple[int, HeadAttentionEdit]] = []
        self._edits_of = WeakKeyDictionary({vit: 0})  # of the model that was given, and of each that `vit` gave
        self._ran_without, self._most_taken = False, 0  # edits of the last that was taken

    def __enter__(self) -> "Edits":
        told_of_passes.set((*told_of_passes.get(), self._note_pass))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Nothing has to be undone: the model that was given was never touched.

        Warns: UneditedModelWarning, where that model was run, or one taken before an edit, and none with all edits was taken.
        """
        told_of_passes.set(tuple(told for told in told_of_passes.get() if told != self._note_pass))
        if kind is None and self._ran_without and self._most_taken < self._count_edits():
            told = say("{name} ran without its edits: inside `with edit(vit) as e`, the edited model is e.vit, taken after them.",
                       name=self.original.name)  # fmt: skip
            warn_caller(told, UneditedModelWarning)

    def _note_pass(self, vit: Vit) -> None:
        self._ran_without |= self._edits_of.get(vit, self._count_edits()) < self._count_edits()

    def _count_edits(self) -> int:
        return len(self._edits) + len(self._attention)

    def __repr__(self) -> str:
        return f"<Edits of {self.original.name}: {self._count_edits()}>"

    def head(self, layer: int, head: int) -> EditableActivation:
        """What a head hands to the layer's projection, (B, T, d). Raises: ValueError."""
        check_indices("heads", [head], self.original.heads)
        return self._place("z", layer, int(head))

    def attn(self, layer: int) -> EditableActivation:
        """What attention adds to the residual stream, (B, T, D); `uniform` is of its weights. Raises: ValueError."""
        return self._place("attn_out", layer)

    def mlp(self, layer: int) -> EditableActivation:
        """What the MLP adds to the residual stream, (B, T, D). Raises: ValueError."""
        return self._place("mlp_out", layer)

    def resid(self, layer: int, at: Literal["pre", "post"] = "post") -> EditableActivation:
        """The residual stream as it leaves a layer, (B, T, D), or as it goes in. Raises: ValueError."""
        if at not in ("pre", "post"):
            raise ValueError(f'the residual stream is edited at "pre" or "post" of a layer, not {at!r}')
        return self._place(f"resid_{at}", layer)

    def hide(self, token: TokenChoice) -> None:
        """Let no token attend to these, in any layer: their scores are −∞ (attention knockout, Geva et al., arXiv 2304.14767).

        The others share the attention that was theirs. Raises: ValueError, for tokens that there are not, and for all of them;
        ModelError, where the model's blocks have no heads that can be identified.
        """
        tokens, vit = self._tokens(token), self.original
        if isinstance(tokens, slice) or len(tokens) == vit.grid.tokens:
            raise ValueError("a token must be left that can be attended to")
        for layer in range(vit.blocks):
            self._edit_attention("hidden", layer, None, tokens, None)

    def patch(self, from_: Any, at: tuple[Any, ...], head: int | None = None, *, inputs: InputKind | None = None) -> None:
        """Put an activation of another pass in the place of this one's.

        `from_` is what `vitcore.cache` gave, or a photo or photos that the model as it was given runs on; `at` is (name, layer) or
        (name, layer, tokens); `head` limits q, k, v, z and pattern to a head. Of several images in `from_` each goes to the image
        of its place. `inputs`: whether tensors in `from_` are "photos" or "normalised", as of `vitcore.cache`.
        Raises: ValueError, also for `inputs` of what `vitcore.cache` gave; ModelError; PhotoError.
        """
        name, layer, token = _place_of(at)
        layer = layer_index(layer, self.original.blocks)
        check_choice("what can be patched", name, [one for one in NAMES if one not in READ_ONLY])
        if head is not None:
            check_indices("heads", [head], self.original.heads)
            if name not in OF_HEADS:
                raise ValueError(f"{name} is not divided into heads")
        tokens = self._tokens(token)
        if isinstance(from_, Activations) and inputs is not None:
            raise ValueError("from_ holds activations already: inputs is of photos and tensors")
        source = from_ if isinstance(from_, Activations) else self._run_unedited(from_, name, layer, inputs)
        if (name, layer) not in source:
            raise ValueError(f"from_ holds no {name} of layer {layer}: keep it with vitcore.cache")
        given = source[name, layer]
        self._check_patch(name, layer, given)
        if name not in OF_HEADS:
            self._add(name, layer, None, tokens, _replacement(given[:, tokens]))
            return
        for one in range(self.original.heads) if head is None else [int(head)]:
            of_head = given[:, one, tokens] if name == "pattern" else given[:, tokens, one]
            if name == "z":
                self._add(name, layer, one, tokens, _replacement(of_head))
            else:
                self._edit_attention(name, layer, one, tokens, of_head)

    def _run_unedited(self, photos: Any, name: str, layer: int, inputs: InputKind | None) -> Activations:
        told = told_of_passes.set(())  # it is meant
        try:
            return run_keeping_activations(self.original, to_model_inputs(self.original, photos, inputs), [(name, layer)])
        finally:
            told_of_passes.reset(told)

    @property
    def vit(self) -> Vit:
        """The model with the edits said so far, on the same weights. Later edits are not in it."""
        vit = self.original
        module = with_site_edits(vit.module, self._edits)
        if self._attention:
            module = with_fused_attention(module)
        for layer in sorted({layer for layer, _ in self._attention}):
            mine = [edit for one, edit in self._attention if one == layer]
            watch = attention_edit_watcher(vit.display_name, mine, heads_per_call(vit))
            block = part_in_context(module.blocks[layer], partial(AttentionHookMode, watch, rewrites=True))
            module = with_swapped_modules(module, **{f"blocks.{layer}": block})
        called = f"{vit.card.called}, edited" if vit.card.called else ""
        edited = replace(vit, module=module, card=replace(vit.card, name=f"{vit.card.name}, edited", called=called))
        self._most_taken = self._edits_of[edited] = self._count_edits()
        return edited

    def _place(self, name: str, layer: int, head: int | None = None) -> EditableActivation:
        return EditableActivation(self, name, layer_index(layer, self.original.blocks), head)

    def _add(self, name: str, layer: int, head: int | None, tokens: Tokens, change: Change) -> None:
        vit, site, columns = self.original, find_site(self.original, name, layer), slice(None)
        if head is not None:
            call, place = divmod(head, heads_per_call(vit))
            width = head_width(vit, layer)
            site, columns = ActivationSite((site.parts[call],), site.side), slice(place * width, (place + 1) * width)
        self._edits.append(SiteEdit(site, tokens, columns, change))

    def _edit_attention(self, name: str, layer: int, head: int | None, tokens: Tokens, values: Tensor | None) -> None:
        find_site(self.original, "z", layer)  # not of axial attention
        replacement = None if values is None else partial(values_for_images, values)
        for one in range(self.original.heads) if head is None else [head]:
            self._attention.append((layer, HeadAttentionEdit(name, one, tokens, replacement)))

    def _tokens(self, token: TokenChoice) -> Tokens:
        """Raises: ValueError, for tokens that there are not."""
        if token is None or (isinstance(token, slice) and token == slice(None)):
            return slice(None)
        many = find_tokens(self.original, token)
        if len({*many}) < max(1, len(many)):
            raise ValueError("tokens are one or more, each named once")
        return many

    def _count(self, token: TokenChoice) -> int:
        tokens = self._tokens(token)
        return self.original.grid.tokens if isinstance(tokens, slice) else len(tokens)

    def _width(self, name: str, layer: int) -> int:
        """D, or d of a head."""
        structure = self.original.structure
        return head_width(self.original, layer) if name == "z" else structure.numbers // structure.positions

    def _check_patch(self, name: str, layer: int, given: Tensor) -> None:
        """Raises: ValueError, for an activation of a model of another shape."""
        vit, tokens = self.original, self.original.grid.tokens
        if name in ("mlp_pre", "mlp_post"):
            if len(find_site(vit, name, layer).parts) > 1:
                raise no_such_activation_error(vit, name, layer)
            shape: tuple[int, ...] = (tokens, mlp_width(vit, layer))
        elif name == "pattern":
            shape = (vit.heads, tokens, tokens)
        elif name in ("q", "k", "v", "z"):
            shape = (tokens, vit.heads, head_width(vit, layer))
        else:
            shape = (tokens, self._width(name, layer))
        if tuple(given.shape[1:]) != shape:
            raise ValueError(f"{name} of this model is {shape} of an image, and of from_ {tuple(given.shape[1:])}")


def edit(vit: Vit) -> Edits:
    """Edits of a model's activations: say them, then use `.vit` as any other Vit. `with` is welcome and undoes nothing.

    Warns: UneditedModelWarning, at the end of a `with` in which anything (`record`, `cache`, `relevance`, …) ran the model itself
    although it had edits, or a `.vit` taken before some, and nobody took `.vit` with all of them.

    Raises: TypeError, for what is no Vit; ModelError, for a model without one attention over its patches in each block.
    """
    return Edits(vit)


def _place_of(at: Any) -> tuple[str, int, TokenChoice]:
    if not isinstance(at, tuple) or len(at) not in (2, 3):
        raise ValueError(f'at is (name, layer) or (name, layer, tokens), as ("resid_post", 3, 0), not {at!r}')
    return canonical_name(at[0]), at[1], at[2] if len(at) == 3 else None


def _replacement(values: Tensor) -> Change:
    return lambda chosen, whole, share: values_for_images(values, chosen) * share

"""Components switched off: heads, a layer's attention or MLP, position embeddings, registers, the class token as it is read.

    off = vitcore.switch_off(vit, ["L3H1", "L7.mlp"])
    vitcore.record(off, "photo.jpg").top_classes()

What takes a component's place is zeros, its mean over photos, or (of attention) the same weight for every token.
Shapes: B images, T tokens (those before the patches included), D width, H heads, d width of a head.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from vitcore.errors import check_choice
from vitcore.forward.block_activations import prefix_token_names
from vitcore.forward.layer_indices import layer_index
from vitcore.interventions.activation_sites import check_activations_defined, check_indices, find_site
from vitcore.interventions.activations import Activations
from vitcore.interventions.edits import Edits, edit
from vitcore.interventions.mean_activations import has_activations
from vitcore.models.embeddings import can_replace_positions_by_mean, relative_positions, with_mean_position, with_zero_positions
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit

Replacement = Literal["zero", "mean", "uniform"]
Kind = Literal["head", "attn", "mlp", "positions", "registers", "class_token"]
REPLACEMENTS: tuple[Replacement, ...] = get_args(Replacement)
OF_TOKENS = ("positions", "registers", "class_token")
OF_A_LAYER = re.compile(r"L(\d{1,4})(?:H(\d{1,4})|\.(attn|mlp))")  # "L3H1", "L3.attn", "L3.mlp"


@dataclass(frozen=True)
class Component:
    """A part of a model that can be switched off; `layer` and `head` where it is of one, from 0."""

    kind: Kind
    layer: int = 0
    head: int = 0

    @property
    def name(self) -> str:
        """As `switch_off` takes it: "L3H1", "L3.attn", "L3.mlp", "positions", "registers", "class_token"."""
        if self.kind == "head":
            return f"L{self.layer}H{self.head}"
        return self.kind if self.kind in OF_TOKENS else f"L{self.layer}.{self.kind}"


def switch_off(vit: Vit, components: Collection[str], by: Replacement = "zero", mean: Activations | None = None) -> Vit:
    """A Vit like any other, on the same weights, some of whose components are switched off; the given one stays as it is.

    Components by name, layers and heads from 0:

    - "L3H1", head 1 of layer 3. "zero": what it hands to the projection, (B, T, d), is 0 (Michel et al., arXiv 1905.10650).
      "mean": it is its mean over photos. "uniform": each token attends to all T tokens with weight 1/T, values stay its own.
    - "L3.attn", all of a layer's attention. "zero": what it adds to the residual stream, (B, T, D), is 0, its bias included.
      "mean": that is its mean over photos. "uniform": all its heads attend evenly.
    - "L3.mlp", a layer's MLP. "zero" and "mean": what it adds to the residual stream.
    - "positions", the learned position embedding. "zero": none is added to any token. "mean": every patch is given the mean
      of all patches' (over places: it is the same for all photos), tokens before the patches keep theirs.
    - "registers", "class_token": those tokens as they are read. "zero": no token attends to them in any layer (attention
      knockout, Geva et al., arXiv 2304.14767); registers have then no way to the answer, and a class token that the answer
      is read from gathers, but tells the patches nothing. "mean": their keys and values are those of the mean, in every layer.

    `mean` is what `vitcore.mean_activations` gave, of any photos: mean ablation (Wang et al., arXiv 2211.00593) needs it.
    Raises: TypeError, for what is no Vit; ValueError, for components or replacements that there are not, and a mean that is
    missing; ModelError, for a component that can't be told from others in this model.
    """
    check_activations_defined(vit)
    check_choice("what replaces a component", by, REPLACEMENTS)
    chosen = [_parse_component(vit, name) for name in dict.fromkeys([components] if isinstance(components, str) else components)]
    for one in chosen:
        if by == "uniform" and one.kind not in ("head", "attn"):
            raise ValueError(f"only attention can be uniform, a head's or a layer's, not {one.name}")
    if not chosen:
        return vit
    edits = edit(_without_positions(vit, by) if any(one.kind == "positions" for one in chosen) else vit)
    for one in chosen:
        if one.kind in ("registers", "class_token"):
            _switch_tokens(edits, one, by, mean)
        elif one.kind != "positions":
            _switch_layer(edits, one, by, mean)
    return edits.vit


def _parse_component(vit: Vit, name: str) -> Component:
    """The component of this name. Raises: ValueError, for one that the model has not."""
    if isinstance(name, str) and (found := OF_A_LAYER.fullmatch(name)):
        layer = layer_index(int(found[1]), vit.blocks)
        if found[2] is None:
            return Component("attn" if found[3] == "attn" else "mlp", layer)
        return Component("head", layer, check_indices("heads", [int(found[2])], vit.heads)[0])
    check_choice("a component that is no L3H1, L3.attn or L3.mlp", name, OF_TOKENS)
    if name != "positions" and not _tokens(vit, name):
        raise ValueError(f"this model has no {name.replace('_', ' ')}")
    return Component("positions" if name == "positions" else "registers" if name == "registers" else "class_token")


def switchable_components(vit: Vit, by: Replacement = "zero") -> tuple[Component, ...]:
    """Every component of a model that can be switched off, by layer: heads, attention, MLP; then those of tokens.

    Empty for a model whose blocks do not hand on their heads apart. Raises: TypeError, for what is no Vit; ModelError, for a
    model without one attention over its patches in each block.
    """
    check_activations_defined(vit)
    return tuple(_switchable(vit, by))


def _switchable(vit: Vit, by: Replacement) -> Iterator[Component]:
    for layer in range(vit.blocks):
        if not _has_site(vit, "z", layer):
            return
        yield from (Component("head", layer, head) for head in range(vit.heads))
        if by == "uniform" or _has_site(vit, "attn_out", layer):
            yield Component("attn", layer)
        if by != "uniform" and _has_site(vit, "mlp_out", layer):
            yield Component("mlp", layer)
    if by == "uniform":
        return
    if _has_positions_alone(vit):
        yield Component("positions")
    if _tokens(vit, "registers"):
        yield Component("registers")
    if _tokens(vit, "class_token"):
        yield Component("class_token")


def _has_site(vit: Vit, name: str, layer: int) -> bool:
    try:
        find_site(vit, name, layer)
    except ModelError:
        return False
    return True


def _has_positions_alone(vit: Vit) -> bool:
    """Whether all that tells where a patch lies is one learned embedding that is added to the tokens."""
    return can_replace_positions_by_mean(vit) and relative_positions(vit, 0) is None


def _without_positions(vit: Vit, by: Replacement) -> Vit:
    if not _has_positions_alone(vit):
        raise ModelError(
            "{name} has no learned position embedding that alone tells where a patch lies, so positions can't be switched off.",
            name=vit.display_name,
        )
    return replace(vit, module=with_zero_positions(vit) if by == "zero" else with_mean_position(vit))


def _tokens(vit: Vit, kind: str) -> list[int]:
    """Places of the class token or of registers in the sequence."""
    wanted = "class" if kind == "class_token" else "register"
    return [place for place, name in enumerate(prefix_token_names(vit)) if name.partition(" ")[0] == wanted]


def _switch_tokens(edits: Edits, one: Component, by: Replacement, mean: Activations | None) -> None:
    vit = edits.original
    tokens = _tokens(vit, one.kind)
    if by == "zero":
        edits.hide(tokens)
        return
    given = _mean_of(mean, ("k", "v"), range(vit.blocks))
    for layer in range(vit.blocks):
        for name in ("k", "v"):
            edits.patch(from_=given, at=(name, layer, tokens))


def _switch_layer(edits: Edits, one: Component, by: Replacement, mean: Activations | None) -> None:
    place: Any = {"head": lambda: edits.head(one.layer, one.head), "attn": lambda: edits.attn(one.layer),
                  "mlp": lambda: edits.mlp(one.layer)}[one.kind]()  # fmt: skip
    if by == "uniform":
        place.uniform()
    elif by == "zero":
        place.zero()
    else:
        name = {"head": "z", "attn": "attn_out", "mlp": "mlp_out"}[one.kind]
        given = _mean_of(mean, (name,), (one.layer,))
        edits.patch(from_=given, at=(name, one.layer), head=one.head if one.kind == "head" else None)


def _mean_of(mean: Activations | None, names: tuple[str, ...], layers: Collection[int]) -> Activations:
    """Raises: ValueError, for a mean that is missing, or lacks what is asked of it."""
    if mean is None:
        raise ValueError('by="mean" needs mean=vitcore.mean_activations(vit, photos)')
    if not has_activations(mean, names, layers):
        raise ValueError(f"the mean holds no {' and '.join(names)} of every layer that is asked for")
    return mean

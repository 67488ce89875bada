"""Names of activations, as TransformerLens and ViT-Prisma have them, and the part of the model that each goes into or comes out of.

Shapes: B images, N patches, T tokens (those before the patches included), D width, H heads, d width of a head, M width inside the
MLP.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from vitcore.errors import check_choice
from vitcore.forward.layer_indices import layer_index
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit, check_vit
from vitcore.module_swaps import Side
from vitcore.translation import say

HOOKS = {  # by our name: what follows `blocks.3.` in theirs
    "resid_pre": "hook_resid_pre",  # (B, T, D): what goes into a block
    "ln1_scale": "ln1.hook_scale",  # (B, T, 1): what the first norm divides by, √(variance + ε)
    "ln1": "ln1.hook_normalized",  # (B, T, D): what the first norm makes of its input
    "q": "attn.hook_q",  # (B, T, H, d): as the scores are made of it, after a query norm or rotation
    "k": "attn.hook_k",  # (B, T, H, d)
    "v": "attn.hook_v",  # (B, T, H, d)
    "scores": "attn.hook_attn_scores",  # (B, H, T, T): q·k/√d, plus a bias where the model has one
    "pattern": "attn.hook_pattern",  # (B, H, T, T): softmax of the scores, a row a query
    "z": "attn.hook_z",  # (B, T, H, d): what each head hands to the projection, after a norm or gate in between
    "result": "attn.hook_result",  # (B, T, H, D): what each head adds, before the projection's bias and LayerScale
    "attn_out": "hook_attn_out",  # (B, T, D): what attention adds to the residual stream, LayerScale included
    "resid_mid": "hook_resid_mid",  # (B, T, D): resid_pre + attn_out
    "ln2_scale": "ln2.hook_scale",  # (B, T, 1)
    "ln2": "ln2.hook_normalized",  # (B, T, D)
    "mlp_pre": "mlp.hook_pre",  # (B, T, M): inside the MLP, what its activation function reads; of a gated one the gate
    "mlp_post": "mlp.hook_post",  # (B, T, M): inside the MLP, what its last layer reads
    "mlp_out": "hook_mlp_out",  # (B, T, D): what the MLP adds
    "resid_post": "hook_resid_post",  # (B, T, D): what leaves the block
}
NAMES = tuple(HOOKS)
UNEDITED = "resid_unedited"  # (B, T, D): resid_post before edits of it, what the parts of a block add up to
OF_MODEL = {  # by our name: theirs of what is no layer's
    "embed": "hook_embed",  # (B, N, D): the embedded patches, before positions
    "pos_embed": "hook_pos_embed",  # (B, T, D): the positions added to them; 0 for tokens that get none
    "ln_final_scale": "ln_final.hook_scale",  # (B, T, 1)
    "ln_final": "ln_final.hook_normalized",  # (B, T, D): what the last norm makes of the last layer's output
}
ALL_NAMES = ("embed", "pos_embed", *NAMES, "ln_final_scale", "ln_final")
ALIASES = {
    "attn": "pattern", "attn_scores": "scores", "attn_logits": "scores", "query": "q", "key": "k", "value": "v", "post": "mlp_post",
    "pre": "mlp_pre", **{hook: name for name, hook in [*HOOKS.items(), *OF_MODEL.items()]},
    **{hook.removeprefix("attn."): name for name, hook in HOOKS.items() if hook.startswith("attn.")},  # "hook_q"
}  # fmt: skip
MADE_OF = {"ln1_scale": "ln1", "ln2_scale": "ln2", "result": "z"}  # computed of what goes into the part where the other is
OF_HEADS = ("q", "k", "v", "scores", "pattern", "z")
TokenChoice = int | slice | Iterable[int] | str | None  # "class", "patches"; None: all of them
FULL_NAME = re.compile(r"blocks\.(\d+)\.(.+)")
SHORTHAND = re.compile(r"([a-z_]+)(\d+)")  # "z6"


@dataclass(frozen=True)
class ActivationSite:
    """Where an activation is: the parts of the model, by name, that it goes into or comes out of; of several it is the sum, or
    (z) their heads side by side."""

    parts: tuple[str, ...]
    side: Side


def canonical_name(name: Any) -> str:
    """An activation's name for any spelling of it: "pattern" for "attn". Raises: ValueError."""
    known = ALIASES.get(name, name) if isinstance(name, str) else name
    check_choice("an activation", known, ALL_NAMES)
    return str(known)


def parse_key(key: Any) -> tuple[str, int | None]:
    """Name and layer of `("resid_post", 3)`, `"blocks.3.hook_resid_post"`, `"z3"` or `("normalized", 3, "ln1")`; None is the
    layer of `"embed"` and others of the whole model.

    Raises: ValueError, for anything else.
    """
    name: Any = None
    layer: int | None = None
    if isinstance(key, str):
        if found := FULL_NAME.fullmatch(key):
            name, layer = found[2], int(found[1])
        elif ALIASES.get(key, key) in OF_MODEL:
            name = key
        elif found := SHORTHAND.fullmatch(key):
            name, layer = found[1], int(found[2])
    elif isinstance(key, tuple) and len(key) in (2, 3) and is_index(key[1]):
        name, layer = key[0] if len(key) == 2 else f"{key[2]}.hook_{key[0]}", int(key[1])
    if name is not None and (canonical_name(name) in OF_MODEL) == (layer is None):
        return canonical_name(name), layer
    raise ValueError(f'an activation is asked for by name and layer, ("resid_post", 3) or "blocks.3.hook_resid_post", not {key!r}')


def keys_from_names(names: Collection[Any] | str, layers: Iterable[int], blocks: int) -> list[tuple[str, int | None]]:
    """Names with the layers that each is asked of: "q" of all of `layers`, "blocks.3.attn.hook_q" of its own, "embed" of the model.

    Raises: ValueError, for names and layers that there are not.
    """
    keys: dict[tuple[str, int | None], None] = {}
    chosen = tuple(layers)
    for given in [names] if isinstance(names, str) else names:
        if isinstance(given, str) and FULL_NAME.fullmatch(given):
            name, layer = parse_key(given)
            keys[name, layer_index(layer, blocks)] = None
            continue
        name = canonical_name(given)
        keys |= dict.fromkeys([(name, None)] if name in OF_MODEL else [(name, layer) for layer in chosen])
    return sorted(keys, key=lambda key: (ALL_NAMES.index(key[0]), -1 if key[1] is None else key[1]))


def _named_token_places(vit: Vit) -> dict[str, range]:
    """Places in the sequence of the tokens that have a name: "class", where there is a class token, and "patches"."""
    named = {"patches": range(vit.grid.prefix, vit.grid.tokens)}
    if "class" in vit.pooling or getattr(vit.module, "cls_token", None) is not None:
        named["class"] = range(1)
    return named


def find_tokens(vit: Vit, token: Any) -> list[int]:
    """Places in the sequence of a token, several, a slice of them, "class" or "patches".

    Raises: ValueError, for tokens that there are not.
    """
    if isinstance(token, str):
        named = _named_token_places(vit)
        check_choice("a name of tokens", token[:40], sorted(named))
        return list(named[token])
    if isinstance(token, slice):
        return list(range(vit.grid.tokens)[token])
    return list(check_indices("tokens", list(token) if isinstance(token, Iterable) else [token], vit.grid.tokens))


def check_activations_defined(vit: Vit) -> None:
    """Raises: TypeError, for what is no Vit; ModelError, for a model whose blocks do not attend over one grid of patches, and one
    that another library has wrapped in place: its copies would run the original's parts, and an edit would do nothing."""
    check_vit(vit)
    if not vit.is_global:
        raise ModelError(vit.why_undefined(say("reading or editing its activations")))
    if any("forward" in vars(part) for part in vit.module.modules()):
        raise ModelError(
            "Another library has replaced the forward method of parts of {name}; open the model again, for vitcore alone.",
            name=vit.display_name,
        )


def is_index(value: Any) -> bool:
    """Whether a value is a whole number, Python's or numpy's."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_indices(what: str, indices: Collection[Any], count: int) -> tuple[int, ...]:
    """Indices of `count` things ("layers"), as they were given. Raises: ValueError, for those that there are not."""
    if strange := [one for one in indices if not is_index(one) or not 0 <= one < count]:
        raise ValueError(f"{what} are from 0 to {count - 1}, not {', '.join(map(str, strange))}")
    return tuple(map(int, indices))


def find_site(vit: Vit, name: str, layer: int) -> ActivationSite:
    """Where an activation is in the model. Raises: ModelError, for blocks that have it not, or not apart from others."""
    path, block = f"blocks.{layer}", vit.module.blocks[layer]
    if name in ("resid_pre", "resid_post", UNEDITED):
        return ActivationSite((path,), "in" if name == "resid_pre" else "out")
    parts, side = _parts_of_block(block).get(MADE_OF.get(name, name), ((), "in"))
    side = "in" if name in MADE_OF else side
    if vit.structure.axes or not parts or not all(has_part(block, part) for part in parts):
        raise no_such_activation_error(vit, name, layer)
    return ActivationSite(tuple(f"{path}.{part}" for part in parts), side)


def no_such_activation_error(vit: Vit, name: str, layer: int) -> ModelError:
    """The refusal of an activation that a model's blocks do not have apart from others."""
    return ModelError(
        "The blocks of {name} ({kind}) have no {activation} that can be identified.",
        name=vit.display_name, kind=type(vit.module.blocks[layer]).__name__, activation=name,
    )  # fmt: skip


def heads_per_call(vit: Vit) -> int:
    """Heads of each attention call of a block: all, or of parallel blocks one call's share."""
    return vit.heads // vit.structure.calls


def head_width(vit: Vit, layer: int) -> int:
    """d, the width of a head of a layer."""
    block = vit.module.blocks[layer]
    proj = vit.module.get_submodule(find_site(vit, "z", layer).parts[0])
    return int(getattr(block, "head_dim", 0) or proj.in_features // heads_per_call(vit))


def mlp_width(vit: Vit, layer: int) -> int:
    """M, the width inside the MLP of a layer, whose last layer may be attention's projection, too."""
    shared = getattr(vit.module.blocks[layer], "out_proj", None)
    if shared is not None:
        return int(shared.in_features - heads_per_call(vit) * head_width(vit, layer))
    return int(vit.module.get_submodule(find_site(vit, "mlp_post", layer).parts[0]).in_features)


def _parts_of_block(block: Any) -> dict[str, tuple[tuple[str, ...], Side]]:
    """The parts of a block where each activation is, by the layout of timm's classes; of resid_mid where its last summand is."""
    if hasattr(block, "attns"):  # ParallelThingsBlock: several attentions side by side, then several MLPs
        attns, ffns = range(len(block.attns)), range(len(block.ffns))
        return {
            "z": (tuple(f"attns.{i}.attn.proj" for i in attns), "in"),
            "attn_out": (tuple(f"attns.{i}.drop_path" for i in attns), "out"),
            "resid_mid": (tuple(f"attns.{i}.drop_path" for i in attns), "out"),
            "mlp_out": (tuple(f"ffns.{i}.drop_path" for i in ffns), "out"),
        }
    if hasattr(block, "in_proj"):  # ParallelScalingBlock: attention beside the MLP
        apart = {"attn_out": (("attn_out_proj",), "out"), "mlp_out": (("mlp_out_proj",), "out")}
        fused = getattr(block, "attn_out_proj", None) is None
        return {
            "ln1": (("in_norm",), "out"),
            "z": (("out_proj" if fused else "attn_out_proj",), "in"),
            "mlp_pre": (("mlp_act",), "in"),
            "mlp_post": (("mlp_out_proj",), "in"),
            **(apart if isinstance(block.ls, nn.Identity) else {}),  # type: ignore[dict-item]  # scaled together, they are one
        }
    return {
        "ln1": (("norm1",), "out"), "ln2": (("norm2",), "out"), "z": (("attn.proj",), "in"), "mlp_pre": (("mlp.act",), "in"),
        "mlp_post": (("mlp.fc2",), "in"),
        "attn_out": (("drop_path1",), "out"), "resid_mid": (("drop_path1",), "out"), "mlp_out": (("drop_path2",), "out"),
    }  # fmt: skip


def has_part(block: nn.Module, part: str) -> bool:
    """Whether there is a part of this name (dotted)."""
    try:
        return isinstance(block.get_submodule(part), nn.Module)
    except AttributeError:
        return False

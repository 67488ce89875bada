"""Names of activations, as TransformerLens and ViT-Prisma have them, and the part of a block that each goes into or comes out of.

Shapes: B images, T tokens (those before the patches included), D width, H heads, d width of a head, M width inside the MLP.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from torch import nn

from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit, check_vit
from vitcore.translation import say

HOOKS = {  # by our name: what follows `blocks.3.` in theirs
    "resid_pre": "hook_resid_pre",  # (B, T, D): what goes into a block
    "ln1": "ln1.hook_normalized",  # (B, T, D): what the first norm makes of its input
    "q": "attn.hook_q",  # (B, T, H, d): as the scores are made of it, after a query norm or rotation
    "k": "attn.hook_k",  # (B, T, H, d)
    "v": "attn.hook_v",  # (B, T, H, d)
    "scores": "attn.hook_attn_scores",  # (B, H, T, T): q·k/√d, plus a bias where the model has one
    "pattern": "attn.hook_pattern",  # (B, H, T, T): softmax of the scores, a row a query
    "z": "attn.hook_z",  # (B, T, H, d): what each head hands to the projection, after a norm or gate in between
    "attn_out": "hook_attn_out",  # (B, T, D): what attention adds to the residual stream, LayerScale included
    "resid_mid": "hook_resid_mid",  # (B, T, D): resid_pre + attn_out
    "ln2": "ln2.hook_normalized",  # (B, T, D)
    "mlp_post": "mlp.hook_post",  # (B, T, M): inside the MLP, what its last layer reads
    "mlp_out": "hook_mlp_out",  # (B, T, D): what the MLP adds
    "resid_post": "hook_resid_post",  # (B, T, D): what leaves the block
}
NAMES = tuple(HOOKS)
ALIASES = {
    "attn": "pattern", "attn_scores": "scores", "attn_logits": "scores", "query": "q", "key": "k", "value": "v", "post": "mlp_post",
    **{hook: name for name, hook in HOOKS.items()},
}  # fmt: skip
OF_HEADS = ("q", "k", "v", "scores", "pattern", "z")
FULL_NAME = re.compile(r"blocks\.(\d+)\.(.+)")
SHORTHAND = re.compile(r"([a-z_]+)(\d+)")  # "z6"


@dataclass(frozen=True)
class Site:
    """Where an activation is: the parts of the model, by name, that it goes into or comes out of; of several it is the sum, or
    (z) their heads side by side."""

    parts: tuple[str, ...]
    side: Literal["in", "out"]


def canonical_name(name: Any) -> str:
    """An activation's name for any spelling of it: "pattern" for "attn". Raises: ValueError."""
    known = ALIASES.get(name, name) if isinstance(name, str) else name
    if known not in NAMES:
        raise ValueError(f"an activation is one of {', '.join(NAMES)}, not {name!r}")
    return str(known)


def parse_key(key: Any) -> tuple[str, int]:
    """Name and layer of `("resid_post", 3)`, `"blocks.3.hook_resid_post"`, `"z3"` or `("normalized", 3, "ln1")`.

    Raises: ValueError, for anything else.
    """
    if isinstance(key, str):
        if full := FULL_NAME.fullmatch(key):
            return canonical_name(full[2]), int(full[1])
        if short := SHORTHAND.fullmatch(key):
            return canonical_name(short[1]), int(short[2])
    elif isinstance(key, tuple) and len(key) == 3 and key[0] == "normalized" and is_index(key[1]):
        return canonical_name(key[2]), int(key[1])
    elif isinstance(key, tuple) and len(key) == 2 and is_index(key[1]):
        return canonical_name(key[0]), int(key[1])
    raise ValueError(f'an activation is asked for by name and layer, ("resid_post", 3) or "blocks.3.hook_resid_post", not {key!r}')


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


def check_indices(what: str, given: Collection[Any], count: int) -> tuple[int, ...]:
    """Indices of `count` things ("layers"), as they were given. Raises: ValueError, for those that there are not."""
    if strange := [one for one in given if not is_index(one) or not 0 <= one < count]:
        raise ValueError(f"{what} are from 0 to {count - 1}, not {', '.join(map(str, strange))}")
    return tuple(map(int, given))


def find_site(vit: Vit, name: str, layer: int) -> Site:
    """Where an activation is in the model. Raises: ModelError, for blocks that have it not, or not apart from others."""
    path, block = f"blocks.{layer}", vit.module.blocks[layer]
    if name in ("resid_pre", "resid_post"):
        return Site((path,), "in" if name == "resid_pre" else "out")
    parts, side = _parts_of_block(block).get(name, ((), "in"))
    if vit.structure.axes or not parts or not all(_has(block, part) for part in parts):
        raise not_in_block(vit, name, layer)
    return Site(tuple(f"{path}.{part}" for part in parts), side)


def not_in_block(vit: Vit, name: str, layer: int) -> ModelError:
    """The refusal of an activation that a model's blocks do not have apart from others."""
    return ModelError(
        "The blocks of {name} ({kind}) have no {activation} that can be identified.",
        name=vit.display_name, kind=type(vit.module.blocks[layer]).__name__, activation=name,
    )  # fmt: skip


def heads_of_call(vit: Vit) -> int:
    """Heads of each attention call of a block: all, or of parallel blocks one call's share."""
    return vit.heads // vit.structure.calls


def head_width(vit: Vit, layer: int) -> int:
    """d, the width of a head of a layer."""
    block = vit.module.blocks[layer]
    proj = vit.module.get_submodule(find_site(vit, "z", layer).parts[0])
    return int(getattr(block, "head_dim", 0) or proj.in_features // heads_of_call(vit))


def _parts_of_block(block: Any) -> dict[str, tuple[tuple[str, ...], Literal["in", "out"]]]:
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
            "mlp_post": (("mlp_out_proj",), "in"),
            **(apart if isinstance(block.ls, nn.Identity) else {}),  # type: ignore[dict-item]  # scaled together, they are one
        }
    return {
        "ln1": (("norm1",), "out"), "ln2": (("norm2",), "out"), "z": (("attn.proj",), "in"), "mlp_post": (("mlp.fc2",), "in"),
        "attn_out": (("drop_path1",), "out"), "resid_mid": (("drop_path1",), "out"), "mlp_out": (("drop_path2",), "out"),
    }  # fmt: skip


def _has(block: nn.Module, part: str) -> bool:
    try:
        return isinstance(block.get_submodule(part), nn.Module)
    except AttributeError:
        return False

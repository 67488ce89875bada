"""A model's tensors by name, and how names of one library become another's.

A state maps names to tensors; those without values (torch's meta device) stand for their shapes. Converters take tensors out
of the state they are given, so that a file's tensor and its copy under timm's name are not in memory both for long.
Shapes are letters: D width, H heads, d width of a head.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from vitcore.models.formats.containers.lazy_tensor import LazyTensor

StateDict = dict[str, Tensor]
NO_MODULE: Any = None  # for timm's converters, which look at names only
RenamingRules = tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...]


@dataclass(frozen=True)
class CheckpointFormat:
    """One library's names: by which tensors they are known, how they become timm's, and what it would do by default."""

    title: str
    anchors: tuple[str, ...]  # the first is looked for at the end of names; what is before it is before all the others
    convert: Callable[[StateDict], StateDict]
    beside: tuple[str, ...] = ()  # parts of the model that lie beside that prefix: regular expressions
    likely: Mapping[str, Any] = field(default_factory=dict)  # answers by `OpenQuestion.key`
    fixed: Mapping[str, Any] = field(default_factory=dict)  # what its code does and no file says: answers, too
    architecture: Mapping[str, Any] = field(default_factory=dict)  # the same that is never asked: a description's terms
    positions: Callable[[int, int, int], Tensor] | None = None  # of rows, columns and width, where no file has them: (N, D)
    projection: str = ""  # tensors whose outputs are features, not classes: a regular expression


def tensor_shapes(weights: Mapping[str, LazyTensor]) -> StateDict:
    """The state without values."""
    return {name: torch.empty(weight.shape, device="meta") for name, weight in weights.items()}


def rename_tensors(state: StateDict, rules: RenamingRules) -> StateDict:
    """Every name with every rule applied in turn (regular expression, replacement). Takes the tensors out of `state`."""
    renamed: StateDict = {}
    for name in list(state):
        new = rename_tensor(name, rules)
        renamed[new if new not in renamed else name] = state.pop(name)
    return renamed


def rename_tensor(name: str, rules: RenamingRules) -> str:
    """A tensor's name with every rule applied in turn."""
    for pattern, to in rules:
        name = re.sub(pattern, to, name)
    return name


def join_tensors(state: StateDict, parts: tuple[str, ...], whole: str) -> None:
    """Put tensors of one block together, query over key over value: wherever all of `parts` are, `whole` takes their place."""
    for name in [name for name in state if name.endswith(parts[0])]:
        stem = name[: -len(parts[0])]
        if all(stem + part in state for part in parts):
            state[stem + whole] = torch.cat([state.pop(stem + part) for part in parts])


def join_query_key_value(state: StateDict) -> None:
    """Put `attn.q` over `attn.k` over `attn.v` of every block, weights and biases, as timm's `attn.qkv`."""
    for kind in ("weight", "bias"):
        join_tensors(state, tuple(f".attn.{part}.{kind}" for part in "qkv"), f".attn.qkv.{kind}")


def add_zero_bias(state: StateDict, layer: str = "head") -> None:
    """Give a layer that has no bias one of zeros: timm's has one."""
    if (weight := state.get(f"{layer}.weight")) is not None:
        state.setdefault(f"{layer}.bias", torch.zeros(weight.shape[0], device=weight.device, dtype=weight.dtype))


def drop_tensors(state: StateDict, *patterns: str) -> None:
    """Leave out what is no part of the model as it answers: mask tokens, decoders, heads of a pre-training."""
    for name in [name for name in state if any(re.match(pattern, name) for pattern in patterns)]:
        del state[name]

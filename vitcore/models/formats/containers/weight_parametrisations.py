"""Weights that a training keeps as several tensors, which torch puts together before each pass, and those transposed elsewhere.

Weight norm (arXiv 1602.07868): W = g · v / |v|, the length being that of each row, as the shape of g says. Pruning: W = W₀ · mask.
Paddle: a linear layer's weight is (numbers in, numbers out), which that of queries, keys and values tells.
MLX: a kernel is (out, height, width, colours); no model has patches as wide as it has colours, and as many bands as rows.
"""

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from vitcore.models.formats.containers.lazy_tensor import LazyTensor

PARTS = (  # names of the two tensors, and of the weight that they make
    (re.compile(r"(.*)_v"), r"\1_g", r"\1"),
    (re.compile(r"(.*)\.parametrizations\.(\w+)\.original1"), r"\1.parametrizations.\2.original0", r"\1.\2"),
    (re.compile(r"(.*)_orig"), r"\1_mask", r"\1"),
)


def join_weight_parametrisations(weights: Mapping[str, LazyTensor]) -> dict[str, LazyTensor]:
    """The tensors with such pairs as the weight that they make, which is computed when it is read."""
    made = [w.shape for name, w in weights.items() if name.endswith("attn.qkv.weight")]
    if made and all(len(shape) == 2 and shape[1] == 3 * shape[0] for shape in made):
        weights = {name: _permuted(w, (1, 0)) if len(w.shape) == 2 else w for name, w in weights.items()}
    found = {name: _permuted(w, (0, 3, 1, 2)) if _has_colours_last(name, w.shape) else w for name, w in weights.items()}
    for name, first in weights.items():
        for pattern, to, whole in PARTS:
            match = pattern.fullmatch(name)
            second = weights.get(match.expand(to)) if match else None
            if match and second is not None and _fit(first, second, name.endswith("_orig")):
                del found[name], found[match.expand(to)]
                found[match.expand(whole)] = _made(first, second, name.endswith("_orig"))
    return found


def _fit(first: LazyTensor, second: LazyTensor, masked: bool) -> bool:
    if masked:
        return second.shape == first.shape
    return len(second.shape) == len(first.shape) > 1 and second.shape == (first.shape[0], *[1] * (len(first.shape) - 1))


def _has_colours_last(name: str, shape: tuple[int, ...]) -> bool:
    return name.endswith(".weight") and len(shape) == 4 and 4 <= shape[1] == shape[2] > shape[3] and shape[3] in (1, 3, 4)


def _permuted(weight: LazyTensor, order: tuple[int, ...]) -> LazyTensor:
    shape = tuple(weight.shape[i] for i in order)
    return LazyTensor(shape, lambda: weight.values().permute(order).contiguous(), weight.file, weight.dtype)


def _made(first: LazyTensor, second: LazyTensor, masked: bool) -> LazyTensor:
    def read() -> Tensor:
        one, other = first.values().float(), second.values().float()
        return one * other if masked else torch._weight_norm(one, other, 0)

    return LazyTensor(first.shape, read, first.file)

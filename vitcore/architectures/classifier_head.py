"""A classifier's head under whatever name: the layers that its tensors prove, and timm's names for them.

    read_classifier_head(state): {"head.1.weight", "head.1.bias"} -> one linear layer, before which a dropout may lie

A layer without weights leaves a gap in the numbers of an `nn.Sequential`: a dropout, or an activation. A head whose layers have
no certain order is not read: the model then gives features.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

StateDict = dict[str, Tensor]
FOREIGN_HEAD = "foreign_head."  # before the names of a head beside the backbone, until the backbone has timm's names
HEAD_GROUPS = re.compile(
    r"\w*(head|classif|linear|logit|predict)\w*|(fc|cls|clf|dense|out|output|last|final|mlp|lin)"
    r"(_?\d+|_layer|_cls|_out)*|\w+_fc\d*|fc_\w+"
)
NO_HEAD_GROUPS = re.compile(
    r"fc_norm|head_drop|head_norm|lm_head|logit_(scale|bias)"
    r"|\w*(predict(or|ion)|project|decoder|dino|ibot|momentum|quantize|codebook|language_model)\w*"
)
HARMLESS = re.compile(r"(.*\.)?\w*(loss|criterion|metric|logit_scale|logit_bias|acc|auroc|f1|queue|centre|center)\w*(\.|$)")
PRE_TRAINING = re.compile(r"(.*\.)?(\w*head\.(mlp|last_layer)|(student|teacher)_\w*head)\b")  # DINO's, iBOT's: views compared
POOLER = "pooler.dense."  # transformers': beside a head it may stand before it, or not be used
BATCH_NORM = {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}


@dataclass(frozen=True)
class ClassifierHead:
    """layers: as `build_classifier_head` takes them; names: of a tensor in the state -> timm's, or of `layers`."""

    layers: list[list[Any]]
    names: Mapping[str, str]

    @property
    def is_linear(self) -> bool:
        """Whether it is one linear layer with nothing before it: timm's own head."""
        return len(self.layers) == 1

    @property
    def classes(self) -> int:
        """How many numbers it gives."""
        return int(self.layers[-1][2])


def find_head_beside_backbone(names: Iterable[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Tensors beside a backbone that may be its head: (`FOREIGN_HEAD` name -> name in the file, those that forbid to take them).

    What else lies there may stand between the backbone and its head, a norm or a projection: then no head is taken.
    """
    left = [name for name in names if not _is_harmless(name)]
    groups: dict[str, list[str]] = {}
    for name in left:
        groups.setdefault(name.partition(".")[0], []).append(name)
    heads = [g for g in groups if HEAD_GROUPS.fullmatch(g) and not NO_HEAD_GROUPS.fullmatch(g)]
    if not heads:
        return {}, ()
    if len(heads) < len(groups):
        near = (name for name in left if name.partition(".")[0] in heads or not is_not_classifier(name))
        return {}, tuple(sorted(near, key=lambda name: name.partition(".")[0] not in heads))
    inner = [name.partition(".")[2] if len(heads) == 1 and "." in name else name for name in left]
    return {FOREIGN_HEAD + short: name for short, name in zip(inner, left, strict=True)}, ()


def is_not_classifier(name: str) -> bool:
    """Whether a tensor beside a backbone surely is of no classifier: of a loss, a pre-training, a decoder, or a norm or a scale."""
    return _is_harmless(name) or any(NO_HEAD_GROUPS.fullmatch(step) for step in name.split("."))


def _is_harmless(name: str) -> bool:
    return bool(HARMLESS.match(name) or PRE_TRAINING.match(name))


def with_timm_head(state: StateDict) -> StateDict:
    """The state with its head by timm's names: `head.weight`, or `head.N.weight` by the place in `ClassifierHead.layers`.

    A linear layer without a bias gets one of zeros; one over a class and a distillation token is that of each. A head that
    can't be read stays as it is, under `head.`.
    """
    state = {("head." + n.removeprefix(FOREIGN_HEAD) if n.startswith(FOREIGN_HEAD) else n): w for n, w in state.items()}
    head = read_classifier_head(state)
    if head is None:
        return state
    state = {head.names.get(name, name): w for name, w in state.items()}
    device = next(iter(state.values())).device
    for place, (kind, *sizes) in enumerate(head.layers):
        stem = "head." if head.is_linear else f"head.{place}."
        if kind == "linear" and f"{stem}weight" in state:
            state.setdefault(f"{stem}bias", torch.zeros(sizes[1], device=device))
        if kind == "batch_norm":
            state.setdefault(f"{stem}weight", torch.ones(sizes[0], device=device))
            state.setdefault(f"{stem}bias", torch.zeros(sizes[0], device=device))
            state.setdefault(f"{stem}num_batches_tracked", torch.zeros((), device=device))
    if "dist_token" in state and head.is_linear:
        # One layer over the mean of both tokens is the mean of that layer over each, which is how timm's model answers.
        state = {f"head_dist.{kind}": state[f"head.{kind}"] for kind in ("weight", "bias") if f"head.{kind}" in state} | state
    return state


def add_pooler_to_head(state: StateDict, module: Any) -> StateDict:
    """The state with transformers' pooler (linear, tanh) as the first layers of a `module`'s head that reads it; else without."""
    if POOLER + "weight" not in state:
        return state
    pooler = {kind: state.pop(POOLER + kind) for kind in ("weight", "bias") if POOLER + kind in state}
    count = sum(name.startswith("head.") for name in state)
    if sum(name.startswith("head.") for name in module.state_dict()) != count + len(pooler):
        return state
    shifted = {re.sub(r"^head\.(\d+\.)?", lambda m: f"head.{int((m[1] or '0.')[:-1]) + 2}.", name): w for name, w in state.items()}
    return shifted | {f"head.0.{kind}": w for kind, w in pooler.items()}


def read_classifier_head(state: Mapping[str, Tensor]) -> ClassifierHead | None:
    """The layers under `head.`; None where there are none, or where they are of other kinds or in no certain order."""
    modules: dict[tuple[str, ...], dict[str, tuple[int, ...]]] = {}
    for name, w in state.items():
        if name.startswith("head."):
            *steps, parameter = name.split(".")[1:]
            modules.setdefault(tuple(steps), {})[parameter] = tuple(w.shape)
    kinds = {path: _layer(parameters) for path, parameters in modules.items()}
    if not kinds or any(kind is None for kind in kinds.values()):
        return None
    known: dict[tuple[str, ...], list[Any]] = {path: kind for path, kind in kinds.items() if kind is not None}
    placed = _numbered(known) if _are_numbered(known) else _named(known)
    if placed is None:
        return None
    layers = [layer for layer, _ in placed]
    names = {}
    for place, (_, path) in enumerate(placed):
        if path is not None:
            for parameter in modules[path]:
                new = f"head.{parameter}" if len(layers) == 1 else f"head.{place}.{parameter}"
                names[".".join(("head", *path, parameter))] = new
    return ClassifierHead(layers, names)


Placed = list[tuple[list[Any], tuple[str, ...] | None]]


def _layer(parameters: Mapping[str, tuple[int, ...]]) -> list[Any] | None:
    """The kind of a layer by its parameters' shapes; None for any other."""
    weight, names = parameters.get("weight"), set(parameters)
    if "running_mean" in names:
        shape, var = parameters["running_mean"], parameters.get("running_var")
        fits = len(shape) == 1 and var == shape and names <= BATCH_NORM and ("weight" in names) == ("bias" in names)
        fits = fits and all(parameters[n] == shape for n in ("weight", "bias") if n in names)
        return ["batch_norm", shape[0]] if fits else None
    if weight is None or not names <= {"weight", "bias"}:
        return None
    if len(weight) == 2 and parameters.get("bias", weight[:1]) == weight[:1] and min(weight) > 0:
        return ["linear", weight[1], weight[0]]
    return ["layer_norm", weight[0]] if len(weight) == 1 and parameters.get("bias") == weight else None


def _are_numbered(modules: Iterable[tuple[str, ...]]) -> bool:
    """Whether all are children of one `nn.Sequential`."""
    paths = list(modules)
    return len({path[:-1] for path in paths}) == 1 and all(path and path[-1].isdecimal() for path in paths)


def _numbered(modules: Mapping[tuple[str, ...], list[Any]]) -> Placed | None:
    """Layers by their numbers, with an activation where numbers are missing."""
    placed: Placed = []
    gap_since_linear, last = False, -1
    for path in sorted(modules, key=lambda path: int(path[-1])):
        number, layer = int(path[-1]), modules[path]
        if number > last + 1:
            if gap_since_linear:
                return None  # an activation and a dropout, and which is which nothing tells
            placed.append((["activation"], None))
            gap_since_linear = True
        placed.append((layer, path))
        gap_since_linear, last = gap_since_linear and layer[0] != "linear", number
    return placed if _are_chained([layer for layer, _ in placed]) else None


def _named(modules: Mapping[tuple[str, ...], list[Any]]) -> Placed | None:
    """Linear layers under names: in the one order in which widths fit, activations between them, and a norm before the first."""
    linear = [path for path, layer in modules.items() if layer[0] == "linear"]
    norms = [path for path in modules if path not in linear]
    if len(linear) > 4 or len(norms) > 1 or (norms and len(linear) > 1):
        return None
    orders = [order for order in permutations(linear) if _are_chained([modules[path] for path in order])]
    if len(orders) != 1:
        return None
    placed: Placed = [(modules[path], path) for path in norms]
    for i, path in enumerate(orders[0]):
        placed += [(["activation"], None)] * bool(i) + [(modules[path], path)]
    square = norms and modules[linear[0]][1] == modules[linear[0]][2]  # before it or after it
    return placed if not square and _are_chained([layer for layer, _ in placed]) else None


def _are_chained(layers: list[list[Any]]) -> bool:
    """Whether each layer takes as many numbers as the one before gives, and the last is linear."""
    width = None
    for kind, *sizes in layers:
        if kind != "activation" and width is not None and sizes[0] != width:
            return False
        width = width if kind == "activation" else sizes[-1]
    return bool(layers) and layers[-1][0] == "linear"

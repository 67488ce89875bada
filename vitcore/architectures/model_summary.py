"""What any module is made of: the row of Table 1 (arXiv 2010.11929) it would have, and its parts in the order they run.

Found by running a copy without memory (torch's meta device) and looking, not by knowing the architecture. Operations are
counted by torch's FlopCounterMode as timm's benchmark counts them: a multiplication with its addition is one (MAC), a norm
is five a number (four where it has no scale and shift).
"""

import copy
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only
from torch.utils.flop_counter import FlopCounterMode

from vitcore.architectures.grey_input import accepted_bands

BLOCK_NAMES = re.compile(
    r"(?:^|\.)(?:blocks|layer\d)\.\d+$"
)  # timm's names of what is repeated: blocks.3, stages.1.blocks.3, layer2.3


@dataclass(frozen=True)
class Table1Row:
    """The columns of Table 1 and what goes with them; several values where stages differ, none where there is no such thing."""

    blocks: int
    width: tuple[int, ...]  # D
    mlp: tuple[int, ...]
    heads: tuple[int, ...]
    params: int
    gmacs: float  # of one image
    tokens: int  # that the first block sees, prefix tokens included; 0: it sees no tokens
    image_px: tuple[int, int]


@dataclass(frozen=True)
class ModulePart:
    """A part as it is called in the module, what it is, the shapes of one image going in and out, and how often it follows."""

    name: str
    kind: str
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    params: int
    repeats: int = 1
    inner_parts: tuple["ModulePart", ...] = ()


def to_meta_device(module: nn.Module) -> Any:
    """A copy whose tensors are shapes only, on the meta device; the module itself stays as it is.

    With its numbers, where a module says that it can't be run without (`needs_memory`).
    """
    if getattr(module, "needs_memory", False):
        return copy.deepcopy(module).eval()
    empty: dict[int, Any] = {id(p): nn.Parameter(p.to("meta"), requires_grad=False) for p in module.parameters()}
    empty |= {id(b): b.to("meta") for b in module.buffers()}
    return copy.deepcopy(module, empty).eval()


def table_1_row(module: nn.Module, image_px: tuple[int, int]) -> Table1Row:
    """The row of Table 1 of a module that takes images of `image_px` (height, width)."""
    inputs: list[Tensor] = []
    model = to_meta_device(module)
    blocks = _blocks(model)
    first = next(iter(blocks), None)
    if first is not None:
        first.register_forward_pre_hook(lambda _, given: inputs.append(given[0]))
    counter = FlopCounterMode(display=False, custom_mapping=_norms())
    known = run_alike_blocks_once(model, counter)
    with counter, torch.no_grad():
        model(_no_picture(model, image_px))
    return Table1Row(
        len(blocks), _each(_width(block) for block in blocks), _each(_mlp(block) for block in blocks),
        _each(head_count(block) for block in blocks), sum(p.numel() for p in module.parameters()),
        (counter.get_total_flops() + sum(known)) / 2e9, _tokens(first, inputs), image_px,
    )  # fmt: skip


def run_alike_blocks_once(model: nn.Module, counter: FlopCounterMode) -> list[int]:
    """Change a model on the meta device so that of blocks alike in all but the values of their tensors the first one runs, and the
    others answer as it did: a large model has dozens.

    Returns the list to which each of the others adds the operations that `counter` has found in the first.
    """
    seen: dict[str, tuple[Any, int]] = {}
    known: list[int] = []

    def once(block: nn.Module) -> Any:
        forward, alike = block.forward, repr([_settings(part) for part in block.modules()])

        def run(*given: Any, **named: Any) -> Any:
            key = alike + repr(tree_map_only(Tensor, lambda x: (x.shape, x.dtype), (given, named)))
            if key in seen:
                known.append(seen[key][1])
                return seen[key][0]
            before = counter.get_total_flops()
            answer = forward(*given, **named)
            seen[key] = answer, counter.get_total_flops() - before
            return answer

        return run

    for block, run in [(block, once(block)) for block in _blocks(model)]:
        block.forward = run
    return known


def _settings(part: nn.Module) -> tuple[Any, ...]:
    """Whatever a module's operations can depend on: what it is, what it was told, and the shapes of its tensors."""
    own = {name: value for name, value in vars(part).items() if name not in _OF_EVERY_MODULE}
    tensors = [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)]
    return type(part), own, [*part._modules], [(name, tensor.shape, tensor.dtype) for name, tensor in tensors]


_OF_EVERY_MODULE = vars(nn.Module()).keys()


def _no_picture(model: nn.Module, image_px: tuple[int, int]) -> Tensor:
    """A picture (1, C, height, width) of zeros, where the model is and of its dtype; on the meta device of no numbers."""
    first = next((p for p in model.parameters() if p.is_floating_point()), torch.empty(0, device="meta"))
    return torch.zeros(1, accepted_bands(model), *image_px, device=first.device, dtype=first.dtype)


def _blocks(model: nn.Module) -> list[nn.Module]:
    """What is repeated: the blocks that attend, where there are some, else the residual blocks."""
    blocks = [m for name, m in model.named_modules() if BLOCK_NAMES.search(name)]
    return [block for block in blocks if head_count(block)] or blocks


def _norms() -> dict[Any, Any]:
    """What FlopCounterMode leaves out; it counts two operations a MAC."""
    aten = torch.ops.aten

    def norm(x: Any, weight: Any = None, *rest: Any, out_shape: Any = None, **more: Any) -> int:
        return 2 * (4 if weight is None else 5) * math.prod(x)

    def layer_norm(x: Any, *rest: Any, out_shape: Any = None, **more: Any) -> int:
        return 2 * 5 * math.prod(x)

    batch = (aten.native_batch_norm, aten._native_batch_norm_legit, aten._native_batch_norm_legit_no_training)
    return dict.fromkeys(batch, norm) | dict.fromkeys((aten.native_layer_norm, aten.native_group_norm), layer_norm)


def _each(values: Iterator[int]) -> tuple[int, ...]:
    """The different values in the order they come, without zeros."""
    return tuple(dict.fromkeys(value for value in values if value))


def _width(block: nn.Module) -> int:
    """Channels a block hands on: those of the last of its parts that has some."""
    channels = 0
    for part in block.modules():
        if isinstance(part, nn.Linear):
            channels = part.out_features
        elif isinstance(part, nn.Conv2d):
            channels = part.out_channels
    return channels


def _mlp(block: nn.Module) -> int:
    """Hidden numbers of the block's MLP."""
    for name, part in block.named_modules():
        if name.rpartition(".")[2] in ("fc2", "w3") and isinstance(part, nn.Linear):
            return part.in_features
    return int(getattr(block, "in_split", (0,))[0])  # a block that computes MLP and attention side by side


def head_count(block: nn.Module) -> int:
    """How many heads a block says that it has, as timm and transformers call them; 0 where it says nothing."""
    said = (getattr(part, name, None) for part in block.modules() for name in ("num_heads", "num_attention_heads"))
    return next((n for n in said if isinstance(n, int) and n), 0)


def _tokens(first: Any, inputs: list[Tensor]) -> int:
    """How many tokens the first block was given; a picture of features counts where the block attends."""
    if not inputs:
        return 0
    x = inputs[0]
    if x.ndim == 3:
        return int(x.shape[1])
    last = x.shape[-1] == _width(first)  # channels last, as Swin has it
    return (math.prod(x.shape[1:3]) if last else math.prod(x.shape[2:])) if x.ndim == 4 and head_count(first) else 0


def module_parts_with_repeats(module: nn.Module, image_px: tuple[int, int]) -> tuple[ModulePart, ...]:
    """The module's parts in the order they run, blocks that follow each other alike as one; inside a block, its own."""
    model = to_meta_device(module)
    calls: list[tuple[str, nn.Module, Any, Any]] = []
    for name, part in model.named_modules():
        if name:
            part.register_forward_hook(lambda m, given, out, name=name: calls.append((name, m, given, out)))
    with torch.no_grad():
        model(_no_picture(model, image_px))
    ran = {name: (part, _shape(given), _shape(out)) for name, part, given, out in calls}  # the last call of each counts
    drawn: list[ModulePart] = []
    for name, (part, before, after) in _top(ran, model):
        if _silent(part) or not after:
            continue
        inside = _inside(name, ran) if BLOCK_NAMES.search(name) else ()
        drawn.append(ModulePart(name, type(part).__name__, before, after, _count(part), 1, inside))
    own = dict(model.named_parameters(recurse=False))
    if own:
        where = next((i for i, part in enumerate(drawn) if part.name.startswith("blocks.")), len(drawn))
        before, after = (drawn[where - 1].output_shape, drawn[where].input_shape) if 0 < where < len(drawn) else ((), ())
        mine = ModulePart(", ".join(own), "Parameter", before, after, sum(p.numel() for p in own.values()))
        drawn.insert(where, mine)
    return tuple(_merged(drawn))


def _top(ran: dict[str, Any], model: nn.Module) -> Iterator[tuple[str, Any]]:
    """Names to be drawn, each with what was seen: containers of blocks are opened, everything else stays whole."""
    holders = {name.rpartition(".")[0] for name, _ in model.named_modules() if BLOCK_NAMES.search(name)}
    holders |= {name[: m.start()] for name in holders for m in re.finditer(r"\.", name)}
    top = (name for name in ran if name not in holders and ("." not in name or name.rpartition(".")[0] in holders))
    return ((name, ran[name]) for name in top)


def _inside(block: str, ran: dict[str, Any]) -> tuple[ModulePart, ...]:
    """The block's own parts, as they ran."""
    children = [name for name in ran if name.rpartition(".")[0] == block]
    return tuple(
        ModulePart(name.rpartition(".")[2], type(part).__name__, before, after, _count(part))
        for name in children
        for part, before, after in (ran[name],)
        if not _silent(part) and after
    )


def _silent(part: nn.Module) -> bool:
    """Whether a part does nothing once a model has been trained."""
    return isinstance(part, nn.Identity | nn.Dropout) or type(part).__name__ == "DropPath"


def _merged(drawn: list[ModulePart]) -> Iterator[ModulePart]:
    """Blocks that follow one another and are alike but for their names, as one that follows itself so many times."""
    for _, alike in groupby(drawn, lambda part: replace(part, name="") if BLOCK_NAMES.search(part.name) else part.name):
        first, *others = alike
        yield replace(first, repeats=1 + len(others))


def _shape(value: Any) -> tuple[int, ...]:
    """Of one image: without the first axis; () for what is no tensor."""
    while isinstance(value, tuple | list) and value:
        value = value[0]
    return tuple(value.shape[1:]) if isinstance(value, Tensor) else ()


def _count(part: nn.Module) -> int:
    return sum(p.numel() for p in part.parameters())

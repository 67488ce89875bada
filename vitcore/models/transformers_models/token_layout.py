"""Where the patches of a picture are among the tokens of a model, and where its answer is read: tried, not taken on trust.

Patches are changed by groups, and the tokens that change are looked at: a group for each binary digit of a patch's number. What an
answer depends on, its gradient tells. Shapes: T tokens, N patches, D width.
"""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from vitcore.attention_hooks import AttentionEvent, AttentionHookMode
from vitcore.module_swaps import with_swapped_modules

ATTENTION = (F.softmax, torch.softmax, Tensor.softmax, F.scaled_dot_product_attention, F.multi_head_attention_forward)
NAMED_TOKENS = (("class", r"cls|class"), ("distillation", r"dist"), ("register", r"regist|storage"), ("detection", r"detection"))
CLOSE = 1e-4  # of the largest number, by which float32 sums in another order differ
Run = Callable[[Any], Tensor]  # a pass of one picture through a model, whose answer is (1, numbers)


@dataclass(frozen=True)
class TokenLayout:
    """The parts of a model by their names in it, and its tokens.

    order: which place of the sequence holds each token of (those that are no patches, then the patches row by row).
    """

    patches: str  # the convolution that cuts the picture into patches
    blocks: str  # the list of blocks
    grid: tuple[int, int]
    order: tuple[int, ...]
    prefix: tuple[str, ...]  # names of the tokens that are no patches
    early: frozenset[str]  # parts that ran before the blocks
    given: int  # what each block returns beside its tokens: nothings, in a tuple; -1: tokens alone


@dataclass(frozen=True)
class UndefinedLayout:
    """Why a model's attention is not over one grid of patches, or can't be laid on it: "" where its calls tell; what is known."""

    why: str
    patches: str = ""
    grid: tuple[int, int] = (0, 0)


def find_token_layout(model: nn.Module, run: Run, image_px: tuple[int, int]) -> TokenLayout | UndefinedLayout:
    """The layout of a model that `run` passes one picture of `image_px` through; nothing of it is changed in the end."""
    seen = _observe(model, run, image_px)
    if not seen.patches or seen.unseen:
        return UndefinedLayout("unseen" if seen.unseen else "", seen.patches, seen.grid)
    cut: Any = model.get_submodule(seen.patches)
    (rows, cols), tokens = seen.grid, seen.tokens
    if not seen.blocks or tokens < rows * cols:
        return UndefinedLayout("", seen.patches, seen.grid)
    blocks: Any = model.get_submodule(seen.blocks)
    numbers = _patch_numbers(model, cut, blocks[0], run, rows * cols)
    places = [i for i, number in enumerate(numbers) if number]
    rest = [i for i, number in enumerate(numbers) if not number]
    if [numbers[i] for i in places] != list(range(1, rows * cols + 1)):
        return UndefinedLayout("order", seen.patches, seen.grid)
    names = _prefix_names(model, seen.early, blocks[0], run, rest)
    return TokenLayout(seen.patches, seen.blocks, seen.grid, (*rest, *places), names, frozenset(seen.early), seen.given)


class _Seen:
    def __init__(self) -> None:
        self.patches = self.blocks = ""
        self.grid, self.tokens, self.given = (0, 0), 0, -1
        self.early: list[str] = []
        self.unseen = False  # attention that is no event


def _observe(model: nn.Module, run: Run, image_px: tuple[int, int]) -> _Seen:
    """What one pass shows: the first layer of the picture, the first list of blocks that attend, and what ran before it."""
    seen, inside, attended, ended = _Seen(), [], {}, []  # type: ignore[var-annotated]
    lists = {name: part for name, part in model.named_modules() if isinstance(part, nn.ModuleList) and len(part)}
    member = {id(block): (name, i) for name, part in lists.items() for i, block in enumerate(part)}
    io: dict[tuple[str, int], tuple[Any, Any, Any]] = {}
    order: list[tuple[str, int]] = []

    def before(part: nn.Module, given: Any, named: Any) -> None:
        inside.append(part)
        if id(part) in member:
            order.append(member[id(part)])

    def after(name: str) -> Any:
        def hook(part: nn.Module, given: Any, named: Any, out: Any) -> None:
            inside.pop()
            if id(part) in member:
                io[member[id(part)]] = (given, named, out)
            ended.append((name, len(order)))
            if not seen.patches and isinstance(part, nn.Conv2d) and given and tuple(given[0].shape[2:]) == image_px:
                whole = part.kernel_size == part.stride and part.padding in ((0, 0), 0, "valid") and part.groups == 1
                seen.patches, seen.grid = (name, tuple(out.shape[2:])) if whole else ("", (0, 0))

        return hook

    def watch(event: AttentionEvent) -> None:
        at = [member[id(part)] for part in inside if id(part) in member]
        events.append(({name for name, _ in at}, event.shape[-2]))
        for block in at:
            attended[block] = attended.get(block, 0) + 1

    events, calls = [], _AttentionCalls()  # type: ignore[var-annotated]
    with ExitStack() as hooks, torch.no_grad(), AttentionHookMode(watch), calls:
        for name, part in model.named_modules():
            hooks.enter_context(part.register_forward_pre_hook(before, with_kwargs=True))
            hooks.enter_context(part.register_forward_hook(after(name), with_kwargs=True))
        run(model)
    seen.unseen = bool(calls.count and not events)
    for name, part in lists.items():
        mine = [i for other, i in order if other == name]
        if mine != list(range(len(part))) or any(attended.get((name, i), 0) != 1 for i in mine):
            continue
        if any(queries > 1 and name not in at for at, queries in events):  # other blocks attend, too
            continue
        if found := _tokens_of([io[name, i] for i in mine]):
            seen.blocks, (seen.tokens, seen.given) = name, found
            begun = order.index((name, 0))
            seen.early = [one for one, at in ended if at <= begun]
            return seen
    return seen


def _tokens_of(calls: list[tuple[Any, Any, Any]]) -> tuple[int, int] | None:
    """How many tokens blocks are given, and what they return beside them; None for blocks that are no steps of one sequence."""
    lengths, beside = set(), set()
    for given, _, out in calls:
        first = out[0] if isinstance(out, tuple) and out else out
        rest = out[1:] if isinstance(out, tuple) else ()
        if not given or not isinstance(given[0], Tensor) or not isinstance(first, Tensor) or given[0].ndim != 3:
            return None
        if given[0].shape != first.shape or any(one is not None for one in rest):
            return None
        lengths.add(given[0].shape[1])
        beside.add(len(rest) if isinstance(out, tuple) else -1)
    return (lengths.pop(), beside.pop()) if len(lengths) == len(beside) == 1 else None


class _StopError(Exception):
    pass


def _tokens_before(model: nn.Module, block: nn.Module, run: Run) -> Tensor:
    """The tokens (T, D) that go into the first block; the pass ends there."""
    kept: list[Tensor] = []

    def stop(part: nn.Module, given: tuple[Any, ...]) -> None:
        kept.append(given[0][0].detach().clone())
        raise _StopError

    with block.register_forward_pre_hook(stop), torch.no_grad(), suppress(_StopError):
        run(model)
    return kept[0]


def _patch_numbers(model: nn.Module, cut: nn.Module, block: nn.Module, run: Run, patches: int) -> list[int]:
    """Of each token the number of the patch that it changes with, from 1; 0 for none."""
    generator = torch.Generator().manual_seed(0)

    @contextmanager
    def change(chosen: Tensor) -> Iterator[None]:
        def hook(part: nn.Module, given: Any, out: Tensor) -> Tensor:
            by = torch.randn(out.shape[1], generator=generator) * out.float().std().clamp(min=1e-3)
            return out + chosen.view(1, 1, *out.shape[2:]) * by.view(1, -1, 1, 1).to(out)

        with cut.register_forward_hook(hook):
            yield

    return _numbers(change, model, block, run, patches)


def _numbers(
    change: Callable[[Tensor], AbstractContextManager[None]], model: nn.Module, block: nn.Module, run: Run, count: int
) -> list[int]:
    """Of each token the number, from 1, of the one of `count` things that it changes with; 0 for none.

    change: within it the things that a vector of booleans names are others. Of things that change together the number is another.
    """
    plain, numbers = _tokens_before(model, block, run), torch.arange(1, count + 1)
    found = torch.zeros(len(plain), dtype=torch.long)
    for digit in range(max(1, math.ceil(math.log2(count + 1)))):
        with change((numbers >> digit & 1).bool()):
            found += ((_tokens_before(model, block, run) - plain).abs().amax(-1) > 0).long().cpu() << digit
    return found.tolist()


def find_positions(model: nn.Module, layout: TokenLayout, run: Run) -> tuple[str, tuple[int, ...]] | None:
    """The parameter that holds learned positions, a row a token, and the row of each patch; None where there is none."""
    blocks: Any = model.get_submodule(layout.blocks)
    places, tokens = layout.order[len(layout.prefix) :], len(layout.order)
    for part in layout.early:
        for own, p in model.get_submodule(part).named_parameters(recurse=False):
            name = f"{part}.{own}".lstrip(".")
            if "pos" not in name or p.ndim < 2 or p.numel() // p.shape[-1] not in (tokens, len(places)):
                continue
            rows = p.detach().view(-1, p.shape[-1])
            by = torch.randn(rows.shape[1], generator=torch.Generator().manual_seed(1))
            found = _numbers(partial(_changed, rows, by), model, blocks[0], run, len(rows))
            at = tuple(found[place] - 1 for place in places)
            if len(set(at)) == len(at) and all(0 <= row < len(rows) for row in at):
                return name, at
    return None


def _prefix_names(model: nn.Module, early: list[str], block: nn.Module, run: Run, rest: list[int]) -> tuple[str, ...]:
    """The names of the tokens that are no patches: by the parameter that each changes with."""
    names, plain = dict.fromkeys(rest, "extra"), None
    for part in early:
        for name, p in model.get_submodule(part).named_parameters(recurse=False):
            kind = next((kind for kind, pattern in NAMED_TOKENS if re.search(pattern, name)), "")
            if not kind or "pos" in name or not rest:
                continue
            plain = _tokens_before(model, block, run) if plain is None else plain
            with _changed(p, torch.randn(p.shape, generator=torch.Generator().manual_seed(1)).to(p)):
                moved = (_tokens_before(model, block, run) - plain).abs().amax(-1) > 0
            for i in rest:
                if moved[i]:
                    names[i] = kind
    told = list(names.values())
    many = {kind: told.count(kind) > 1 or kind in ("register", "detection", "extra") for kind in set(told)}
    return tuple(f"{kind} {told[:i].count(kind)}" if many[kind] else kind for i, kind in enumerate(told))


@contextmanager
def _changed(p: Tensor, by: Tensor, chosen: Tensor | None = None) -> Iterator[None]:
    """Within it a parameter, or the chosen of its rows, is another."""
    kept = p.detach().clone()
    try:
        with torch.no_grad():
            p.add_(by if chosen is None else chosen.view(-1, 1) * by)
        yield
    finally:
        with torch.no_grad():
            p.copy_(kept)


class _AttentionCalls(TorchFunctionMode):
    """Counts softmaxes and attention."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func in ATTENTION
        return func(*args, **(kwargs or {}))


def find_pooling(model: nn.Module, layout: TokenLayout, run: Run) -> str:
    """Where the answer is read: "class token", "mean of patches" or "attention pool", by the tokens of the last block that its
    gradient reaches; "" for another way. The blocks themselves are not run."""
    blocks: Any = model.get_submodule(layout.blocks)
    shape, patches = _tokens_before(model, blocks[0], run).shape, list(layout.order[len(layout.prefix) :])
    generator = torch.Generator().manual_seed(0)
    calls, shown = _AttentionCalls(), list[tuple[int, ...]]()

    def answer(tokens: Tensor) -> Tensor:
        last = nn.ModuleList(_Given(tokens, layout.given) for _ in blocks)
        return run(with_swapped_modules(model, **{layout.blocks: last}))

    with torch.inference_mode(False), torch.enable_grad():
        tokens = torch.randn(1, *shape, generator=generator).requires_grad_()
        with AttentionHookMode(lambda event: shown.append(tuple(event.shape))), calls:
            plain = answer(tokens)
        total = (plain * torch.randn(plain.shape, generator=generator)).sum()
        slope = torch.autograd.grad(total, tokens, allow_unused=True)[0] if total.requires_grad else None
    if slope is None:  # it is read before others could change it
        return ""
    read = [i for i, size in enumerate(slope[0].abs().amax(-1).tolist()) if size > 0]
    if calls.count or shown:
        one = len(shown) == 1 and shown[0][-2] == 1 and shown[0][-1] in (len(patches), shape[0])
        return "attention pool" if one and read else ""
    if read == [0] and layout.prefix[:1] == ("class",) and layout.order[0] == 0:
        return "class token"
    with torch.no_grad():
        moved = tokens.detach().clone()
        moved[:, patches] = moved[:, torch.tensor(patches)[torch.randperm(len(patches), generator=generator)]]
        same = bool((answer(moved) - plain).abs().max() <= CLOSE * plain.abs().max().clamp(min=1e-6))
    return "mean of patches" if read == patches and same else ""


class _Given(nn.Module):
    """In place of a block: what it returns is given."""

    def __init__(self, tokens: Tensor, beside: int) -> None:
        super().__init__()
        self.tokens, self.beside = tokens, beside

    def forward(self, x: Tensor, *given: Any, **named: Any) -> Any:
        return self.tokens if self.beside < 0 else (self.tokens, *(None for _ in range(self.beside)))

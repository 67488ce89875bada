"""How a module attends, found by running it without memory (torch's meta device) and watching: which pictures are defined.

Most pictures of attention need blocks in each of which all patches of one grid attend to all. Where a module does so, how many
calls a block makes is noted (parallel blocks make two, axial ones a row's and a column's). Where it does not (windows, channels,
mixed heads, convolutions), what is left is its last grid of features, on which Grad-CAM is defined, and its filters.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from vitcore.architectures.model_summary import BLOCK_NAMES, to_meta_device
from vitcore.attention_capture import AttentionCall, AttentionCapture, SoftmaxCall
from vitcore.errors import log_traceback
from vitcore.grid import Grid
from vitcore.models.model_cards import ModelError
from vitcore.translation import say

MAX_SIZES_NAMED = 3  # kinds of attention a sentence names
SMALL_MODEL_OPERATIONS = 10**9  # parameters times pixels: to calculate with so few is quicker than to do without


@dataclass(frozen=True)
class AttentionStructure:
    """`grid` is that of the tokens, or of the last features where attention is not global; `blocks` and `heads` are then 0."""

    grid: Grid
    blocks: int = 0
    heads: int = 0  # of all calls of a block together
    calls: int = 1  # of attention in a block
    axes: tuple[str, ...] = ()  # "row" and "column" in the order they are attended along; () where all patches are at once
    patches: Grid | None = None  # where pixels are cut into patches that do not overlap
    last: str = ""  # the block whose input (tokens) or output (a picture of features) lies on `grid`
    layout: str = "tokens"  # of that: "tokens" (B, prefix + N, D), "nchw" or "nhwc"
    sizes: tuple[tuple[int, int], ...] = ()  # queries × keys of attention that is not global; () where there is none at all
    positions: int = 0  # that the widest block works on, and the numbers it is given
    numbers: int = 0

    @property
    def is_global(self) -> bool:
        """Whether every block attends over one grid of patches."""
        return self.blocks > 0

    def why_undefined(self, name: str, picture_name: str) -> str:
        """Why `picture_name` (a picture, in the reader's language) is not defined for this model, in one sentence."""
        if not self.sizes:
            return say("{name} has no attention, so {what} is not defined for it.", name=name, what=picture_name)
        sizes = ", ".join(f"{queries}×{keys}" for queries, keys in self.sizes[:MAX_SIZES_NAMED])
        return say("{name} does not let all patches of one grid attend to all in one softmax a block (its attention is {sizes} "
                   "queries × keys, in groups, over features or mixed afterwards), so {what} is not defined for it.",
                   name=name, sizes=sizes, what=picture_name)  # fmt: skip


def read_attention_structure(name: str, module: Any, image_px: tuple[int, int]) -> AttentionStructure:
    """The structure of a module that takes images of `image_px` (height, width).

    Raises: ModelError, for a module that makes no grid of features from an image.
    """
    ran = _run(module, image_px)
    patches = _patches(module, image_px)
    prefix = int(getattr(module, "num_prefix_tokens", 0) or 0)
    if patches is not None and ran is not None and (picture := _global(module, ran, replace(patches, prefix=prefix))):
        return picture
    left = None if ran is None else _features(ran, image_px)
    if ran is None or left is None:
        raise ModelError("No last grid of features could be found in {name}, so these pictures are not defined for it.", name=name)
    where, layout, grid = left
    sizes = tuple(sorted({call.size for call in ran.calls}, reverse=True))
    given = max((given for _, given, _ in ran.blocks), key=Tensor.numel, default=torch.empty(1, grid.patches, 1))
    positions = given.numel() // _channels(given, image_px)
    return AttentionStructure(
        grid, patches=patches, last=where, layout=layout, sizes=sizes, positions=positions, numbers=given.numel()
    )


def image_px_of_module(module: Any, default: tuple[int, int]) -> tuple[int, int]:
    """The height and width that a module was built for; `default` where it takes any."""
    size = getattr(getattr(module, "patch_embed", None), "img_size", None) or default
    high, wide = (size, size) if isinstance(size, int) else size
    return int(high), int(wide)


@dataclass(frozen=True)
class _ObservedCall:
    """An attention call: the block it was made in, lines or windows at once, heads, queries × keys, and by which function."""

    block: str
    at_once: int
    heads: int
    size: tuple[int, int]
    fused: bool


@dataclass
class _Observations:
    """What was seen: blocks by name with what went in and came out, and every attention call."""

    blocks: list[tuple[str, Tensor, Any]]
    calls: list[_ObservedCall]
    pictures: list[tuple[str, Tensor]]  # whatever else came out as a picture of features, by the name of its part


def _run(module: nn.Module, image_px: tuple[int, int]) -> _Observations | None:
    """A pass on the meta device, or with the module itself where it is small or asks for numbers on its way; None where neither
    works."""
    was_training = module.training
    small = sum(p.numel() for p in module.parameters()) * math.prod(image_px) < SMALL_MODEL_OPERATIONS
    for device in ("cpu", "meta") if small else ("meta", "cpu"):
        model = to_meta_device(module) if device == "meta" else module
        ran, inside = _Observations([], [], []), [""]
        hooks = list(_hooks(model, ran, inside))
        try:
            with torch.no_grad(), AttentionCapture(partial(_note, ran, inside)):
                model.eval()(torch.zeros(1, 3, *image_px, device=device))
            return ran
        except Exception as error:  # whatever such a model asks for that has no value there
            log_traceback(error)
            continue
        finally:
            module.train(was_training)
            for hook in hooks:
                hook.remove()
    return None


def _hooks(model: nn.Module, ran: _Observations, inside: list[str]) -> Iterator[Any]:
    """What notes the blocks and the pictures of features that pass, and which block is being run."""
    for name, part in model.named_modules():
        if BLOCK_NAMES.search(name) and not BLOCK_NAMES.search(name.rpartition(".")[0]):
            yield part.register_forward_pre_hook(partial(_enter, inside, name))
            yield part.register_forward_hook(partial(_leave, ran, inside, name))
        elif name:
            yield part.register_forward_hook(partial(_look, ran, name))


def _enter(inside: list[str], name: str, part: nn.Module, given: Any) -> None:
    inside.append(name)


def _leave(ran: _Observations, inside: list[str], name: str, part: nn.Module, given: Any, out: Any) -> None:
    inside.pop()
    if given and isinstance(given[0], Tensor):
        ran.blocks.append((name, given[0], out))


def _look(ran: _Observations, name: str, part: nn.Module, given: Any, out: Any) -> None:
    if isinstance(out, Tensor) and out.ndim == 4:
        ran.pictures.append((name, out))


def _note(ran: _Observations, inside: list[str], call: AttentionCall | SoftmaxCall) -> None:
    shape = (*call.q.shape[:-1], call.k.shape[-2]) if isinstance(call, AttentionCall) else call.result.shape
    *_, at_once, heads, queries, keys = (1, *map(int, shape))
    ran.calls.append(_ObservedCall(inside[-1], at_once, heads, (queries, keys), isinstance(call, AttentionCall)))


def _global(module: Any, ran: _Observations, grid: Grid) -> AttentionStructure | None:
    """The structure of a module each of whose blocks attends over one grid; None for any other."""
    blocks = [f"blocks.{i}" for i in range(len(getattr(module, "blocks", ())))]
    by_block = [[call for call in ran.calls if call.block == name] for name in blocks]
    axes = tuple(getattr(module, "attends_along", ()))
    if not blocks or any(len(calls) != len(by_block[0]) for calls in by_block):
        return None
    lines = {"row": (grid.rows, grid.cols), "column": (grid.cols, grid.rows)}
    wanted = [(lines[axis][0], (lines[axis][1],) * 2) for axis in axes]
    if not axes:
        parallel = len(getattr(module.blocks[0], "attns", ())) or 1  # blocks that say that they attend several times at once
        wanted = [(1, (grid.tokens, grid.tokens))] * parallel
    sizes = [[(call.at_once, call.size) for call in calls] for calls in by_block]
    heads = {(call.heads, call.fused or len(wanted) == 1) for calls in by_block for call in calls}
    count = next(int(n) for part in module.blocks[0].modules() if (n := getattr(part, "num_heads", None)))
    if any(calls != wanted for calls in sizes) or heads != {(count, True)}:
        return None
    each = count if axes else count * len(wanted)
    numbers = max(given.numel() for _, given, _ in ran.blocks)
    return AttentionStructure(grid, len(blocks), each, len(wanted), axes, grid, blocks[-1], positions=grid.tokens, numbers=numbers)


def _patches(module: Any, image_px: tuple[int, int]) -> Grid | None:
    """The grid that a convolution or a linear layer cuts the pixels into, without overlap; a hybrid's is that of its tokens."""
    embed = getattr(module, "patch_embed", None) or getattr(module, "embeds", None)
    if embed is None:
        return None
    cut, hybrid = getattr(embed, "proj", None), hasattr(embed, "backbone")
    if isinstance(cut, nn.Conv2d) and not hybrid and (cut.kernel_size != cut.stride or cut.padding not in ((0, 0), 0)):
        return None  # its patches overlap
    if not hybrid and not isinstance(cut, nn.Conv2d | nn.Linear):
        return None
    if getattr(embed, "grid_size", None):
        rows, cols = embed.grid_size
    elif getattr(embed, "patch_size", None):
        rows, cols = (side // step for side, step in zip(image_px, embed.patch_size, strict=True))
    else:
        return None
    high, wide = image_px[0] // rows, image_px[1] // cols
    return Grid(rows, cols, high, int(getattr(module, "num_prefix_tokens", 0) or 0), 0 if high == wide else wide)


def _features(ran: _Observations, image_px: tuple[int, int]) -> tuple[str, str, Grid] | None:
    """The last block with a grid: its name, how its features lie, and the grid. Tokens are looked at as they go in."""
    for name, given, out in reversed(ran.blocks):
        if given.ndim == 3 and len(given) == 1 and (grid := _square(given.shape[1], image_px)):
            return name, "tokens", grid
        if picture := _picture(out, image_px):
            return name, *picture
    whole = [(name, out) for name, out in ran.pictures if name.count(".") < 2]  # deeper ones are pieces of a layer
    return next(((name, *picture) for name, out in reversed(whole) if (picture := _picture(out, image_px))), None)


def _picture(out: Any, image_px: tuple[int, int]) -> tuple[str, Grid] | None:
    """How a picture of features lies and its grid; None for what is none, or is as large as the picture itself."""
    if not isinstance(out, Tensor) or out.ndim != 4 or len(out) != 1:
        return None
    layout = "nhwc" if _same_aspect_ratio(out.shape[1:3], image_px) and not _same_aspect_ratio(out.shape[2:], image_px) else "nchw"
    rows, cols = out.shape[1:3] if layout == "nhwc" else out.shape[2:]
    fits = 1 < rows <= image_px[0] // 4 and 1 < cols <= image_px[1] // 4
    return (layout, grid) if fits and (grid := _grid(rows, cols, 0, image_px)) else None


def _square(tokens: int, image_px: tuple[int, int]) -> Grid | None:
    """The grid of so many tokens in the shape of the picture, after as few prefix tokens as can be."""
    high, wide = image_px
    for prefix in range(min(tokens, 6)):
        rows = round(math.sqrt((tokens - prefix) * high / wide))
        fits = rows > 1 and (tokens - prefix) % rows == 0 and _same_aspect_ratio((rows, (tokens - prefix) // rows), image_px)
        if fits and (grid := _grid(rows, (tokens - prefix) // rows, prefix, image_px)):
            return grid
    return None


def _grid(rows: int, cols: int, prefix: int, image_px: tuple[int, int]) -> Grid | None:
    """The grid, if it divides the picture into whole pixels."""
    if image_px[0] % rows or image_px[1] % cols:
        return None
    high, wide = image_px[0] // rows, image_px[1] // cols
    return Grid(rows, cols, high, prefix, 0 if high == wide else wide)


def _same_aspect_ratio(shape: Any, image_px: tuple[int, int]) -> bool:
    """Whether rows and columns are in the proportion of the picture, but for rounding."""
    rows, cols = shape
    return abs(rows / cols - image_px[0] / image_px[1]) < 1 / cols


def _channels(x: Tensor, image_px: tuple[int, int]) -> int:
    """How many numbers a position has in features of any layout."""
    if x.ndim == 4:
        return int(
            x.shape[-1]
            if _same_aspect_ratio(x.shape[1:3], image_px) and not _same_aspect_ratio(x.shape[2:], image_px)
            else x.shape[1]
        )
    return int(x.shape[-1])

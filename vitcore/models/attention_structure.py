"""How a module attends, found by running it without memory (torch's meta device) and watching: which pictures are defined.

Most pictures of attention need blocks in each of which all patches of one grid attend to all. Where a module does so, how many
calls a block makes is noted (parallel blocks make two, axial ones a row's and a column's). Where it does not (windows, channels,
mixed heads, convolutions), what is left is its last grid of features, on which Grad-CAM is defined, and its filters.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from vitcore.architectures.grey_input import accepted_bands
from vitcore.architectures.meta_device import FastMetaForwardMode
from vitcore.architectures.model_summary import BLOCK_NAMES, head_count, to_meta_device
from vitcore.attention_hooks import AttentionCall, AttentionEvent, AttentionHookMode
from vitcore.errors import log_traceback
from vitcore.grid import Grid
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import AttentionStructure

SMALL_MODEL_OPERATIONS = 3 * 10**11  # parameters times pixels, as of ViT-Ti/16: to calculate is quicker than to do without


def read_attention_structure(name: str, module: Any, image_px: tuple[int, int]) -> AttentionStructure:
    """The structure of a module that takes images of `image_px` (height, width).

    Raises: ModelError, for a module that makes no grid of features from an image.
    """
    if (plain := _of_plain_vit(module, image_px)) is not None:
        return plain
    ran = _run(module, image_px)
    if ran is not None and not (isinstance(ran.answer, Tensor) and ran.answer.ndim == 2):
        raise ModelError("{name} does not give one vector of numbers for a picture.", name=name)
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
    width = given.shape[-1] if given.ndim != 4 or _channels_last(given, image_px) else given.shape[1]
    return AttentionStructure(
        grid=grid, patches=patches, last=where, layout=layout, sizes=sizes, positions=given.numel() // width, numbers=given.numel(),
        why_not_global=str(getattr(module, "why_not_global", "")),
    )  # fmt: skip


def _of_plain_vit(module: Any, image_px: tuple[int, int]) -> AttentionStructure | None:
    """The structure of a ViT all of whose parts are timm's own and unchanged, which need not be run; None for any other."""
    import timm  # noqa: F401
    from timm.layers import PatchEmbed
    from timm.models.deit import VisionTransformerDistilled
    from timm.models.vision_transformer import Attention, Block, VisionTransformer

    from vitcore.architectures.vit_variants import ClassAndMeanVit

    if type(module) not in (VisionTransformer, VisionTransformerDistilled, ClassAndMeanVit) or not module.global_pool:
        return None
    if type(module.patch_embed) is not PatchEmbed or any(type(block) is not Block for block in module.blocks):
        return None
    attentions = [block.attn for block in module.blocks]
    parts = [module, module.patch_embed, *module.blocks, *attentions]
    if any(type(one) is not Attention for one in attentions) or any(p._forward_hooks or p._forward_pre_hooks for p in parts):
        return None
    if any("forward" in vars(part) for part in parts) or (patches := _patches(module, image_px)) is None or not len(module.blocks):
        return None
    heads, (high, wide) = {one.num_heads for one in attentions}, module.patch_embed.patch_size
    if len(heads) > 1 or (patches.rows * high, patches.cols * wide) != tuple(image_px):  # a picture may be padded
        return None
    return AttentionStructure(
        grid=patches, blocks=len(module.blocks), heads=heads.pop(), calls=1, patches=patches,
        last=f"blocks.{len(module.blocks) - 1}",
        positions=patches.tokens, numbers=patches.tokens * module.embed_dim,
    )  # fmt: skip


def image_px_of_module(module: Any, default: tuple[int, int] | None = None) -> tuple[int, int]:
    """The height and width that a module was built for; where it takes any, `default`, or those of timm's weights of its kind."""
    usual = (getattr(module, "pretrained_cfg", None) or {}).get("input_size", (3, 224, 224))[1:]
    own = getattr(getattr(module, "patch_embed", None), "img_size", None) or getattr(module, "image_px", None)  # transformers'
    size = own or default or usual
    high, wide = (size, size) if isinstance(size, int) else size
    return int(high), int(wide)


@dataclass(frozen=True)
class _ObservedCall:
    """An attention event: the block it was made in, lines or windows at once, heads, queries × keys, and by which function."""

    block: str
    at_once: int
    heads: int
    size: tuple[int, int]
    fused: bool


class _ObservedPass:
    """What a pass showed: blocks by name with what went in and came out, attention events, and other outputs by the part's name."""

    def __init__(self) -> None:
        self.blocks: list[tuple[str, Tensor, Any]] = []
        self.calls: list[_ObservedCall] = []
        self.outputs: list[tuple[str, Any]] = []
        self.inside = [""]  # the block that is being run
        self.answer: Any = None

    def hook(self, name: str, part: nn.Module) -> list[RemovableHandle]:
        """Watch a part of a model, by its name, until the handles are removed."""
        if not BLOCK_NAMES.search(name) or BLOCK_NAMES.search(name.rpartition(".")[0]):
            if name.count(".") > 1:  # a piece of a layer
                return []
            return [part.register_forward_hook(lambda part, given, out: self.outputs.append((name, out)))]

        def leave(part: nn.Module, given: tuple[Any, ...], out: Any) -> None:
            self.inside.pop()
            if given and isinstance(given[0], Tensor):
                self.blocks.append((name, given[0], out))

        return [part.register_forward_pre_hook(lambda part, given: self.inside.append(name)), part.register_forward_hook(leave)]

    def note(self, event: AttentionEvent) -> None:
        """The watcher of attention."""
        *_, at_once, heads, queries, keys = (1, *map(int, event.shape))
        self.calls.append(_ObservedCall(self.inside[-1], at_once, heads, (queries, keys), isinstance(event, AttentionCall)))


def _run(module: nn.Module, image_px: tuple[int, int]) -> _ObservedPass | None:
    """A pass on the meta device, or with the module itself where it is small or asks for numbers on its way; None where neither
    works."""
    was_training, weight = module.training, next((p for p in module.parameters() if p.is_floating_point()), torch.empty(0))
    small = sum(p.numel() for p in module.parameters()) * math.prod(image_px) < SMALL_MODEL_OPERATIONS
    devices: tuple[Any, ...] = (weight.device, "meta") if small else ("meta", weight.device)
    for device in (weight.device,) if getattr(module, "needs_memory", False) else devices:
        model = to_meta_device(module) if device == "meta" else module
        ran = _ObservedPass()
        handles = [handle for name, part in model.named_modules() if name for handle in ran.hook(name, part)]
        try:
            with torch.no_grad(), FastMetaForwardMode(), AttentionHookMode(ran.note):
                ran.answer = model.eval()(torch.zeros(1, accepted_bands(module), *image_px, device=device, dtype=weight.dtype))
            return ran
        except Exception as error:  # whatever such a model asks for that has no value there
            log_traceback(error)
        finally:
            module.train(was_training)
            for handle in handles:
                handle.remove()
    return None


def _global(module: Any, ran: _ObservedPass, grid: Grid) -> AttentionStructure | None:
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
    count = head_count(module.blocks[0])
    if any(calls != wanted for calls in sizes) or heads != {(count, True)}:
        return None
    each = count if axes else count * len(wanted)
    numbers = max(given.numel() for _, given, _ in ran.blocks)
    return AttentionStructure(
        grid=grid, blocks=len(blocks), heads=each, calls=len(wanted), axes=axes, patches=grid, last=blocks[-1],
        positions=grid.tokens, numbers=numbers,
    )  # fmt: skip


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


def _features(ran: _ObservedPass, image_px: tuple[int, int]) -> tuple[str, str, Grid] | None:
    """The last block with a grid: its name, how its features lie, and the grid. Tokens are looked at as they go in."""
    for name, given, out in reversed(ran.blocks):
        if given.ndim == 3 and len(given) == 1 and (grid := _token_grid(given.shape[1], image_px)):
            return name, "tokens", grid
        if picture := _picture(out, image_px):
            return name, *picture
    return next(((name, *picture) for name, out in reversed(ran.outputs) if (picture := _picture(out, image_px))), None)


def _picture(out: Any, image_px: tuple[int, int]) -> tuple[str, Grid] | None:
    """How a picture of features lies and its grid; None for what is none, or is as large as the picture itself."""
    if not isinstance(out, Tensor) or out.ndim != 4 or len(out) != 1:
        return None
    last = _channels_last(out, image_px)
    rows, cols = out.shape[1:3] if last else out.shape[2:]
    fits = 1 < rows <= image_px[0] // 4 and 1 < cols <= image_px[1] // 4
    return ("nhwc" if last else "nchw", grid) if fits and (grid := _grid(rows, cols, 0, image_px)) else None


def _token_grid(tokens: int, image_px: tuple[int, int]) -> Grid | None:
    """The grid of so many tokens in the shape of the picture, after as few prefix tokens as can be."""
    for prefix in range(min(tokens, 6)):
        rows = round(math.sqrt((tokens - prefix) * image_px[0] / image_px[1]))
        fits = rows > 1 and (tokens - prefix) % rows == 0 and _same_aspect_ratio((rows, (tokens - prefix) // rows), image_px)
        if fits and (grid := _grid(rows, (tokens - prefix) // rows, prefix, image_px)):
            return grid
    return None


def _grid(rows: int, cols: int, prefix: int, image_px: tuple[int, int]) -> Grid | None:
    """The grid, if it divides the picture into whole pixels."""
    (high, down), (wide, across) = divmod(image_px[0], rows), divmod(image_px[1], cols)
    return None if down or across else Grid(rows, cols, high, prefix, 0 if high == wide else wide)


def _same_aspect_ratio(shape: Any, image_px: tuple[int, int]) -> bool:
    """Whether rows and columns are in the proportion of the picture, but for rounding."""
    rows, cols = shape
    return abs(rows / cols - image_px[0] / image_px[1]) < 1 / cols


def _channels_last(x: Tensor, image_px: tuple[int, int]) -> bool:
    """Whether features (1, rows, cols, D) lie so, and not as (1, D, rows, cols)."""
    return _same_aspect_ratio(x.shape[1:3], image_px) and not _same_aspect_ratio(x.shape[2:], image_px)

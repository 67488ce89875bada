"""What a model embeds with, read from its weights: the kernel that reads a patch, and the table of positions."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vitcore.architectures.grey_input import first_convolution
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit


def first_layer_filters(vit: Vit) -> NDArray[np.float32] | None:
    """The filters that meet the pixels, (filters, bands, k, k): the patch embedding's, else the root convolution's."""
    kernel = patch_kernel(vit)
    return root_kernel(vit) if kernel is None else kernel


def patch_kernel(vit: Vit) -> NDArray[np.float32] | None:
    """The patch embedding's kernel (D, bands, P, P), or None where patches are not cut from pixels by one layer.

    Filters of one channel are told as grey ones: they answer to grey pictures alike.
    """
    embed = getattr(vit.module, "patch_embed", None) or getattr(vit.module, "embeds", None)
    weight = getattr(getattr(embed, "proj", None), "weight", None)
    if vit.hybrid or vit.structure.patches is None or weight is None:
        return None
    if weight.ndim == 2 and embed is not None:  # a linear layer of pixels, channels last
        high, wide = embed.patch_size
        weight = weight.unflatten(1, (high, wide, -1)).permute(0, 3, 1, 2)
    return _in_colours(weight)


def root_kernel(vit: Vit) -> NDArray[np.float32] | None:
    """The first convolution (filters, bands, k, k) of a hybrid or a network that cuts no patches, weight-standardised where it is
    applied so; None for other models."""
    if vit.structure.patches is not None and not vit.hybrid:
        return None
    first: Any = first_convolution(vit.module)
    if first is None:
        return None
    w = first.weight.detach().float()
    if "Std" in type(first).__name__:
        flat = w.flatten(1)
        w = ((flat - flat.mean(1, keepdim=True)) / (flat.var(1, unbiased=False, keepdim=True) + first.eps).sqrt()).view_as(w)
    return _in_colours(w)


def _in_colours(kernel: Tensor) -> NDArray[np.float32]:
    """Filters of one channel as grey ones of three, all others as they are."""
    if kernel.shape[1] == 1:
        kernel = kernel.expand(-1, 3, -1, -1) / 3
    return kernel.detach().float().cpu().numpy()


def _all_positions(vit: Vit) -> tuple[Tensor, int] | None:
    """The learned absolute positions (1, prefix + N, D) and how many of them belong to prefix tokens."""
    import timm  # noqa: F401
    from timm.layers import resample_abs_pos_embed_nhwc

    if isinstance(apart := getattr(vit.module, "position_table", None), Tensor):  # of one of transformers'
        return apart.float(), 0
    table = getattr(vit.module, "pos_embed", None)
    embeds = getattr(vit.module, "embeds", None)
    if isinstance(flex := getattr(embeds, "pos_embed", None), Tensor) and embeds is not None:  # for pictures of any shape
        size, way = [vit.grid.rows, vit.grid.cols], embeds.pos_embed_interp_mode
        at = flex.detach().float()
        fits = list(at.shape[1:3]) == size
        there = at if fits else resample_abs_pos_embed_nhwc(at, size, interpolation=way, antialias=embeds.pos_embed_antialias)
        return there.flatten(1, 2), 0
    if isinstance(table, Tensor) and table.ndim == 4 and table.shape[1:3] == (vit.grid.rows, vit.grid.cols):
        table = table.flatten(1, 2)
    if not isinstance(table, Tensor) or table.ndim != 3:
        return None
    prefix = table.shape[1] - vit.grid.patches
    return (table.detach().float(), prefix) if prefix in (0, vit.grid.prefix) else None


def _require_positions(vit: Vit) -> tuple[Tensor, int]:
    """The same. Raises: ModelError, where there are none."""
    positions = _all_positions(vit)
    if positions is None:
        raise ModelError("{name} has no learned absolute position embeddings.", name=vit.name)
    return positions


def position_table(vit: Vit) -> Tensor | None:
    """Learned absolute positions, (T, D), or (N, D) where they are of patches alone; None where there are none."""
    table = _all_positions(vit)
    return None if table is None else table[0][0]


def position_embeddings(vit: Vit) -> NDArray[np.float32] | None:
    """Learned absolute position embeddings of the patches (N, D), without prefix tokens; None where there are none."""
    table = _all_positions(vit)
    return None if table is None else table[0][0, table[1] :].cpu().numpy()


def resample_positions(vit: Vit, rows: int, cols: int, method: str = "paper") -> NDArray[np.float32]:
    """Patch positions interpolated to another grid, (rows·cols, D), both ways through timm's own function.

    "paper": bilinear with aligned corners, as the authors' checkpoint.py (scipy.ndimage.zoom, order 1).
    "timm": bicubic, antialiased, corners not aligned, what timm does when it loads a checkpoint.
    """
    import timm  # noqa: F401
    from timm.layers import resample_abs_pos_embed

    table, prefix = _require_positions(vit)
    old, way = [vit.grid.rows, vit.grid.cols], timm_resample_kwargs(method)
    return resample_abs_pos_embed(table[:, prefix:], [rows, cols], old, num_prefix_tokens=0, **way)[0].cpu().numpy()


def timm_resample_kwargs(method: str) -> dict[str, Any]:
    """timm's arguments for a way to resample positions: see `resample_positions`."""
    ways: dict[str, dict[str, Any]] = {
        "paper": {"interpolation": "bilinear", "antialias": False, "align_corners": True},
        "timm": {"interpolation": "bicubic", "antialias": True},
        "transformers": {"interpolation": "bicubic", "antialias": False},
    }
    if method not in ways:
        raise ValueError(f"method is 'paper', 'timm' or 'transformers', not {method!r}")
    return ways[method]


def with_permuted_positions(vit: Vit, order: NDArray[np.int64]) -> nn.Module:
    """The module with patch position i replaced by position order[i]; shares every other weight with the original."""
    if hasattr(vit.module, "with_permuted_positions"):  # positions of other kinds and places
        return vit.module.with_permuted_positions(order)
    positions = _all_positions(vit)
    if positions is None:
        raise ModelError("{name} has no learned absolute position embeddings to move.", name=vit.name)
    table, prefix = positions
    return _with_table(vit, torch.cat([table[:, :prefix], table[:, prefix:][:, torch.from_numpy(order).to(table.device)]], 1))


def with_mean_position(vit: Vit) -> nn.Module:
    """The module with every patch at the mean of all positions, so that nothing learned tells where a patch lies."""
    table, prefix = _require_positions(vit)
    mean = table[:, prefix:].mean(1, keepdim=True).expand(-1, table.shape[1] - prefix, -1)
    return _with_table(vit, torch.cat([table[:, :prefix], mean], 1))


def with_zero_positions(vit: Vit) -> nn.Module:
    """The module with zeros in place of all positions, those of tokens before the patches included: none is added."""
    return _with_table(vit, torch.zeros_like(_require_positions(vit)[0]))


def can_permute_positions(vit: Vit) -> bool:
    """Whether `with_permuted_positions` is defined: positions are learned, and belong to patches that all attend to all."""
    movable = not hasattr(vit.module, "position_table") and position_embeddings(vit) is not None
    return vit.is_global and (movable or hasattr(vit.module, "with_permuted_positions"))


def can_replace_positions_by_mean(vit: Vit) -> bool:
    """Whether `with_mean_position` and `with_zero_positions` are defined: all that tells where a patch lies is one table, added
    before the blocks."""
    apart = hasattr(vit.module, "with_permuted_positions") or hasattr(vit.module, "position_table")
    return not apart and position_embeddings(vit) is not None


@dataclass(frozen=True, eq=False)
class RelativePositions:
    """What depends on the offset between two patches alone: from the middle patch to every other, for each head, (H, N).

    kind: "bias", a number that is added to the scores; "rotation", the mean cosine of the angles by which queries and keys are
    turned against each other, 1 at no offset. Where all heads, or all blocks, have the same, H is 1 and `every_block` is true.
    """

    kind: str
    values: NDArray[np.float32]
    every_block: bool


def relative_positions(vit: Vit, block: int) -> RelativePositions | None:
    """Relative position bias (arXiv 2106.08254 §2.3, as Swin's) or rotary embedding (RoPE, arXiv 2104.09864; on a grid
    arXiv 2403.13298) of a block; None for models with neither."""
    if not vit.is_global:
        return None
    module, grid = vit.module, vit.grid
    with torch.no_grad():
        if (bias := _bias(module, block)) is not None:
            at = grid.prefix + grid.middle
            shared = getattr(module, "rel_pos_bias", None) or getattr(module, "shared_rel_pos", None)
            return RelativePositions("bias", bias[:, at, grid.prefix :].float().cpu().numpy(), shared is not None)
        rope: Any = getattr(module, "rope", None)
        if rope is None:
            return None
        turns = rope.get_embed(shape=[grid.rows, grid.cols])
    turns = turns if isinstance(turns, Tensor) else torch.cat(turns, -1)  # sines and cosines, (…, N, 2d)
    mixed = turns.ndim == 4  # angles of its own for every block and head
    turns = (turns[block] if mixed else turns.reshape(1, *turns.shape[-2:])).float()
    mean = (turns * turns[:, grid.middle, None]).sum(-1) / (turns.shape[-1] // 2)  # of cos(a − b)
    return RelativePositions("rotation", mean.cpu().numpy(), not mixed)


def _bias(module: Any, block: int) -> Tensor | None:
    """(H, T, T) that is added to a block's scores, of timm's BEiT and ViTs with relative positions."""
    if hasattr(module, "attention_bias"):  # one of transformers'
        return module.attention_bias(block)
    attn: Any = getattr(module.blocks[block], "attn", None)  # axial blocks have two, and tables for both
    if getattr(attn, "relative_position_bias_table", None) is not None:
        return attn._get_rel_pos_bias()[0]
    if getattr(attn, "rel_pos", None) is not None:
        return attn.rel_pos.get_bias()[0]
    if getattr(module, "shared_rel_pos", None) is not None:
        return module.shared_rel_pos.get_bias()[0]
    shared = getattr(module, "rel_pos_bias", None)
    return None if shared is None else shared().reshape(-1, *shared().shape[-2:])


def _with_table(vit: Vit, table: Tensor) -> nn.Module:
    """The module with other learned positions (1, prefix + N, D), wherever it keeps them."""
    if hasattr(vit.module, "position_table"):
        raise ModelError("{name} is run as transformers wrote it, so its positions can't be changed.", name=vit.display_name)
    table = table.to(vit.dtype)
    clone = copy.copy(vit.module)  # never touch the shared module: other threads are using it
    embeds: Any = getattr(vit.module, "embeds", None)
    if isinstance(getattr(embeds, "pos_embed", None), Tensor):  # NaFlexViT's: (1, rows, cols, D)
        part = copy.copy(embeds)
        on_grid = table.unflatten(1, (vit.grid.rows, vit.grid.cols))
        part._parameters = {**part._parameters, "pos_embed": nn.Parameter(on_grid, requires_grad=False)}
        clone._modules = {**vit.module._modules, "embeds": part}
        return clone
    own = nn.Parameter(table.view_as(vit.module.pos_embed), requires_grad=False)
    clone._parameters = {**vit.module._parameters, "pos_embed": own}
    return clone

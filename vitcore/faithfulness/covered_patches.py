"""Cover or remove patches of the model's input, and read the answer once more.

A ViT can do without a token altogether, which a convolutional network can't: `fill="removed"` takes tokens out after the
position embeddings are added (as timm's PatchDropout does in training, arXiv 2212.00794). The other fills paint over pixels.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageFilter
from torch import Tensor, nn

from vitcore.errors import check_choice
from vitcore.forward.onednn_linear import with_faster_modules
from vitcore.forward.recording import to_model_input
from vitcore.grid import Grid
from vitcore.images.photo_arrays import nearest_bytes
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit
from vitcore.module_swaps import with_hooks, with_swapped_modules
from vitcore.translation import say

PIXEL_FILLS = ("mean", "blur", "noise", "neighbour")
FILLS = (*PIXEL_FILLS, "removed")
BATCH = 32
Pixels = NDArray[Any]  # (H, W, 3): bytes, or floats of which 0 to 1 are a photo's
Progress = Callable[[int, int], object]  # told how many are done, of how many


def no_progress(done: int, count: int) -> None:
    """Progress that is told to nobody: does nothing."""


def cover_patches(pixels: Pixels, grid: Grid, patches: Collection[int], fill: str = "mean", seed: int = 0) -> Pixels:
    """Pixels (H, W, 3) of the model's input, bytes or floats from 0 to 1, with these patches (0 to N − 1) painted over.

    `fill`: "mean", the mean colour of the input; "blur", the input under a Gaussian blur whose radius is a patch's side;
    "noise", uniform noise drawn from `seed`, the same for any set of patches; "neighbour", the nearest patch that is not
    covered (of several the first in reading order; with none left, the mean colour).
    Raises: ValueError, for a patch or a fill that there is not; TypeError, for whole numbers other than bytes.
    """
    return _paint(pixels, grid, covered_patch_mask(grid, patches), _layer(pixels, grid, fill, seed))


def logits_without_patches(
    vit: Vit, pixels: Pixels, patch_sets: Sequence[Collection[int]], fill: str = "mean", seed: int = 0,
    batch: int = BATCH, on_progress: Progress = no_progress,
) -> NDArray[np.float32]:  # fmt: skip
    """Logits (S, classes) of one input (H, W, 3), each without one of S sets of patches; fills as of `cover_patches`.

    `fill="removed"` takes the patches' tokens out of the sequence. An empty set changes nothing. `on_progress` hears after
    each batch how many sets are done, of how many.
    Raises: ValueError, for a patch or a fill that there is not; TypeError, for whole numbers other than bytes; ModelError, where
    tokens can't be removed.
    """
    masks = [covered_patch_mask(vit.grid, patches) for patches in patch_sets]
    if fill == "removed":
        return _answers_without_tokens(vit, pixels, masks, batch, on_progress)
    layer, run, out = _layer(pixels, vit.grid, fill, seed), with_faster_modules(vit.module), []
    with torch.inference_mode():
        for first in range(0, len(masks), batch):
            painted = [_paint(pixels, vit.grid, mask, layer) for mask in masks[first : first + batch]]
            out.append(run(torch.cat([to_model_input(vit, one) for one in painted])).float().cpu().numpy())
            on_progress(first + len(painted), len(masks))
    return np.concatenate(out) if out else np.empty((0, 0), np.float32)


def why_not_removable(vit: Vit) -> str:
    """Why tokens can't be removed from this model, as a sentence; empty where they can."""
    import timm  # noqa: F401
    from timm.models.eva import Eva
    from timm.models.vision_transformer import VisionTransformer

    at_the_stem = getattr(vit.module, "positions_at", "stem") == "stem" and not getattr(vit.module, "relative", False)
    if vit.is_global and not vit.structure.axes and at_the_stem and isinstance(vit.module, VisionTransformer | Eva):
        return ""
    if getattr(vit.module, "library", "") == "transformers":
        return say("{name} is run as transformers wrote it, so none of its patches can be removed.", name=vit.display_name)
    return _keeps_all(vit)


def _keeps_all(vit: Vit) -> str:
    return say("The code of {name} keeps all patches in every layer, so none can be removed.", name=vit.display_name)


def answer_reads_patches(vit: Vit) -> bool:
    """Whether the answer is read from patch tokens, so that one at least must stay."""
    return vit.pooling not in ("class token", "class and distillation tokens") or not vit.grid.prefix


def no_patch_left_error(vit: Vit) -> ModelError:
    """The refusal to remove every patch of a model that reads its answer from them."""
    return ModelError("{name} reads its output from patches, so one of them must stay.", name=vit.display_name)


def _answers_without_tokens(
    vit: Vit, pixels: Pixels, masks: list[NDArray[np.bool_]], batch: int, on_progress: Progress
) -> NDArray[np.float32]:
    if why := why_not_removable(vit):
        raise ModelError(why)
    if any(mask.all() for mask in masks) and answer_reads_patches(vit):
        raise no_patch_left_error(vit)
    _check_kind(pixels)
    x = to_model_input(vit, pixels)
    out: dict[int, NDArray[np.float32]] = {}
    order = sorted(range(len(masks)), key=lambda i: int(masks[i].sum()))
    with torch.inference_mode():
        for _, same in groupby(order, key=lambda i: int(masks[i].sum())):
            which = list(same)
            for first in range(0, len(which), batch):
                part = which[first : first + batch]
                kept = torch.from_numpy(np.stack([np.flatnonzero(~masks[i]) for i in part])).to(vit.device)
                run = with_faster_modules(model_without_tokens(vit, kept))
                out |= dict(zip(part, run(x.expand(len(part), -1, -1, -1)).float().cpu().numpy(), strict=True))
                on_progress(len(out), len(masks))
    return np.stack([out[i] for i in range(len(masks))]) if masks else np.empty((0, 0), np.float32)


def model_without_tokens(vit: Vit, kept_patches: Tensor) -> Any:
    """A copy of the model whose blocks are given the prefix and, of each of B images, the K patches named in `kept_patches` (B, K).

    It refuses (ModelError) where the first block is given another number of tokens: a model that goes on with all of its
    patches would answer as if their loss did not matter.
    """

    def check(block: nn.Module, given: tuple[Any, ...]) -> None:
        if given[0].shape[1] != vit.grid.prefix + kept_patches.shape[1]:
            raise ModelError(_keeps_all(vit))

    return with_hooks(with_swapped_modules(vit.module, patch_drop=_KeepPatches(vit, kept_patches)), "in", **{"blocks.0": check})


class _KeepPatches(nn.Module):
    """In place of timm's patch dropout: the prefix, and of each image's patches those named in `kept` (B, K)."""

    def __init__(self, vit: Vit, kept: Tensor) -> None:
        super().__init__()
        import timm  # noqa: F401
        from timm.models.eva import Eva

        self.prefix, self.kept, self.tell = vit.grid.prefix, kept, isinstance(vit.module, Eva)

    def forward(self, x: Tensor) -> Any:
        """(B, prefix + K, D); EVA is also told which, for its rotary positions."""
        patches = x[:, self.prefix :].gather(1, self.kept.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
        x = torch.cat([x[:, : self.prefix], patches], 1)
        return (x, self.kept) if self.tell else x


def covered_patch_mask(grid: Grid, patches: Collection[int]) -> NDArray[np.bool_]:
    """(N,): which patches are covered. Raises: ValueError, for a patch that there is not."""
    mask = np.zeros(grid.patches, bool)
    for patch in patches:
        if not 0 <= patch < grid.patches:
            raise ValueError(f"a patch is from 0 to {grid.patches - 1}, not {patch}")
        mask[patch] = True
    return mask


def _check_kind(pixels: Pixels) -> None:
    if pixels.dtype != np.uint8 and pixels.dtype.kind != "f":
        raise TypeError(f"pixels are bytes (uint8), or floats from 0 to 1, not {pixels.dtype}")


def _layer(pixels: Pixels, grid: Grid, fill: str, seed: int) -> Pixels | None:
    """What shows where patches are covered, (H, W, 3); None for "neighbour", which depends on which these are."""
    check_choice("fill", fill, PIXEL_FILLS if fill == "removed" else FILLS)
    _check_kind(pixels)
    if pixels.dtype != np.uint8:
        layer = _layer(nearest_bytes(pixels), grid, fill, seed)
        return None if layer is None else layer / np.float32(255)
    if fill == "noise":
        return np.random.default_rng(seed).integers(0, 256, pixels.shape, np.uint8)
    if fill == "blur":
        return np.asarray(Image.fromarray(pixels).filter(ImageFilter.GaussianBlur(max(grid.step_px))))
    mean = np.broadcast_to(np.rint(pixels.mean((0, 1))).astype(np.uint8), pixels.shape)
    return None if fill == "neighbour" else mean


def _paint(pixels: Pixels, grid: Grid, mask: NDArray[np.bool_], layer: Pixels | None) -> Pixels:
    if layer is None:
        return _paint_neighbours(pixels, grid, mask)
    high, wide = grid.step_px
    covered = mask.reshape(grid.rows, grid.cols).repeat(high, 0).repeat(wide, 1)
    return np.where(covered[..., None], layer, pixels)


def _paint_neighbours(pixels: Pixels, grid: Grid, mask: NDArray[np.bool_]) -> Pixels:
    if mask.all():
        return _paint(pixels, grid, mask, _layer(pixels, grid, "mean", 0))
    whole, seen = pixels.copy(), np.flatnonzero(~mask)
    near = grid.distances_px()[:, seen].argmin(1)
    for patch in np.flatnonzero(mask):
        (left, top, right, bottom), (l2, t2, r2, b2) = grid.box_px(int(patch)), grid.box_px(int(seen[near[patch]]))
        whole[top:bottom, left:right] = pixels[t2:b2, l2:r2]
    return whole

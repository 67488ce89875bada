"""The models: a table of cards, and `load`, which turns a name or a file into a `Vit` every other room can use.

Weights come from this package, from a folder of the user's, or from the Hugging Face hub through timm's own loader.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vitcore.grid import Grid
from vitcore.models import own_files
from vitcore.models.cards import CARDS, DEFAULT, ModelCard, ModelError
from vitcore.models.hub import Progress
from vitcore.models.hub import fetch as fetch
from vitcore.models.hub_ids import HUB_ID, fetch_id
from vitcore.models.inference.checkpoint import Found
from vitcore.models.inference.checkpoint import inspect as inspect
from vitcore.models.plan import check
from vitcore.models.torchvision_ops import declare_torchvision_ops
from vitcore.translation import say

declare_torchvision_ops()

SHIPPED = own_files.SHIPPED


@dataclass(frozen=True, eq=False)
class Vit:
    """A frozen model with what is needed to read it: its grid, timm's transform for it, and the names of its classes."""

    card: ModelCard
    module: Any  # a timm module; its parts are looked at by name
    grid: Grid
    transform: Callable
    mean: tuple[float, ...]
    std: tuple[float, ...]
    labels: tuple[str, ...] = field(repr=False)

    @property
    def name(self) -> str:
        """The name that `load` takes."""
        return self.card.name

    @property
    def blocks(self) -> int:
        """L, the number of blocks."""
        return len(self.module.blocks)

    @property
    def heads(self) -> int:
        """H, the number of heads of a block."""
        return int(self.module.blocks[0].attn.num_heads)

    @property
    def hybrid(self) -> bool:
        """Whether a convolutional backbone reads the pixels before the patches are embedded."""
        return hasattr(self.module.patch_embed, "backbone")

    @property
    def readout(self) -> str:
        """Where the answer is read: "class token", "class and distillation tokens", "class token and mean of patches",
        "attention pool", "mean of patches"."""
        if getattr(self.module, "reads_class_and_mean", False):
            return "class token and mean of patches"
        if getattr(self.module, "attn_pool", None) is not None:
            return "attention pool"
        if getattr(self.module, "cls_token", None) is None or getattr(self.module, "global_pool", "") not in (
            "",
            "token",
        ):
            return "mean of patches"
        return "class and distillation tokens" if hasattr(self.module, "head_dist") else "class token"


def load(
    name: str | Path = DEFAULT,
    image_px: int | tuple[int, int] | None = None,
    progress: Progress | None = None,
    answers: Mapping[str, Any] | None = None,
    positions_by: str = "timm",
) -> Vit:
    """Load a model by name (shipped, or any ViT of timm's on the hub), by `hf-hub:` id, from a weights file, a directory of
    timm's, transformers' or OpenCLIP's, or a run's folder (model.safetensors and model.json).

    `image_px` asks for another input size (height, width); positions are then resampled as `positions_by` says, "timm" or
    "paper" (see `resample_positions`). Of a file without a card
    everything is inferred (`vitcore.inspect` says what), and `answers` may say what its shapes do not, by `Question.key`.
    Raises: ModelError, with a sentence that says what to do.
    """
    if str(name).startswith(HUB_ID):
        return open_found(
            inspect(fetch_id(str(name), progress)),
            answers,
            image_px=image_px,
            called=str(name),
            positions_by=positions_by,
        )
    file = own_files.find(name)
    if file is None:
        return _load_hub(str(name), image_px, progress, positions_by)
    if file.is_dir() or (file.is_file() and not own_files.has_card(file)):
        return open_found(inspect(file), answers, image_px=image_px, positions_by=positions_by)
    return _load_own(file, str(name) if Path(name).is_dir() else file.stem, image_px, positions_by)


def open_found(
    found: Found,
    answers: Mapping[str, Any] | None = None,
    labels: list[str] | None = None,
    image_px: int | tuple[int, int] | None = None,
    called: str = "",
    positions_by: str = "timm",
) -> Vit:
    """The model that `vitcore.inspect` found in a file; what is not answered is taken as likely.

    labels: one name a class; image_px: another input size (height, width), to which positions are resampled as `positions_by`
    says, "timm" or "paper"; called: its name here, else that of the file.
    Raises: ModelError, when it can't be opened, and for an impossible answer.
    """
    facts, module = found.card(answers, labels), found.module(answers)
    try:
        if image_px:
            _resize(module, image_px, positions_by)
        size = tuple(module.patch_embed.img_size) if getattr(module.patch_embed, "img_size", None) else (224, 224)
        card = ModelCard(called or found.name, **facts["card"])
        return _assemble(card, module, {**facts["input"], "input_size": (3, *size)}, facts.get("labels"))
    except ModelError:
        raise
    except Exception as error:  # sizes that no patches fit, and models that keep their grid to themselves
        raise ModelError(
            say("{name} can't be loaded: {reason}", name=found.name, reason=own_files.reason(error))
        ) from None


def available() -> list[ModelCard]:
    """Cards of every model offered in menus: shipped ones first."""
    return list(CARDS)


def _load_own(file: Path, name: str, image_px: int | tuple[int, int] | None, positions_by: str) -> Vit:
    facts, called = own_files.facts(file), file.name if name == file.stem else f"{name}/{file.name}"
    try:
        native = facts["architecture"]["img_size"]
        size = image_px or native
        with torch.device("meta"):
            module = own_files.build(facts["architecture"], native)
        own_files.fill(module, file)
        if image_px:
            _resize(module, image_px, positions_by)
        card = ModelCard(name, **facts["card"])
        return _assemble(card, module, {**facts["input"], "input_size": (3, *_pair(size))}, facts.get("labels"))
    except KeyError as error:
        raise ModelError(
            say(
                "{called} can't be loaded: its card {stem}.json has no {error}.",
                called=called,
                stem=file.stem,
                error=error,
            )
        ) from None
    except Exception as error:  # somebody's file: safetensors, timm and torch each complain in their own way
        raise ModelError(
            say("{called} can't be loaded: {reason}", called=called, reason=own_files.reason(error))
        ) from None


def _pair(size: int | tuple[int, int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (size[0], size[1])


def _resize(module: Any, image_px: int | tuple[int, int], positions_by: str) -> None:
    """Another input size for a module; its learned positions are resampled."""
    table, grid = module.pos_embed, list(module.patch_embed.grid_size)
    way = _way(positions_by)
    module.set_input_size(img_size=_pair(image_px))  # as timm
    if positions_by != "timm" and isinstance(table, Tensor):
        from timm.layers import resample_abs_pos_embed

        prefix, new = table.shape[1] - grid[0] * grid[1], list(module.patch_embed.grid_size)
        module.pos_embed = nn.Parameter(resample_abs_pos_embed(table, new, grid, num_prefix_tokens=prefix, **way))


def _load_hub(
    name: str, image_px: int | tuple[int, int] | None, progress: Progress | None, positions_by: str = "timm"
) -> Vit:
    import timm
    from timm.data import resolve_model_data_config

    file = fetch(name, progress)
    size: dict[str, Any] = {"img_size": _pair(image_px)} if image_px and positions_by == "timm" else {}
    try:
        module: Any = timm.create_model(name, pretrained=True, pretrained_cfg_overlay={"file": str(file)}, **size)
        if image_px and not size:
            _resize(module, image_px, positions_by)
    except Exception as error:  # a file from elsewhere, or placed by hand
        raise ModelError(say("{name} can't be loaded: {reason}", name=name, reason=own_files.reason(error))) from None
    known = {card.name: card for card in CARDS}
    count = sum(p.numel() for p in module.parameters()) / 1e6
    card = known.get(name) or ModelCard(
        name, name, count, 4 * count, str(module.pretrained_cfg.get("license") or "see the hub")
    )
    return _assemble(card, module, resolve_model_data_config(module))


def wrap(module: nn.Module, name: str = "model") -> Vit:
    """A Vit from a timm module of your own (its `pretrained_cfg` gives the transform).

    Raises: ModelError, when it is not a ViT whose every block attends over one grid of patches.
    """
    from timm.data import resolve_model_data_config

    count = sum(p.numel() for p in module.parameters()) / 1e6
    config = resolve_model_data_config(module)
    return _assemble(ModelCard(name, name, count, 4 * count, ""), module, config)


def _assemble(card: ModelCard, module: Any, config: dict[str, Any], labels: list[str] | None = None) -> Vit:
    from timm.data import create_transform

    check(card.name, module)
    embed: Any = module.patch_embed
    rows, cols = embed.grid_size
    high, wide = getattr(embed, "img_size", None) or config["input_size"][1:]
    grid = Grid(rows, cols, high // rows, module.num_prefix_tokens, 0 if high // rows == wide // cols else wide // cols)
    config = {**config, "input_size": (3, high, wide)}
    transform = create_transform(**config, is_training=False)
    module.eval().requires_grad_(False)
    names = _labels(module, labels)
    return Vit(card, module, grid, transform, tuple(config["mean"]), tuple(config["std"]), names)


def _labels(module: Any, given: list[str] | None = None) -> tuple[str, ...]:
    """The names of a model's own card, else those timm carries for ImageNet-1k and -21k; none without a head."""
    classes = int(getattr(module, "num_classes", 0) or 0)
    if given is not None:
        if not isinstance(given, list) or len(given) != classes:
            raise ModelError(say("its card's labels are not a list of {classes} names, one a class.", classes=classes))
        return tuple(str(label) for label in given)
    info = _imagenet(module)
    if info is None:
        return tuple(f"class {i}" for i in range(classes))
    return tuple(info.index_to_description(i).split(",")[0] for i in range(info.num_classes()))


def _imagenet(module: Any) -> Any:
    """timm's ImageNetInfo for a head that has as many classes as one of ImageNet's, or None."""
    from timm.data import ImageNetInfo, infer_imagenet_subset

    classes = int(getattr(module, "num_classes", 0) or 0)
    subset = "imagenet-1k" if classes == 1000 else (infer_imagenet_subset(module) if classes > 1000 else None)
    return ImageNetInfo(subset) if subset else None


def wordnet_ids(vit: Vit) -> tuple[str, ...]:
    """WordNet ids of an ImageNet model's classes in the order of its logits; none for models with classes of their own."""
    info = _imagenet(vit.module)
    if info is None or vit.labels != _labels(vit.module):
        return ()
    return tuple(info.label_names())


def first_kernel(vit: Vit) -> NDArray[np.float32] | None:
    """The filters that meet the pixels, (filters, 3, k, k): the patch embedding's, or a hybrid's root convolution's."""
    return root_kernel(vit) if vit.hybrid else patch_kernel(vit)


def patch_kernel(vit: Vit) -> NDArray[np.float32] | None:
    """The patch embedding's kernel (D, 3, P, P), or None where patches are not cut from pixels (hybrids)."""
    weight = getattr(getattr(vit.module.patch_embed, "proj", None), "weight", None)
    if vit.hybrid or weight is None or weight.ndim != 4 or weight.shape[1] != 3:
        return None
    return weight.detach().float().numpy()


def root_kernel(vit: Vit) -> NDArray[np.float32] | None:
    """A hybrid's first convolution (filters, 3, k, k), weight-standardised as it is applied; None for other models."""
    first: Any = next((m for m in vit.module.patch_embed.modules() if isinstance(m, nn.Conv2d)), None)
    if not vit.hybrid or first is None or first.in_channels != 3:
        return None
    w = first.weight.detach().float()
    if "Std" in type(first).__name__:
        flat = w.flatten(1)
        w = (
            (flat - flat.mean(1, keepdim=True)) / (flat.var(1, unbiased=False, keepdim=True) + first.eps).sqrt()
        ).view_as(w)
    return w.numpy()


def _all_positions(vit: Vit) -> tuple[Tensor, int] | None:
    """The learned absolute positions (1, prefix + N, D) and how many of them belong to prefix tokens."""
    table = getattr(vit.module, "pos_embed", None)
    if not isinstance(table, Tensor) or table.ndim != 3:
        return None
    prefix = table.shape[1] - vit.grid.patches
    return (table.detach().float(), prefix) if prefix in (0, vit.grid.prefix) else None


def positions(vit: Vit) -> NDArray[np.float32] | None:
    """Learned absolute position embeddings of the patches (N, D), without prefix tokens; None where there are none."""
    found = _all_positions(vit)
    return None if found is None else found[0][0, found[1] :].numpy()


def resample_positions(vit: Vit, rows: int, cols: int, method: str = "paper") -> NDArray[np.float32]:
    """Patch positions interpolated to another grid, (rows·cols, D), both ways through timm's own function.

    "paper": bilinear with aligned corners, as the authors' checkpoint.py (scipy.ndimage.zoom, order 1).
    "timm": bicubic, antialiased, corners not aligned, what timm does when it loads a checkpoint.
    """
    from timm.layers import resample_abs_pos_embed

    found = _all_positions(vit)
    if found is None:
        raise ModelError(say("{name} has no learned absolute position embeddings.", name=vit.name))
    table = found[0][:, found[1] :]
    old = [vit.grid.rows, vit.grid.cols]
    return resample_abs_pos_embed(table, [rows, cols], old, num_prefix_tokens=0, **_way(method))[0].numpy()


def _way(method: str) -> dict[str, Any]:
    ways: dict[str, dict[str, Any]] = {
        "paper": {"interpolation": "bilinear", "antialias": False, "align_corners": True},
        "timm": {"interpolation": "bicubic", "antialias": True},
    }
    if method not in ways:
        raise ValueError(f"method is 'paper' or 'timm', not {method!r}")
    return ways[method]


def with_positions_moved(vit: Vit, order: NDArray[np.int64]) -> nn.Module:
    """The module with patch position i replaced by position order[i]; shares every other weight with the original."""
    found = _all_positions(vit)
    if found is None:
        raise ModelError(say("{name} has no learned absolute position embeddings to move.", name=vit.name))
    table, prefix = found
    moved = torch.cat([table[:, :prefix], table[:, prefix:][:, torch.from_numpy(order)]], 1)
    clone = copy.copy(vit.module)  # never touch the shared module: other threads are using it
    clone._parameters = {**vit.module._parameters, "pos_embed": nn.Parameter(moved, requires_grad=False)}
    return clone

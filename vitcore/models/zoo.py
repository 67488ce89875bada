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

from vitcore.architectures import families
from vitcore.errors import first_line
from vitcore.grid import Grid
from vitcore.models import own_files
from vitcore.models.cards import CARDS, DEFAULT, ModelCard, ModelError
from vitcore.models.hub import Progress
from vitcore.models.hub import fetch as fetch
from vitcore.models.hub_ids import HUB_ID, fetch_id
from vitcore.models.inference.checkpoint import Found
from vitcore.models.inference.checkpoint import inspect as inspect
from vitcore.models.structure import Structure, image_px_of, read
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
    structure: Structure

    @property
    def name(self) -> str:
        """The name that `load` takes."""
        return self.card.name

    @property
    def blocks(self) -> int:
        """L, the number of blocks that attend over the grid; 0 where attention is not global."""
        return self.structure.blocks

    @property
    def heads(self) -> int:
        """H, the number of heads of a block (of all its attention calls); 0 where attention is not global."""
        return self.structure.heads

    @property
    def hybrid(self) -> bool:
        """Whether a convolutional backbone reads the pixels before the patches are embedded."""
        return hasattr(getattr(self.module, "patch_embed", None), "backbone")

    @property
    def is_global(self) -> bool:
        """Whether every block attends over one grid of patches: what most pictures of attention need."""
        return self.structure.is_global

    @property
    def patches(self) -> Grid | None:
        """The grid that the pixels are cut into; None where the first layer's filters overlap."""
        return self.structure.patches

    def why_not(self, what: str) -> str:
        """Why a picture of attention is not defined for this model, in one sentence; `what` names it."""
        return self.structure.why_not(self.name, what)

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
    """Load a model by name (shipped, of the paper as "ViT-B/16", any of timm's on the hub), by `hf-hub:` id, from a weights
    file, a directory of timm's, transformers' or OpenCLIP's, or a run's folder (model.safetensors and model.json).

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
    name = trained(name)
    file = own_files.find(name)
    if file is None:
        return _load_hub(str(name), image_px, progress, positions_by)
    if file.is_dir() or (file.is_file() and not own_files.has_card(file)):
        return open_found(inspect(file), answers, image_px=image_px, positions_by=positions_by)
    return _load_own(file, str(name) if Path(name).is_dir() else file.stem, image_px, positions_by)


def trained(name: str | Path) -> str | Path:
    """The hub's name of weights for a name of the paper's ("ViT-B/16"); any other name as it is.

    Raises: ModelError, for a model of the paper that nobody has published weights of.
    """
    family = families.find(str(name))
    if family is None or Path(name).exists():
        return name
    if not family.trained:
        raise ModelError(
            say(
                "There are no trained weights of {name}: train it yourself, with vitcore train --model {name}.",
                name=family.name,
            )
        )
    return family.trained


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
        raise ModelError(say("{name} can't be loaded: {reason}", name=found.name, reason=first_line(error))) from None


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
        raise ModelError(say("{called} can't be loaded: {reason}", called=called, reason=first_line(error))) from None


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
        raise ModelError(say("{name} can't be loaded: {reason}", name=name, reason=first_line(error))) from None
    known = {card.name: card for card in CARDS}
    count = sum(p.numel() for p in module.parameters()) / 1e6
    card = known.get(name) or ModelCard(
        name, name, count, 4 * count, str(module.pretrained_cfg.get("license") or "see the hub")
    )
    return _assemble(card, module, resolve_model_data_config(module))


def wrap(module: nn.Module, name: str = "model") -> Vit:
    """A Vit from a timm module of your own (its `pretrained_cfg` gives the transform).

    A model that attends in another way, or not at all, is opened in part (`Vit.is_global`, `Vit.why_not`).
    Raises: ModelError, when it makes no grid of features from a picture.
    """
    from timm.data import resolve_model_data_config

    count = sum(p.numel() for p in module.parameters()) / 1e6
    config = resolve_model_data_config(module)
    return _assemble(ModelCard(name, name, count, 4 * count, ""), module, config)


def _assemble(card: ModelCard, module: Any, config: dict[str, Any], labels: list[str] | None = None) -> Vit:
    from timm.data import create_transform

    structure = read(card.name, module, image_px_of(module, config["input_size"][1:]))
    config = {**config, "input_size": (3, *structure.grid.image_px)}
    transform = create_transform(**config, is_training=False)
    module.eval().requires_grad_(False)
    names = _labels(module, labels)
    return Vit(card, module, structure.grid, transform, tuple(config["mean"]), tuple(config["std"]), names, structure)


def _labels(module: Any, given: list[str] | None = None) -> tuple[str, ...]:
    """The names of a model's own card, else those timm carries for ImageNet-1k and -21k; none without a head."""
    classes = int(getattr(module, "num_classes", 0) or 0)
    if given is not None:
        if not isinstance(given, list) or len(given) != classes:
            raise ModelError(
                say("its card's labels are not a list of {classes} {classes:name|names}, one a class.", classes=classes)
            )
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
    """The filters that meet the pixels, (filters, 3, k, k): the patch embedding's, else the root convolution's."""
    kernel = patch_kernel(vit)
    return root_kernel(vit) if kernel is None else kernel


def patch_kernel(vit: Vit) -> NDArray[np.float32] | None:
    """The patch embedding's kernel (D, 3, P, P), or None where patches are not cut from pixels by one layer."""
    embed = getattr(vit.module, "patch_embed", None) or getattr(vit.module, "embeds", None)
    weight = getattr(getattr(embed, "proj", None), "weight", None)
    if vit.hybrid or vit.structure.patches is None or weight is None:
        return None
    if weight.ndim == 2 and embed is not None:  # a linear layer of pixels, channels last
        high, wide = embed.patch_size
        weight = weight.unflatten(1, (high, wide, -1)).permute(0, 3, 1, 2)
    return weight.detach().float().numpy() if weight.shape[1] == 3 else None


def root_kernel(vit: Vit) -> NDArray[np.float32] | None:
    """The first convolution (filters, 3, k, k) of a hybrid or a network that cuts no patches, weight-standardised where it is
    applied so; None for other models."""
    if vit.structure.patches is not None and not vit.hybrid:
        return None
    first: Any = next((m for m in vit.module.modules() if isinstance(m, nn.Conv2d)), None)
    if first is None or first.in_channels != 3:
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
    from timm.layers import resample_abs_pos_embed_nhwc

    table = getattr(vit.module, "pos_embed", None)
    embeds = getattr(vit.module, "embeds", None)
    if (
        isinstance(flex := getattr(embeds, "pos_embed", None), Tensor) and embeds is not None
    ):  # for pictures of any shape
        size, way = [vit.grid.rows, vit.grid.cols], embeds.pos_embed_interp_mode
        at = flex.detach().float()
        fits = list(at.shape[1:3]) == size
        there = (
            at
            if fits
            else resample_abs_pos_embed_nhwc(at, size, interpolation=way, antialias=embeds.pos_embed_antialias)
        )
        return there.flatten(1, 2), 0
    if isinstance(table, Tensor) and table.ndim == 4 and table.shape[1:3] == (vit.grid.rows, vit.grid.cols):
        table = table.flatten(1, 2)
    if not isinstance(table, Tensor) or table.ndim != 3:
        return None
    prefix = table.shape[1] - vit.grid.patches
    return (table.detach().float(), prefix) if prefix in (0, vit.grid.prefix) else None


def positions(vit: Vit) -> NDArray[np.float32] | None:
    """Learned absolute position embeddings of the patches (N, D), without prefix tokens; None where there are none."""
    table = _all_positions(vit)
    return None if table is None else table[0][0, table[1] :].numpy()


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
    if hasattr(vit.module, "with_positions_moved"):  # positions of other kinds and places
        return vit.module.with_positions_moved(order)
    found = _all_positions(vit)
    if found is None:
        raise ModelError(say("{name} has no learned absolute position embeddings to move.", name=vit.name))
    table, prefix = found
    return _with_table(vit, torch.cat([table[:, :prefix], table[:, prefix:][:, torch.from_numpy(order)]], 1))


def with_one_position(vit: Vit) -> nn.Module:
    """The module with every patch at the mean of all positions, so that nothing learned tells where a patch lies."""
    found = _all_positions(vit)
    if found is None:
        raise ModelError(say("{name} has no learned absolute position embeddings.", name=vit.name))
    table, prefix = found
    mean = table[:, prefix:].mean(1, keepdim=True).expand(-1, table.shape[1] - prefix, -1)
    return _with_table(vit, torch.cat([table[:, :prefix], mean], 1))


def can_move_positions(vit: Vit) -> bool:
    """Whether `with_positions_moved` is defined: positions are learned, and belong to patches that all attend to all."""
    return vit.is_global and (positions(vit) is not None or hasattr(vit.module, "with_positions_moved"))


def can_take_place_away(vit: Vit) -> bool:
    """Whether `with_one_position` is defined: all that tells where a patch lies is one table, added before the blocks."""
    return positions(vit) is not None and not hasattr(vit.module, "with_positions_moved")


def _with_table(vit: Vit, table: Tensor) -> nn.Module:
    """The module with other learned positions (1, prefix + N, D), wherever it keeps them."""
    clone = copy.copy(vit.module)  # never touch the shared module: other threads are using it
    embeds = getattr(vit.module, "embeds", None)
    if isinstance(getattr(embeds, "pos_embed", None), Tensor):  # NaFlexViT's: (1, rows, cols, D)
        part = copy.copy(embeds)
        on_grid = table.unflatten(1, (vit.grid.rows, vit.grid.cols))
        part._parameters = {**part._parameters, "pos_embed": nn.Parameter(on_grid, requires_grad=False)}
        clone._modules = {**vit.module._modules, "embeds": part}
        return clone
    own = nn.Parameter(table.view_as(vit.module.pos_embed), requires_grad=False)
    clone._parameters = {**vit.module._parameters, "pos_embed": own}
    return clone

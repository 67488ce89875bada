"""A model as every other room sees it: the module, its grid and how it attends, timm's transform for it, and its classes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vitcore.grid import Grid
from vitcore.models.model_cards import ModelCard, ModelError
from vitcore.probabilities import Output
from vitcore.translation import say

if TYPE_CHECKING:
    import torch

MOST_NAMES = 5  # of classes that a sentence names
MAX_SIZES_NAMED = 3  # kinds of attention a sentence names


@dataclass(frozen=True, kw_only=True)
class AttentionStructure:
    """`grid` is that of the tokens, or of the last features where attention is not global; `blocks` and `heads` are then 0."""

    grid: Grid
    blocks: int = 0
    heads: int = 0  #: of all calls of a block together
    calls: int = 1  #: of attention in a block
    axes: tuple[str, ...] = ()  #: "row" and "column" in the order they are attended along; () where all patches are at once
    patches: Grid | None = None  #: where pixels are cut into patches that do not overlap
    last: str = ""  #: the block whose input (tokens) or output (a picture of features) lies on `grid`
    layout: str = "tokens"  #: of that: "tokens" (B, prefix + N, D), "nchw" or "nhwc"
    sizes: tuple[tuple[int, int], ...] = ()  #: queries × keys of attention that is not global; () where there is none at all
    positions: int = 0  #: that the widest block works on, and the numbers it is given
    numbers: int = 0
    why_not_global: str = ""  # what could not be established of one of transformers': "order", "answer" or "unseen"

    def why_undefined(self, name: str, picture_name: str) -> str:
        """Why `picture_name` (a picture, in the reader's language) is not defined for this model, in one sentence."""
        if self.why_not_global == "order":
            return say("The tokens of {name} are not its patches row by row after a few others, so {what} is not defined for it.",
                       name=name, what=picture_name)  # fmt: skip
        if self.why_not_global == "unseen":
            return say("{name} computes its attention in a way that can't be watched, so {what} can't be shown for it.",
                       name=name, what=picture_name)  # fmt: skip
        if self.why_not_global:
            return say("{name} reads its output neither from a class token, nor from the mean of its patches, nor from an "
                       "attention pool, so {what} is not defined for it.", name=name, what=picture_name)  # fmt: skip
        if not self.sizes:
            return say("{name} has no attention, so {what} is not defined for it.", name=name, what=picture_name)
        sizes = ", ".join(f"{queries}×{keys}" for queries, keys in self.sizes[:MAX_SIZES_NAMED])
        return say("{name} does not attend over all patches of one grid with one softmax per block, so {what} is not defined for "
            "it. Its attention is {sizes} queries × keys, in groups, over features or mixed afterwards.",
                   name=name, sizes=sizes, what=picture_name)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Vit:
    """A frozen model with what is needed to read it: its grid, timm's transform for it, and the names of its classes."""

    card: ModelCard
    module: Any  #: a timm module; its parts are looked at by name
    grid: Grid
    transform: Callable
    mean: tuple[float, ...]
    std: tuple[float, ...]
    labels: tuple[str, ...] = field(repr=False)
    structure: AttentionStructure
    output: Output = "softmax"  #: what its logits mean
    assumed: Mapping[str, str] = field(default_factory=dict)  #: taken as likely, said by nobody: by `OpenQuestion.key`
    assumed_because: Mapping[str, str] = field(default_factory=dict, repr=False)  #: why, where it is more than the usual

    def __repr__(self) -> str:
        rows, cols, of = self.grid.rows, self.grid.cols, f"{len(self.labels)} classes" if self.labels else "no classes"
        inner = f"{self.blocks} blocks of {self.heads} heads" if self.is_global else "attention not over one grid"
        return f"<Vit {self.display_name}: {rows}×{cols} patches, {inner}, {of}>"

    @property
    def name(self) -> str:
        """The name that `load` takes."""
        return self.card.name

    @property
    def display_name(self) -> str:
        """The name that people are told: a file's, a run's, a model's of the hub."""
        return self.card.called or self.card.name

    @property
    def weight(self) -> "torch.Tensor":
        """The first of its weights: what it is given is `.to` this one, on its device and in its dtype."""
        return next(p for p in self.module.parameters() if p.is_floating_point())

    @property
    def device(self) -> "torch.device":
        """Where its weights are, and its passes are made."""
        return self.weight.device

    @property
    def dtype(self) -> "torch.dtype":
        """What its patches are embedded in: float32, bfloat16 or float16."""
        return self.weight.dtype

    def to(self, device: "torch.device | str | None" = None, dtype: "torch.dtype | str | None" = None) -> "Vit":
        """This model on another device ("auto": the accelerator, if there is one) or in another dtype; it stays as it is itself.

        Raises: ModelError, for a device that there is not, and for a dtype that models do not calculate in.
        """
        from vitcore.models.assembly.device_and_dtype import find_device, find_dtype
        from vitcore.models.assembly.frozen_copy import frozen_copy_without_hooks

        where, numbers = None if device is None else find_device(device), None if dtype is None else find_dtype(dtype)
        return replace(self, module=frozen_copy_without_hooks(self.module, self.display_name, device=where, dtype=numbers))

    @property
    def bands(self) -> int:
        """How many numbers of a pixel it is given: 3 of photos, which a model of one channel makes grey."""
        return len(self.mean)

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
        return self.structure.blocks > 0

    @property
    def patches(self) -> Grid | None:
        """The grid that the pixels are cut into; None where the first layer's filters overlap."""
        return self.structure.patches

    def why_undefined(self, picture_name: str) -> str:
        """Why a picture of attention is not defined for this model, in one sentence; `picture_name` names it."""
        return self.structure.why_undefined(self.display_name, picture_name)

    @cached_property
    def pooling(self) -> str:
        """Where the answer is read: "class token", "class and distillation tokens", "class token and mean of patches",
        "attention pool", "mean of patches"."""
        if isinstance(said := getattr(self.module, "pooling", None), str):  # one of transformers'
            return said
        if getattr(self.module, "reads_class_and_mean", False):
            return "class token and mean of patches"
        if getattr(self.module, "attn_pool", None) is not None:
            return "attention pool"
        if getattr(self.module, "cls_token", None) is None or getattr(self.module, "global_pool", "") not in ("", "token"):
            return "mean of patches"
        return "class and distillation tokens" if hasattr(self.module, "head_dist") else "class token"


def check_vit(vit: Any) -> None:
    """Raises: TypeError, for what is no Vit."""
    if not isinstance(vit, Vit):
        raise TypeError(f"vit is what vitcore.load or vitcore.wrap gives, not {type(vit).__name__}")


def check_bands(vit: Vit, band_count: int) -> None:
    """Raises: ModelError, where a picture has not as many numbers a pixel as the model reads."""
    if band_count != vit.bands:
        raise ModelError("{name} takes pictures of {count} bands, and here only the {given} of a photo can be given to it.",
                         name=vit.display_name, count=vit.bands, given=band_count)  # fmt: skip


def check_observed_heads(vit: Vit, block: int, heads: int) -> None:
    """Raises: ModelError, for attention in other blocks, or of more or fewer heads, than were seen when the model was opened."""
    if block >= vit.structure.blocks or heads != vit.structure.heads // (1 if vit.structure.axes else vit.structure.calls):
        raise ModelError("the attention of {name} is not one call of {heads} {heads:head|heads} in each block",
                         name=vit.display_name, heads=vit.structure.heads)  # fmt: skip


def check_observed_calls(vit: Vit, calls: int) -> None:
    """Raises: ModelError, where so many calls are not those of all blocks."""
    if (block := calls // vit.structure.calls) != vit.structure.blocks:
        raise ModelError("{name} attends over all its tokens in only {block} of its {blocks} blocks",
                         name=vit.display_name, block=block, blocks=vit.blocks)  # fmt: skip


def no_classes_error(vit: Vit) -> ModelError:
    """The refusal of a question that needs a class, for a model that gives features."""
    return ModelError("{name} has no classification head: it gives features, not classes.", name=vit.display_name)


def check_classes(vit: Vit) -> None:
    """Raises: ModelError, for a model without classes."""
    if not vit.labels:
        raise no_classes_error(vit)


def class_index(vit: Vit, target: int | str | None) -> int | None:
    """The index of a class by index or name; None stays.

    Raises: ValueError; ModelError, for a model without classes and for a name that none or several have.
    """
    check_classes(vit)
    if isinstance(target, str):
        return class_index_by_name(vit.labels, target)
    if target is None:
        return None
    if isinstance(target, bool) or not hasattr(target, "__index__") or not 0 <= target.__index__() < len(vit.labels):
        raise ValueError(f"a target is a class from 0 to {len(vit.labels) - 1}, or its name, not {target!r}")
    return target.__index__()


def class_index_by_name(labels: Sequence[str], name: str) -> int:
    """The index of the class of this name; capitals, underscores and hyphens make no difference.

    Raises: ModelError, naming the nearest, for a name that no class has, and naming the indices where several have it.
    """
    plain, wanted = [plain_class_name(label) for label in labels], plain_class_name(name)
    found = [i for i, label in enumerate(plain) if label == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        raise ModelError("{count} classes are named {name}: give one by its index, {indices}.",
                         count=len(found), name=name, indices=", ".join(map(str, found)))  # fmt: skip
    alike = [i for i, label in enumerate(plain) if wanted and wanted in label] or [
        plain.index(label) for label in get_close_matches(wanted, plain, MOST_NAMES, 0.6)
    ]
    if not alike:
        raise ModelError("No class has the name {name} or a similar one.", name=name)
    nearest = ", ".join(labels[i] for i in alike[:MOST_NAMES])
    raise ModelError("No class is named {name}; the nearest are: {nearest}.", name=name, nearest=nearest)


def plain_class_name(name: str) -> str:
    """A class's name as it is compared: without capitals, underscores and hyphens."""
    return name.casefold().replace("_", " ").replace("-", " ").strip()

"""The recipe: everything that decides a training run, in one frozen dataclass with a help line and a unit on each field.

The shell's flags and the app's form are made from these fields; a run folder keeps them as JSON with a version.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from vitcore.architectures.paper_models import BACKBONES, RESNETS
from vitcore.errors import RefusalError
from vitcore.translation import say

FILMED = "filmed"  # the task of a run that is only looked at: nothing here can start it
VERSION = 2  # raised when a field's meaning changes; a run of another version is refused, not guessed at
SHARE_FIELDS = ("distil_share", "masked_share", "average_decay", "dropout", "label_smoothing", "crop_area", "hold",
          "momentum", "beta2", "forced", "looker_from", "looker_share", "test_share")  # fmt: skip


class RecipeError(RefusalError):
    """A recipe that can't be used, with a sentence that says why."""


def recipe_field(default: Any, group: str, help: str, unit: str = "", choices: tuple[str, ...] = (), least: float = 0) -> Any:
    """A field with what a person needs to set it; `least` is the smallest value allowed."""
    about = {"group": group, "help": help, "unit": unit, "choices": choices, "least": least}
    return dataclasses.field(default=default, metadata=about)


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """One training run. Defaults are a ViT-Ti on 128 px photos; the presets in `presets.py` start from here."""

    task: str = recipe_field("classify", "Task", "what is learned", choices=("classify", "masked", "distil", "layers"))
    start_from: str = recipe_field("", "Task", "model to fine-tune: a name, a file, a folder or a run; empty: from scratch")
    teacher: str = recipe_field("", "Task", "model to learn from (distil, layers): a name, a .safetensors file or a run")
    distil_kind: str = recipe_field("soft", "Task", "a teacher's probabilities, or its answer", choices=("soft", "hard"))
    distil_share: float = recipe_field(0.5, "Task", "share of the loss that comes from the teacher; the rest from labels")
    distil_temperature: float = recipe_field(1.0, "Task", "both sides' logits are divided by it (soft)", least=1e-3)
    masked_target: str = recipe_field("colour", "Task", "what is predicted of a corrupted patch: 512 mean colours, a 4×4 picture "
                              "of them, or its pixels", choices=("colour", "colours4x4", "pixels"))  # fmt: skip
    masked_share: float = recipe_field(0.5, "Task", "share of patch embeddings that are corrupted")
    forced: float = recipe_field(0.5, "Task", "share of the steps in which every part of a block receives the teacher's input "
        "(layers); afterwards it receives the model's own")  # fmt: skip
    attention_weight: float = recipe_field(0.3, "Task", "weight of the divergence from the teacher's attention (layers)")
    looker: str = recipe_field(
        "", "Task", "second teacher, for its class attention in the last layer and its rollout (layers); written like `teacher`"
    )
    looker_from: float = recipe_field(0.8, "Task", "share of the steps after which the second teacher is used (layers)")
    looker_share: float = recipe_field(0.25, "Task", "share of each batch that the second teacher sees (layers)")
    looker_weight: float = recipe_field(0.5, "Task", "weight of the divergence from the second teacher's class attention (layers)")

    image_px: int = recipe_field(128, "Model", "side of the square the model sees", "px", least=8)
    patch_px: int = recipe_field(8, "Model", "side of a patch", "px", least=1)
    width: int = recipe_field(192, "Model", "D, numbers per token", least=1)
    blocks: int = recipe_field(12, "Model", "L, number of blocks", least=1)
    heads: int = recipe_field(3, "Model", "H, heads of a block", least=1)
    mlp_ratio: float = recipe_field(4.0, "Model", "hidden units of a block's MLP, as a multiple of the width", least=0.01)
    readout: str = recipe_field("class", "Model", "where the output is read: the class token, or the mean of the patches (Fig. 9)",
                        choices=("class", "mean"))  # fmt: skip
    positions: str = recipe_field("1d", "Model",
        "position embeddings (Table 8): raster order, row and column, offsets between tokens "
                          "in attention, none", choices=("1d", "2d", "relative", "none"))  # fmt: skip
    positions_at: str = recipe_field("stem", "Model",
        "where positions act: before the blocks (relative: in the first alone), in every "
                             "block, in every block with one table", choices=("stem", "blocks", "shared"))  # fmt: skip
    family: str = recipe_field("vit", "Model",
        "a ViT, axial attention (along rows, then columns), or a ResNet without or with axial attention (D.6)",
                       choices=("vit", "axial", "resnet", "axial resnet"))  # fmt: skip
    resnet: str = recipe_field("", "Model",
        "the convolutions before a ViT's blocks (R, R14/16, R26/32, R50/16, R50/32), or a ResNet's depth; a ResNet's width "
        "is that of its root", choices=("", *BACKBONES, *RESNETS))  # fmt: skip
    mlp_head: bool = recipe_field(False, "Model", "a hidden tanh layer before the classes, as in the paper's pre-training")
    patch_init_std: float = recipe_field(
        0.02, "Model", "standard deviation of the initial embedding filters; a small one shows what is learned"
    )

    steps: int = recipe_field(1000, "Schedule", "optimiser steps", "steps", least=1)
    batch: int = recipe_field(128, "Schedule", "images per step, over all processes", "images", least=1)
    learn_most: int = recipe_field(0, "Schedule", "photos to train on, equally many of each class, drawn once; 0: all", "photos")
    micro_batch: int = recipe_field(
        0, "Schedule", "images per pass; the gradients of smaller passes are accumulated; 0: batch / processes", "images"
    )
    optimiser: str = recipe_field("adamw", "Schedule", "adamw: Adam with decoupled decay; muon: timm's",
                          choices=("adamw", "sgd", "muon"))  # fmt: skip
    lr_peak: float = recipe_field(1e-3, "Schedule", "learning rate after the warm-up", least=0)
    warmup_steps: int = recipe_field(100, "Schedule", "linear rise of the learning rate", "steps")
    free_lr: float = recipe_field(0.2, "Schedule", "peak learning rate on the model's own input, as a multiple of lr_peak (layers)")
    adam_lr: float = recipe_field(1.0, "Schedule", "learning rate of what Muon leaves to AdamW, as a multiple of Muon's", least=0)
    place_lr: float = recipe_field(
        1.0, "Schedule", "learning rate of positions and class token, as a multiple of the others'", least=0
    )
    hold: float = recipe_field(0.0, "Schedule", "share of the steps after which the learning rate begins to fall")
    decay: str = recipe_field("cosine", "Schedule", "fall of the learning rate to zero", choices=("cosine", "linear", "constant"))
    momentum: float = recipe_field(0.9, "Schedule", "of SGD, or Adam's first β")
    beta2: float = recipe_field(0.999, "Schedule", "Adam's second β")
    weight_decay: float = recipe_field(
        0.05, "Schedule", "pulls weights towards zero, but not biases, norms, positions and the class token"
    )
    clip_norm: float = recipe_field(1.0, "Schedule", "largest global gradient norm; 0: no clipping")
    average_decay: float = recipe_field(0.0, "Schedule", "Polyak average of the weights that are kept; 0: the last weights")

    dropout: float = recipe_field(0.0, "Regularisation", "after dense layers except qkv, and after adding positions")
    label_smoothing: float = recipe_field(0.0, "Regularisation", "share of the target spread over all classes")
    crop_area: float = recipe_field(0.3, "Augmentation", "smallest share of the photo an inception crop takes; 1: no crop")
    flip: bool = recipe_field(True, "Augmentation", "mirror half of the photos")
    rand_augment: str = recipe_field("", "Augmentation", "timm's RandAugment, such as rand-m9-n2; empty: off")
    mixup: float = recipe_field(0.0, "Augmentation", "Beta(a, a) of mixup; 0: off")
    cutmix: float = recipe_field(0.0, "Augmentation", "Beta(a, a) of CutMix; 0: off")
    keep_patches: str = recipe_field(
        "", "Augmentation", "share of a photo's patches that is used (layers), as share:until, …; until is a share of the steps"
    )

    precision: str = recipe_field("auto", "Engine", "auto: bf16 where the chip multiplies it, else fp32",
                          choices=("auto", "fp32", "bf16"))  # fmt: skip
    compile: bool = recipe_field(False, "Engine", "torch.compile: worth it on a GPU")
    resident_gb: float = recipe_field(4.0, "Engine", "decoded sets up to this size stay on the device; larger are streamed", "GB")
    workers: int = recipe_field(2, "Engine", "processes that decode a streamed set", "processes")
    evaluate_every_steps: int = recipe_field(200, "Watching", "validation accuracy; 0: at the end only", "steps")
    evaluate_most: int = recipe_field(0, "Watching", "held-out photos that are evaluated, drawn once; 0: all", "photos")
    test_share: float = recipe_field(
        0.0, "Watching", "share of the held-out photos kept for a test after the last step, which no choice has seen"
    )
    few_shot_every_steps: int = recipe_field(0, "Watching", "few-shot accuracy on the validation photos; 0: never", "steps")
    few_shots: int = recipe_field(10, "Watching", "photos per class for few-shot accuracy", "photos", least=1)
    save_every_steps: int = recipe_field(100, "Watching", "a checkpoint to resume from", "steps", least=1)
    snapshots: int = recipe_field(24, "Watching", "pictures kept for the film, at steps spaced by ratio", least=0)
    seed: int = recipe_field(0, "Schedule", "decides initial weights, batches and augmentation")

    def __post_init__(self) -> None:
        for field in recipe_fields():
            value = getattr(self, field.name)
            choices = field.metadata["choices"]
            if choices and value not in choices and (field.name, value) != ("task", FILMED):
                raise RecipeError(
                    "{name} is one of {choices}, not {value!r}.", name=field.name, choices=", ".join(choices), value=value
                )
            if type(field.default) in (int, float) and not field.metadata["least"] <= value < float("inf"):
                raise RecipeError(
                    "{name} is at least {least:g}, not {value!r}.", name=field.name, least=field.metadata["least"], value=value
                )
        for name in SHARE_FIELDS:
            if getattr(self, name) > 1:
                raise RecipeError("{name} is a share, 0 to 1, not {value!r}.", name=name, value=getattr(self, name))
        if self.image_px % self.patch_px:
            raise RecipeError(
                "image_px {image_px} is not a whole number of patches of {patch_px} px.",
                image_px=self.image_px,
                patch_px=self.patch_px,
            )
        if problem := architecture_conflict(self):
            raise RecipeError(problem)
        if self.width % self.heads and self.family != "resnet":
            raise RecipeError(
                "width {width} can't be shared evenly among {heads} {heads:head|heads}.", width=self.width, heads=self.heads
            )
        if self.micro_batch and self.batch % self.micro_batch:
            raise RecipeError(
                "batch {batch} is not a whole number of passes of {micro_batch} {micro_batch:image|images}.",
                batch=self.batch,
                micro_batch=self.micro_batch,
            )
        if self.task in ("distil", "layers") and not self.teacher:
            raise RecipeError("distillation needs a teacher.")
        if self.task == "layers":
            kept_patches_plan(self)


def architecture_conflict(recipe: "Recipe") -> str:
    """What in the fields of the architecture does not go together, in one sentence; "" where all does."""
    plain = recipe.family == "vit" and not recipe.resnet
    if recipe.family == "vit" and recipe.resnet and recipe.resnet not in BACKBONES:
        return say(
            "{resnet} is not a hybrid's backbone: choose one of {choices}.", resnet=recipe.resnet, choices=", ".join(BACKBONES)
        )
    if recipe.family in ("resnet", "axial resnet") and recipe.resnet not in RESNETS:
        return say("a ResNet needs its depth: set resnet to one of {choices}.", choices=", ".join(RESNETS))
    if recipe.family == "axial" and recipe.resnet:
        return say("an Axial-ViT has no convolutions in front: leave resnet empty.")
    apart_px = 32 if "resnet" in recipe.family else BACKBONES.get(recipe.resnet, ("", 0))[1]
    if apart_px and recipe.patch_px != apart_px:
        return say("with {resnet} patches are {px} px apart: set patch_px to that.", resnet=recipe.resnet, px=apart_px)
    if not plain and (recipe.positions, recipe.positions_at) != ("1d", "stem"):
        return say("other positions are options of a plain ViT: leave positions 1d and at the stem.")
    if "resnet" in recipe.family and recipe.mlp_head:
        return say("a ResNet has a linear head: leave mlp_head off.")
    if recipe.family == "resnet" and recipe.width % 32:
        return say("a ResNet's width is a multiple of 32, not {width}.", width=recipe.width)
    if not plain and recipe.task in ("masked", "layers"):
        return say("the task {task} is defined for a plain ViT.", task=recipe.task)
    if recipe.task == "layers" and (recipe.readout, recipe.positions, recipe.positions_at) != ("class", "1d", "stem"):
        return say("learning layer by layer needs a class token and positions 1d at the stem.")
    return ""


class PlannedShare(NamedTuple):
    """The share of its patches that a photo lends, until this share of the steps."""

    share: float
    until: float


def kept_patches_plan(recipe: Recipe) -> list[PlannedShare]:
    """`keep_patches`, in the order of the steps. Raises: RecipeError."""
    try:
        plan = [PlannedShare(*map(float, part.split(":"))) for part in recipe.keep_patches.split(",") if part.strip()]
    except (ValueError, TypeError):
        plan = [PlannedShare(0, 0)]
    if not all(0 < share <= 1 and 0 <= until <= 1 for share, until in plan):
        raise RecipeError("keep_patches is 'share:until, …' such as 0.25:0.95, not {text!r}.", text=recipe.keep_patches)
    return sorted(plan, key=lambda part: part.until)


def needs_labels(recipe: Recipe) -> bool:
    """Whether labels of the photos themselves are learned."""
    return recipe.task == "classify" or (recipe.task == "distil" and recipe.distil_share < 1)


def recipe_fields() -> tuple[dataclasses.Field, ...]:
    """The fields of a recipe; `metadata` has group, help, unit, choices and least."""
    return dataclasses.fields(Recipe)


def recipe_to_json(recipe: Recipe) -> str:
    """The recipe with its version, as JSON."""
    return json.dumps({"version": VERSION} | dataclasses.asdict(recipe), indent=1)


def recipe_from_json(text: str) -> Recipe:
    """The recipe of `recipe_to_json`. Raises: RecipeError for another version, unknown fields or values out of range."""
    try:
        facts = json.loads(text)
        version = facts.pop("version")
    except (ValueError, KeyError, AttributeError, TypeError):
        raise RecipeError("this is not a recipe: JSON with a version was expected.") from None
    if version != VERSION:
        raise RecipeError("the recipe is of version {version}; this vitcore reads version {ours}.", version=version, ours=VERSION)
    return with_changes(Recipe(), facts)


def with_changes(recipe: Recipe, values: Mapping[str, Any]) -> Recipe:
    """The recipe with some fields replaced. Raises: RecipeError for unknown names and wrong types."""
    known = {field.name: type(field.default) for field in recipe_fields()}
    for name, value in values.items():
        if name not in known:
            raise RecipeError("a recipe has no field {name!r}.", name=name)
        fits = (int, float) if known[name] is float else known[name]
        if not isinstance(value, fits) or (isinstance(value, bool) and known[name] is not bool):
            raise RecipeError("{name} is {kind}, not {value!r}.", name=name, kind=known[name].__name__, value=value)
    return dataclasses.replace(recipe, **values)

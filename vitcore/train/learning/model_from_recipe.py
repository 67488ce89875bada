"""The model a recipe trains: timm's VisionTransformer, from scratch or from a trained one with a new, zero-initialised head."""

import dataclasses
from typing import Any

import timm
import torch
from timm.layers import resample_abs_pos_embed
from torch import nn

from vitcore.architectures import build_model as architectures
from vitcore.models import load_model
from vitcore.train.recipe import Recipe, RecipeError

HEAD_PREFIXES = ("head.", "head_dist.", "fc.")  # of a ViT, a DeiT, a ResNet
MEAN = STD = (0.5, 0.5, 0.5)  # pixels from -1 to 1, as the paper's code


def architecture_of_recipe(recipe: Recipe, classes: int) -> dict[str, Any]:
    """What a model file's card says of its shape: VisionTransformer's arguments, and what `architectures.build_model` adds."""
    return architectures.describe_architecture(dataclasses.asdict(recipe), recipe.image_px, classes)


def _preprocessing_of_recipe(recipe: Recipe) -> dict[str, Any]:
    """How a photo becomes the model's input, in timm's terms."""
    return {
        "input_size": (3, recipe.image_px, recipe.image_px), "mean": MEAN, "std": STD, "interpolation": "bicubic",
        "crop_pct": 1.0, "crop_mode": "center",
    }  # fmt: skip


def build_from_recipe(recipe: Recipe, classes: int) -> Any:
    """The recipe's model, a VisionTransformer unless it names another family; seeded by `recipe.seed`.

    With `start_from`, its blocks come from there, its positions are interpolated to the new grid as the paper does
    (§3.2, bilinear with aligned corners), and its head is replaced by a zero-initialised one, so that every class is as
    likely as any other at the start. Learning layer by layer goes on with the head as well, if it has as many classes.
    """
    torch.manual_seed(recipe.seed)
    dropout = {"pos_drop_rate": recipe.dropout, "proj_drop_rate": recipe.dropout} if "resnet" not in recipe.family else {}
    module = architectures.build_from_description(architecture_of_recipe(recipe, classes), recipe.image_px, **dropout)
    if not recipe.resnet:
        nn.init.trunc_normal_(module.patch_embed.proj.weight, std=recipe.patch_init_std)
    module.pretrained_cfg = _preprocessing_of_recipe(recipe)
    if recipe.start_from:
        trained = load_model.load(recipe.start_from)
        _copy_trained_weights(module, trained.module)
        module.pretrained_cfg |= {"mean": trained.mean, "std": trained.std}
        if recipe.task == "layers" and getattr(trained.module, "num_classes", 0) == classes:
            module.head.load_state_dict(trained.module.head.state_dict())
        elif classes:
            _zero_initialise_head(module.get_classifier())
    return module


def shape_fields_of_model(name: str) -> dict[str, Any]:
    """The recipe's fields that a trained plain ViT's shape decides; none for other models. `name` is as `vitcore.load` takes it.

    Raises: ModelError, for a model that can't be opened.
    """
    trained = load_model.load(name)
    module: Any = trained.module
    if not isinstance(trained.module, timm.models.VisionTransformer):
        return {}
    block, (high, wide) = module.blocks[0], module.patch_embed.patch_size
    if high != wide or not (hasattr(block, "attn") and hasattr(block.mlp, "fc1")):  # parallel parts, gated MLPs
        return {}
    width = int(module.embed_dim)
    return {
        "patch_px": int(high), "width": width, "blocks": len(module.blocks), "heads": int(block.attn.num_heads),
        "mlp_ratio": block.mlp.fc1.out_features / width, "readout": "mean" if module.global_pool == "avg" else "class",
    }  # fmt: skip


def _zero_initialise_head(head: nn.Module) -> None:
    """Set a head's last layer to zero: every class equally likely (Table 4's fine-tuning)."""
    last = [m for m in head.modules() if isinstance(m, nn.Linear | nn.Conv2d)][-1]
    nn.init.zeros_(last.weight)
    if last.bias is not None:
        nn.init.zeros_(last.bias)


def _copy_trained_weights(module: Any, trained: Any) -> None:
    """Copy a trained ViT's weights but its head; positions are interpolated when the grid differs.

    Raises: RecipeError, when the shapes differ otherwise.
    """
    state = {k: v for k, v in trained.state_dict().items() if not k.startswith(HEAD_PREFIXES)}
    table = state.get("pos_embed")
    if table is not None and table.shape != module.pos_embed.shape:
        prefix = module.num_prefix_tokens
        state["pos_embed"] = resample_abs_pos_embed(
            table, list(module.patch_embed.grid_size), list(trained.patch_embed.grid_size), num_prefix_tokens=prefix,
            interpolation="bilinear", antialias=False, align_corners=True,
        )  # fmt: skip
    own = module.state_dict()
    wrong = [k for k in state if k not in own or own[k].shape != state[k].shape]
    missing = [k for k in own if k not in state and not k.startswith(HEAD_PREFIXES)]
    if wrong or missing:
        raise RecipeError(
            "the trained model has another shape ({first}): set patch_px, width, blocks and heads to its own.",
            first=(wrong + missing)[0],
        )
    module.load_state_dict(state, strict=False)

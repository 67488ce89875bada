"""What is learned: each objective is a module around a ViT that turns a batch into its losses; `loss` is their sum."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitcore.models import load_model
from vitcore.train.learning import model_from_recipe
from vitcore.train.learning.layer_distillation import LayerDistillation
from vitcore.train.learning.masked_patches import MaskedPatches
from vitcore.train.learning.teachers import Teacher, kl_divergence
from vitcore.train.recipe import Recipe, RecipeError


class Classification(nn.Module):
    """Cross-entropy to the labels, which may be smoothed or mixed."""

    def __init__(self, vit: Any) -> None:
        super().__init__()
        self.vit = vit

    def forward(self, batch: Any) -> dict[str, Tensor]:
        """{"loss"} of a batch with `pixels` and `targets`."""
        return {"loss": F.cross_entropy(self.vit(batch.pixels).float(), batch.targets)}


class Distillation(nn.Module):
    """A teacher's probabilities (soft, Hinton et al., arXiv 1503.02531) or answers (hard, arXiv 2012.12877), and labels."""

    def __init__(self, vit: Any, recipe: Recipe, classes: tuple[str, ...]) -> None:
        super().__init__()
        self.vit, self.recipe = vit, recipe
        self.teacher = Teacher(load_model.load(recipe.teacher), vit.pretrained_cfg)
        self.columns = match_teacher_classes(self.teacher.vit.labels, classes)

    def teacher_logits(self, pixels: Tensor) -> Tensor:
        """The teacher's logits (B, classes) for the student's pixels, resized and normalised as the teacher wants them."""
        with torch.no_grad():
            return self.teacher.module(self.teacher.adapt_pixels(pixels)).float()[:, self.columns]

    def forward(self, batch: Any) -> dict[str, Tensor]:
        """{"loss", "teacher", "label"} of a batch."""
        recipe, said, taught = self.recipe, self.vit(batch.pixels).float(), self.teacher_logits(batch.pixels)
        if recipe.distil_kind == "hard":
            from_teacher = F.cross_entropy(said, taught.argmax(1))
        else:
            heat = recipe.distil_temperature
            from_teacher = heat**2 * kl_divergence((taught / heat).log_softmax(-1), (said / heat).log_softmax(-1)).mean()
        if batch.targets is None or recipe.distil_share == 1:
            return {"loss": recipe.distil_share * from_teacher, "teacher": from_teacher.detach()}
        label = F.cross_entropy(said, batch.targets)
        loss = recipe.distil_share * from_teacher + (1 - recipe.distil_share) * label
        return {"loss": loss, "teacher": from_teacher.detach(), "label": label.detach()}


def match_teacher_classes(teacher_classes: tuple[str, ...], student_classes: tuple[str, ...]) -> list[int]:
    """The teacher's column for each class of the student. Raises: RecipeError, naming one the teacher lacks."""
    index = {name: i for i, name in enumerate(teacher_classes)}
    lacking = [name for name in student_classes if name not in index]
    if lacking:
        raise RecipeError(
            "the teacher does not know the class {name!r}: set distil_share 1 to learn its own classes.", name=lacking[0]
        )
    return [index[name] for name in student_classes]


def model_classes(recipe: Recipe, classes: tuple[str, ...]) -> tuple[str, ...]:
    """The classes a recipe's model has: the photos', the teacher's when only it is listened to, none when masked."""
    if recipe.task == "masked":
        return ()
    if recipe.task == "layers" or (recipe.task == "distil" and recipe.distil_share == 1):
        return load_model.load(recipe.teacher).labels
    return classes


def build_vit_with_training_loss(recipe: Recipe, classes: tuple[str, ...]) -> Any:
    """The recipe's objective, on CPU, seeded; its `vit` is what is shipped."""
    vit = model_from_recipe.build_from_recipe(recipe, len(classes))
    if recipe.task == "masked":
        return MaskedPatches(vit, recipe)
    if recipe.task == "distil":
        return Distillation(vit, recipe, classes)
    if recipe.task == "layers":
        return LayerDistillation(vit, recipe)
    return Classification(vit)

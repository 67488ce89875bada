"""What is learned: each objective is a module around a ViT that turns a batch into its losses; `loss` is their sum."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitcore import zoo
from vitcore.train import lessons, model
from vitcore.train.masked import MaskedPatches
from vitcore.train.recipe import Recipe, RecipeError
from vitcore.words import say


class Classify(nn.Module):
    """Cross-entropy to the labels, which may be smoothed or mixed."""

    def __init__(self, vit: Any) -> None:
        super().__init__()
        self.vit = vit

    def forward(self, batch: Any) -> dict[str, Tensor]:
        """{"loss"} of a batch with `pixels` and `targets`."""
        return {"loss": F.cross_entropy(self.vit(batch.pixels).float(), batch.targets)}


class Teacher(list):
    """A teacher in a box: not a part that is trained, moved, averaged or saved with the student."""

    def __deepcopy__(self, memo: Any) -> "Teacher":
        return self


class Distil(nn.Module):
    """A teacher's probabilities (soft, Hinton et al., arXiv 1503.02531) or answers (hard, arXiv 2012.12877), and labels."""

    def __init__(self, vit: Any, recipe: Recipe, classes: tuple[str, ...]) -> None:
        super().__init__()
        self.vit, self.recipe = vit, recipe
        self.teacher = Teacher([zoo.load(recipe.teacher)])
        self.columns = matching(self.teacher[0].labels, classes)

    def ask(self, pixels: Tensor) -> Tensor:
        """The teacher's logits (B, classes) for the student's pixels, resized and normalised as the teacher wants them."""
        teacher, seen = self.teacher[0], self.vit.pretrained_cfg
        module = teacher.module.to(pixels.device)
        mean, std = (torch.tensor(seen[name], device=pixels.device).view(3, 1, 1) for name in ("mean", "std"))
        x = F.interpolate(pixels * std + mean, size=teacher.grid.image_px, mode="bicubic", antialias=True)
        mean, std = (torch.tensor(v, device=pixels.device).view(3, 1, 1) for v in (teacher.mean, teacher.std))
        with torch.no_grad():
            return module((x - mean) / std).float()[:, self.columns]

    def forward(self, batch: Any) -> dict[str, Tensor]:
        """{"loss", "teacher", "label"} of a batch."""
        recipe, said, taught = self.recipe, self.vit(batch.pixels).float(), self.ask(batch.pixels)
        if recipe.distil_kind == "hard":
            from_teacher = F.cross_entropy(said, taught.argmax(1))
        else:
            heat = recipe.distil_temperature
            from_teacher = heat**2 * lessons.divergence((taught / heat).softmax(-1), (said / heat).softmax(-1)).mean()
        if batch.targets is None or recipe.distil_share == 1:
            return {"loss": recipe.distil_share * from_teacher, "teacher": from_teacher.detach()}
        label = F.cross_entropy(said, batch.targets)
        loss = recipe.distil_share * from_teacher + (1 - recipe.distil_share) * label
        return {"loss": loss, "teacher": from_teacher.detach(), "label": label.detach()}


def matching(has: tuple[str, ...], wanted: tuple[str, ...]) -> list[int]:
    """The teacher's column for each class of the student. Raises: RecipeError, naming one the teacher lacks."""
    index = {name: i for i, name in enumerate(has)}
    lacking = [name for name in wanted if name not in index]
    if lacking:
        raise RecipeError(
            say(
                "the teacher does not know the class {name!r}: set distil_share 1 to learn its own classes.",
                name=lacking[0],
            )
        )
    return [index[name] for name in wanted]


def classes_of(recipe: Recipe, classes: tuple[str, ...]) -> tuple[str, ...]:
    """The classes a recipe's model has: the photos', the teacher's when only it is listened to, none when masked."""
    if recipe.task == "masked":
        return ()
    if recipe.task == "distil" and recipe.distil_share == 1:
        return zoo.load(recipe.teacher).labels
    return classes


def objective(recipe: Recipe, classes: tuple[str, ...]) -> Any:
    """The recipe's objective, on CPU, seeded; its `vit` is what is shipped."""
    vit = model.build(recipe, len(classes))
    if recipe.task == "masked":
        return MaskedPatches(vit, recipe)
    if recipe.task == "distil":
        return Distil(vit, recipe, classes)
    if recipe.task == "lessons":
        return lessons.TwoTeachers(vit, recipe)
    return Classify(vit)

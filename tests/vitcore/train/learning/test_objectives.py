"""Distillation is its formula, the teacher sees the photo as it wants to, and its classes are matched by name."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.model_files import model_file
from tests.vitcore.train.conftest import losses_of
from vitcore.models import load_model
from vitcore.train.learning.objectives import Distillation, build_vit_with_training_loss, match_teacher_classes, model_classes
from vitcore.train.recipe import Recipe, RecipeError, with_changes

NAMES = tuple(f"class {i}" for i in range(7))


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    """A random ViT at 24 px with 7 classes, sharper than a fresh one."""
    torch.manual_seed(3)
    file = tmp_path_factory.mktemp("teacher") / "teacher.safetensors"
    model_file(file, img_size=24, patch_size=4, embed_dim=24, depth=1, num_heads=3, num_classes=7)
    return str(file)


def recipe(teacher, **changes):
    start = Recipe(task="distil", teacher=teacher, image_px=16, patch_px=4, width=24, blocks=1, heads=3)
    return with_changes(start, changes)


def batch(classes=7):
    torch.manual_seed(1)
    return SimpleNamespace(pixels=torch.rand(4, 3, 16, 16) * 2 - 1, targets=torch.eye(classes)[[0, 2, 4, 6]])


@pytest.mark.parametrize("heat", [1.0, 4.0])
def test_soft_distillation_is_the_divergence_of_heated_probabilities(teacher, heat):
    module = build_vit_with_training_loss(recipe(teacher, distil_share=0.7, distil_temperature=heat), NAMES).eval()
    given = batch()
    said, taught = module.vit(given.pixels), module.teacher_logits(given.pixels)
    p, q = (taught / heat).softmax(-1), (said / heat).log_softmax(-1)
    divergence = (p * (p.log() - q)).sum(-1).mean() * heat**2
    wanted = 0.7 * divergence + 0.3 * F.cross_entropy(said, given.targets)
    torch.testing.assert_close(module(given)["loss"], wanted, rtol=1e-4, atol=1e-6)


def test_hard_distillation_is_the_teachers_answer(teacher):
    module = build_vit_with_training_loss(recipe(teacher, distil_kind="hard", distil_share=1.0), NAMES).eval()
    given = batch()
    wanted = F.cross_entropy(module.vit(given.pixels), module.teacher_logits(given.pixels).argmax(1))
    torch.testing.assert_close(module(given)["loss"], wanted)


def test_the_teacher_sees_the_photo_at_its_own_size_and_scale(teacher):
    module = build_vit_with_training_loss(recipe(teacher), NAMES)
    vit = load_model.load(teacher)
    flat = torch.full((1, 3, 16, 16), 0.2)  # 0.6 of white, in the student's scale
    mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (vit.mean, vit.std))
    wanted = vit.module((torch.full((1, 3, 24, 24), 0.6) - mean) / std)
    torch.testing.assert_close(module.teacher_logits(flat), wanted, rtol=1e-4, atol=1e-5)


def test_columns_follow_the_names(teacher):
    module = Distillation(build_vit_with_training_loss(recipe(teacher), NAMES[:2]).vit, recipe(teacher), ("class 5", "class 1"))
    assert module.columns == [5, 1]
    with pytest.raises(RecipeError, match="'dragon'"):
        match_teacher_classes(NAMES, ("class 1", "dragon"))


def test_the_teacher_is_neither_trained_nor_saved(teacher):
    module = build_vit_with_training_loss(recipe(teacher), NAMES)
    assert all(name.startswith("vit.") for name, _ in module.named_parameters())
    module(batch())["loss"].backward()
    assert all(p.grad is None for p in module.teacher.module.parameters())


def test_a_teacher_alone_lends_its_classes(teacher):
    assert model_classes(recipe(teacher, distil_share=1.0), ("cat", "dog")) == load_model.load(teacher).labels
    assert model_classes(recipe(teacher), NAMES) == NAMES
    assert model_classes(Recipe(task="masked"), NAMES) == ()


def test_a_student_comes_to_agree_with_its_teacher(teacher):
    torch.manual_seed(0)
    module = build_vit_with_training_loss(recipe(teacher, distil_share=1.0), NAMES)
    optim, given = torch.optim.AdamW(module.parameters(), 3e-3), batch()
    with torch.no_grad():
        module.teacher.module.head.weight *= 20
    losses = losses_of(lambda: module(given)["loss"], optim, 60)
    assert losses[-1] < 0.2 * losses[0] and np.isfinite(losses).all()

"""The model a recipe trains: paper shapes, zero head, inherited weights and interpolated positions."""

import numpy as np
import pytest
import torch

from tests.model_files import model_file
from vitcore.models import load_model
from vitcore.train.learning.model_from_recipe import build_from_recipe
from vitcore.train.learning.training_cost import params_and_forward_flop, training_cost
from vitcore.train.presets import PRESETS, recipe_of_preset
from vitcore.train.recipe import Recipe, RecipeError, with_changes
from vitcore.train.run_folder import readable_time

SMALL = Recipe(image_px=16, patch_px=4, width=24, blocks=2, heads=3)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model file of the same shape, with a head of 7 classes."""
    torch.manual_seed(5)
    file = tmp_path_factory.mktemp("trained") / "trained.safetensors"
    model_file(file, img_size=16, patch_size=4, embed_dim=24, depth=2, num_heads=3, num_classes=7)
    return file


def starting(file, **changes):
    return build_from_recipe(with_changes(SMALL, {"start_from": str(file), **changes}), 10).eval()


def test_a_zero_head_finds_every_class_alike(trained):
    logits = starting(trained)(torch.randn(3, 3, 16, 16))
    assert torch.equal(logits, torch.zeros(3, 10))


def test_fine_tuning_starts_from_the_same_features(trained):
    """At the same resolution nothing is interpolated: features, and predictions under the old head, are the same."""
    old, new = load_model.load(trained).module, starting(trained)
    x = torch.randn(2, 3, 16, 16)
    assert torch.equal(new.forward_features(x), old.forward_features(x))
    new.head = old.head
    assert torch.equal(new(x), old(x))


@pytest.mark.parametrize("px", [24, 32])
def test_positions_are_interpolated_as_in_the_paper(trained, px):
    vit, new = load_model.load(trained), starting(trained, image_px=px)
    wanted = load_model.resample_positions(vit, px // 4, px // 4, "paper")
    np.testing.assert_allclose(new.pos_embed[0, 1:].detach().numpy(), wanted, atol=1e-6)
    assert torch.equal(new.pos_embed[:, :1], vit.module.pos_embed[:, :1])


@pytest.mark.parametrize("change", [{"width": 48}, {"blocks": 3}, {"patch_px": 8}])
def test_another_shape_is_refused(trained, change):
    with pytest.raises(RecipeError, match="another shape"):
        starting(trained, **change)


def test_the_tanh_head_is_the_papers():
    module = build_from_recipe(with_changes(SMALL, {"mlp_head": True}), 10)
    assert [type(m).__name__ for m in module.head] == ["Linear", "Tanh", "Linear"]
    assert module.head[0].weight.shape == (24, 24) and module.head[2].weight.shape == (10, 24)


def test_dropout_is_after_dense_layers_but_not_qkv_and_after_positions():
    module = build_from_recipe(with_changes(SMALL, {"dropout": 0.25}), 10)
    rates = {name: m.p for name, m in module.named_modules() if isinstance(m, torch.nn.Dropout) and m.p}
    assert rates.keys() == {"pos_drop", *(f"blocks.{b}.{n}" for b in (0, 1) for n in ("attn.proj_drop", "mlp.drop1", "mlp.drop2"))}


def test_one_seed_one_model():
    a, b, c = (build_from_recipe(SMALL, 3), build_from_recipe(SMALL, 3), build_from_recipe(with_changes(SMALL, {"seed": 1}), 3))
    assert torch.equal(a.head.weight, b.head.weight) and not torch.equal(a.head.weight, c.head.weight)


@pytest.mark.parametrize(("width", "heads", "params", "gmacs"), [(192, 3, 5_717_416, 1.26), (768, 12, 86_567_656, 17.58)])
def test_parameters_and_operations_are_the_published_ones(width, heads, params, gmacs):
    """vit_jax's models_test and timm's benchmark (patch 16, 224 px)."""
    found = params_and_forward_flop(Recipe(image_px=224, patch_px=16, width=width, blocks=12, heads=heads), 1000)
    assert found[0] == params
    assert found[1] / 2e9 == pytest.approx(gmacs, rel=0.006)


@pytest.mark.parametrize("task", ["classify", "masked"])
def test_cost_is_measured(task):
    found = training_cost(with_changes(SMALL, {"task": task, "steps": 10, "batch": 4}), 0 if task == "masked" else 10)
    assert found.seconds == pytest.approx(10 * found.seconds_per_step) and found.seconds_per_step > 0


@pytest.mark.parametrize(("seconds", "text"), [(3.2, "4 s"), (89, "89 s"), (600, "10 min"), (9000, "2.5 h"), (260_000, "3 days")])
def test_times_are_readable(seconds, text):
    assert readable_time(seconds) == text


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_a_model(name):
    params, flop = params_and_forward_flop(recipe_of_preset(name), 10)
    assert params > 1e6 and flop > 1e8

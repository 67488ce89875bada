"""Schedules equal their formulas, the Polyak average its closed form, and only matrices are decayed."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from tests.vitcore.train.conftest import losses_of
from vitcore.train.learning.model_from_recipe import build_from_recipe
from vitcore.train.learning.objectives import Classification
from vitcore.train.learning.optimiser_and_weight_average import learning_rate_at_step, make_optimiser, weight_average
from vitcore.train.recipe import Recipe

SMALL = Recipe(image_px=16, patch_px=8, width=24, blocks=2, heads=3, steps=110, warmup_steps=10, lr_peak=0.5)


@pytest.mark.parametrize(("changes", "rates"), [
    ({}, {0: 0.05, 4: 0.25, 9: 0.5, 10: 0.5, 35: 0.25 * (1 + math.cos(math.pi / 4)), 60: 0.25, 110: 0}),
    ({"decay": "linear"}, {10: 0.5, 35: 0.375, 60: 0.25, 85: 0.125, 109: 0.005, 110: 0}),
    ({"decay": "constant"}, {109: 0.5}),
    ({"decay": "linear", "steps": 100, "hold": 0.7}, {10: 0.5, 69: 0.5, 85: 0.25, 100: 0}),
])  # fmt: skip
def test_the_rate_follows_its_formula(changes, rates):
    recipe = replace(SMALL, **changes)
    assert {step: learning_rate_at_step(recipe, step) for step in rates} == pytest.approx(rates)
    last = learning_rate_at_step(recipe, recipe.steps - 1)
    assert last > 0 and (last < 0.01 or recipe.decay == "constant" or recipe.hold)


def test_a_warm_up_longer_than_the_run_only_rises():
    rates = [learning_rate_at_step(Recipe(steps=5, warmup_steps=50), s) for s in range(5)]
    assert rates == sorted(rates) and rates[-1] == pytest.approx(1e-3 * 5 / 50)


def test_the_average_is_its_closed_form():
    torch.manual_seed(0)
    model, decay = nn.Linear(3, 2), 0.6
    average, past = weight_average(model, decay), []
    for _ in range(7):
        with torch.no_grad():
            model.weight += torch.randn(2, 3)
        past.append(model.weight.detach().clone())
        average.update_parameters(model)
    wanted = past[0].clone()  # the first update copies
    for n, weight in enumerate(past[1:], start=1):
        d = min(decay, (1 + n) / (10 + n))
        wanted = d * wanted + (1 - d) * weight
    torch.testing.assert_close(average.module.weight, wanted)


def test_a_long_average_is_the_geometric_sum():
    """Once n is large the decay is constant: Σ (1 − d) dᵏ w."""
    model, decay = nn.Linear(1, 1, bias=False), 0.5
    average = weight_average(model, decay)
    average.n_averaged += 1000
    with torch.no_grad():
        average.module.weight.fill_(0)
        for value in (1.0, 2.0, 3.0):
            model.weight.fill_(value)
            average.update_parameters(model)
    assert average.module.weight.item() == pytest.approx(0.5 * 3 + 0.25 * 2 + 0.125 * 1)


@pytest.mark.parametrize("name", ["adamw", "sgd", "muon"])
def test_every_weight_is_optimised_once_and_only_matrices_are_decayed(name):
    recipe = Recipe(image_px=16, patch_px=8, width=24, blocks=2, heads=3, optimiser=name, weight_decay=0.3)
    module = Classification(build_from_recipe(recipe, 5))
    groups = make_optimiser(recipe, module).param_groups
    found = [p for group in groups for p in group["params"]]
    assert len(found) == len({id(p) for p in found}) == len(list(module.parameters()))
    undecayed = {id(p) for group in groups if not group["weight_decay"] for p in group["params"]}
    for path, p in module.named_parameters():
        plain = p.ndim < 2 or path.endswith(("pos_embed", "cls_token"))
        assert (id(p) in undecayed) == plain, path


@pytest.mark.parametrize("name", ["adamw", "sgd", "muon"])
def test_every_optimiser_steps_downhill(name):
    torch.manual_seed(0)
    recipe = Recipe(image_px=16, patch_px=8, width=24, blocks=1, heads=3, optimiser=name, lr_peak=0.01)
    vit = build_from_recipe(recipe, 3)
    optim = make_optimiser(recipe, Classification(vit))
    x, y = torch.randn(6, 3, 16, 16), torch.tensor([0, 1, 2, 0, 1, 2])
    losses = losses_of(lambda: nn.functional.cross_entropy(vit(x), y), optim, 20)
    assert losses[-1] < 0.7 * losses[0]


def test_muon_elsewhere_in_the_process_stays_as_its_library_made_it():
    """Ours iterates in another precision; timm's and torch's own give the same update before, beside and after it."""
    import timm.optim.muon

    def updates() -> list[torch.Tensor]:
        found = []
        for kind in (timm.optim.Muon, torch.optim.Muon):
            weight = nn.Parameter(torch.arange(12.0).reshape(4, 3))
            weight.grad = torch.linspace(-1, 2, 12).reshape(4, 3)
            kind([weight], lr=0.1).step()
            found.append(weight.detach().clone())
        return found

    iteration, before = timm.optim.muon.zeropower_via_newtonschulz, updates()
    made = {}
    for precision, bf16 in (("fp32", "fp32"), ("bf16", "bf16")):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("VITCORE_PRECISION", bf16)
            recipe = replace(SMALL, optimiser="muon", precision=precision)
            made[precision] = make_optimiser(recipe, Classification(build_from_recipe(recipe, 3)))
    assert timm.optim.muon.zeropower_via_newtonschulz is iteration
    for a, b in zip(updates(), before, strict=True):
        assert torch.equal(a, b)
    steps = []
    for optim in made.values():  # two of ours at once, each in its own precision
        weight = optim.param_groups[0]["params"][0]
        with torch.no_grad():
            weight.zero_()
        weight.grad = torch.linspace(-1, 2, weight.numel()).reshape_as(weight)
        optim.step()
        steps.append(weight.detach().clone())
    assert not torch.equal(*steps)

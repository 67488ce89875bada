"""Masked patch prediction: who is corrupted and how often, what is predicted, and that it learns."""

import numpy as np
import pytest
import torch
from scipy.stats import binomtest

from vitcore.train.learning import masked_patches
from vitcore.train.learning.masked_patches import (
    KEPT,
    MASKED,
    REPLACED,
    UNTOUCHED,
    MaskedPatches,
    colour_class_index,
    colour_of_class,
    corrupt_patches,
    mean_cell_colours,
)
from vitcore.train.learning.model_from_recipe import build_from_recipe
from vitcore.train.recipe import Recipe

SMALL = Recipe(task="masked", image_px=16, patch_px=4, width=24, blocks=2, heads=3)


class Pixels:
    """A batch of pixels only."""

    def __init__(self, pixels):
        self.pixels = pixels


@pytest.mark.parametrize("share", [0.15, 0.5, 1.0])
def test_the_share_is_exact_and_fates_are_80_10_10(share):
    torch.manual_seed(1)
    fate = corrupt_patches(200, 256, share).codes
    assert ((fate != UNTOUCHED).sum(1) == round(256 * share)).all()
    count = int((fate != UNTOUCHED).sum())
    for kind, wanted in ((MASKED, 0.8), (REPLACED, 0.1), (KEPT, 0.1)):
        assert binomtest(int((fate == kind).sum()), count, wanted).pvalue > 1e-4, kind


def test_every_patch_is_as_likely_as_any_other():
    torch.manual_seed(2)
    hit = (corrupt_patches(4000, 16, 0.5).codes != UNTOUCHED).sum(0)
    assert all(binomtest(int(h), 4000, 0.5).pvalue > 1e-4 for h in hit)


def test_a_replaced_patch_takes_another_ones_place():
    torch.manual_seed(3)
    drawn = corrupt_patches(300, 16, 0.5)
    own = torch.arange(16).expand(300, -1)
    assert (drawn.replacement_patches[drawn.codes != REPLACED] == own[drawn.codes != REPLACED]).all()
    assert (drawn.replacement_patches[drawn.codes == REPLACED] != own[drawn.codes == REPLACED]).all()
    assert len(drawn.replacement_patches[drawn.codes == REPLACED].unique()) == 16


def test_colours_are_three_bits_a_channel():
    colours = torch.tensor([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.99, 0.13, 0.0]])
    assert colour_class_index(colours).tolist() == [0, 511, 7 * 64 + 1 * 8]
    every = torch.arange(512)
    assert (colour_class_index(colour_of_class(every)) == every).all()
    assert (colour_of_class(every) - 0.5).abs().max() == pytest.approx(0.4375)


def test_cells_are_means_in_reading_order():
    rng = np.random.default_rng(0)
    pixels = rng.random((2, 3, 16, 16), np.float32)
    found = mean_cell_colours(torch.from_numpy(pixels), 8, 4).numpy()  # patches of 8 px, cells of 2 px
    patch = pixels[1, :, 8:, :8]  # the third of four patches
    wanted = patch.reshape(3, 4, 2, 4, 2).mean((2, 4)).reshape(3, 16).T
    np.testing.assert_allclose(found[1, 2], wanted, rtol=1e-5)
    np.testing.assert_allclose(mean_cell_colours(torch.from_numpy(pixels), 8, 1).numpy()[1, 2, 0], patch.mean((1, 2)), rtol=1e-5)


def test_the_mask_embedding_stands_where_a_patch_is_masked():
    module = MaskedPatches(build_from_recipe(SMALL, 0), SMALL).eval()
    pixels = torch.rand(1, 3, 16, 16)
    fate = masked_patches.Corruption(torch.tensor([[MASKED] * 16]), torch.arange(16)[None])
    same = module.patch_tokens(pixels, fate), module.patch_tokens(torch.rand(1, 3, 16, 16), fate)
    torch.testing.assert_close(*same)  # nothing of the photo is left
    kept = masked_patches.Corruption(torch.tensor([[KEPT] * 16]), torch.arange(16)[None])
    plain = module.vit.forward_features(pixels)[:, 1:]
    torch.testing.assert_close(module.patch_tokens(pixels, kept), plain)


@pytest.mark.parametrize(("target", "width"), [("colour", 512), ("colours4x4", 16 * 512), ("pixels", 3 * 16)])
def test_the_three_targets(target, width):
    recipe = Recipe(task="masked", image_px=16, patch_px=4, width=24, blocks=1, heads=3, masked_target=target)
    module = MaskedPatches(build_from_recipe(recipe, 0), recipe)
    assert module.predict.out_features == width
    parts = module(Pixels(torch.rand(2, 3, 16, 16) * 2 - 1))
    parts["loss"].backward()
    assert torch.isfinite(parts["loss"]) and module.mask.grad is not None
    drawn = corrupt_patches(2, 16, 0.5)
    colours = module.predicted_colours(torch.rand(2, 3, 16, 16), drawn)
    assert colours.shape == (2, 16, 3) and 0 <= colours.min() and colours.max() <= 1


def test_pixels_of_a_patch_are_its_own():
    recipe = Recipe(task="masked", image_px=8, patch_px=4, width=24, blocks=1, heads=3, masked_target="pixels")
    pixels = torch.arange(3 * 64.0).view(1, 3, 8, 8)
    truth = MaskedPatches(build_from_recipe(recipe, 0), recipe).prediction_targets(pixels)
    torch.testing.assert_close(truth[0, 2], pixels[0, :, 4:, :4].flatten())


def test_it_learns_what_the_neighbours_tell():
    """Photos of one colour: the visible half gives the hidden half away; knowing no photo, chance is 1 in 8."""
    torch.manual_seed(0)
    module = MaskedPatches(build_from_recipe(SMALL, 0), SMALL)
    optim = torch.optim.AdamW(module.parameters(), 3e-3)
    for _ in range(120):
        grey = (torch.randint(8, (32, 1, 1, 1)) + 0.5) / 4 - 1
        parts = module(Pixels(grey.expand(-1, 3, 16, 16)))
        optim.zero_grad()
        parts["loss"].backward()
        optim.step()
    assert parts["colours_right"] > 0.8

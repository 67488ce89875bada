"""What a seed draws, pinned: the order of photos, who is held out, crops, mixing, RandAugment, weights, masks, shots.

A run that goes on after an update of vitcore must draw what it drew before it, so a change of these numbers breaks every run
there is. The quiz's seed is pinned by its own tests. A last bit may differ between machines.
"""

import os

import numpy as np
import pytest
import torch

from vitcore.train.data.batches_and_mixup import photo_indices_of_step
from vitcore.train.data.photo_sources import open_photo_source
from vitcore.train.data.photo_tensors import PhotosOnDevice, StreamedPhotos
from vitcore.train.data.photos import Photos, choose_validation, limit_photos
from vitcore.train.evaluation.few_shot import choose_shots
from vitcore.train.learning.layer_distillation import random_patches
from vitcore.train.learning.masked_patches import corrupt_patches
from vitcore.train.learning.model_from_recipe import build_from_recipe
from vitcore.train.recipe import Recipe
from vitcore.train.seeds import DROPS, torch_seed
from vitcore.train.trainer.run_training import split_validation_and_test

HALF = (0.5,) * 3
LABELS = np.arange(60) % 3
RECIPE = Recipe(image_px=16, patch_px=4, width=24, blocks=1, heads=3, batch=6, seed=7, workers=0, label_smoothing=0.1)
PHOTOS = Photos("noise", np.random.default_rng(0).integers(0, 256, (60, 20, 20, 3), np.uint8), LABELS, ("a", "b", "c"))


def batch(way, step=2, **changes):
    """A batch of a step that is not the first: the pixels' middle row, and the targets."""
    recipe = Recipe(**{name: getattr(RECIPE, name) for name in Recipe.__slots__} | changes)
    drawn = way(recipe, PHOTOS, "cpu", HALF, HALF).batch(step)
    return torch.cat([drawn.pixels[:, :, 8].flatten(), drawn.targets.flatten()])


def seeded(draw):
    torch.manual_seed(torch_seed(DROPS, 7, 2, 0))
    return draw()


DRAWS = {
    "order of photos": lambda: photo_indices_of_step(RECIPE, 60, 12),
    "held out of each class": lambda: choose_validation((b"%d" % i for i in range(60)), LABELS, 0.2, 7),
    "few photos alike of each class": lambda: limit_photos(PHOTOS, 10, 7).items[:, 0, 0, 0],
    "test photos": lambda: split_validation_and_test(PHOTOS, 0.3)[1].items[:, 0, 0, 0],
    "photos of few shots": lambda: choose_shots(LABELS, 4, 7),
    "a drawn picture": lambda: np.asarray(open_photo_source("drawn:photos=10,validation=10,px=16", seed=7)[0].items[3]),
    "crops and mirror images": lambda: batch(PhotosOnDevice),
    "streamed crops and mirror images": lambda: batch(StreamedPhotos),
    "mixup": lambda: batch(PhotosOnDevice, mixup=0.8),
    "CutMix": lambda: batch(PhotosOnDevice, cutmix=1.0),
    "mixup or CutMix": lambda: batch(StreamedPhotos, mixup=0.4, cutmix=0.4),
    "RandAugment": lambda: batch(StreamedPhotos, rand_augment="rand-m9-n2"),
    "initial weights": lambda: torch.cat([p.detach().flatten()[:50] for p in build_from_recipe(RECIPE, 3).parameters()]),
    "masked patches": lambda: seeded(lambda: torch.stack([*vars(corrupt_patches(2, 16, 0.5)).values()])),
    "patches of layer by layer": lambda: seeded(lambda: random_patches(3, 16, 0.25)),
}  # fmt: skip
GOLDEN: dict[str, tuple[float, ...]] = {
    "order of photos": (-61.484, 79.051, 66.561), "held out of each class": (0.303, -0.321, -3.868),
    "few photos alike of each class": (-1117.678, 440.57, 405.308), "test photos": (-1094.523, -276.029, 151.007),
    "photos of few shots": (-89.086, 70.465, 103.966), "a drawn picture": (-1156.798, 2705.048, -5098.324),
    "crops and mirror images": (5.317, -5.68, -8.617), "streamed crops and mirror images": (22.138, -7.994, -8.338),
    "mixup": (4.359, -5.879, -1.36), "CutMix": (5.844, -4.568, -3.605), "mixup or CutMix": (22.082, -7.97, -8.308),
    "RandAugment": (24.453, -14.407, -2.632), "initial weights": (8.812, 12.509, 5.904),
    "masked patches": (17.31, 21.52, -95.254), "patches of layer by layer": (13.65, 28.07, 33.763),
}  # fmt: skip


def fingerprint(drawn):
    """Three sums of all numbers, weighed by fixed random numbers: of another number, or another order, they are others."""
    numbers = np.asarray(drawn, np.float64).ravel()
    return numbers @ np.random.default_rng(1).standard_normal((len(numbers), 3))


@pytest.mark.parametrize("what", DRAWS)
def test_a_seed_draws_what_it_drew(what):
    found = fingerprint(DRAWS[what]())
    if os.environ.get("WRITE_GOLDEN"):  # and say in the commit why runs that go on may draw something else
        print(f'    "{what}": {tuple(found.round(3).tolist())},')
    np.testing.assert_allclose(found, GOLDEN[what], rtol=0, atol=0.01)


def test_another_seed_draws_something_else():
    order, crops = photo_indices_of_step(Recipe(batch=6, seed=8), 60, 12), batch(PhotosOnDevice, seed=8)
    assert np.abs(fingerprint(order) - GOLDEN["order of photos"]).min() > 0.1
    assert np.abs(fingerprint(crops) - GOLDEN["crops and mirror images"]).min() > 0.1

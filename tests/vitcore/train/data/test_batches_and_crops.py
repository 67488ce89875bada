"""Batches: the step alone decides them, however many share the work; crops land where they should; the broken are left out."""

import dataclasses
import math
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from tests.picture_files import oriented, saved
from vitcore.train.data import photo_tensors
from vitcore.train.data.batches_and_mixup import photo_indices_of_step, places_in_batch
from vitcore.train.data.photo_sources import open_photo_source
from vitcore.train.data.photo_tensors import EvaluationBatches, PhotosOnDevice, StreamedPhotos, open_batches
from vitcore.train.data.photos import DataError, Photos
from vitcore.train.data.random_crops import NUMBERS_PER_BOX, centre_crop_boxes, crop_batch, random_crop_boxes
from vitcore.train.recipe import Recipe, RecipeError
from vitcore.train.seeds import seeded_generators

HALF = (0.5,) * 3
QUICK = {"image_px": 16, "patch_px": 4, "batch": 8, "workers": 0}
WAYS = {"resident": PhotosOnDevice, "streamed": StreamedPhotos}


def digits(n=40):
    """Handwritten digits, 8 × 8, in red, green and blue alike."""
    from sklearn.datasets import load_digits

    found = load_digits()
    images = np.repeat((found.images[:n, :, :, None] * 15.9).astype(np.uint8), 3, -1)
    return Photos("digits", images, found.target[:n].astype(np.int64), tuple("0123456789"))


def made(way, recipe, photos=None, **options):
    return WAYS[way](recipe, digits() if photos is None else photos, "cpu", HALF, HALF, **options)


def same(a, b):
    return all(torch.equal(getattr(a, name), getattr(b, name)) for name in ("pixels", "targets", "labels"))


# The plan


@pytest.mark.parametrize("count, batch", [(40, 8), (41, 8), (3, 8), (1, 5), (8, 8), (100, 7)])
def test_every_photo_once_an_epoch(count, batch):
    recipe = Recipe(batch=batch)
    stream = np.concatenate([photo_indices_of_step(recipe, count, step) for step in range(3 * count)])
    epochs = stream[: len(stream) // count * count].reshape(-1, count)
    assert (np.sort(epochs, 1) == np.arange(count)).all()
    assert count < 8 or len({tuple(epoch) for epoch in epochs}) == len(epochs), "each epoch has its own order"
    assert photo_indices_of_step(recipe, count, 2).tolist() == stream[2 * batch : 3 * batch].tolist()


def test_another_seed_is_another_plan():
    a, b = (photo_indices_of_step(Recipe(batch=64, seed=seed), 1000, 0) for seed in (0, 1))
    assert not (a == b).all() and (a == photo_indices_of_step(Recipe(batch=64), 1000, 0)).all()


@pytest.mark.parametrize("passes, world", [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4)])
def test_the_batch_is_shared_out_whole(passes, world):
    shares = [places_in_batch(Recipe(batch=8), p, passes, r, world) for p in range(passes) for r in range(world)]
    assert [g for share in shares for g in share] == list(range(8))


def test_batches_that_cannot_be_shared():
    with pytest.raises(RecipeError, match="3 processes"):
        places_in_batch(Recipe(batch=8), 0, 1, 0, 3)
    mixed = Recipe(**QUICK | {"batch": 6}, mixup=0.2)
    with pytest.raises(RecipeError, match="a pass of 3 images is odd"):
        places_in_batch(mixed, 0, 2, 0, 1)
    with pytest.raises(RecipeError, match="odd"):
        open_batches(dataclasses.replace(mixed, micro_batch=3), digits(), "cpu", HALF, HALF)


# However the work is shared, and wherever it goes on

MIXES = [{}, {"mixup": 0.8, "label_smoothing": 0.1}, {"cutmix": 1.0}, {"mixup": 0.4, "cutmix": 0.4}]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mix", MIXES, ids=str)
def test_two_processes_see_what_one_sees_in_two_passes(way, mix):
    recipe = Recipe(**QUICK, **mix)
    alone, first, second = (made(way, recipe) for _ in range(3))
    for step in range(3):
        one = [alone.batch(step, micro, 2, 0, 1) for micro in range(2)]
        two = [first.batch(step, 0, 1, 0, 2), second.batch(step, 0, 1, 1, 2)]
        assert all(map(same, one, two)) and not same(*one)


@pytest.mark.parametrize("way", WAYS)
def test_two_passes_of_two_processes_are_four_of_one(way):
    """Each with a mixing of its own."""
    recipe = Recipe(**QUICK, mixup=1.0)
    alone, pair = made(way, recipe), [made(way, recipe) for _ in range(2)]
    four = [alone.batch(1, micro, 4) for micro in range(4)]
    shared = [pair[rank].batch(1, micro, 2, rank, 2) for micro in range(2) for rank in range(2)]
    assert all(map(same, four, shared))
    assert len({round(batch.targets.max(1).values.min().item(), 4) for batch in four}) == 4


@pytest.mark.parametrize("way", WAYS)
def test_passes_put_together_are_the_whole_batch(way):
    recipe = Recipe(**QUICK, label_smoothing=0.1)
    whole, parts = made(way, recipe), made(way, recipe)
    for step in range(2):
        pieces = [parts.batch(step, micro, 4) for micro in range(4)]
        batch = whole.batch(step)
        for name in ("pixels", "targets", "labels"):
            assert torch.equal(torch.cat([getattr(piece, name) for piece in pieces]), getattr(batch, name))


@pytest.mark.parametrize("way", WAYS)
def test_going_on_sees_what_an_unbroken_run_sees(way):
    recipe = Recipe(**QUICK, cutmix=0.5, rand_augment="rand-m9-n2" if way == "streamed" else "")
    unbroken = made(way, recipe)
    seen = [unbroken.batch(step) for step in range(12)]
    np.random.seed(5), torch.manual_seed(5)  # noqa: NPY002  whatever happened in between
    resumed = made(way, recipe)
    assert all(same(resumed.batch(step), seen[step]) for step in (7, 8, 11, 0))
    assert not torch.equal(seen[0].pixels, seen[5].pixels)


def test_workers_change_nothing():
    recipe = Recipe(**QUICK, rand_augment="rand-m9-n2")
    here, there = made("streamed", recipe), made("streamed", dataclasses.replace(recipe, workers=1))
    assert all(same(here.batch(step), there.batch(step)) for step in (3, 4))


@pytest.mark.parametrize("way", WAYS)
def test_the_generators_of_others_are_left_alone(way):
    import random

    batches = made(way, Recipe(**QUICK, mixup=0.5, rand_augment="rand-m9-n2" if way == "streamed" else ""))
    draws = []
    for step in (0, 1):
        random.seed(1), np.random.seed(1), torch.manual_seed(1)  # noqa: NPY002
        batches.batch(step)
        draws.append((random.random(), np.random.rand(), torch.rand(()).item()))  # noqa: NPY002
    assert draws[0] == draws[1] and random.seed(1) is None and draws[0][0] == random.random()


def test_seeding_seeds_all_three():
    import random

    def draw(*seed):
        with seeded_generators(*seed):
            return random.random(), np.random.rand(), torch.rand(()).item()  # noqa: NPY002

    assert draw(1, 2) == draw(1, 2) and not set(draw(1, 2)) & set(draw(1, 3))


# Targets


def test_targets_are_smoothed_labels():
    batch = made("resident", Recipe(**QUICK, label_smoothing=0.1)).batch(0)
    expected = 0.9 * torch.nn.functional.one_hot(batch.labels, 10) + 0.01
    assert torch.allclose(batch.targets, expected)
    assert torch.equal(batch.labels, torch.from_numpy(digits().labels[photo_indices_of_step(Recipe(**QUICK), 40, 0)]))


def test_mixup_mixes_pictures_and_targets_alike():
    """With one flat colour a class the share of each colour is read from the pixels."""
    images = np.repeat(np.repeat(np.array([0, 255], np.uint8)[:, None], 64, 1).reshape(2, 8, 8, 1), 3, -1)
    photos = Photos("two", images[np.arange(40) % 2], np.arange(40) % 2, ("black", "white"))
    batches, seen = made("resident", Recipe(**QUICK, mixup=1.0), photos), []
    for step in range(6):
        batch = batches.batch(step)
        white = batch.pixels.mean((1, 2, 3)) / 2 + 0.5
        assert torch.allclose(white, batch.targets[:, 1], atol=1e-5)
        seen += batch.targets[:, 1].tolist()
    assert any(0.05 < share < 0.95 for share in seen)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mix", MIXES[:2], ids=str)
def test_unlabelled_photos_have_no_targets(way, mix):
    photos = Photos("plain", digits().items, np.full(40, -1))
    batch = made(way, Recipe(**QUICK, **mix), photos).batch(0)
    assert batch.targets is None and batch.pixels.shape == (8, 3, 16, 16) and set(batch.labels.tolist()) == {-1}


# Crops


def draws(n, seed=0):
    return np.random.default_rng(seed).random((n, NUMBERS_PER_BOX))


@pytest.mark.parametrize("size", [(100, 80), (30, 300), (8, 8), (640, 480), (1, 1)])
def test_boxes_keep_the_rule(size):
    """Area and ratio as torchvision's RandomResizedCrop, to the rounding of a side."""
    found = random_crop_boxes(np.array([size] * 500), draws(500), (0.3, 1.0))
    left, top, right, bottom = found.T
    w, h = right - left, bottom - top
    assert (left >= 0).all() and (top >= 0).all() and (right <= size[0]).all() and (bottom <= size[1]).all()
    slack = 1 + 1 / min(w.min(), h.min())
    assert (w / h <= 4 / 3 * slack).all() and (w / h >= 3 / 4 / slack).all()
    tried = ~(found == centre_crop_boxes(np.array([size]))).all(1)
    assert (w * h >= 0.3 * math.prod(size) / slack**2)[tried].all()
    if size == (100, 80):
        assert len(np.unique(found, axis=0)) > 490


def test_boxes_agree_with_torchvision():
    """The same distribution: mean and spread of both sides over many draws."""
    from torchvision.transforms import RandomResizedCrop

    torch.manual_seed(0)
    picture = torch.zeros(3, 90, 160)
    theirs = np.array([RandomResizedCrop.get_params(picture, [0.2, 1.0], [3 / 4, 4 / 3]) for _ in range(3000)])
    ours = random_crop_boxes(np.array([[160, 90]] * 3000), draws(3000), (0.2, 1.0))
    mine = np.stack([ours[:, 1], ours[:, 0], ours[:, 3] - ours[:, 1], ours[:, 2] - ours[:, 0]], 1)
    assert np.abs(mine.mean(0) - theirs.mean(0)).max() < 2 and np.abs(mine.std(0) - theirs.std(0)).max() < 1.5


def test_the_middle_of_a_long_picture():
    found = centre_crop_boxes(np.array([[400, 90], [90, 400], [80, 90]]))
    assert found.tolist() == [[140, 0, 260, 90], [0, 140, 90, 260], [0, 0, 80, 90]]


def ramp(wide, high):
    """Red grows from left to right, green from top to bottom, 0 to 250 between the outer edges; (high, wide, 3)."""
    x, y = 250 * (np.arange(wide) + 0.5) / wide, 250 * (np.arange(high) + 0.5) / high
    return np.stack([*np.meshgrid(x, y), np.full((high, wide), 40.0)], -1).round().astype(np.uint8)


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_crop_lands_where_it_should(mirrored):
    pixels = torch.from_numpy(ramp(100, 100)).permute(2, 0, 1)[None].repeat(20, 1, 1, 1)
    share = torch.tensor([[0.2, 0.5, 0.6, 0.9]])
    found = crop_batch(pixels, torch.arange(20), share.repeat(20, 1), torch.full((20,), mirrored), 16)
    at = (torch.arange(16) + 0.5) / 16
    red = 250 * (0.2 + 0.4 * (1 - at if mirrored else at))
    green = 250 * (0.5 + 0.4 * at)
    assert (found[:, 0] - red[None, None, :]).abs().max() < 1 and (found[:, 1] - green[None, :, None]).abs().max() < 1
    assert torch.allclose(found[:, 2], torch.tensor(40.0), atol=1e-3)


def test_the_whole_picture_at_its_own_size_is_itself():
    pixels = torch.randint(0, 256, (17, 3, 12, 12), dtype=torch.uint8)
    none, whole = torch.zeros(17, dtype=torch.bool), torch.tensor([[0.0, 0, 1, 1]]).repeat(17, 1)
    assert torch.allclose(crop_batch(pixels, torch.arange(17), whole, none, 12), pixels.float(), atol=1e-3)
    assert torch.allclose(crop_batch(pixels, torch.arange(17), whole, ~none, 12), pixels.float().flip(-1), atol=1e-3)


def test_small_arrays_are_kept_as_they_are():
    """Without a crop the model sees a photo of its own size to the bit of a byte."""
    photos = digits()
    batches = made("resident", Recipe(image_px=8, patch_px=4, batch=8, crop_area=1.0, flip=False))
    batch = batches.batch(1)
    original = photos.items[photo_indices_of_step(batches.recipe, 40, 1)].transpose(0, 3, 1, 2)
    assert np.allclose((batch.pixels.numpy() + 1) * 127.5, original, atol=1e-3)


def test_crops_keep_the_photos_own_aspect():
    """A wide photo is kept as a square; its crops are cut by its width and height."""
    photos = Photos("wide", [saved(Image.fromarray(ramp(120, 90)), "PNG")] * 8, np.full(8, -1))
    batch = made("resident", Recipe(**QUICK, crop_area=0.9, flip=False), photos).batch(0)
    step = (batch.pixels + 1) * 127.5
    across = (step[:, 0, :, -1] - step[:, 0, :, 0]).mean(1) / 250 * 120  # px of the photo from first to last column
    down = (step[:, 1, -1] - step[:, 1, 0]).mean(1) / 250 * 90
    assert ((across / down) > 0.99).all() and ((across / down) < 4 / 3 * 1.02).all()
    assert (across * down > 0.85 * 120 * 90 * (15 / 16) ** 2).all()


@pytest.mark.parametrize("way", WAYS)
def test_a_flat_colour_stays_flat_and_is_normalised(way):
    photos = Photos("flat", [saved(Image.new("RGB", (70, 40), (10, 130, 250)), "PNG")] * 4, np.full(4, -1))
    mean, std = (0.1, 0.2, 0.3), (0.2, 0.4, 0.5)
    pixels = WAYS[way](Recipe(**QUICK), photos, "cpu", mean, std).batch(0).pixels
    expected = (torch.tensor([10, 130, 250]) / 255 - torch.tensor(mean)) / torch.tensor(std)
    assert torch.allclose(pixels, expected.view(3, 1, 1).expand_as(pixels), atol=1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_half_of_the_photos_are_mirrored(way):
    photos = Photos("ramp", np.stack([ramp(16, 16)] * 40), np.full(40, -1))
    for flip, expected in ((True, 0.5), (False, 0.0)):
        batches = made(way, Recipe(**QUICK, flip=flip), photos)
        pixels = torch.cat([batches.batch(step).pixels for step in range(40)])
        assert (pixels[:, 0, 8, -1] < pixels[:, 0, 8, 0]).float().mean().item() == pytest.approx(expected, abs=0.1)


# What is broken, and what is gone


@pytest.fixture
def mixed(tmp_path):
    """Six samples and, among them, three files that are none, as a folder."""
    samples, _ = open_photo_source("samples")
    for i in range(6):
        shutil.copy(samples.items[i], tmp_path / f"{i}.jpg")
    for name, content in {"0-cut": oriented(1)[:500], "1-text": b"not a photo at all", "2-empty": b""}.items():
        (tmp_path / f"{name}.jpg").write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("way", WAYS)
def test_the_broken_are_listed_and_left_out(mixed, way):
    photos, _ = open_photo_source(str(mixed), holdout=0)
    batches = made(way, Recipe(**QUICK), photos)
    stream = [batches.batch(step).pixels for step in range(4)]
    assert all((pixels.std((1, 2, 3)) > 0.05).all() for pixels in stream), "no black squares in their place"
    assert sorted(said.split(".jpg")[0] for said in batches.problems) == ["0-cut", "1-text", "2-empty"]
    assert len(batches) == (6 if way == "resident" else 9)
    again = made(way, Recipe(**QUICK), photos)
    assert torch.equal(again.batch(3).pixels, stream[3])


def test_a_broken_photo_is_replaced_by_the_next_one_planned():
    items = [saved(Image.new("RGB", (20, 20), (i, 0, 0)), "PNG") if i % 3 else b"no" for i in range(12)]
    photos, recipe = Photos("third", items, np.arange(12), tuple("abcdefghijkl")), Recipe(**QUICK)
    planned = np.concatenate([photo_indices_of_step(recipe, 12, step) for step in range(3)])
    expected = [next(i for i in planned[g:] if i % 3) for g in range(8)]
    assert made("streamed", recipe, photos).batch(0).labels.tolist() == expected


@pytest.mark.parametrize("way", WAYS)
def test_nothing_but_broken_photos(way):
    with pytest.raises(DataError, match=r"None of the .*photos of bad can be read.*photo \d of bad is empty"):
        made(way, Recipe(**QUICK), Photos("bad", [b""] * 3, np.full(3, -1))).batch(0)
    with pytest.raises(DataError):
        made(way, Recipe(**QUICK), Photos("none", [], np.zeros(0, np.int64)))


@pytest.mark.parametrize("workers", [0, 1])
def test_photos_that_vanish_midway(mixed, workers):
    photos, _ = open_photo_source(str(mixed), holdout=0)
    streamed = made("streamed", Recipe(**QUICK | {"workers": workers, "batch": 4}), photos)
    streamed.batch(0)
    shutil.rmtree(mixed)
    with pytest.raises(DataError, match=f"^The photos of {mixed.name} are gone: {mixed}"):
        [streamed.batch(step) for step in range(1, 9)]
    with pytest.raises(DataError, match="gone"):
        made("resident", Recipe(**QUICK), photos)


def test_which_way_is_chosen():
    recipe, seen = Recipe(**QUICK), []
    kept = open_batches(recipe, digits(), "cpu", HALF, HALF, lambda done, of: seen.append((done, of)))
    assert isinstance(kept, PhotosOnDevice) and seen[-1] == (40, 40)
    for changes in ({"rand_augment": "rand-m9-n2"}, {"resident_gb": 1e-6}):
        assert isinstance(open_batches(dataclasses.replace(recipe, **changes), digits(), "cpu", HALF, HALF), StreamedPhotos)
    assert (
        photo_tensors.decoded_side_px(recipe, open_photo_source("samples")[0]) == 20
        and photo_tensors.decoded_side_px(recipe, digits()) == 8
    )


# Validation


def test_evaluation_cuts_the_middle_in_order(monkeypatch):
    wide = Photos("wide", [saved(Image.fromarray(ramp(200, 100)), "PNG")] * 5, np.arange(5), tuple("abcde"))
    rounds = EvaluationBatches(wide, 50, HALF, HALF, "cpu", batch=2)
    first = list(rounds)
    assert [labels.tolist() for _, labels in first] == [[0, 1], [2, 3], [4]]
    red = (first[0][0][0, 0, 0] + 1) * 127.5
    assert torch.allclose(red, 250 * (0.25 + 0.5 * (torch.arange(50) + 0.5) / 50), atol=2)
    monkeypatch.setattr(Photos, "open", lambda *_: pytest.fail("decoded twice"))
    assert all(torch.equal(a, b) for (a, _), (b, _) in zip(first, rounds, strict=True))


def test_evaluation_is_timms_transform():
    from timm.data import create_transform

    samples, _ = open_photo_source("samples")
    theirs = create_transform(48, crop_pct=1.0, interpolation="bicubic", mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.4))
    for pixels, labels in EvaluationBatches(samples.subset([4, 9]), 48, (0.4, 0.5, 0.6), (0.2, 0.3, 0.4), "cpu"):
        assert labels.tolist() == [4, 9]
        assert torch.allclose(pixels, torch.stack([theirs(samples.open(i)) for i in (4, 9)]), atol=1e-5)


def test_evaluation_skips_the_broken(mixed, monkeypatch):
    photos, _ = open_photo_source(str(mixed), holdout=0)
    for kept in (2**30, 0):
        monkeypatch.setattr(photo_tensors, "MAX_DECODED_BYTES", kept)
        rounds = EvaluationBatches(photos, 16, HALF, HALF, "cpu", batch=3)
        for _ in range(2):
            assert sum(len(pixels) for pixels, _ in rounds) == 6 and len(rounds.problems) == 3
    with pytest.raises(DataError, match="None of the 2"):
        list(EvaluationBatches(Photos("bad", [b""] * 2, np.zeros(2, np.int64)), 16, HALF, HALF, "cpu"))
    assert list(EvaluationBatches(photos.subset([]), 16, HALF, HALF, "cpu")) == []

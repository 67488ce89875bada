"""Drawn pictures: a seed's own, the same everywhere, and classes that are arrangements, not what is there."""

import hashlib
import itertools
import pickle

import numpy as np
import pytest

from tests.benchmarks.drawn import told
from vitcore.train.data import synthetic_dataset
from vitcore.train.data.photo_sources import DataError, check_has_classes, open_photo_source
from vitcore.train.data.photo_tensors import EvaluationBatches, decoded_side_px, open_batches
from vitcore.train.data.synthetic_dataset import SyntheticDataset, draw_synthetic_pictures
from vitcore.train.recipe import Recipe


def of(where, seed=0, part=0):
    """All pictures of a split as one array."""
    photos = open_photo_source(where, seed=seed)[part]
    return np.stack(list(photos.items)), photos.labels


# A seed's own pictures, the same everywhere


def test_options_are_in_the_name():
    train, validation = open_photo_source("drawn:classes=12, px=20,difficulty=0.3,photos=36,validation=24")
    assert (len(train), len(validation), len(train.classes)) == (36, 24, 12)
    assert train.items[0].shape == (20, 20, 3) and train.open(35).size == (20, 20)
    plain = SyntheticDataset()
    assert len(open_photo_source("drawn")[0]) == plain.photos and len(set(open_photo_source("drawn")[0].classes)) == plain.classes
    check_has_classes(train)


@pytest.mark.parametrize(("options", "said"), [
    ("colours=3", "no option 'colours'"), ("classes=ten", "is a number, not 'ten'"), ("px=8", "16 to 256, not 8"),
    ("difficulty=1.5", "0 to 1, not 1.5"), ("difficulty=nan", "0 to 1, not nan"), ("classes=1", "2 to 100"),
    ("classes=20,photos=19", "20 to"), ("px", "is a number, not ''"), ("px=32.5", "is a number"),
])  # fmt: skip
def test_a_bad_option_is_one_sentence(options, said):
    with pytest.raises(DataError) as caught:
        open_photo_source(f"drawn:{options}")
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_picture_hangs_on_seed_split_and_number_alone():
    many, few = of("drawn:photos=300,validation=10")[0], of("drawn:photos=20,validation=10")[0]
    assert np.array_equal(many[:20], few)
    backwards = draw_synthetic_pictures(SyntheticDataset(), 0, 0, np.arange(20)[::-1])
    assert np.array_equal(backwards[::-1], few)


def test_the_same_bytes_on_every_machine():
    """Made on an x86 CPU; whoever changes the pictures changes the sum, and every experiment that learned from them."""
    made = [
        draw_synthetic_pictures(SyntheticDataset(px=px, difficulty=hard, classes=9), 3, 1, np.arange(50))
        for px, hard in ((16, 0), (33, 0.7))
    ]
    assert hashlib.sha256(b"".join(one.tobytes() for one in made)).hexdigest()[:16] == "9dd4a1db2329d813"


def test_no_two_pictures_of_any_split_or_seed_are_alike():
    where = "drawn:photos=200,validation=200,difficulty=0"
    every = np.concatenate([of(where, seed, part)[0] for seed in (0, 1) for part in (0, 1)])
    assert len({one.tobytes() for one in every}) == len(every)
    flat = every.reshape(len(every), -1) - every.reshape(len(every), -1).mean(1, keepdims=True)
    flat = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    assert (flat @ flat.T - np.eye(len(flat))).max() < 0.95, "nor nearly alike"


def test_the_classes_are_as_many_in_any_beginning_of_a_set():
    for classes in (2, 10, 37, 100):
        labels = open_photo_source(f"drawn:classes={classes},photos=1000,validation=100")[0].labels
        counts = np.bincount(labels, minlength=classes)
        assert len(counts) == classes and np.ptp(counts) <= 1
        drawing = SyntheticDataset(classes=classes)
        codes = drawing.direction_indices(np.arange(classes))
        assert len(np.unique(codes, axis=0)) == classes and (codes.max(0) < drawing.direction_counts).all()


# What training asks of a source


def test_only_what_is_looked_at_is_drawn(monkeypatch):
    drawn_so_far = []
    real = synthetic_dataset.draw_synthetic_pictures
    monkeypatch.setattr(
        synthetic_dataset, "draw_synthetic_pictures", lambda *args: drawn_so_far.append(len(args[-1])) or real(*args)
    )
    synthetic_dataset._block.cache_clear()
    train, _ = open_photo_source("drawn:photos=50000,px=24", seed=5)
    assert decoded_side_px(Recipe(image_px=48, patch_px=4), train) == 24 and not drawn_so_far
    part = train.subset([3, 4, 2])
    assert [part.items[0].shape, len(part)] == [(24, 24, 3), 3] and len(drawn_so_far) == 1
    assert np.array_equal(part.items[2], train.items[2]) and len(drawn_so_far) == 1, "kept"


def test_more_than_is_kept_is_drawn_one_at_a_time(monkeypatch):
    where = "drawn:photos=600,px=16"
    whole = of(where)[0]
    monkeypatch.setattr(synthetic_dataset, "CACHED_BLOCKS", 0)
    assert np.array_equal(of(where)[0], whole)


def test_streamed_and_kept_pictures_become_batches():
    train, validation = open_photo_source("drawn:photos=40,validation=20,px=16")
    assert np.array_equal(pickle.loads(pickle.dumps(train)).items[7], train.items[7])
    recipe = Recipe(image_px=16, patch_px=4, batch=8, crop_area=1.0, flip=False, workers=2)
    kept = open_batches(recipe, train, "cpu", (0.5,) * 3, (0.5,) * 3)
    streamed = open_batches(Recipe(**{f: getattr(recipe, f) for f in ("image_px", "patch_px", "batch", "crop_area", "flip")},
                                rand_augment="rand-m1-n1", workers=1), train, "cpu", (0.5,) * 3, (0.5,) * 3)  # fmt: skip
    assert (kept.batch(0).labels == streamed.batch(0).labels).all()
    pixels, labels = next(iter(EvaluationBatches(validation, 16, (0.5,) * 3, (0.5,) * 3, "cpu")))
    assert pixels.shape == (20, 3, 16, 16) and labels.tolist() == validation.labels.tolist()


# What tells the class, and what does not


def test_what_is_there_does_not_tell_the_class_but_how_it_is_arranged():
    looks = told(SyntheticDataset(), learn=1000)
    chance = 100 / SyntheticDataset().classes
    gained = looks["edges in place"] - chance
    assert gained > 50, looks
    for blind in ("colours", "edges added up", "edges shuffled", "raw pixels"):
        assert looks[blind] - chance < gained / 10, (blind, looks)


def test_it_gets_harder():
    seen = [told(SyntheticDataset(px=24, difficulty=d), ["edges in place"], learn=800) for d in (0, 0.25, 0.5, 0.75, 1)]
    rights = [one["edges in place"] for one in seen]
    assert all(easier > harder + 3 for easier, harder in itertools.pairwise(rights)), rights


@pytest.mark.parametrize("px", [16, 32, 64])
def test_a_mirror_image_is_as_likely_and_sizes_show_the_same(px):
    """The four parts lie where the class says, in any size: lighter or darker than the same background without them."""
    drawing = SyntheticDataset(classes=4, px=px, difficulty=0)
    made = draw_synthetic_pictures(drawing, 0, 0, np.arange(400)).astype(float).mean(-1)
    apart = np.abs(made - made.mean((1, 2), keepdims=True))
    for label in range(4):
        where = apart[label::4].mean(0)
        assert np.corrcoef(where.ravel(), where[:, ::-1].ravel())[0, 1] > 0.9
        top, middle = where[: px // 4, 3 * px // 8 : 5 * px // 8].mean(), where[: px // 4, : px // 4].mean()
        assert top > 1.3 * middle, "all four lie above each other"

"""Accuracy over a model's own classes and features before its head, photo by photo against a plain loop."""

import numpy as np
import pytest
import torch
from PIL import Image

from tests.model_files import run_folder
from vitcore.forward.recording import to_model_input
from vitcore.images import PhotoError, crop_for_model
from vitcore.models.load_model import load
from vitcore.train.data.photos import DataError, Photos
from vitcore.train.evaluation.accuracy import extract_features, match_classes, measure_accuracy

NAMES = ["Dog", "cat", "red_panda", "Honey bee", "crane", "Crane", "owl", "fox", "eel", "ant"]


@pytest.fixture(scope="module")
def vit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "animals"
    run_folder(folder, labels=NAMES)
    return load(folder)


def photos(labels, classes, seed=0, name="photos"):
    rng = np.random.default_rng(seed)
    pictures = [rng.integers(0, 256, (40, 50, 3), np.uint8) for _ in labels]
    return Photos(name, pictures, np.array(labels, np.int64), tuple(classes))


def one_by_one(vit, some):
    return [to_model_input(vit, crop_for_model(some.open(i), vit.transform).pixels) for i in range(len(some))]


def test_accuracy_is_that_of_a_loop_whatever_the_batch(vit):
    some = photos(np.arange(60) % 3, ["cat", "red panda", "DOG"])
    order = np.array([1, 2, 0])  # of the model
    with torch.inference_mode():
        ranks = torch.cat([vit.module(x) for x in one_by_one(vit, some)]).argsort(1, descending=True).numpy()
    right = ranks == order[some.labels][:, None]
    expected = {"photos": 60, "top1": 100 * right[:, 0].mean(), "top5": 100 * right[:, :5].any(1).mean(), "left_out": 0}
    for batch in (7, 64):
        assert measure_accuracy(vit, some, batch) == pytest.approx(expected, abs=0.006)


def test_photos_that_cannot_be_asked_about_are_counted(vit):
    some = photos([0, 1, -1, 0, 0], ["fox", "walrus"])
    damaged = Photos("photos", [*some.items[:4], b"damaged"], some.labels, some.classes)
    assert {k: v for k, v in measure_accuracy(vit, damaged).items() if "top" not in k} == {"photos": 2, "left_out": 3}


def test_few_classes_have_no_five(make_vit, tmp_path):
    run_folder(tmp_path / "two", labels=["a", "b"], num_classes=2)
    found = measure_accuracy(load(tmp_path / "two"), photos([0, 1, 1], ["a", "b"]))
    assert found["top5"] == 100


def test_classes_are_matched_by_name(vit):
    assert match_classes(vit, ["owl", "RED-panda", "honey_bee", "dog", "walrus"]).tolist() == [6, 2, 3, 0, -1]
    assert match_classes(vit, ["crane", "ant"]).tolist() == [-1, 9], "two classes of that name"


def test_imagenet_classes_are_matched_by_wordnet_id(shipped):
    assert match_classes(shipped, ["n01443537", "tench", "n01440764"]).tolist() == [1, -1, 0], "ids where there are ids"
    assert match_classes(shipped, ["Tench", "great white shark", "crane"]).tolist() == [0, 2, -1]


def test_nothing_in_common_is_said(vit, make_vit):
    with pytest.raises(DataError, match=r"animals has no class of zoo: it has Dog, cat, red_panda, …; they have walrus\.$"):
        measure_accuracy(vit, photos([0], ["walrus"], name="zoo"))
    with pytest.raises(DataError, match="it has no classes"):
        measure_accuracy(make_vit(num_classes=0), photos([0], ["dog"]))
    with pytest.raises(DataError, match="None of the 2 photos"):
        measure_accuracy(vit, photos([-1, 1], ["dog", "walrus"]))


def test_features_are_what_the_head_reads(vit):
    some = photos([0] * 9, ["dog"])
    found = extract_features(vit, some, batch=4)
    assert found.shape == (9, 24) and found.dtype == np.float32
    with torch.inference_mode():
        logits = torch.cat([vit.module(x) for x in one_by_one(vit, some)])
        assert torch.allclose(vit.module.head(torch.from_numpy(found)), logits, atol=1e-5)
    assert extract_features(vit, some.subset([])).shape == (0, 24)


def test_features_before_the_pre_training_head(tmp_path):
    run_folder(tmp_path / "run", mlp_head=True)
    assert extract_features(load(tmp_path / "run"), photos([0] * 3, ["dog"])).shape == (3, 24)


def test_a_broken_photo_has_no_features(vit):
    some = Photos("photos", [np.asarray(Image.new("RGB", (40, 40))), b"damaged"], np.zeros(2, np.int64), ("dog",))
    with pytest.raises(PhotoError):
        extract_features(vit, some)

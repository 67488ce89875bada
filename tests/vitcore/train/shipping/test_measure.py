"""What a card states: localisation of maps that are known, over whole photos or as the model crops them."""

import csv
import io
import json

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from tests.models import model_file
from vitcore.models import zoo
from vitcore.train.shipping.measure import (
    centre_prior,
    followed,
    gallery,
    kinds,
    labelled,
    localisation,
    masked,
    pixel_auc,
    squashing,
)


@pytest.fixture
def masks(tmp_path, noise):
    """Two wide photos; the object of each is a bar at its left edge, which a centre crop cuts away in part."""
    with (tmp_path / "manifest.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["image", "mask"])
        for i in range(2):
            noise(i, (96, 48)).save(tmp_path / f"{i}.png")
            mask = np.zeros((48, 96), np.uint8)
            mask[:, :32] = 255
            Image.fromarray(mask).save(tmp_path / f"{i}-mask.png")
            rows.writerow([f"{i}.png", f"{i}-mask.png"])
    return tmp_path


def test_whole_photos_are_squashed_and_others_cropped(tiny, masks):
    whole = [mask.mean() for _, mask in masked(squashing(tiny), masks)]
    cropped = [mask.mean() for _, mask in masked(tiny, masks)]
    assert whole == pytest.approx([1 / 3] * 2, abs=0.01) and all(share < 0.2 for share in cropped)
    found = next(masked(squashing(tiny), masks))[0]
    assert found.seen.box == (0, 0, 96, 48) and found.seen.pixels.shape == (32, 32, 3)


def test_localisation_of_both_kinds(tiny, masks):
    whole, cropped = localisation(tiny, masks), localisation(tiny, masks, whole=False)
    assert whole["photos"] == cropped["photos"] == 2 and whole.keys() == cropped.keys()
    assert whole["centre_prior_auc"] != cropped["centre_prior_auc"]
    assert whole["centre_prior_auc"] == pytest.approx(
        pixel_auc(centre_prior(), np.arange(224)[None] // 75 + np.zeros((224, 1)) < 1), abs=0.01
    )


def test_maps_that_are_known():
    mask = np.zeros((224, 224), bool)
    mask[:, :112] = True
    assert pixel_auc(np.array([[1.0, 0.0]]), mask) == 1 and pixel_auc(np.array([[0.0, 1.0]]), mask) == 0
    assert pixel_auc(centre_prior(), mask) == pytest.approx(0.5, abs=0.01)


def test_pairs_as_photos():
    some = labelled([(b"x", "b"), (b"y", "a"), (b"z", "b")], "pairs")
    assert some.classes == ("a", "b") and some.labels.tolist() == [1, 0, 1] and some.items == [b"x", b"y", b"z"]


def encoded(image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="module")
def imagenet(tmp_path_factory):
    """A random ViT with ImageNet's 1000 classes that calls everything a tabby (281), then a German shepherd (235)."""
    file = tmp_path_factory.mktemp("model") / "tabby.safetensors"
    module = model_file(file, num_classes=1000)
    with torch.no_grad():
        module.head.weight.zero_()
        module.head.bias.zero_()
        module.head.bias[281], module.head.bias[235] = 2, 1
    save_file({k: v.contiguous() for k, v in module.state_dict().items()}, file)
    return file


def test_cats_are_called_cats_and_dogs_are_not_called_dogs(imagenet, noise):
    photos = [(encoded(noise(i)), name) for i, name in enumerate(["n02123394", "n02124075", "n02106662", "n04592741"])]
    found = kinds(zoo.load(imagenet), photos)
    assert found == {"cats": {"photos": 2, "called_so": 100.0}, "dogs": {"photos": 1, "called_so": 0.0}}


def test_the_gallery_counts_first_and_fifth(imagenet, noise, tmp_path):
    rows = [
        {"id": "a", "classes": ["n02123045"]},
        {"id": "b", "classes": ["n04592741", "n02106662"]},
        {"id": "c", "classes": ["n04592741"]},
    ]
    (tmp_path / "credits.json").write_text(json.dumps(rows), encoding="utf-8")
    for i, row in enumerate(rows):
        noise(i).save(tmp_path / f"{row['id']}.jpg")
    found = gallery(zoo.load(imagenet), tmp_path)
    assert (found["photos"], found["first"], found["among_five"], found["missed"]) == (3, 1, 2, ["c"])
    assert 1 / 16 < found["largest_patch"] < 1


def test_a_model_follows_itself_and_nobody_else(imagenet, noise, tmp_path):
    photos, other = [encoded(noise(i)) for i in range(2)], tmp_path / "other.safetensors"
    model_file(other, seed=4, num_classes=1000)
    vit = zoo.load(imagenet)
    itself, another = (followed(vit, str(file), photos) for file in (imagenet, other))
    assert itself["photos"] == 2 and len(itself["blocks"]) == vit.blocks
    assert itself["mean"] < 1e-6 < 0.1 < another["mean"]

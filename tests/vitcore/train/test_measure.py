"""What a card states: localisation of maps that are known, over whole photos or as the model crops them."""

import csv

import numpy as np
import pytest
from PIL import Image

from vitcore.train.measure import centre_prior, labelled, localisation, masked, pixel_auc, squashing


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

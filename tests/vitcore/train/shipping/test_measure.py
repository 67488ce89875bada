"""What a card states: localisation of maps that are known, over whole photos or as the model crops them."""

import csv
import io
import json
import shlex
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from tests.model_files import model_file
from tests.shipping import measure
from tests.shipping.localisation import list_pets, localisation, photos_of_pets
from tests.shipping.measure import (
    gallery_accuracy,
    kind_accuracy,
    labelled_accuracy,
    labelled_photos,
    species_accuracy,
    teacher_hidden_state_errors,
)
from vitcore.assets import asset_path
from vitcore.faithfulness.photo_masks import photos_in_manifest, record_with_masks, with_whole_photo_transform
from vitcore.faithfulness.plausibility import centre_prior_map, pixel_auc
from vitcore.models import load_model
from vitcore.models.model_cards import DEFAULT_MODEL


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
    whole = [mask.mean() for _, mask, _ in record_with_masks(with_whole_photo_transform(tiny), photos_in_manifest(masks))]
    cropped = [mask.mean() for _, mask, _ in record_with_masks(tiny, photos_in_manifest(masks))]
    assert whole == pytest.approx([1 / 3] * 2, abs=0.01) and all(share < 0.2 for share in cropped)
    found = next(record_with_masks(with_whole_photo_transform(tiny), photos_in_manifest(masks)))[0]
    assert found.model_input.box == (0, 0, 96, 48) and found.model_input.pixels.shape == (32, 32, 3)


def test_localisation_of_both_kinds(tiny, masks):
    whole, cropped = (localisation(tiny, photos_in_manifest(masks)), localisation(tiny, photos_in_manifest(masks), whole=False))
    assert whole["photos"] == cropped["photos"] == 2 and whole.keys() == cropped.keys()
    assert whole["centre_prior_auc"] != cropped["centre_prior_auc"]
    assert whole["centre_prior_auc"] == pytest.approx(
        pixel_auc(centre_prior_map(), np.arange(224)[None] // 75 + np.zeros((224, 1)) < 1), abs=0.01
    )


def test_maps_that_are_known():
    mask = np.zeros((224, 224), bool)
    mask[:, :112] = True
    assert pixel_auc(np.array([[1.0, 0.0]]), mask) == 1 and pixel_auc(np.array([[0.0, 1.0]]), mask) == 0
    assert pixel_auc(centre_prior_map(), mask) == pytest.approx(0.5, abs=0.01)


def test_pairs_as_photos():
    some = labelled_photos([(b"x", "b"), (b"y", "a"), (b"z", "b")], "pairs")
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


CAT, PERSIAN, SHEPHERD, WRECK = "n02123045", "n02123394", "n02106662", "n04606251"


def test_cats_are_called_cats_and_what_is_no_cat_may_be_called_one(imagenet, noise):
    """Everything is called a tabby: both cats are right, the dog is not, and of what is no cat all is called one."""
    photos = [(encoded(noise(i)), name) for i, name in enumerate([CAT, PERSIAN, SHEPHERD, WRECK, "t-shirt"])]
    found = labelled_accuracy(load_model.load(imagenet), photos, 10, "some")
    assert found["kinds"] == {"cats": {"photos": 2, "called_so": 100.0}, "dogs": {"photos": 1, "called_so": 0.0},
                              "false_cats": {"photos": 3, "called_so": 100.0}}  # fmt: skip
    assert found["accuracy"] == {"photos": 4, "top1": 25.0, "top5": 50.0}, "a t-shirt is no class of ImageNet"


def test_every_cat_is_asked_about_however_few_photos_are(imagenet, noise):
    photos = [(encoded(noise(i)), name) for i, name in enumerate([WRECK, CAT, SHEPHERD, CAT])]
    found = labelled_accuracy(load_model.load(imagenet), photos, 2, "some")
    assert found["kinds"]["cats"]["photos"] == 2 and found["kinds"]["false_cats"]["photos"] == 2
    assert found["accuracy"]["photos"] == 2, "the other photos are evenly spaced"


def test_what_is_called_what_is_counted():
    first = np.array([281, 285, 151, 268, 269, 281, 0])
    of = ["cats", "cats", "cats", "dogs", "dogs", "dogs", ""]
    told = {name: (one["photos"], one["called_so"]) for name, one in kind_accuracy(first, of).items()}
    assert told == {"cats": (3, 66.67), "dogs": (3, 33.33), "false_cats": (4, 25.0)}


def pets_folder(folder, noise) -> None:
    """Two cats of two breeds and a dog as Oxford-IIIT Pet lays them out; the animal is the left half, two columns are unclear."""
    (folder / "images").mkdir(parents=True)
    (folder / "annotations" / "trimaps").mkdir(parents=True)
    rows = ["#Image CLASS-ID SPECIES BREED ID", "Abyssinian_1 1 1 1", "Bengal_1 6 1 2", "american_bulldog_1 2 2 1"]
    (folder / "annotations" / "list.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    trimap = np.repeat([1] * 16 + [3] * 2 + [2] * 14, 32).reshape(32, 32).T.astype(np.uint8)
    for i, row in enumerate(rows[1:]):
        name = row.split()[0]
        noise(i, (32, 32)).save(folder / "images" / f"{name}.jpg")
        Image.fromarray(trimap).save(folder / "annotations" / "trimaps" / f"{name}.png")


def test_species_of_pets(imagenet, noise, tmp_path):
    pets_folder(tmp_path / "pets", noise)
    found = species_accuracy(load_model.load(imagenet), list_pets(tmp_path / "pets"))
    assert found["cats"] == {"photos": 2, "called_so": 100.0} and found["dogs"] == {"photos": 1, "called_so": 0.0}
    assert found["false_cats"] == {"photos": 1, "called_so": 100.0} and found["breeds"] == {"cats": 2, "dogs": 1}
    assert found["localisation"]["photos"] == 3
    assert [pet.photo.stem for pet in list_pets(tmp_path / "pets", ["6", "2"])] == ["Bengal_1", "american_bulldog_1"]


def test_pixels_that_are_not_classified_do_not_count(tiny, noise, tmp_path):
    pets_folder(tmp_path, noise)
    _, mask, counted = next(record_with_masks(with_whole_photo_transform(tiny), photos_of_pets(list_pets(tmp_path))))
    assert mask.mean() == pytest.approx(16 / 32, abs=0.01) and counted.mean() == pytest.approx(30 / 32, abs=0.01)
    assert not (mask & ~counted).any()
    heat = np.where(counted, mask, ~mask).astype(float)  # right where it counts, else wrong
    assert pixel_auc(heat, mask, counted) == 1 > pixel_auc(heat, mask)


def shape(facts) -> object:
    """The names in nested facts; numbers, words and lists are all alike."""
    return {name: shape(value) for name, value in facts.items()} if isinstance(facts, dict) else type(facts) is list


def test_the_card_holds_what_is_printed_and_nothing_else(imagenet, noise, tmp_path, monkeypatch, capsys):
    """The card's own commands, on a small model and small made data of the same names: every figure of the card has its command."""
    card = json.loads((asset_path("models") / f"{DEFAULT_MODEL}.json").read_text(encoding="utf-8"))
    ids = {1: CAT, 2: SHEPHERD, 3: WRECK}
    for name, label in (("photos128-0-of-2", ids.get), ("tiny64-val", str)):
        labels = [label(2), label(3)] if name != "tiny64-val" else [label(i) for i in ids]
        table = {"image": [encoded(noise(i)) for i in range(len(labels))], "label": labels, "split": ["val"] * len(labels)}
        pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    tsv = "".join(f"{number}\t{name}\tits name\n" for number, name in ids.items())
    (tmp_path / "tiny64-classes.tsv").write_text(tsv, encoding="utf-8")
    pets_folder(tmp_path / "OXFORD-IIIT-PET", noise)
    (tmp_path / "MASKS").mkdir()
    (tmp_path / "MASKS" / "manifest.csv").write_text("image,mask\nphoto.png,mask.png\n", encoding="utf-8")
    noise(0, (32, 32)).save(tmp_path / "MASKS" / "photo.png")
    Image.fromarray(np.eye(32, dtype=np.uint8)).save(tmp_path / "MASKS" / "mask.png")
    for ending in (".safetensors", ".json"):
        shutil.copy(imagenet.with_suffix(ending), tmp_path / f"VIT_TINY{ending}")
    monkeypatch.setattr(measure, "load", lambda name: load_model.load(imagenet))  # in place of both models
    monkeypatch.chdir(tmp_path)
    commands = [one["command"] for one in card["trained"]["commands"] if "tests.shipping.measure" in one["command"]]
    for command, part in zip(commands, ("measured", "teacher_measured_alike"), strict=True):
        monkeypatch.setattr("sys.argv", shlex.split(command)[2:])
        measure.main()
        assert shape(json.loads(capsys.readouterr().out)) == shape(card["trained"][part]), part


def test_the_gallery_counts_first_and_fifth(imagenet, noise, tmp_path):
    rows = [
        {"id": "a", "classes": ["n02123045"]},
        {"id": "b", "classes": ["n04592741", "n02106662"]},
        {"id": "c", "classes": ["n04592741"]},
    ]
    (tmp_path / "credits.json").write_text(json.dumps(rows), encoding="utf-8")
    for i, row in enumerate(rows):
        noise(i).save(tmp_path / f"{row['id']}.jpg")
    found = gallery_accuracy(load_model.load(imagenet), tmp_path)
    assert (found["photos"], found["first"], found["among_five"], found["missed"]) == (3, 1, 2, ["c"])
    assert 1 / 16 < found["largest_patch"] < 1


def test_a_model_follows_itself_and_nobody_else(imagenet, noise, tmp_path):
    photos, other = [encoded(noise(i)) for i in range(2)], tmp_path / "other.safetensors"
    model_file(other, seed=4, num_classes=1000)
    vit = load_model.load(imagenet)
    itself, another = (teacher_hidden_state_errors(vit, str(file), photos) for file in (imagenet, other))
    assert itself["photos"] == 2 and len(itself["blocks"]) == vit.blocks
    assert itself["mean"] < 1e-6 < 0.1 < another["mean"]

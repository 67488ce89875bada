"""Head ablation: each number is the change of a logit in a model whose head was switched off by hand."""

import copy

import numpy as np
import pytest
import torch

import vitcore
from tests.vitcore.interventions.conftest import inputs_for, make_kind
from tests.vitcore.interventions.test_edits import answer, projection
from vitcore.interventions import head_ablation as ablation
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import class_index

SOME = ("plain", "projections fused", "two attentions")


def by_hand(vit, x, target) -> np.ndarray:
    """(L, H) for a batch, one head after another, from weights set to zero."""
    whole, changes = answer(vit, x), np.zeros((vit.blocks, vit.heads))
    targets = whole.argmax(1) if target is None else torch.full((len(x),), target)
    plain = copy.deepcopy(vit.module)
    for layer, head in np.ndindex(changes.shape):
        proj, columns = projection(plain, layer, head)
        weight = proj.weight.clone()
        proj.weight[:, columns] = 0
        with torch.no_grad():
            changes[layer, head] = (plain(x) - whole).gather(1, targets[:, None]).mean()
        proj.weight.copy_(weight)
    return changes


def test_each_head_is_the_one_that_is_switched_off_by_hand(vit, monkeypatch):
    x = inputs_for(vit)
    changes = vitcore.head_ablation(vit, x)
    assert changes.shape == (vit.blocks, vit.heads) and changes.dtype == np.float32 and np.abs(changes).max() > 1e-2
    np.testing.assert_allclose(changes, by_hand(vit, x, None), atol=1e-5)
    monkeypatch.setattr(ablation, "MOST_NUMBERS", 2 * vit.structure.numbers)  # two heads at a time, the last alone
    np.testing.assert_allclose(vitcore.head_ablation(vit, x[:1], target=4), by_hand(vit, x[:1], 4), atol=1e-5)


@pytest.mark.parametrize("kind", SOME)
def test_the_mean_of_a_head_in_its_place(kind):
    vit = make_kind(kind)
    x = inputs_for(vit, 1)
    changes = vitcore.head_ablation(vit, x, target=2, by="mean")
    for layer, head in ((0, 0), (2, vit.heads - 1)):
        e = vitcore.edit(vit)
        e.head(layer, head).mean()
        np.testing.assert_allclose(changes[layer, head], (answer(e.vit, x) - answer(vit, x))[0, 2], atol=1e-5)


@pytest.mark.parametrize("kind", SOME)
def test_an_edited_model_is_ablated_as_it_is(kind):
    vit = make_kind(kind)
    x, e = inputs_for(vit, 1), vitcore.edit(vit)
    e.head(2, 1).zero()
    e.head(1, 0).uniform()
    changes = vitcore.head_ablation(e.vit, x, 0)
    assert abs(changes[2, 1]) < 1e-6
    e.head(1, 2).zero()
    both = answer(e.vit, x)[0, 0]
    e = vitcore.edit(vit)
    e.head(2, 1).zero()
    e.head(1, 0).uniform()
    np.testing.assert_allclose(changes[1, 2], both - answer(e.vit, x)[0, 0], atol=1e-5)


def test_photos_and_classes_by_name(tiny, photo_file, noise):
    photos = [photo_file, noise()]
    each = [vitcore.head_ablation(tiny, photo, "class 7") for photo in photos]
    np.testing.assert_allclose(vitcore.head_ablation(tiny, photos, np.int64(7)), np.mean(each, 0), atol=1e-6)
    assert not np.allclose(*each, atol=1e-3)
    top = int(vitcore.record(tiny, photo_file).logits.argmax())
    np.testing.assert_array_equal(vitcore.head_ablation(tiny, photo_file), vitcore.head_ablation(tiny, photo_file, top))


@pytest.mark.parametrize(("given", "said"), [
    ({"target": 10}, "a target is a class from 0 to 9, or its name, not 10"),
    ({"target": -1}, "a target is a class from 0 to 9, or its name, not -1"),
    ({"target": "clas 3"}, "No class is named clas 3; the nearest are: class 3, "),
    ({"target": 1.5}, "a target is a class .*1.5"),
    ({"by": "median"}, "what a head is ablated by is one of zero, mean, uniform, not 'median'"),
])  # fmt: skip
def test_what_there_is_not(given, said):
    with pytest.raises(ValueError, match=said):
        vitcore.head_ablation(make_kind("plain"), inputs_for(make_kind("plain")), **given)


def test_a_name_of_two_classes_and_a_model_without_classes(shipped, make_vit):
    with pytest.raises(ValueError, match="2 classes are named crane: give one by its index, 134, 517"):
        class_index(shipped, "crane")
    assert class_index(shipped, "tabby") == 281 == class_index(shipped, "Tabby")
    features = make_vit(num_classes=0)
    with pytest.raises(ModelError, match="gives features, not classes"):
        vitcore.head_ablation(features, inputs_for(features))


def test_a_folder_is_its_photos(tiny, noise, tmp_path):
    """Photo after photo, none of them kept; the mean is that over them, and activations are of all together."""
    photos = [noise(seed) for seed in range(3)]
    for seed, photo in enumerate(photos):
        photo.save(tmp_path / f"{seed}.png")
    told: list[tuple[int, int]] = []
    found = vitcore.head_ablation(tiny, tmp_path, 3, progress=lambda *done: told.append(done))
    np.testing.assert_allclose(found, np.mean([vitcore.head_ablation(tiny, one, 3) for one in photos], 0), atol=1e-6)
    assert told[-1] == (27, 27)
    kept = vitcore.cache(tiny, str(tmp_path), ["z"])["z", 2]
    assert kept.shape[0] == 3
    np.testing.assert_allclose(vitcore.mean_activations(tiny, tmp_path, ["z"])["z", 2][0], kept.mean(0), atol=1e-6)

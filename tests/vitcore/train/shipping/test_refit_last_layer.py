"""The last layer fitted once more: targets are the teacher's, a kind's are within it, and only that layer changes."""

import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from PIL import Image
from safetensors.torch import load_file
from torch import nn

from tests.shipping import refit
from tests.shipping.refit import (
    HELD_OUT,
    StudentFeaturesAndTeacherLogits,
    compute_distillation_features,
    fit_head,
    refit_targets,
    split_crops,
)
from vitcore.assets import asset_path
from vitcore.models.load_model import load, wordnet_ids
from vitcore.models.model_cards import DEFAULT_MODEL


def made(count=96, width=6, classes=5):
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(count, width, generator=generator)
    truth = nn.Linear(width, classes)
    nn.init.normal_(truth.weight, generator=generator)
    with torch.no_grad():
        names = ["cat" if i % 4 == 0 else "cup" for i in range(count)]
        return StudentFeaturesAndTeacherLogits(features, 3 * truth(features), names, torch.arange(count))


def test_a_kinds_targets_are_the_teachers_within_it():
    given = made()
    wanted, special = refit_targets(given, [({"cat"}, range(1, 3))])
    plain = given.logits.softmax(-1)
    assert special.tolist() == [name == "cat" for name in given.names]
    assert torch.equal(wanted[~special], plain[~special]), "others: the teacher's own"
    assert wanted[special][:, [0, 3, 4]].abs().max() == 0 and torch.allclose(wanted.sum(-1), torch.ones(len(wanted)))
    assert torch.allclose(wanted[special][:, 1] / wanted[special][:, 2], plain[special][:, 1] / plain[special][:, 2])


def test_a_fitted_layer_answers_more_like_the_teacher_and_a_held_one_stays():
    given = made()
    wanted, special = refit_targets(given)
    start = nn.Linear(6, 5).requires_grad_(False)
    new, told = fit_head(start, given, wanted, special, epochs=60, rate=0.05)
    assert told["after"] < 0.8 * told["before"], "on crops that were left out"
    held, _ = fit_head(start, given, wanted, special, hold=1e3, epochs=20)
    assert (held.weight - start.weight).abs().max() < 0.05 < (new.weight - start.weight).abs().max()


def test_no_photo_is_on_both_sides():
    """Eight crops each of 40 photos, in any order: by crop, nearly every photo would be on both sides."""
    photos = torch.arange(40).repeat_interleave(8)[torch.randperm(320, generator=torch.Generator().manual_seed(3))]
    asked, learned = split_crops(photos)
    assert sorted([*asked.tolist(), *learned.tolist()]) == list(range(320))
    assert not set(photos[asked].tolist()) & set(photos[learned].tolist())
    assert len(set(photos[asked].tolist())) == 40 // HELD_OUT


def test_what_is_fitted_never_sees_a_photo_that_is_asked_about():
    """Whatever the teacher says of photos that are left out, the fitted layer is the same."""
    given = made()
    given = given._replace(photos=torch.arange(len(given.names)) // 4)
    start = nn.Linear(6, 5).requires_grad_(False)
    asked, _ = split_crops(given.photos)
    other = given.logits.clone()
    other[asked] = other[asked].flip(-1)
    layers = [fit_head(start, given, *refit_targets(given._replace(logits=logits)))[0] for logits in (given.logits, other)]
    assert torch.equal(layers[0].weight, layers[1].weight)


def test_crops_of_one_photo_are_known_as_such(photo_file):
    """Equal bytes are one photo, wherever they stand."""
    one, vit = photo_file.read_bytes(), load(DEFAULT_MODEL)
    file = io.BytesIO()
    Image.new("RGB", (40, 40), "red").save(file, "PNG")
    given = compute_distillation_features(vit, vit, [(one, "a"), (file.getvalue(), "b"), (one, "a")])
    assert given.photos.tolist() == [0, 1, 0]


def test_only_the_last_layer_of_the_model_changes(tmp_path, monkeypatch, capsys):
    rng, cat = np.random.default_rng(0), wordnet_ids(load(DEFAULT_MODEL))[281]
    photos = []
    for _ in range(12):
        file = io.BytesIO()
        Image.fromarray(rng.integers(0, 255, (40, 40, 3), dtype=np.uint8)).save(file, "PNG")
        photos.append(file.getvalue())
    pq.write_table(pa.table({"image": photos, "label": [cat, "n01440764"] * 6}), tmp_path / "some.parquet")
    shipped = asset_path("models") / f"{DEFAULT_MODEL}.safetensors"
    to = tmp_path / "new"
    monkeypatch.setattr("sys.argv", ["refit", str(shipped), "--teacher", DEFAULT_MODEL, "--teacher-px", "128", "--views", "1",
                                     "--data", str(tmp_path / "some.parquet"), "--to", str(to)])  # fmt: skip
    refit.main()
    assert json.loads(capsys.readouterr().out)["of cats"] == 6
    before, after = load_file(shipped), load_file(to.with_suffix(".safetensors"))
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"head.weight", "head.bias"}
    assert load(to.with_suffix(".safetensors")).labels == load(DEFAULT_MODEL).labels

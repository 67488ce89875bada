"""A guess is never an assertion: what is inferred and not proven is said in a warning, on the card, in JSON and in a handout."""

import json

import pytest
import timm
import torch
from checkpoints import lively, smooth
from timm.data import ImageNetInfo

import vitcore
from tests.conftest import NORMALISE, timm_vit
from vitcore.__main__ import main
from vitcore.models import load_model, local_files
from vitcore.models.load_model import AssumedAnswersWarning
from vitcore.report.handout import handout

ALL = {"heads": "3", "activation": "gelu", "eps": "1e-06", "pool": "token", "output": "softmax", "normalise": "imagenet",
       "norm_place": "before", "crop": "center", "interpolation": "bicubic"}  # fmt: skip
TRUE = {"heads": 3, "activation": "gelu", "eps": 1e-6, "pool": "token", "output": "softmax", "normalise": "imagenet",
        "norm_place": "before", "crop": "squash", "interpolation": "bilinear"}  # fmt: skip


def bare(folder, classes=3, place=True, **more):
    torch.manual_seed(0)
    module = lively(timm.create_model("vit_tiny_patch16_224", depth=1, img_size=32, patch_size=8, num_classes=classes, **more))
    if place:
        with torch.no_grad():
            smooth(module.pos_embed, 4, 4)
    torch.save(module.state_dict(), folder / "bare.pth")
    return folder / "bare.pth"


def test_everything_assumed_is_said_by_load_and_what_is_told_is_not_assumed(tmp_path, recwarn):
    """16 positions of random values may be 2×8, too; those of training know their neighbours."""
    file = bare(tmp_path, place=False)
    assert load_model.inspect(file).assumed_answers()["grid"] == "4x4"
    file = bare(tmp_path)
    assert "grid" not in load_model.inspect(file).assumed_answers()
    vit = load_model.load(file, answers=TRUE)
    assert not vit.assumed and not [w for w in recwarn if w.category is AssumedAnswersWarning]
    assert "Resize(size=(32, 32)" in str(vit.transform) and "bilinear" in str(vit.transform), "squashed, not cut"
    with pytest.warns(AssumedAnswersWarning, match=r"heads=3.*normalise=imagenet.*crop=center"):
        assert dict(load_model.load(file).assumed) == ALL


def test_a_mean_might_be_a_maximum(tmp_path):
    file = bare(tmp_path, global_pool="max", class_token=False)
    assert load_model.inspect(file).assumed_answers()["pool"] == "avg"
    module = lively(timm.create_model("vit_tiny_patch16_224", depth=1, img_size=32, patch_size=8, num_classes=3,
                                      global_pool="max", class_token=False))  # fmt: skip
    torch.save(module.state_dict(), file)
    x = torch.randn(1, 3, 32, 32)
    with torch.inference_mode():
        assert torch.allclose(load_model.load(file, answers={"pool": "max"}).module(x), module(x), atol=1e-5)


def test_two_features_side_by_side_are_taken_for_dinov2s(tmp_path):
    module = local_files.build_module({"embed_dim": 48, "depth": 1, "num_heads": 3, "num_classes": 3, "patch_size": 8,
                                       "reads_class_and_mean": True}, 32)  # fmt: skip
    torch.save(lively(module).state_dict(), tmp_path / "a.pth")
    vit = load_model.load(tmp_path / "a.pth", answers={"heads": 3})
    assert vit.assumed["pool"] == "token and mean"
    x = torch.randn(1, 3, 32, 32)
    with torch.inference_mode():
        assert torch.equal(vit.module(x), module(x))


def test_the_card_says_it_until_a_person_confirms(tmp_path, capsys):
    file = bare(tmp_path)
    assert main(["inspect", str(file), "--heads", "3", "--write-card"]) == 0
    assert "Assumed, not proven: activation=gelu" in capsys.readouterr().out
    card = json.loads(file.with_suffix(".json").read_text())
    rest = {key: value for key, value in ALL.items() if key != "heads"}
    assert card["assumed"] == rest
    with pytest.warns(AssumedAnswersWarning):
        assert dict(load_model.load(file).assumed) == rest
    file.with_suffix(".json").write_text(json.dumps(card | {"assumed": "all"}))
    with pytest.raises(load_model.ModelError, match="assumed"):
        load_model.load(file)
    file.with_suffix(".json").write_text(json.dumps({key: value for key, value in card.items() if key != "assumed"}))
    assert not load_model.load(file).assumed


def test_json_and_the_handout_say_it(tmp_path, photo_file, capsys):
    file = bare(tmp_path)
    main(["inspect", str(file), "--json"])
    assert json.loads(capsys.readouterr().out)["assumed"] == ALL
    assert main(["rollout", str(photo_file), "--model", str(file), "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["assumed"] == ALL and said.err.count("heads=3") == 1
    vit = load_model.load(file)
    page = handout(vit, vitcore.record(vit, photo_file, maps=range(vit.blocks))).decode()
    assert "Assumed, not proven" in page and "heads=3, activation=gelu" in page
    assert main(["rollout", str(photo_file), "--json"]) == 0
    assert "assumed" not in json.loads(capsys.readouterr().out), "the shipped model's card says everything"


def test_a_thousand_classes_are_asked_about(tmp_path):
    file = bare(tmp_path, 1000)
    question = next(q for q in load_model.inspect(file).questions if q.key == "class_names")
    assert question.likely == "imagenet" and "1,000" in question.sentence
    vit = load_model.load(file)
    assert vit.assumed["class_names"] == "imagenet" and vit.labels[0] == "tench" and len(load_model.wordnet_ids(vit)) == 1000
    assert "class_names" not in load_model.load(file, answers={"class_names": "imagenet"}).assumed
    numbered = load_model.load(file, answers={"class_names": "numbers"})
    assert numbered.labels[:2] == ("class 0", "class 1") and load_model.wordnet_ids(numbered) == ()
    features = load_model.load(file, answers={"output": "features"})
    assert "class_names" not in features.assumed and features.labels == ()
    found = load_model.inspect(file)
    mine = [f"mine {i}" for i in range(1000)]
    assert "class_names" not in found.assumed_answers({}, mine) and found.card({}, mine)["labels"] == mine
    found.write_card(found.card({"class_names": "imagenet"}))
    again = load_model.load(file)
    assert again.labels[0] == ImageNetInfo("imagenet-1k").index_to_description(0).split(",")[0]
    assert "class_names" not in again.assumed
    assert not any(q.key == "class_names" for q in load_model.inspect(bare(tmp_path, 999)).questions)


def test_modules_of_ones_own_have_names_by_assumption():
    own = timm_vit(num_classes=1000)
    cut = {"crop": "center 0.875", "interpolation": "bicubic"}  # timm's, of a module without its configuration
    assert vitcore.wrap(own, **NORMALISE).assumed == {"class_names": "imagenet"} | cut
    assert vitcore.wrap(timm_vit(num_classes=5), **NORMALISE).assumed == cut
    timms = timm.create_model("vit_tiny_patch16_224.augreg_in21k_ft_in1k", depth=1)
    assert not vitcore.wrap(timms).assumed

"""How photos are prepared for bare weights: as timm says of the same name and shapes, as told, or as makes a model surest."""

import re

import pytest
import timm
import torch
from torch import nn

import vitcore
from vitcore.models.checkpoint_inspection import likely_answers
from vitcore.models.checkpoint_inspection.likely_answers import most_confident_normalisation, preprocessing_by_name
from vitcore.models.checkpoint_inspection.open_questions import NORMALISATIONS
from vitcore.models.load_model import AssumedAnswersWarning, ModelError, inspect

HALF, IMAGENET = NORMALISATIONS["half"], NORMALISATIONS["imagenet"]


@pytest.fixture(scope="module")
def weights():
    """Of a ViT-Ti/16 for ImageNet's classes: AugReg's and DeiT's have these shapes."""
    torch.manual_seed(0)
    return timm.create_model("vit_tiny_patch16_224").state_dict()


def saved(folder, name, state):
    torch.save(state, folder / f"{name}.pth")
    return folder / f"{name}.pth"


def likely(file, **more):
    return {q.key: (q.likely, q.reason) for q in inspect(file, **more).unproven_questions}


@pytest.mark.parametrize(("name", "colours", "crop"), [
    ("vit_tiny_patch16_224", HALF, "center 0.9"), ("vit-tiny-patch16-224.fp16", HALF, "center 0.9"),
    ("vit_tiny_patch16_224.augreg_in21k_ft_in1k", HALF, "center 0.9"), ("deit_tiny_patch16_224", IMAGENET, "center 0.9"),
    ("vit_tiny_patch16_2240", IMAGENET, "center"), ("mine", IMAGENET, "center"), ("vit_base_patch16_224", IMAGENET, "center"),
])  # fmt: skip
def test_a_name_with_its_shapes_tells(name, colours, crop, weights, tmp_path):
    found = likely(saved(tmp_path, name, weights))
    assert (found["normalise"][0], found["crop"][0]) == (colours, crop)
    assert bool(re.search(r"timm's (vit|deit)_tiny", found["normalise"][1])) == (crop != "center")


def test_a_name_or_silent_norms_tell_where_norms_are(weights, tmp_path):
    silent = {name: w * 1e-5 if ".norm1." in name or ".norm2." in name else w for name, w in weights.items()}
    answers = {name: likely(saved(tmp_path, name, state))["norm_place"] for name, state in
               (("mine", weights), ("vit_tiny_patch16_224", weights), ("silent", silent))}  # fmt: skip
    assert answers["mine"] == ("before", "") and answers["vit_tiny_patch16_224"][0] == "before"
    assert "timm's" in answers["vit_tiny_patch16_224"][1] and answers["silent"] == (
        "after",
        "the weights of its blocks' norms are near 0",
    )
    with torch.device("meta"):
        after = timm.create_model("vit_base_patch16_rpn_224").state_dict()
    assert preprocessing_by_name("vit_base_patch16_rpn_224.sw_in1k", after)[0]["norm_place"] == "after"


def test_told_to_be_like_a_model_nothing_of_it_is_assumed(weights, tmp_path):
    file = saved(tmp_path, "deit_tiny_patch16_224", weights)
    assert not {"normalise", "crop", "interpolation"} & set(likely(file, like="vit_tiny_patch16_224.augreg_in21k_ft_in1k"))
    with pytest.warns(AssumedAnswersWarning, match="class_names"):
        vit = vitcore.load(file, like="vit_tiny_patch16_224.augreg_in21k_ft_in1k")
    assert (vit.mean, vit.std) == HALF and vit.transform.transforms[0].size == 248 and "normalise" not in vit.assumed
    for name, said in (("vit_base_patch16_224", "other names or shapes"), ("vit_none", "no trained model")):
        with pytest.raises(ModelError, match=said):
            vitcore.load(file, like=name)
    with pytest.raises(ModelError, match="leave out like"):
        vitcore.load(like="vit_tiny_patch16_224")
    with pytest.raises(ModelError, match="leave out base, heads"):  # they would be ignored
        vitcore.load(answers={"heads": 5, "pool": None}, base="somewhere")


def test_told_to_be_like_a_model_norms_stand_where_it_has_them(weights, tmp_path, monkeypatch):
    file, name = saved(tmp_path, "mine", weights), "vit_tiny_patch16_224.augreg_in21k_ft_in1k"
    assert "norm_place" not in likely(file, like=name) and type(vitcore.load(file, like=name).module.blocks[0]).__name__ == "Block"
    prepared = likely_answers.preprocessing_like(name, weights, "mine") | {
        "norm_place": "after"
    }  # as of timm's res-post-norm models
    monkeypatch.setattr(likely_answers, "preprocessing_like", lambda *_: prepared)
    assert type(vitcore.load(file, like=name).module.blocks[0]).__name__ == "ResPostBlock"


class Sure(nn.Module):
    """A classifier that is the surer the nearer its pixels' mean is to `centre`."""

    def __init__(self, centre: float) -> None:
        super().__init__()
        self.centre = centre

    def forward(self, x):
        far = (x.mean((1, 2, 3)) - self.centre).abs()
        return torch.stack([9 - far, 0 * far], 1)


def test_where_no_name_tells_the_surest_answers_do(noise, weights, tmp_path):
    import numpy as np

    grey = [np.full((8, 8, 3), 51, np.uint8)] * 2  # 0.2: half makes −0.6 of it, imagenet about −1.1, clip −0.9, none 0.2
    for name, centre in (("half", -0.6), ("imagenet", -1.1), ("clip", -0.92), ("none", 0.2)):
        surest, bits = most_confident_normalisation(Sure(centre), grey)
        assert surest == name and min(bits.values()) == bits[name] and len(bits) == 4
    with pytest.warns(AssumedAnswersWarning, match=r"normalise=\w+ \(its classes have \d\.\d bits of entropy"):
        vit = vitcore.load(saved(tmp_path, "mine", weights))
    assert vit.assumed["normalise"] in NORMALISATIONS and "bits" in vit.assumed_because["normalise"]
    assert "normalise" not in vitcore.load(tmp_path / "mine.pth", answers={"normalise": "clip"}).assumed

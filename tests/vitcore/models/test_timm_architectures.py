"""A bare state of an architecture of timm's that is no plain ViT opens as that architecture, or is named by its family."""

import json

import pytest
import timm
import torch

import vitcore
from tests import timm_tensors
from vitcore.models import load_model
from vitcore.models.checkpoint_inspection.timm_architectures import architectures_with_tensors, family_of_tensors, tensor_digest
from vitcore.models.model_size import build_without_weights

INDEX = json.loads(timm_tensors.FILE.read_text(encoding="utf-8"))


def saved(tmp_path, name, roof="", **changes):
    torch.manual_seed(0)
    module = timm.create_model(name, **changes).eval()
    torch.save({"state_dict": {roof + key: w for key, w in module.state_dict().items()}}, tmp_path / "own.pth")
    return module, tmp_path / "own.pth"


def test_the_index_is_of_this_timm():
    assert INDEX["timm"] == timm.__version__, "python tests/timm_tensors.py writes it anew"
    for name in ("cait_xxs24_224", "resnet18", "hiera_tiny_224"):
        shapes, classifier = timm_tensors.shapes_and_classifier(name)
        assert name in INDEX["architectures"][tensor_digest(shapes, classifier)]
    assert sum(len(names) for names in INDEX["architectures"].values()) == len(timm.list_models())


@pytest.mark.filterwarnings("ignore::vitcore.models.load_model.AssumedAnswersWarning")
@pytest.mark.parametrize(("name", "roof", "classes"), [
    ("cait_xxs24_224", "module.", 7), ("xcit_nano_12_p16_224", "model.backbone.", 1000),
    ("swin_tiny_patch4_window7_224", "", 5), ("resnet18", "", 1000), ("coat_lite_tiny", "", 0),
])  # fmt: skip
@torch.inference_mode()
def test_its_answer_is_timms(name, roof, classes, tmp_path):
    module, file = saved(tmp_path, name, roof, num_classes=classes)
    vit = vitcore.load(file)
    x = torch.randn(1, 3, 224, 224)
    assert (vit.module(x) - module(x)).abs().max() <= 1e-4 * module(x).abs().max()
    assert len(vit.labels) == classes
    assert vit.mean == tuple(module.pretrained_cfg["mean"])


def test_its_size_is_that_of_timms_weights_and_a_card_opens_it_again(tmp_path):
    module, file = saved(tmp_path, "mobilevit_xxs", num_classes=3)
    found = load_model.inspect(file)
    opened = [load_model.open_inspected_checkpoint(found)]
    found.write_card(found.card())
    opened.append(load_model.load(file, answers={}))
    assert [vit.grid.image_px for vit in opened] == [(256, 256)] * 2
    assert build_without_weights(file)[2] == (256, 256)
    x = torch.randn(1, 3, 256, 256)
    with torch.inference_mode():
        assert all(torch.allclose(vit.module(x), module(x), atol=1e-4) for vit in opened)


def test_several_architectures_of_the_same_tensors_are_asked():
    found = {digest: names for digest, names in INDEX["architectures"].items() if len(names) > 1}
    names = next(names for names in found.values() if "resnet50" in names)
    shapes, _ = timm_tensors.shapes_and_classifier("resnet50")
    assert list(architectures_with_tensors({k: torch.empty(s, device="meta") for k, s in shapes.items()})) == names


def test_another_size_is_refused_by_its_family(tmp_path):
    _, file = saved(tmp_path, "cait_xxs24_224", depth=2)
    with pytest.raises(load_model.ModelError, match="the tensor names of timm's cait models, but the shapes of none of them"):
        vitcore.load(file)
    assert family_of_tensors({"a": torch.zeros(1)}) == ""

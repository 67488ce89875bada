"""A model inside a module of one's own: with the normalisation before it and the head after it, or refused; and such files."""

import warnings

import numpy as np
import pytest
import timm
import torch
import torchvision
from torch import nn

import vitcore
from tests.conftest import timm_vit
from tests.vitcore.models.test_wrap import of_openclip, of_torchvision
from vitcore.models.load_model import ModelError

MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.25, 0.3)
SMALL = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96, "image_size": 32,
         "patch_size": 8}  # fmt: skip


class Colours(nn.Module):
    def __init__(self, scale=1.0, mean="mean", std="std"):
        super().__init__()
        for name, numbers in ((mean, MEAN), (std, STD)):
            self.register_buffer(name, scale * torch.tensor(numbers).view(3, 1, 1))
        self.mean, self.std = getattr(self, mean), getattr(self, std)

    def forward(self, x):
        return (x - self.mean) / self.std


class Own(nn.Module):
    """What people write: a backbone, and layers of their own."""

    def __init__(self, backbone, head, read=lambda out: out, last=lambda out: out):
        super().__init__()
        self.backbone, self.fc, self.read, self.last = backbone, head, read, last

    def forward(self, x):
        return self.last(self.fc(self.read(self.backbone(x))))


class Probe(Own):
    """A head on what a whole CLIP says of a picture."""

    def forward(self, x):
        return self.fc(self.backbone.encode_image(x))


def of_transformers(pooler=True):
    T = pytest.importorskip("transformers", reason="the package transformers is not installed (requirements-dev.txt)")
    return T.ViTModel(T.ViTConfig(**SMALL), add_pooling_layer=pooler)


def of_timm_wrapper(kind):
    T = pytest.importorskip("transformers", reason="the package transformers is not installed (requirements-dev.txt)")
    shape = {"img_size": 32, "patch_size": 8, "embed_dim": 48, "depth": 1, "num_heads": 3}
    told = T.TimmWrapperConfig(architecture="vit_tiny_patch16_224", model_args=shape, id2label=dict(enumerate("abcd")))
    return getattr(T, f"TimmWrapper{kind}")(told)


def of_peft():
    peft = pytest.importorskip("peft", reason="the package peft is not installed (requirements-dev.txt)")
    return peft.get_peft_model(timm_vit(), peft.LoraConfig(r=2, target_modules=["qkv"], init_lora_weights=False))


def headless():
    return timm_vit(num_classes=0)


HELD = {
    "a buffer before it": lambda: nn.Sequential(Colours(), timm_vit()),
    "torchvision's Normalize before it": lambda: nn.Sequential(torchvision.transforms.Normalize(MEAN, STD), timm_vit()),
    "nothing but a name": lambda: Own(timm_vit(), nn.Identity()),
    "a linear head": lambda: Own(headless(), nn.Linear(24, 4)),
    "a head of layers": lambda: Own(headless(), nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 4))),
    "layers after the model's head": lambda: nn.Sequential(timm_vit(), nn.ReLU(), nn.Linear(10, 4)),
    "compiled inside": lambda: Own(torch.compile(headless(), backend="eager"), nn.Linear(24, 4)),
    "transformers', class token": lambda: Own(of_transformers(), nn.Linear(48, 4), lambda out: out.last_hidden_state[:, 0]),
    "transformers', pooler": lambda: Own(of_transformers(), nn.Linear(48, 4), lambda out: out.pooler_output),
    "transformers', mean": lambda: Own(of_transformers(False), nn.Linear(48, 4), lambda out: out.last_hidden_state[:, 1:].mean(1)),
    "transformers' wrapper of timm": lambda: Own(of_timm_wrapper("ForImageClassification"), nn.Identity(), lambda out: out.logits),
    "OpenCLIP's tower": lambda: nn.Sequential(of_openclip().visual, nn.Linear(20, 4)),
    "OpenCLIP's tower of timm's": lambda: nn.Sequential(of_openclip("CustomTextCLIP", vision_cfg={
        "timm_model_name": "test_vit", "timm_proj": "linear", "timm_pool": "", "image_size": 160}).visual, nn.Linear(20, 4)),
    "OpenCLIP, whole": lambda: Probe(of_openclip(), nn.Sequential(nn.Dropout(0.1), nn.Linear(20, 32), nn.GELU(), nn.Linear(32, 4))),
    "OpenCLIP, probabilities": lambda: nn.Sequential(of_openclip().visual, nn.Linear(20, 4), nn.Sigmoid()),
    "torchvision's": lambda: nn.Sequential(of_torchvision(), nn.ReLU(), nn.Linear(7, 4)),
    "PEFT's adapter": of_peft,
    "a ResNet": lambda: Own(timm.create_model("resnet18", num_classes=0), nn.Linear(512, 4)),
    "two tokens": lambda: Own(timm.create_model("deit_tiny_distilled_patch16_224", num_classes=0, depth=1, img_size=32),
                              nn.Linear(192, 4)),
    "probabilities": lambda: nn.Sequential(timm_vit(), nn.Sigmoid()),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::vitcore.models.load_model.AssumedAnswersWarning")
@pytest.mark.parametrize("kind", HELD)
def test_the_module_s_own_answer_is_given(kind):
    torch.manual_seed(0)
    module, normalises = HELD[kind](), "before it" in kind
    vit = vitcore.wrap(module, name="mine")
    x = torch.rand(1, 3, *vit.grid.image_px)
    colours = (vit.mean, vit.std) if normalises else ((0.0,), (1.0,))
    mean, std = (torch.tensor(numbers).view(-1, 1, 1) for numbers in colours)
    with torch.no_grad():
        theirs, ours = module.eval()(x), vit.module((x - mean) / std)
    assert vit.output == ("sigmoid" if "probabilities" in kind else "softmax")
    ours = ours.sigmoid() if "probabilities" in kind else ours
    assert len(vit.labels) == theirs.shape[1]
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=2e-5)
    if normalises:
        np.testing.assert_allclose((vit.mean, vit.std), (MEAN, STD), atol=1e-5)
        assert "normalise" not in vit.assumed
        with pytest.raises(ModelError, match="leave out mean and std"):
            vitcore.wrap(module, mean=MEAN, std=STD)


@pytest.mark.parametrize(("make", "said"), [
    (lambda: Own(timm_vit(), nn.Identity(), last=lambda out: out / 2), "does more after backbone"),
    (lambda: Own(headless(), nn.Linear(24, 4), read=lambda out: out.relu()), "does more after backbone"),
    (lambda: Own(of_transformers(), nn.Linear(48, 4), lambda out: out.last_hidden_state[:, 3]), "does more after backbone"),
    (lambda: Own(timm_vit(), nn.Identity(), last=lambda out: (out, out)), "does more after backbone"),
    (lambda: Own(of_timm_wrapper("Model"), nn.Linear(48, 4), lambda out: out.pooler_output), "does more after backbone"),
    (lambda: Own(of_timm_wrapper("ForImageClassification"), nn.Linear(4, 4), lambda out: out.logits), "does more after backbone"),
    (lambda: Own(of_openclip().visual, nn.Linear(20, 4), lambda out: nn.functional.normalize(out)), "does more after backbone"),
    (lambda: nn.Sequential(torchvision.transforms.GaussianBlur(3), timm_vit()), "more to a picture than normalise it before 1"),
    (lambda: nn.Sequential(nn.Upsample(scale_factor=2), timm_vit(dynamic_img_size=True)), "more to a picture than normalise"),
    (lambda: nn.ModuleList([timm_vit(), timm_vit()]), r"holds 2 models \(0, 1\)"),
    (lambda: nn.Sequential(timm_vit(), nn.LazyLinear(3)), "not in memory"),
])  # fmt: skip
def test_what_does_more_than_its_model_is_refused(make, said):
    with pytest.raises(ModelError, match=said) as caught:
        vitcore.wrap(make(), name="mine")
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::vitcore.models.load_model.AssumedAnswersWarning")
@pytest.mark.parametrize("name", ["resnet10t", "cait_xxs24_224", "swin_tiny_patch4_window7_224", "deit_tiny_distilled_patch16_224"])
def test_a_file_of_a_backbone_of_timm_and_a_head_of_one_s_own(name, tmp_path):
    backbone = timm.create_model(name, num_classes=0)
    linear = nn.Linear(backbone.num_features, 4)
    module = Own(backbone, linear if "distilled" in name else nn.Sequential(nn.Dropout(0.2), linear)).eval()
    torch.save({f"model.{key}": value for key, value in module.state_dict().items()}, tmp_path / "mine.pth")
    vit = vitcore.load(tmp_path / "mine.pth")
    x = torch.randn(1, 3, *vit.grid.image_px)
    with torch.no_grad():
        np.testing.assert_allclose(vit.module(x).numpy(), module(x).numpy(), atol=2e-5)
    assert len(vit.labels) == 4


@pytest.mark.parametrize(("scale", "names"), [(1, ("mean", "std")), (255, ("pixel_mean", "pixel_std")), (1, ("mu", "sigma"))])
def test_a_file_s_own_colours_are_the_likely_ones(scale, names, tmp_path):
    file = tmp_path / "mine.pth"
    torch.save(nn.Sequential(Colours(scale, *names), timm_vit()).state_dict(), file)
    with pytest.warns(UserWarning, match=rf"as its tensor 0\.{names[0]} and the one beside it say"):
        vit = vitcore.load(file)
    np.testing.assert_allclose((vit.mean, vit.std), (MEAN, STD), atol=1e-5)
    assert "normalise" in vit.assumed


@pytest.mark.parametrize("held", [
    {"teacher.mean": torch.tensor(MEAN), "teacher.std": torch.tensor(STD), "x.mean": torch.zeros(3), "x.std": torch.ones(3)},
    {"bn.running_mean": torch.tensor(MEAN), "bn.running_std": torch.tensor(STD)},
    {"mean": torch.tensor(MEAN), "std": torch.zeros(3)}, {"mean": torch.tensor(MEAN)}, {"loss_mean": torch.tensor(MEAN)},
])  # fmt: skip
def test_other_tensors_say_nothing_of_colours(held, tmp_path):
    file = tmp_path / "mine.pth"
    torch.save({f"model.{name}": value for name, value in timm_vit().state_dict().items()} | held, file)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert vitcore.load(file).mean != MEAN
    assert not any("the one beside it" in str(one.message) for one in heard)

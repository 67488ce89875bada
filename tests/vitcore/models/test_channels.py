"""Models of one channel are shown photos in grey, exactly as their own module sees grey; of more channels they are refused."""

import warnings

import numpy as np
import pytest
import timm
import torch
import transformers as T
from checkpoints import lively
from PIL import Image
from timm.models._hub import save_for_hf

import vitcore
from vitcore.forward.block_activations import project_patch
from vitcore.models.load_model import patch_kernel, root_kernel
from vitcore.models.model_cards import ModelError

SHAPE = {"hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 192, "image_size": 32,
         "patch_size": 8, "num_labels": 4}  # fmt: skip
X = torch.randn(2, 1, 32, 32, generator=torch.Generator().manual_seed(0))


def of_timm(channels=1, name="vit_tiny_patch16_224", **more):
    return lively(timm.create_model(name, in_chans=channels, depth=2, img_size=32, patch_size=8, num_classes=3, **more)).eval()


def opened(path, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return vitcore.load(path, **more)


@torch.no_grad()
@pytest.mark.parametrize("way", ["file", "timm's folder", "transformers' folder", "wrapped timm", "wrapped transformers"])
def test_a_grey_model_answers_as_its_own_module(tmp_path, way):
    torch.manual_seed(0)
    module = (
        lively(T.ViTForImageClassification(T.ViTConfig(**SHAPE, num_channels=1))).eval() if "transformers" in way else of_timm()
    )
    expected = module(X).logits if "transformers" in way else module(X)
    torch.save(module.state_dict(), tmp_path / "grey.pth")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if way == "file":
            vit = vitcore.load(tmp_path / "grey.pth", answers={"normalise": "0.5/0.25"})
            assert (vit.mean, vit.std) == ((0.5,) * 3, (0.25,) * 3)
        elif way.startswith("wrapped"):
            vit = vitcore.wrap(module, mean=[0.4], std=[0.2])
            assert (vit.mean, vit.std) == ((0.4,) * 3, (0.2,) * 3)
        elif "transformers" in way:
            module.save_pretrained(tmp_path / "folder")
            vit = vitcore.load(tmp_path / "folder")
        else:
            shape = {"in_chans": 1, "depth": 2, "img_size": 32, "patch_size": 8}
            save_for_hf(module, str(tmp_path / "folder"), model_args=shape)
            vit = vitcore.load(tmp_path / "folder")
    torch.testing.assert_close(vit.module(X), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(vit.module(X.expand(-1, 3, -1, -1)), expected, atol=1e-5, rtol=0)
    assert vit.assumed["channels"].startswith("grey (0.299 R")


@torch.no_grad()
def test_a_photo_is_shown_as_pillow_makes_it_grey(tmp_path):
    module = of_timm()
    torch.save(module.state_dict(), tmp_path / "grey.pth")
    vit = opened(tmp_path / "grey.pth")
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    grey = torch.from_numpy(np.asarray(Image.fromarray(pixels).convert("L")) / np.float32(255))
    recording = vitcore.record(vit, pixels)
    assert vit.mean == pytest.approx((0.449,) * 3) and vit.std == pytest.approx((0.226,) * 3), "ImageNet's averages"
    expected = module(((grey - vit.mean[0]) / vit.std[0])[None, None])[0]
    torch.testing.assert_close(torch.from_numpy(recording.logits), expected, atol=0.02, rtol=0)  # Pillow rounds to bytes
    swapped = vitcore.record(vit, pixels[..., ::-1].copy())
    assert np.abs(swapped.logits - recording.logits).max() > 0.05, "red counts otherwise than blue"
    assert project_patch(vit, pixels, 0) is None, "three numbers of a pixel meet one of a filter"


@torch.no_grad()
def test_filters_of_one_channel_are_grey(tmp_path):
    module = of_timm()
    torch.save(module.state_dict(), tmp_path / "grey.pth")
    kernel = patch_kernel(opened(tmp_path / "grey.pth"))
    np.testing.assert_allclose(kernel.sum(1), module.patch_embed.proj.weight[:, 0], atol=1e-6)
    assert (kernel[:, 0] == kernel[:, 2]).all()
    network = timm.create_model("resnet18", in_chans=1, num_classes=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        vit = vitcore.wrap(network, image_px=64)
    np.testing.assert_allclose(root_kernel(vit).sum(1), network.conv1.weight[:, 0], atol=1e-6)


@pytest.mark.parametrize("channels", [2, 4, 13])
def test_other_numbers_of_channels_are_refused(tmp_path, channels):
    module = of_timm(channels)
    torch.save(module.state_dict(), tmp_path / "bands.pth")
    for open_ in (lambda: opened(tmp_path / "bands.pth"), lambda: vitcore.wrap(module)):
        with pytest.raises(ModelError, match=f"takes pictures of {channels} channels, and photos have 3"):
            open_()


@pytest.mark.parametrize(("kind", "config"), [
    ("swin", T.SwinConfig(embed_dim=24, depths=[1, 1], num_heads=[2, 2])),
    ("segformer", T.SegformerConfig()), ("pvt", T.PvtConfig()), ("bert", T.BertConfig()), ("convnext", T.ConvNextConfig()),
])  # fmt: skip
def test_models_of_other_kinds_are_refused_by_their_kind(tmp_path, kind, config):
    config.save_pretrained(tmp_path)
    torch.save({"a": torch.zeros(3)}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match=f"describes a {kind} model, which is not opened from transformers' files"):
        vitcore.inspect(tmp_path)

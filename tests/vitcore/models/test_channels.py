"""Models of one channel are shown photos in grey, exactly as their own module sees grey; others are given bands."""

import struct
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
from tests.checkpoints import load_quietly
from vitcore.analysis.filters import components_as_picture, principal_components
from vitcore.forward.block_activations import project_patch
from vitcore.images import PhotoError, crop_for_model, open_photo
from vitcore.models.load_model import patch_kernel, root_kernel
from vitcore.models.model_cards import ModelError

SHAPE = {"hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 192, "image_size": 32,
         "patch_size": 8, "num_labels": 4}  # fmt: skip
X = torch.randn(2, 1, 32, 32, generator=torch.Generator().manual_seed(0))


def of_timm(channels=1, name="vit_tiny_patch16_224", **more):
    return lively(timm.create_model(name, in_chans=channels, depth=2, img_size=32, patch_size=8, num_classes=3, **more)).eval()


@torch.no_grad()
@pytest.mark.parametrize("way", ["file", "timm's folder", "transformers' folder", "wrapped timm", "wrapped transformers"])
def test_a_grey_model_answers_as_its_own_module(tmp_path, way):
    torch.manual_seed(0)
    module = (
        lively(T.ViTForImageClassification(T.ViTConfig(**SHAPE, num_channels=1))).eval() if "transformers" in way else of_timm()
    )
    expected = module(X).logits if "transformers" in way else module(X)
    torch.save(module.state_dict(), tmp_path / "grey.pth")
    with warnings.catch_warnings(action="ignore"):
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
    vit = load_quietly(tmp_path / "grey.pth")
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
    kernel = patch_kernel(load_quietly(tmp_path / "grey.pth"))
    np.testing.assert_allclose(kernel.sum(1), module.patch_embed.proj.weight[:, 0], atol=1e-6)
    assert (kernel[:, 0] == kernel[:, 2]).all()
    network = timm.create_model("resnet18", in_chans=1, num_classes=3)
    with warnings.catch_warnings(action="ignore"):
        vit = vitcore.wrap(network, image_px=64)
    np.testing.assert_allclose(root_kernel(vit).sum(1), network.conv1.weight[:, 0], atol=1e-6)


def tiff(values: np.ndarray) -> bytes:
    """A TIFF of (H, W, bands), uncompressed in one strip (TIFF 6.0 section 2)."""
    (high, wide, bands), data = values.shape, values.tobytes()
    tags = {256: wide, 257: high, 258: 8 * values.itemsize, 259: 1, 262: 1, 273: 8, 277: bands, 278: high, 284: 1}
    rows = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    return struct.pack("<4sI", b"II*\0", 8 + len(data)) + data + struct.pack("<H", len(tags)) + rows + bytes(4)


@torch.no_grad()
@pytest.mark.parametrize("channels", [2, 4, 13])
def test_a_model_of_other_bands_answers_as_its_own_module(tmp_path, channels):
    module = of_timm(channels)
    torch.save(module.state_dict(), tmp_path / "bands.pth")
    vit = load_quietly(tmp_path / "bands.pth")
    assert vit.bands == channels and vit.assumed["channels"].startswith(f"{channels} bands") and vit.assumed["normalise"] == "none"
    values = np.random.default_rng(0).integers(0, 65536, (32, 32, channels)).astype(np.uint16)
    np.save(tmp_path / "a.npy", values)
    np.savez(tmp_path / "a.npz", values=values, dates=np.zeros(3))
    (tmp_path / "a.tif").write_bytes(tiff(values))
    expected = module(torch.from_numpy(values / np.float32(65535)).permute(2, 0, 1)[None])[0].numpy()
    for source in (values, values.transpose(2, 0, 1), *(tmp_path / f"a.{kind}" for kind in ("npy", "npz", "tif"))):
        recording = vitcore.record(vit, source)
        np.testing.assert_allclose(recording.logits, expected, atol=1e-5)
        assert recording.model_input.pixels.shape == (32, 32, 3) and f"It has {channels} bands" in recording.photo.notes[0]
    told = load_quietly(tmp_path / "bands.pth", answers={"normalise": ((0.5,) * channels, (0.25,) * channels)})
    floats = (values / 65535).astype(np.float32)
    expected = module((torch.from_numpy(floats).permute(2, 0, 1)[None] - 0.5) / 0.25)[0].numpy()
    np.testing.assert_allclose(vitcore.record(told, floats).logits, expected, atol=1e-5)


@torch.no_grad()
def test_a_photo_is_no_picture_of_other_bands(tmp_path):
    vit = vitcore.wrap(of_timm(4), mean=[0.1, 0.2, 0.3, 0.4], std=[1, 1, 1, 2])
    assert vit.mean == (0.1, 0.2, 0.3, 0.4) and "normalise" not in vit.assumed
    for photo in ("assets/samples/castle.jpg", np.zeros((32, 32, 3), np.uint8), Image.new("RGB", (40, 40))):
        with pytest.raises(PhotoError, match="has not the 4 bands that the model reads"):
            vitcore.record(vit, photo)
        with pytest.raises(PhotoError, match="has not the 4 bands that the model reads"):
            vitcore.relevance(vit, photo, "chefer")
    assert vitcore.relevance(vit, np.random.default_rng(0).random((40, 60, 4), np.float32), "chefer").maps.shape == (
        vit.grid.rows,
        vit.grid.cols,
    )
    with pytest.raises(ModelError, match="mean and std are 4 numbers"):
        vitcore.wrap(of_timm(4), mean=[0.5] * 3, std=[0.5] * 3)


def test_bands_are_cut_as_their_picture_is_and_those_to_show_are_told():
    vit = opened_quietly(of_timm(4), image_px=32)
    values = (0.25 + np.random.default_rng(0).random((40, 60, 4)) / 2).astype(np.float32)  # resizing overshoots nowhere
    photo = open_photo(values, bands=4, shown=(3, 1, 0))
    crop = crop_for_model(photo.image, vit.transform, photo.bands)
    assert crop.bands.shape == (32, 32, 4)
    np.testing.assert_allclose(crop.bands[..., (3, 1, 0)], crop.pixels / 255, atol=0.01)
    assert vitcore.record(vit, photo).photo is photo


@torch.no_grad()
def test_filters_of_other_bands_are_grey_pictures_side_by_side(tmp_path):
    module = of_timm(4)
    vit = opened_quietly(module)
    kernel = patch_kernel(vit)
    np.testing.assert_array_equal(kernel, module.patch_embed.proj.weight)
    vectors = principal_components(kernel).vectors[:3]
    tiles = components_as_picture(vectors)
    assert tiles.shape == (3, 8, 32, 3)
    scale = np.abs(vectors[1]).max()
    np.testing.assert_allclose(tiles[1, :, 16:24, 0], 127.5 + 127.5 * vectors[1, :, :, 2] / scale, atol=0.51)


def opened_quietly(module, **more):
    with warnings.catch_warnings(action="ignore"):
        return vitcore.wrap(module, **more)


@pytest.mark.parametrize(("kind", "config"), [
    ("swin", T.SwinConfig(embed_dim=24, depths=[1, 1], num_heads=[2, 2])),
    ("segformer", T.SegformerConfig()), ("pvt", T.PvtConfig()), ("bert", T.BertConfig()), ("convnext", T.ConvNextConfig()),
])  # fmt: skip
def test_models_of_other_kinds_need_their_own_tensors(tmp_path, kind, config):
    config.save_pretrained(tmp_path)
    torch.save({"a": torch.zeros(3)}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match="can't be opened: .* tensors do not fit" if kind != "bert" else "describes a bert model"):
        vitcore.load(tmp_path)

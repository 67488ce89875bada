"""What a model of transformers is shown: our pixels against those of its own image processors, field by field."""

import json

import numpy as np
import pytest
import torch
import transformers as T
from checkpoints import lively
from PIL import Image
from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES

import vitcore
from vitcore.images import crop_box, photo_from_image, resize_and_crop
from vitcore.models import load_model
from vitcore.models.formats import image_processor

STEP = 2 / 255
SMALL = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "patch_size": 16}


@pytest.fixture(scope="module")
def photo():
    """With edges and noise, and sides that no resize divides evenly."""
    rng = np.random.default_rng(0)
    rows, cols = np.mgrid[:330, :498]
    waves = np.stack([np.sin(cols / 9), np.cos(rows / 7), np.sin((rows + cols) / 23)], -1)
    return Image.fromarray(np.uint8(np.clip(127 + 90 * waves + rng.normal(0, 15, waves.shape), 0, 255)))


def shown(vit, photo):
    return torch.from_numpy(vitcore.record(vit, photo_from_image(photo)).model_input.pixels / 255).permute(2, 0, 1)


def normalised(vit, photo):
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (vit.mean, vit.std))
    return (shown(vit, photo) - mean) / std


def folder(tmp_path, fields, kind="vit", image_px=224):
    name = {"vit": "ViT", "deit": "DeiT", "dinov2": "Dinov2", "dinov2_with_registers": "Dinov2WithRegisters"}[kind]
    torch.manual_seed(0)
    config = getattr(T, f"{name}Config")(**SMALL, image_size=image_px)
    lively(getattr(T, f"{name}Model")(config)).save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(fields))
    return tmp_path


FIELDS = {
    "a number": {"size": 224},
    "a number, with its class": {"size": 224, "feature_extractor_type": "ViTFeatureExtractor", "image_mean": [0.5] * 3},
    "nothing": {},
    "height and width": {"size": {"height": 224, "width": 224}, "resample": 3},
    "no normalisation": {"size": 224, "do_normalize": False},
    "no rescaling": {"size": 224, "do_rescale": False, "image_mean": [127.5] * 3, "image_std": [127.5] * 3},
    "from -1 to 1": {"size": 224, "do_normalize": False, "rescale_factor": 1 / 127.5},
    "one number for three colours": {"size": 224, "image_mean": 0.4, "image_std": 0.3},
    "Lanczos": {"size": 224, "resample": 1},
    "nearest": {"size": 224, "resample": 0},
    "a crop in numbers": {"image_processor_type": "DeiTImageProcessor", "size": 256, "crop_size": 224, "resample": 3},
    "a crop in words": {"size": 438, "do_center_crop": True, "crop_size": {"height": 224, "width": 224}, "resample": 3},
    "a crop that is off": {"image_processor_type": "DeiTImageProcessor", "size": 224, "do_center_crop": False},
    "the shorter side": {"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 256}, "crop_size": 224},
    "a shorter side in a number": {"image_processor_type": "CLIPImageProcessor", "size": 250, "crop_size": [224, 224]},
    "an odd rest": {"image_processor_type": "CLIPImageProcessor", "size": 227},
    "a crop alone": {"do_resize": False, "do_center_crop": True, "crop_size": 224},
    "a crop larger than the photo": {"do_resize": False, "do_center_crop": True, "crop_size": {"height": 336, "width": 512}},
    "SigLIP": {"image_processor_type": "SiglipImageProcessor"},
    "BEiT": {"image_processor_type": "BeitImageProcessor", "do_center_crop": True, "size": 256},
    "DINOv3": {"image_processor_type": "DINOv3ViTImageProcessorFast"},
}


@pytest.mark.parametrize("backend", ["torchvision", "pil"])
@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
def test_pixels_are_those_of_transformers(fields, backend, tmp_path, photo):
    here = folder(tmp_path, fields)
    theirs = T.AutoImageProcessor.from_pretrained(here, backend=backend)(photo, return_tensors="pt").pixel_values[0]
    vit = load_model.load(here)
    assert vit.grid.image_px == tuple(theirs.shape[1:])
    ours = normalised(vit, photo)
    if fields.get("resample") == 0:  # a pixel further where a centre falls between two
        assert ((ours - theirs).abs() > 1e-5).float().mean() < 0.02
    else:
        assert (ours - theirs).abs().max() <= STEP / min(vit.std) + 1e-6


@pytest.mark.parametrize("kind", ["deit", "dinov2"])
def test_defaults_are_those_of_the_models_own_processor(kind, tmp_path, photo):
    here = folder(tmp_path, {"image_mean": [0.4] * 3}, kind)
    theirs = T.AutoImageProcessor.from_pretrained(here)(photo, return_tensors="pt").pixel_values[0]
    assert (normalised(load_model.load(here), photo) - theirs).abs().max() <= STEP / 0.2


@pytest.mark.parametrize("kind", ["vit", "dinov2", "clip_vision_model", "siglip_vision_model", "beit"])
def test_without_a_file_the_likely_answers_are_the_processors_of_its_class(kind, tmp_path, photo):
    torch.manual_seed(0)
    config = T.AutoConfig.for_model(kind, **SMALL, image_size=224)
    lively(T.AutoModel.from_config(config)).save_pretrained(tmp_path)
    with pytest.warns(load_model.AssumedAnswersWarning, match="crop=.*ImageProcessor does where no file says otherwise"):
        vit = load_model.load(tmp_path)
    processor = getattr(T, image_processor.likely_preprocessing(kind)[1])()
    theirs = processor(photo, return_tensors="pt", do_normalize=False).pixel_values[0]
    assert (shown(vit, photo) - theirs).abs().max() <= STEP


def test_the_classes_and_their_defaults_are_transformers_own():
    for model, name in image_processor.PROCESSOR_BY_MODEL_TYPE.items():
        assert name in str(IMAGE_PROCESSOR_MAPPING_NAMES[model]), model
        own = getattr(T, f"{name}ImageProcessor")().to_dict()
        for field, value in image_processor.DEFAULTS[name].items():
            if field in ("size", "crop_size"):
                square = field == "crop_size" or image_processor.DEFAULTS[name]["default_to_square"]
                sides = image_processor._sides(value, square)
                assert sides == image_processor._sides(own.get(field), True), (name, field)
            elif field != "default_to_square":
                assert value == pytest.approx(own.get(field) or False), (name, field)


@pytest.mark.parametrize("kind", ["dinov2", "dinov2_with_registers"])
@torch.inference_mode()
def test_a_model_shown_photos_of_another_size_than_it_was_made_for(kind, tmp_path, photo):
    """DINOv2's is made for 518 px and shown 224; its positions are resampled as transformers does, with registers otherwise."""
    here = folder(tmp_path, {"size": {"shortest_edge": 256}, "crop_size": 224}, kind, image_px=256)
    processor = {"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 256}, "crop_size": 224}
    (here / "preprocessor_config.json").write_text(json.dumps(processor))
    vit, module = load_model.load(here), T.AutoModel.from_pretrained(here).eval()
    assert vit.grid.image_px == (224, 224)
    x = T.AutoImageProcessor.from_pretrained(here)(photo, return_tensors="pt").pixel_values
    assert (vit.module(x) - module(x).pooler_output).abs().max() < 1e-4
    assert load_model.load(here, image_px=256).grid.image_px == (256, 256)
    assert not load_model.inspect(here).notes


def test_a_size_that_transformers_takes_only_when_it_is_asked_is_said(tmp_path):
    here = folder(tmp_path, {"size": 224}, image_px=256)
    with pytest.warns(UserWarning, match=r"made for pictures of 256×256 px, .* some of 224×224 px\. Its positions are resampled"):
        assert load_model.load(here).grid.image_px == (224, 224)


@pytest.mark.parametrize(("fields", "named"), [
    ({"size": {"shortest_edge": 224}}, "size"), ({"size": {"longest_edge": 224}}, "size"), ({"do_resize": False}, "do_resize"),
    ({"size": 224, "do_pad": True}, "do_pad"), ({"size": 224, "resample": 9}, "resample"),
    ({"size": 224, "do_flip_channel_order": True}, "do_flip_channel_order"),
    ({"image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": 224}}, "ConvNextImageProcessor"),
])  # fmt: skip
def test_what_cannot_be_followed_is_said(fields, named, tmp_path):
    here = folder(tmp_path, fields)
    assert any(named in note for note in load_model.inspect(here).notes)
    with pytest.warns(UserWarning, match=named):
        load_model.load(here)


@pytest.mark.parametrize("fields", [{"size": 224, "do_reduce_labels": True}, {"size": 224, "do_pad": False, "auto_map": {"a": 1}}])
def test_what_does_not_matter_is_not_said(fields, tmp_path, recwarn):
    assert not load_model.inspect(folder(tmp_path, fields)).notes


def test_the_outline_is_what_is_cut(tmp_path, photo):
    """A crop without a resize: the box in the photo holds the very pixels that are shown."""
    vit = load_model.load(folder(tmp_path, FIELDS["a crop alone"]))
    left, top, right, bottom = crop_box(photo.size, vit.transform)
    assert (right - left, bottom - top) == (224, 224)
    cut = np.asarray(photo.crop((int(left), int(top), int(left) + 224, int(top) + 224)))
    assert np.array_equal(cut, np.asarray(resize_and_crop(photo, vit.transform)))


def test_of_two_files_transformers_own_comes_first(tmp_path, photo):
    fields = {"image_processor_type": "ViTImageProcessor", "size": 224}
    here = folder(tmp_path, {**fields, "image_mean": [0.1] * 3})
    (here / "processor_config.json").write_text('{"processor_class": "CLIPProcessor"}')  # names no settings of pictures
    assert load_model.load(here).mean == (0.1,) * 3
    (here / "processor_config.json").write_text(json.dumps({"image_processor": {**fields, "image_mean": [0.9] * 3}}))
    with pytest.warns(UserWarning, match=r"preprocessor_config\.json has settings that are not followed here: image_mean=\[0\.1"):
        vit = load_model.load(here)
    theirs = T.AutoImageProcessor.from_pretrained(here)(photo, return_tensors="pt").pixel_values[0]
    assert (normalised(vit, photo) - theirs).abs().max() <= 2 * STEP
    folder(tmp_path, {**fields, "offset": True})  # which ViT's processor has no value of
    with pytest.warns(UserWarning, match=r"preprocessor_config\.json has settings that are not followed here: offset=True"):
        load_model.load(here)


NO_FIELDS = [
    {"size": "x"}, {"size": {"height": 0, "width": 0}}, {"size": 10**9}, {"image_std": [0, 0, 0]}, {"rescale_factor": 0},
    {"crop_size": {"height": -1, "width": 5}, "do_center_crop": True}, {"image_mean": [1]}, {"image_mean": None},
]  # fmt: skip


@pytest.mark.parametrize("fields", NO_FIELDS, ids=str)
def test_what_no_processor_says_is_one_sentence(fields, tmp_path):
    with pytest.raises(load_model.ModelError, match=r"\w"):
        load_model.load(folder(tmp_path, fields))

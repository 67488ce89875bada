"""transformers' `preprocessor_config.json`: what an image processor does to a photo, as a resize, a crop and a normalisation.

Fields that a file leaves out have the defaults of its processor's class (transformers 5.23: `models/*/image_processing_*.py`).
Source of the arithmetic: transformers' `image_processing_backends.py`.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from vitcore.errors import shorten_name
from vitcore.models.formats.containers.json_file import read_json_object
from vitcore.models.model_cards import ModelError
from vitcore.translation import say

RESAMPLING_NAMES = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}  # Pillow's numbers
HALF, IMAGENET = ([0.5] * 3, [0.5] * 3), ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
CLIP_MEAN_AND_STD = ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])
ENABLED_BY_DEFAULT = {
    "do_resize": True,
    "do_rescale": True,
    "do_normalize": True,
    "rescale_factor": 1 / 255,
    "do_center_crop": False,
}
NEEDED = {"do_resize": ("size",), "do_rescale": ("rescale_factor",), "do_normalize": ("image_mean", "image_std"),
          "do_center_crop": ("crop_size",)}  # fmt: skip


def _class(size: Any, resample: int, colours: Any, crop: int = 0, square: bool = True) -> dict[str, Any]:
    return ENABLED_BY_DEFAULT | {"size": size, "resample": resample, "image_mean": colours[0], "image_std": colours[1],
                 "do_center_crop": bool(crop), "crop_size": crop or None, "default_to_square": square}  # fmt: skip


DEFAULTS = {  # by the class of the processor, without its ending
    "ViT": _class(224, 2, HALF),
    "DeiT": _class(256, 3, HALF, 224),
    "Beit": _class(224, 3, HALF) | {"crop_size": 224},
    "Bit": _class(224, 3, CLIP_MEAN_AND_STD, 224, square=False),
    "CLIP": _class(224, 3, CLIP_MEAN_AND_STD, 224, square=False),
    "Siglip": _class({"height": 224, "width": 224}, 3, HALF, square=False),
    "DINOv3ViT": _class(224, 2, IMAGENET),
    "Blip": _class(384, 3, CLIP_MEAN_AND_STD),
    "OwlViT": _class(768, 3, CLIP_MEAN_AND_STD) | {"crop_size": 768},
}
PROCESSOR_BY_MODEL_TYPE = {  # `model_type` of config.json, where the processor's own file names no class
    "vit": "ViT", "vit_msn": "ViT", "vit_mae": "ViT", "ijepa": "ViT", "deit": "DeiT", "beit": "Beit", "data2vec-vision": "Beit",
    "dinov2": "Bit", "dinov3_vit": "DINOv3ViT", "clip": "CLIP", "siglip": "Siglip", "blip": "Blip", "owlvit": "OwlViT",
    "swin": "ViT", "swinv2": "ViT", "clipseg": "ViT", "aimv2": "CLIP", "metaclip_2": "CLIP",
}  # fmt: skip
OWN_COLOURS = {"Beit", "Blip", "CLIP", "OwlViT"}  # whose published weights have the mean and deviation of their processor's class
PROCESSOR_FILES = ("preprocessor_config.json", "processor_config.json")
MAX_SIDE_PX = 4096  # a side
CLASS_NAME_ENDINGS = ("ImageProcessorFast", "ImageProcessorPil", "ImageProcessor", "FeatureExtractor")
FOLLOWED_FIELDS = {*DEFAULTS["DeiT"], "offset"}
IGNORED_FIELDS = {  # what the picture of one photo does not depend on
    "image_processor_type", "feature_extractor_type", "processor_class", "auto_map", "data_format", "input_data_format",
    "do_convert_rgb", "return_tensors", "device", "disable_grouping", "do_reduce_labels", "_valid_processor_keys",
    "_processor_class", "backend", "model_type", "transformers_version",
}  # fmt: skip


def read_preprocessing(folder: Path, model_type: str) -> tuple[dict[str, Any], list[str]]:
    """What the processor in a folder does, as a card's `input` has it, and the fields that are not followed; empty without a file.

    model_type: that of the model's own configuration.
    `resize`: [height, width], the shorter side, or None; `crop`: [height, width] or None; `interpolation`: Pillow's name;
    `mean` and `std` are of values from 0 to 1, rescaling included.
    """
    own, whole = (read_json_object(folder / name) if (folder / name).is_file() else {} for name in PROCESSOR_FILES)
    said = whole.get("image_processor") or own  # of a processor of text and pictures, which comes first
    if not said:
        return {}, []
    kind = said.get("image_processor_type") or said.get("feature_extractor_type") or PROCESSOR_BY_MODEL_TYPE.get(model_type, "")
    name = next((kind.removesuffix(ending) for ending in CLASS_NAME_ENDINGS if kind.endswith(ending)), kind)
    unfollowed = [] if name in DEFAULTS else [f"image_processor_type={kind[:60] or '?'}"]
    known = DEFAULTS.get(name, DEFAULTS["ViT"])
    unfollowed += [f for f, v in said.items() if f not in FOLLOWED_FIELDS | IGNORED_FIELDS and v not in (None, False, [], {})]
    unfollowed += [f"{f}={str(v)[:40]}" for f, v in own.items() if f in FOLLOWED_FIELDS and said.get(f, known.get(f)) != v]
    return _input({**known, **said}, unfollowed), unfollowed


def likely_preprocessing(model_type: str) -> tuple[dict[str, Any], str]:
    """Answers by `OpenQuestion.key` that the image processor of a model type gives without a file, and the name of its class.

    ({}, "") for another type. A crop that is smaller than the resized photo is no answer: the sides of both would be asked.
    """
    name = PROCESSOR_BY_MODEL_TYPE.get(model_type.removesuffix("_vision_model"))
    if name is None:
        return {}, ""
    shown = _input(DEFAULTS[name], [])
    crop = "squash" if shown["crop"] is None else "center" if isinstance(shown["resize"], int) else None
    answers = {"interpolation": shown["interpolation"]} | ({"crop": crop} if crop else {})
    if name in OWN_COLOURS:
        answers["normalise"] = (tuple(shown["mean"]), tuple(shown["std"]))
    return answers, f"{name}ImageProcessor"


def _input(said: Mapping[str, Any], unfollowed: list[str]) -> dict[str, Any]:
    """The fields as a card's `input`; what can't be followed is added to `unfollowed`."""
    if lacking := next((name for step, names in NEEDED.items() if said[step] for name in names if said[name] is None), None):
        raise _impossible_error(lacking, "null")
    crop = _sides(said["crop_size"], True) if said["do_center_crop"] else None
    resize = _sides(said["size"], bool(said["default_to_square"])) if said["do_resize"] else None
    if isinstance(crop, int):
        unfollowed.append("crop_size")
        crop = [crop, crop]
    if resize is None and said["do_resize"]:
        unfollowed.append("size")
    if crop is None and not isinstance(resize, list):  # as large as the photo: the middle is cut out
        unfollowed.append("size" if said["do_resize"] else "do_resize")
        crop = [resize or 224] * 2
    sides = [side for given in (resize, crop) if given for side in (given if isinstance(given, list) else [given])]
    if not all(1 <= side <= MAX_SIDE_PX for side in sides):
        raise _impossible_error("size", said["size"])
    resample = RESAMPLING_NAMES.get(said["resample"])
    if resample is None:
        unfollowed.append("resample")
    per, offset = (said["rescale_factor"] if said["do_rescale"] else 1.0), float(said.get("offset") or 0)
    mean, std = (said["image_mean"], said["image_std"]) if said["do_normalize"] else (0.0, 1.0)
    means, stds = ([float(v) for v in (given if isinstance(given, list) else [given] * 3)] for given in (mean, std))
    if len(means) != len(stds) or not means or not all(map(math.isfinite, (*means, *stds, per, offset))) or min(*stds, per) <= 0:
        raise _impossible_error("image_std", (mean, std, per))
    unit = 1.0 if abs(per * 255 - 1) < 1e-6 else per * 255  # what was divided by 255 stays exactly as it is written
    return {
        "resize": resize, "crop": crop, "interpolation": resample or "bilinear",
        "mean": [(m + offset) / unit for m in means], "std": [s / unit for s in stds],
    }  # fmt: skip


def _impossible_error(field: str, value: Any) -> ModelError:
    return ModelError("{name} says that {field} is {value}, which is impossible.", name=PROCESSOR_FILES[0], field=field,
                      value=str(value)[:60])  # fmt: skip


def _sides(size: Any, square: bool) -> list[int] | int | None:
    """[height, width], the shorter side alone, or None for what depends on the photo in another way."""
    if isinstance(size, Mapping):
        given = {name: side for name, side in size.items() if side is not None}
        if set(given) == {"height", "width"}:
            return [int(given["height"]), int(given["width"])]
        return int(given["shortest_edge"]) if set(given) == {"shortest_edge"} else None
    if isinstance(size, list | tuple):
        return [int(size[0]), int(size[1])]
    return None if size is None else [int(size)] * 2 if square else int(size)


class CenterCrop:
    """The middle of a picture as transformers cuts it, half a pixel up and to the left; black around one that is smaller."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size

    def __call__(self, image: Image.Image) -> Image.Image:
        high, wide = self.size
        left, top = int((image.width - wide) / 2), int((image.height - high) / 2)  # towards 0 where it is smaller, too
        return image.crop((left, top, left + wide, top + high))


def preprocessing_transform(preprocessing: Mapping[str, Any]) -> Any:
    """A card's `input` with `resize` and `crop` as torchvision's transform of a picture to a (3, H, W) tensor."""
    from torchvision import transforms as T
    from torchvision.transforms.functional import InterpolationMode

    steps: list[Any] = []
    if preprocessing["resize"]:
        steps.append(T.Resize(preprocessing["resize"], InterpolationMode(preprocessing["interpolation"])))
    if preprocessing["crop"]:
        steps.append(CenterCrop(tuple(preprocessing["crop"])))
    return T.Compose([*steps, T.ToTensor(), T.Normalize(preprocessing["mean"], preprocessing["std"])])


def preprocessing_output_px(preprocessing: Mapping[str, Any]) -> tuple[int, int]:
    """Height and width of what comes out of a card's `input` with `resize` and `crop`."""
    high, wide = preprocessing["crop"] or preprocessing["resize"]
    return int(high), int(wide)


def preprocessing_for_size(preprocessing: Mapping[str, Any], px: tuple[int, int]) -> dict[str, Any]:
    """A card's `input` for another input size: the resize grows by as much as the output."""
    out = preprocessing_output_px(preprocessing)
    if out == tuple(px):
        return dict(preprocessing)
    by = px[0] / out[0], px[1] / out[1]
    resize = preprocessing["resize"]
    if isinstance(resize, int):
        resize = round(resize * max(by))
    elif resize:
        resize = [round(side * each) for side, each in zip(resize, by, strict=True)]
    return {**preprocessing, "resize": resize, "crop": list(px) if preprocessing["crop"] else None}


def unfollowed_fields_sentence(fields: list[str], file: str = PROCESSOR_FILES[0]) -> str:
    """What is not done as a file says that tells how photos are prepared, in a sentence."""
    names = ", ".join(map(shorten_name, dict.fromkeys(fields[:8])))
    return say("Its {file} has settings that are not followed here: {fields}.", file=file, fields=names)

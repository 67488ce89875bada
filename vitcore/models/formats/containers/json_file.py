"""A JSON file beside the weights: an object, whose fields are what fields of such names are in every library.

The one place where settings are looked over: who reads them may index, divide and multiply by them.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vitcore.models.formats.containers.file_errors import check_is_downloaded, damaged_file_error
from vitcore.models.model_cards import ModelError
from vitcore.translation import say

MAX_BYTES = 50 * 10**6
MAX_SIDE_PX = 2**13
MAX_COUNT = 2**17
MAX_LAYERS = 400


def read_json_object(file: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises: ModelError, when it is none, longer than any such file, or a field is impossible."""
    said = parse_unchecked_json(file)
    check_field_types(said, file.name)
    return said


def parse_unchecked_json(file: Path) -> dict[str, Any]:
    """The object in a JSON file, whose fields nobody has looked over. Raises: ModelError."""
    try:
        text = file.read_bytes() if file.stat().st_size < MAX_BYTES else b"null"
        check_is_downloaded(file, text[:512])
        said = json.loads(text.decode("utf-8"))
    except ModelError:
        raise
    except RecursionError:
        raise damaged_file_error(file, say("its brackets are nested too deeply")) from None
    except (OSError, ValueError) as error:
        raise damaged_file_error(file, error) from None
    if not isinstance(said, dict):
        raise ModelError("{name} is not a JSON object.", name=file.name)
    return said


def check_field_types(json_object: dict[str, Any], file: str, depth: int = 0) -> None:
    """Every field whose name is known is what it can be, in sections of settings, too. Raises: ModelError, naming one that isn't.

    A field that is null is as one that is not there, and is taken away, but for those of an image processor.
    """
    for name in [name for name in json_object if json_object[name] is None and name in FIELDS and name not in NULL_SAYS_SOMETHING]:
        del json_object[name]
    for name, value in json_object.items():
        if name in FIELDS and value is not None and not FIELDS[name](value):
            raise ModelError("{name} says that {field} is {value}, which is impossible.", name=file, field=name[:40],
                             value=_shown(value))  # fmt: skip
        if isinstance(value, dict) and depth < 4 and name in SECTIONS:
            check_field_types(value, file, depth + 1)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True) if not isinstance(value, dict | list) or len(value) < 9 else type(value).__name__
    return text[:40]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9 and math.isfinite(value)


def _whole(low: int, most: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and low <= value <= most


def _whole_numbers(low: int, most: int, lengths: tuple[int, ...]) -> Callable[[Any], bool]:
    one = _whole(low, most)
    return lambda value: one(value) or (isinstance(value, list) and len(value) in lengths and all(map(one, value)))


def _positive(value: Any) -> bool:
    return _is_number(value) and 0 < value


def _colours(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and 0 < len(value) <= 64 and all(map(fits, value))


def _is_size(value: Any) -> bool:
    sides = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [value]
    px = _whole(1, MAX_SIDE_PX)
    return 0 < len(sides) <= 4 and all(side is None or px(side) for side in sides) and any(side is not None for side in sides)


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


_side, _text, _flag, _object = _whole_numbers(1, MAX_SIDE_PX, (2, 3)), _is(str), _is(bool), _is(dict)
FLAGS = ("do_resize", "do_rescale", "do_normalize", "do_center_crop", "default_to_square", "fixed_input_size")
NULL_SAYS_SOMETHING = {*FLAGS, "size", "crop_size", "resample", "image_mean", "image_std", "rescale_factor"}
SECTIONS = {  # elsewhere the same names may mean something else
    "vision_config", "pretrained_cfg", "model_args", "model_cfg", "preprocess_cfg", "vision_cfg", "card", "input", "architecture",
    "image_processor",
}  # fmt: skip
FIELDS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("num_attention_heads", "hidden_size", "intermediate_size", "embed_dim", "num_heads", "head_width"),
                    _whole(1, MAX_COUNT)),
    **dict.fromkeys(("num_hidden_layers", "depth"), _whole(0, MAX_LAYERS)),
    **dict.fromkeys(("num_labels", "num_classes"), _whole(0, MAX_COUNT)),
    **dict.fromkeys(("num_register_tokens", "reg_tokens"), _whole(0, 1024)),
    **dict.fromkeys(("image_size", "patch_size", "img_size"), _side),
    "input_size": lambda value: isinstance(value, list) and _side(value) and len(value) == 3,
    **dict.fromkeys(("layer_norm_eps", "norm_eps", "head_eps", "rescale_factor", "crop_pct", "mlp_ratio", "rope_theta"), _positive),
    **dict.fromkeys(("hidden_act", "model_type", "problem_type", "interpolation", "crop_mode", "timm", "image_processor_type",
                     "feature_extractor_type", "global_pool", "base_model_name_or_path", "title", "licence", "note"), _text),
    **dict.fromkeys(FLAGS, _flag),
    "mean": _colours(_is_number), "std": _colours(_positive),
    "image_mean": lambda value: _is_number(value) or _colours(_is_number)(value),
    "image_std": lambda value: _positive(value) or _colours(_positive)(value),
    **dict.fromkeys(("vision_config", "pretrained_cfg", "model_args", "model_cfg", "preprocess_cfg", "vision_cfg", "card", "input",
                     "label_descriptions", "image_processor"), _object),
    **dict.fromkeys(("size", "crop_size"), _is_size), "architecture": _is(str, dict),
    "id2label": lambda value: isinstance(value, dict) and all(key.isdecimal() and len(key) < 8 for key in value),
    "offset": _is(int, float), "resample": _whole(0, 99), "labels": _is(list), "architectures": _is(list),
    "label_names": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "params_m": _is_number, "download_mb": _is_number, "weight_map": _object,
}  # fmt: skip

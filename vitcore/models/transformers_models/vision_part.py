"""The part of a model of transformers that sees the picture: found without memory, then made of the tensors of its file.

That is the whole model where it answers a picture alone, the picture's half of two (CLIP), or the tower inside it.
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from vitcore.architectures.meta_device import building_on_meta_device
from vitcore.errors import log_traceback, model_misfit_reason
from vitcore.models.model_cards import ModelError
from vitcore.models.transformers_models.configuration import (
    import_transformers,
    printable_model_type,
    read_transformers_configuration,
    silenced_transformers,
)
from vitcore.translation import say

MAX_ROOFS, LEAST_SHARE = 24, 0.6  # places in a file that are tried for a tower; its tensors there, of those that it has
TEXT_SECTIONS = ("text_config", "decoder", "qformer_config", "prompt_encoder_config", "audio_config", "encoder", "llm_config")
CLASSIFIERS = ("ForImageClassification", "ForImageClassificationWithTeacher")
NO_VECTOR = ("predicted_depth", "pred_masks", "reconstruction", "pred_boxes")  # fields of answers that are pictures or boxes


@dataclass(frozen=True)
class VisionPart:
    """What sees the picture: its class and configuration, and where its tensors are in the file."""

    kind: Any
    config: Any
    has_text_parts: bool = False  # asked by `get_image_features`, for it also reads texts
    arguments: Mapping[str, Any] = field(default_factory=dict)  # of the class beside the configuration
    roof: str = ""  # before the names of its tensors in the file
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    misshapen: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = ()
    params: int = 0

    @property
    def classes(self) -> int:
        """How many classes it tells apart; 0 where it gives features."""
        return int(self.config.num_labels) if self.kind.__name__.endswith(CLASSIFIERS) else 0


def find_vision_part(config_json: Mapping[str, Any], shapes: Mapping[str, Tensor]) -> VisionPart:
    """The part of the model that config.json describes, and how the tensors of the file (or their shapes) fit it.

    Raises: ModelError, one sentence, for a model that sees no photos, or that this transformers can't make.
    """
    config = read_transformers_configuration(config_json)
    transformers = import_transformers(printable_model_type(config_json))
    kind = _model_class(transformers, config_json, config)
    try:
        with silenced_transformers(transformers), building_on_meta_device():
            whole = kind(config).eval()
    except Exception as error:  # each class asks for other things
        raise ModelError("{name} can't be loaded: {reason}", name=kind.__name__, reason=model_misfit_reason(error)) from None
    for part, has_text_parts in vision_part_candidates(whole):
        with silenced_transformers(transformers):
            return _placed(VisionPart(type(part), part.config, has_text_parts), shapes, len(part.state_dict()))
    raise ModelError("Its config.json describes a {kind} model, whose class {name} gives no vector of numbers for a picture alone.",
                     kind=printable_model_type(config_json), name=kind.__name__)  # fmt: skip


def build_vision_part(part: VisionPart, state: dict[str, Tensor]) -> nn.Module:
    """The module with these tensors, by the file's names, as 32-bit floats on the CPU. Raises: ModelError."""
    transformers = import_transformers(str(part.config.model_type))
    own = {name.removeprefix(part.roof): w for name, w in state.items() if name.startswith(part.roof)}
    try:
        with silenced_transformers(transformers):
            module, _ = _load(part, own)
    except Exception as error:
        raise ModelError("{name} can't be loaded: {reason}", name=part.kind.__name__, reason=model_misfit_reason(error)) from None
    return remove_text_parts(module, part.has_text_parts)


def remove_text_parts(module: Any, has_text_parts: bool) -> Any:
    """A module that is nobody else's, without the parts that read texts. has_text_parts: whether it has some."""
    if has_text_parts:
        scales = [name for name, _ in module.named_parameters(recurse=False)]
        for name in [*(name for name, _ in module.named_children() if "text" in name), *scales]:
            setattr(module, name, None)
    return module


def run_vision_part(module: Any, pixels: Tensor, has_text_parts: bool) -> Any:
    """What a part answers to pictures (B, C, H, W), in transformers' own form."""
    return module.get_image_features(pixel_values=pixels) if has_text_parts else module(pixel_values=pixels)


def read_output_tensor(out: Any) -> tuple[str, Tensor] | None:
    """The vector of an answer, or the tokens or features that one is made of, and which field it is; None where there is none."""
    if isinstance(out, Tensor):
        return ("image_embeds", out) if out.ndim == 2 else None
    if any(getattr(out, name, None) is not None for name in NO_VECTOR):
        return None
    logits = getattr(out, "logits", None)
    if isinstance(logits, Tensor):
        return ("logits", logits) if logits.ndim == 2 else None
    for name, sizes in (("image_embeds", (2,)), ("pooler_output", (2,)), ("last_hidden_state", (3, 4))):
        given = getattr(out, name, None)
        if isinstance(given, Tensor) and given.ndim in sizes:
            return name, given
    maps = getattr(out, "feature_maps", None)
    return ("feature_maps", maps[-1]) if maps and isinstance(maps[-1], Tensor) and maps[-1].ndim == 4 else None


def expected_picture_shape(config: Any) -> tuple[int, int, int]:
    """(channels, height, width) of what a model was made for."""
    vision = getattr(config, "vision_config", None) or getattr(config, "image_config", None) or config
    size = getattr(vision, "image_size", None) or 224
    high, wide = (size, size) if isinstance(size, int) else (size[0], size[-1])
    return int(getattr(vision, "num_channels", 3) or 3), int(high), int(wide)


def _reads_pictures_and_texts(module: Any) -> bool:
    """Whether a model reads pictures and texts, and answers a picture by `get_image_features`."""
    return hasattr(module, "get_image_features") and hasattr(module, "get_text_features")


def vision_part_candidates(whole: Any) -> Iterator[tuple[Any, bool]]:
    """What in a model sees the picture alone, the whole first, and whether it is asked by `get_image_features`.

    Nothing is run: what some classes remember of a pass without memory would be wrong in the next.
    """
    if _reads_pictures_and_texts(whole):
        yield whole, True
    own = type(whole).__module__.startswith("transformers.")  # inside somebody's own class a tower is not its answer
    for part in whole.modules() if own else [whole]:
        if part is not whole or not _reads_pictures_and_texts(whole):
            if hasattr(part, "main_input_name") and _sees_pictures_alone(part):
                yield part, False


def _sees_pictures_alone(part: Any) -> bool:
    """Whether a model takes a picture and nothing else, and answers with features or with classes of the whole picture."""
    takes = inspect.signature(part.forward).parameters
    needed = [name for name, p in takes.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    if "pixel_values" not in takes or not set(needed) <= {"pixel_values"}:
        return False
    if type(part).__name__.endswith(CLASSIFIERS):
        return True
    reads_texts = any(getattr(part.config, name, None) is not None for name in TEXT_SECTIONS)
    return "For" not in type(part).__name__ and not reads_texts


def _model_class(transformers: Any, said: Mapping[str, Any], config: Any) -> Any:
    """The class that wrote the file. Raises: ModelError, for one that transformers does not have."""
    names = [name for name in said.get("architectures") or () if isinstance(name, str)]
    for name in names:
        kind: Any = getattr(transformers, name, None) if name.isidentifier() else None
        if (
            isinstance(kind, type)
            and issubclass(kind, transformers.PreTrainedModel)
            and isinstance(config, getattr(kind, "config_class", ()))
        ):
            return kind
    if names:
        raise ModelError("Its config.json names the class {name}, which transformers {version} does not have. Code of a file's own "
                         "is never run.", name=names[0][:60], version=transformers.__version__)  # fmt: skip
    known = transformers.models.auto.modeling_auto.MODEL_MAPPING
    if type(config) not in known:
        raise ModelError("Its config.json describes a {kind} model, which sees no photos.", kind=printable_model_type(said))
    kinds = known[type(config)]
    return kinds[0] if isinstance(kinds, tuple) else kinds


def _load(part: VisionPart, state: Mapping[str, Tensor], **how: Any) -> tuple[Any, dict[str, Any]]:
    module, told = part.kind.from_pretrained(
        None, config=part.config, state_dict=dict(state), output_loading_info=True, dtype=torch.float32, trust_remote_code=False,
        ignore_mismatched_sizes=True, **part.arguments, **how,
    )  # fmt: skip
    return module.eval(), told


def _placed(part: VisionPart, shapes: Mapping[str, Tensor], count: int) -> VisionPart:
    """The part, which has so many tensors, with the place of them in the file: where the fewest are missing."""
    tried: list[VisionPart] = []
    for roof in _roofs(shapes, count):
        own = {name.removeprefix(roof): torch.empty(w.shape, device="meta") for name, w in shapes.items() if name.startswith(roof)}
        for arguments in ({}, {"add_pooling_layer": False}):
            given = replace(part, arguments=arguments, roof=roof)
            found = _fitted(given, own)
            if found is None:
                break
            tried.append(found)
            if not (found.missing or found.misshapen or found.unexpected):
                return found
            if not all(name.startswith("pooler.") for name in found.missing):
                break
    if not tried:
        reason = say("its parts do not fit together")
        raise ModelError("{name} can't be loaded: {reason}", name=part.kind.__name__, reason=reason)
    return min(tried, key=lambda one: (len(one.missing) + len(one.misshapen), len(one.unexpected)))


def _fitted(part: VisionPart, own: Mapping[str, Tensor]) -> VisionPart | None:
    """The part with what is missing, unexpected and misshapen among tensors by its own names; None where it can't be made."""
    try:
        module, told = _load(part, own, device_map="meta")
        module = remove_text_parts(module, part.has_text_parts)
    except Exception as error:
        log_traceback(error)
        return None
    misshapen = tuple((str(name), tuple(one), tuple(other)) for name, one, other in sorted(told["mismatched_keys"]))
    missing, unexpected = (tuple(sorted(map(str, told[keys]))) for keys in ("missing_keys", "unexpected_keys"))
    params = sum(p.numel() for p in module.parameters())
    return replace(part, missing=missing, unexpected=unexpected, misshapen=misshapen, params=params)


def _roofs(names: Mapping[str, Any], count: int) -> list[str]:
    """What may stand before the names of so many tensors in a file: nothing, then what most names of a tower begin with."""
    under: dict[str, int] = {}
    for name in names:
        steps = name.split(".")
        for n in range(1, min(len(steps), 6)):
            roof = "".join(f"{step}." for step in steps[:n])
            under[roof] = under.get(roof, 0) + 1
    ranked = sorted((roof for roof in under if under[roof] >= count * LEAST_SHARE), key=lambda roof: -under[roof])
    likely = [roof for roof in ranked if any(word in roof for word in ("vision", "visual", "encoder", "backbone", "image"))]
    return ["", *dict.fromkeys([*likely, *ranked])][:MAX_ROOFS]

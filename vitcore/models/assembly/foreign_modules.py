"""Modules in memory of transformers, torchvision and OpenCLIP as timm modules: by their weights' names, as files of theirs are.

What a file's configuration would say is read off the module: heads, ε, activation, size, classes. Whether it was read right is
tried: for one random picture both must answer the same.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vitcore.architectures.grey_input import input_channels
from vitcore.errors import model_misfit_reason, raise_own_mistake
from vitcore.models.assembly.input_size import height_and_width
from vitcore.models.checkpoint_inspection.inspect_checkpoint import inspect_state
from vitcore.models.checkpoint_inspection.inspection import Inspection
from vitcore.models.formats.config_json import CheckpointConfiguration, output_kind_from_configuration, transformers_configuration
from vitcore.models.formats.containers.lazy_tensor import LazyTensor
from vitcore.models.model_cards import ModelError

TOLERANCE = 1e-4  # of the largest number of an answer: sums in another order differ by less
NUMBERS_OF_AN_ANSWER = ("logits", "image_embeds", "pooler_output", "last_hidden_state")  # transformers', the first that there is


def library_of(module: nn.Module) -> str:
    """ "transformers", "torchvision" or "open_clip", for a module of one of their classes (or a subclass) read here; else ""."""
    homes = [(kind.__module__, kind.__name__) for kind in type(module).__mro__]
    if any(home.startswith("transformers.") and name == "PreTrainedModel" for home, name in homes):
        return "transformers"
    if ("torchvision.models.vision_transformer", "VisionTransformer") in homes:
        return "torchvision"
    return "open_clip" if any(home.startswith("open_clip.") for home, _ in homes) else ""


def timm_module_inside(module: nn.Module) -> nn.Module:
    """The timm module that transformers' `TimmWrapper…` classes hold; any other module itself."""
    inner = getattr(module, "timm_model", None)
    return inner if type(module).__name__.startswith("TimmWrapper") and isinstance(inner, nn.Module) else module


def update_class_count(module: Any) -> None:
    """Let a timm module know how many classes it has, where a layer was put in the place of its classifier: timm counts only those
    of the classifier that it made itself."""
    classifier = module.get_classifier() if hasattr(module, "get_classifier") else None
    layers = [layer for layer in classifier.modules() if isinstance(layer, nn.Linear)] if isinstance(classifier, nn.Module) else []
    if layers:
        module.num_classes = layers[-1].out_features


def with_adapters_merged(module: Any) -> nn.Module:
    """The model inside PEFT's, with its adapters merged into its weights; the module itself where it has none that can be."""
    if not hasattr(module, "merge_and_unload"):
        return module
    try:
        merged: nn.Module = module.merge_and_unload()
    except Exception as error:  # prompts, for example, are no change of weights
        raise_own_mistake(error)
        return module
    return merged


def inspect_module_in_memory(
    module: nn.Module, name: str, normalise: Any = None, whole_module: nn.Module | None = None
) -> Inspection:
    """What is in such a module of 32-bit floats, as `vitcore.inspect` finds it in a file; its tensors are given away.

    normalise: mean and standard deviation, where they are known; whole_module: what holds the module and layers of a head, whose
    tensors are taken with it. Raises: ModelError, where it is no ViT known here.
    """
    library = library_of(module)
    configured = {"transformers": _transformers, "torchvision": _torchvision, "open_clip": _openclip}[library](module)
    if normalise is not None:
        configured = replace(configured, known_answers={**configured.known_answers, "normalise": normalise})
    if whole_module is not None:  # how the head reads the model is not the model's to say
        known = {key: answer for key, answer in configured.known_answers.items() if key not in ("pool", "norm_after_pool")}
        configured = replace(configured, known_answers=known)
    prefix = "visual." if library == "open_clip" and not hasattr(module, "visual") and whole_module is None else ""
    whole_module = whole_module or module
    held = [*whole_module.named_parameters(remove_duplicate=False), *whole_module.named_buffers(remove_duplicate=False)]
    state = {f"{prefix}{key}": _lazy(value.detach()) for key, value in held if value.is_floating_point()}
    return inspect_state(state, configured, name)


def _lazy(value: Tensor) -> LazyTensor:
    return LazyTensor(tuple(value.shape), lambda: value, Path("a module in memory"), value.dtype)


def check_same_answers(module: nn.Module, timm_module: nn.Module, image_px: tuple[int, int], name: str) -> None:
    """Raises: ModelError, where the timm module answers a random picture otherwise than the module does, in 32-bit floats."""
    x = torch.randn(1, input_channels(module), *image_px, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        try:
            answers = list(_answers(module, x))
        except Exception as error:  # whatever a class of one's own asks for beside the picture
            raise_own_mistake(error)
            raise ModelError("{name} can't be read: it gives no output for a single picture ({reason}).",
                             name=name, reason=model_misfit_reason(error)) from None  # fmt: skip
        ours = timm_module(x)
    least = min((float((one - ours).abs().max() / one.abs().max().clamp(min=1e-12)) for one in answers if one.shape == ours.shape),
                default=float("inf"))  # fmt: skip
    if not least <= TOLERANCE:
        raise ModelError("{name} can't be read: its class {kind} computes in its own way, which the weights do not show.",
                         name=name, kind=type(module).__name__)  # fmt: skip


def _answers(module: Any, x: Tensor) -> Iterator[Tensor]:
    """What a module may be said to answer: its classes, where it has some, else its features."""
    if hasattr(module, "get_image_features") and hasattr(module, "text_model"):
        out = module.get_image_features(pixel_values=x)
    elif library_of(module) == "transformers":
        out = module(pixel_values=x)
    elif hasattr(module, "encode_image"):
        out = module.encode_image(x)
    else:
        out = module(x)
    if isinstance(out, Tensor):
        yield out
        return
    found = [one for name in NUMBERS_OF_AN_ANSWER if isinstance(one := getattr(out, name, None), Tensor)] or [
        one for one in out if isinstance(one, Tensor)
    ]
    if getattr(out, "logits", None) is not None:
        found = found[:1]
    for one in found:
        yield one
        if one.ndim == 3:
            yield from (one[:, 0], one.mean(1))


def _transformers(module: Any) -> CheckpointConfiguration:
    own = next((kind for kind in type(module).__mro__ if kind.__module__.startswith("transformers.")), type(module))
    return transformers_configuration({**module.config.to_dict(), "architectures": [own.__name__]})


def vision_part_of_module(module: Any, name: str) -> Any:
    """What of a module of transformers sees the picture, run as it is. Raises: ModelError, where nothing does."""
    from vitcore.models.transformers_models.vision_module import build_vision_module
    from vitcore.models.transformers_models.vision_part import remove_text_parts, vision_part_candidates

    for part, has_text_parts in vision_part_candidates(module):
        return build_vision_module(remove_text_parts(part, has_text_parts), has_text_parts)
    raise unknown_module_error(module, name)


def unknown_module_error(module: Any, name: str) -> ModelError:
    """The refusal of a module whose parts are not known here."""
    return ModelError("{name} can't be read: its class {kind} is not built as a plain Vision Transformer.",
                      name=name, kind=type(module).__name__)  # fmt: skip


def output_kind_in_configuration(module: Any) -> Any:
    """What the classes of a module of transformers mean, by its configuration; None where that does not say."""
    return output_kind_from_configuration({**module.config.to_dict(), "architectures": [type(module).__name__]})


def _torchvision(module: Any) -> CheckpointConfiguration:
    block = module.encoder.layers[0]
    known = {"heads": block.num_heads, "eps": block.ln_1.eps, "pool": "token", "size": height_and_width(module.image_size)}
    return CheckpointConfiguration(known | {"output": "softmax"} | _activation(block.mlp[1]))


def _openclip(module: Any) -> CheckpointConfiguration:
    tower = getattr(module, "visual", module)
    said = getattr(tower, "preprocess_cfg", None) or {}
    known: dict[str, Any] = {"output": "features"}
    if size := getattr(tower, "image_size", None):
        known["size"] = height_and_width(size)
    mean, std = (said.get(term) or getattr(tower, f"image_{term}", None) for term in ("mean", "std"))
    if mean and std:
        known["normalise"] = (tuple(map(float, mean)), tuple(map(float, std)))
    if trunk := getattr(tower, "trunk", None):  # one of timm's
        known |= _timm_trunk(trunk)
    blocks = getattr(getattr(tower, "transformer", None), "resblocks", None)
    if blocks:
        first = blocks[0]
        known |= {"heads": first.attn.num_heads, "eps": first.ln_1.eps} | _activation(first.mlp.gelu)
        known["pool"] = {"avg": "avg"}.get(getattr(tower, "pool_type", "tok"), "token")
        known["norm_after_pool"] = known["pool"] == "avg" and bool(getattr(tower, "final_ln_after_pool", False))
    shown = {"interpolation": said["interpolation"]} if "interpolation" in said else {}
    return CheckpointConfiguration(known, shown, says_crop=True)


def _timm_trunk(trunk: Any) -> dict[str, Any]:
    """The answers that a plain ViT of timm's gives of itself; {} of any other."""
    first = next(iter(getattr(trunk, "blocks", ())), None)
    if first is None or not hasattr(getattr(first, "attn", None), "num_heads") or not hasattr(first, "norm1"):
        return {}
    known = {"heads": first.attn.num_heads, "eps": first.norm1.eps, "pool": trunk.global_pool or "token"}
    return (
        known
        | {"size": height_and_width(trunk.patch_embed.img_size)}
        | _activation(getattr(getattr(first, "mlp", None), "act", first))
    )


def _activation(layer: nn.Module) -> dict[str, str]:
    """The answer about the activation function that this layer is; {} where it has no name here."""
    kinds: dict[str, Callable[[Any], str]] = {
        "GELU": lambda layer: "gelu" if getattr(layer, "approximate", "none") == "none" else "gelu_tanh",
        "QuickGELU": lambda _: "quick_gelu", "ReLU": lambda _: "relu", "SiLU": lambda _: "silu",
    }  # fmt: skip
    name = kinds.get(type(layer).__name__)
    return {} if name is None else {"activation": name(layer)}

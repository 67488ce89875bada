"""PEFT's adapters of the kinds LoRA and DoRA: small matrices that are added to the weights of a base model.

W' = W + scale · B A, where scale is lora_alpha / r (LoRA, arXiv 2106.09685) or, with `use_rslora`, lora_alpha / √r (2312.03732).
DoRA (2402.09353) then gives each row of W' the length that it learned. Equal to peft's own `merge_and_unload`.
Two layouts: an adapter's folder, whose `adapter_config.json` names the base; and a state that holds the base's weights, too.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from vitcore.models.formats.adapters.adapter_configuration import AdapterConfiguration, unread_adapter_error
from vitcore.models.formats.adapters.base_names import BaseWeightFinder
from vitcore.models.formats.containers.lazy_tensor import LazyTensor
from vitcore.models.model_cards import ModelError

WRAPPED = re.compile(r"^(.*\.)?base_model\.model\.")
MATRIX = re.compile(
    r"^(?P<layer>.+)\.(?P<part>lora_A|lora_B|lora_magnitude_vector)(\.(?!(weight|bias)$)(?P<adapter>[^.]+))?(\.(?P<kind>weight|bias))?$"
)
SAVED = re.compile(r"^(?P<layer>.+)\.modules_to_save\.(?P<adapter>[^.]+)\.(?P<rest>.+)$")
POOLER = re.compile(r"(\w+\.)?pooler\.")  # which transformers' classes with a head leave out
FOREIGN = re.compile(r"\.(lora_|ia3_|hada_|lokr_|vera_|oft_|boft_|poly_|fourierft_|vblora_|hra_|adaption_|prompt_|road_|randlora_)")


def entry_names(tree: Mapping[str, Any]) -> Iterator[str]:
    """The names of all that a file holds but the mappings, however deep."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from entry_names(value)
        else:
            yield name


def holds_adapter(tree: Mapping[str, Any]) -> bool:
    """Whether there is an adapter's matrix somewhere in a file."""
    return any(MATRIX.match(name) or ".base_layer." in name for name in entry_names(tree))


def holds_base(tree: Mapping[str, Any]) -> bool:
    """Whether a file with an adapter holds the weights that it changes, too."""
    return any(name.endswith(".base_layer.weight") for name in entry_names(tree))


def merge_adapter(
    tree: Mapping[str, Any], configuration: AdapterConfiguration | None, file: str, base: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The weights of a file with its adapter added, under the base's names; read, and added, when they are asked for.

    base: the weights of the base model, where the file has the adapter's alone.
    Raises: ModelError, for several adapters, a scale that nothing says, and matrices that fit no weight.
    """
    if any(isinstance(value, LazyTensor) for value in tree.values()):
        weights = {name: value for name, value in tree.items() if isinstance(value, LazyTensor)}
        return _merge(weights, configuration, file, base) if base is not None or holds_adapter(weights) else dict(tree)
    return {name: merge_adapter(value, configuration, file, base) if isinstance(value, Mapping) else value
            for name, value in tree.items()}  # fmt: skip


def _merge(
    weights: dict[str, LazyTensor], configuration: AdapterConfiguration | None, file: str, base: Mapping[str, Any] | None
) -> dict[str, Any]:
    own = {WRAPPED.sub(lambda m: m[1] or "", name): weight for name, weight in weights.items()}
    matrices, rest = _split(own, file)
    if matrices and configuration is None:
        raise ModelError(
            "{name} holds the matrices of a LoRA adapter, whose scale no file says: put its adapter_config.json beside it.",
            name=file,
        )
    if configuration is not None:
        configuration.check_saved(rest, file)
    merged = {name: value for name, value in (base or {}).items() if isinstance(value, LazyTensor)}
    names = BaseWeightFinder(merged)
    if base and configuration and any(names.find(name) is None for name in rest):  # a head that the base has not
        if configuration.wraps and not configuration.wraps.endswith("ForImageClassification"):
            raise unread_adapter_error(file, configuration.wraps)
        merged = {name: value for name, value in merged.items() if not POOLER.match(name)}
    merged |= {names.find(name) or name: weight for name, weight in rest.items()}
    names = names if merged.keys() == names.exact else BaseWeightFinder(merged)
    for layer, parts in matrices.items():
        assert configuration is not None
        weight, bias = names.find(f"{layer}.weight"), names.find(f"{layer}.bias")
        if weight is None or ("lora_B.bias" in parts and bias is None):
            raise ModelError(
                "{name} changes {layer}, and no tensor of its base model has that name.", name=file, layer=repr(layer)[:80]
            )
        if not {"lora_A", "lora_B"} <= set(parts) or 0 in (parts["lora_A"].shape or (0,)):
            raise _misfit(file)
        scale = configuration.scale(layer, parts["lora_A"].shape[0])
        merged[weight] = _changed(merged[weight], parts, scale, file)
        if bias is not None and "lora_B.bias" in parts:
            merged[bias] = _added(merged[bias], parts["lora_B.bias"], scale)
    return merged


def _split(own: Mapping[str, LazyTensor], file: str) -> tuple[dict[str, dict[str, LazyTensor]], dict[str, LazyTensor]]:
    """The matrices by layer and part, and whole weights by the base's names. Raises: ModelError, for what is neither."""
    matrices: dict[str, dict[str, LazyTensor]] = {}
    rest: dict[str, LazyTensor] = {}
    adapters: set[str] = set()
    for name, weight in own.items():
        if found := MATRIX.match(name):
            part = f"{found['part']}.bias" if found["kind"] == "bias" else found["part"]
            matrices.setdefault(found["layer"], {})[part] = weight
        elif found := SAVED.match(name):
            rest[f"{found['layer']}.{found['rest']}"] = weight
        elif FOREIGN.search(name):
            raise unread_adapter_error(file, name)
        elif ".original_module." not in name:
            rest[name.replace(".base_layer.", ".")] = weight
        if found and found["adapter"]:
            adapters.add(found["adapter"])
    if len(adapters) > 1:
        raise ModelError(
            "{name} holds several adapters ({names}): save one of them.", name=file, names=", ".join(sorted(adapters))[:80]
        )
    return matrices, rest


def _changed(weight: LazyTensor, parts: Mapping[str, LazyTensor], scale: float, file: str) -> LazyTensor:
    first, second, length = parts["lora_A"], parts["lora_B"], parts.get("lora_magnitude_vector")
    rank, *rest = first.shape or (0,)
    fits = (
        len(rest) in (1, 3)
        and len(weight.shape) > 1
        and second.shape == (weight.shape[0], rank, *[1] * (len(rest) - 1))
        and weight.shape[1:] == (*rest,)
    )
    if not fits or (length is not None and length.shape not in ((weight.shape[0],), (1, weight.shape[0], 1, 1))):
        raise _misfit(file)

    def read() -> Tensor:
        added = (second.values().float().flatten(1) @ first.values().float().flatten(1)).view(weight.shape)
        whole = weight.values().float() + scale * added
        if length is not None:
            rows = torch.linalg.norm(whole.flatten(1), dim=1)
            whole *= (length.values().float().flatten() / rows).view(-1, *[1] * (whole.ndim - 1))
        return whole

    return LazyTensor(weight.shape, read, weight.file, weight.dtype)


def _added(bias: LazyTensor, own: LazyTensor, scale: float) -> LazyTensor:
    return LazyTensor(bias.shape, lambda: bias.values().float() + scale * own.values().float(), bias.file, bias.dtype)


def _misfit(file: str) -> ModelError:
    return ModelError("{name} holds matrices of an adapter that do not fit the weights they change.", name=file)

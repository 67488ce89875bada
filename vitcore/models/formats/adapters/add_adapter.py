"""An adapter's file and its base, wherever that lies, as the one model that both are."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from vitcore.models.formats import config_json
from vitcore.models.formats.adapters.adapter_configuration import find_base, read_adapter_configuration
from vitcore.models.formats.adapters.merge_adapter import holds_base, merge_adapter
from vitcore.models.formats.config_json import CheckpointConfiguration
from vitcore.models.formats.containers import weight_files
from vitcore.models.formats.containers.lazy_tensor import LazyTensor
from vitcore.models.formats.rename_and_join_tensors import tensor_shapes
from vitcore.models.model_cards import ModelError


def add_adapter(
    tree: Mapping[str, Any], configured: CheckpointConfiguration, file: Path, base: str | Path | None, anywhere: bool
) -> tuple[Mapping[str, Any], CheckpointConfiguration]:
    """The weights of a file with its adapter added to those of the base, and the base's configuration.

    base, anywhere: as of `inspect`. Raises: ModelError.
    """
    adapter = read_adapter_configuration(file.parent)
    if adapter is None or (base is None and holds_base(tree)):
        return merge_adapter(tree, adapter, file.name), configured
    where = Path(base) if base is not None else find_base(file.parent, adapter, anywhere)
    whole = weight_files.require_weights_file(where, adapters=False)
    configured, own = config_json.read_configuration(whole.parent), weight_files.read_weights_tree(whole)
    try:
        merged = merge_adapter(tree, adapter, file.name, own)
    except ModelError:
        if configured.transformers is None:
            raise
        own = _by_class_names(configured.transformers, own)
        merged = merge_adapter(tree, adapter, file.name, own)
    if any(name not in own or own[name].shape != weight.shape for name, weight in merged.items()):  # a head for other classes
        known = {key: value for key, value in configured.known_answers.items() if key != "output"}
        configured = replace(configured, labels=None, known_answers=known)
    return merged, configured


def _by_class_names(said: Mapping[str, Any], own: Mapping[str, Any]) -> Mapping[str, Any]:
    """The weights of a base that transformers makes, by the names that its class has for them, as an adapter does: where a file has
    older ones, only the class can tell. They are in memory then. said: its config.json. Raises: ModelError."""
    from vitcore.models.transformers_models.vision_part import build_vision_part, find_vision_part

    held = {name: weight for name, weight in own.items() if isinstance(weight, LazyTensor)}
    part = find_vision_part(said, tensor_shapes(held))
    if part.missing or part.misshapen:
        return own
    module = build_vision_part(part, {name: weight.values().float() for name, weight in held.items()})
    file = next(iter(held.values())).file
    return {f"{part.roof}{name}": _of_memory(w, file) for name, w in module.state_dict().items()}


def _of_memory(values: Tensor, file: Path) -> LazyTensor:
    return LazyTensor(tuple(values.shape), lambda: values, file, values.dtype)

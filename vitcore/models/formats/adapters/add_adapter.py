"""An adapter's file and its base, wherever that lies, as the one model that both are."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vitcore.models.formats import config_json
from vitcore.models.formats.adapters.adapter_configuration import find_base, read_adapter_configuration
from vitcore.models.formats.adapters.merge_adapter import holds_base, merge_adapter
from vitcore.models.formats.config_json import CheckpointConfiguration
from vitcore.models.formats.containers import weight_files


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
    merged = merge_adapter(tree, adapter, file.name, own)
    if any(name not in own or own[name].shape != weight.shape for name, weight in merged.items()):  # a head for other classes
        known = {key: value for key, value in configured.known_answers.items() if key != "output"}
        configured = replace(configured, labels=None, known_answers=known)
    return merged, configured

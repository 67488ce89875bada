"""What `adapter_config.json` says of an adapter of PEFT's, and where its base model lies."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vitcore.errors import shorten_name
from vitcore.models.formats.containers.json_file import read_json_object
from vitcore.models.model_cards import ModelError

CONFIG = "adapter_config.json"
KEEPS_BASE = (True, False, None, "gaussian", "eva", "orthogonal")  # ways to begin that leave the base's weights as they are
UNDERSTOOD = ("use_rslora", "use_dora")
MIXED = ("layer_replication", "trainable_token_indices", "target_parameters", "megatron_config", "loftq_config", "fan_in_fan_out")
MOST_REPETITIONS = 3  # in a regular expression without groups: it ends soon


@dataclass(frozen=True)
class AdapterConfiguration:
    """What `adapter_config.json` says. alpha_pattern: other values of `lora_alpha`, by a regular expression of the layer's name."""

    lora_alpha: float
    use_rslora: bool = False
    base: str = ""
    wraps: str = ""  # the class of the model that was adapted, where that is told
    alpha_pattern: Mapping[str, float] = field(default_factory=dict)
    saved: tuple[str, ...] = ()  # ends of the names of modules that are kept whole

    def check_saved(self, weights: Iterable[str], file: str) -> None:
        """Raises: ModelError, where a module kept whole lies in another: PEFT saves one of them, and can't read it again."""
        modules = {name[: m.start()] for name in weights for m in re.finditer(r"\.", name)}
        kept = {module for module in modules if module.endswith(self.saved or ("\n",))}
        for inner in kept:
            outer = next((inner[: m.start()] for m in re.finditer(r"\.", inner) if inner[: m.start()] in kept), None)
            if outer is not None:
                raise ModelError(
                    "{name} keeps {inner} both alone and as a part of {outer}, so which was trained can't be told. "
                    "Save the merged model instead.",
                    name=file,
                    inner=shorten_name(inner),
                    outer=shorten_name(outer),
                )

    def scale(self, layer: str, rank: int) -> float:
        """What the product of a layer's two matrices is multiplied by."""
        found = (alpha for pattern, alpha in self.alpha_pattern.items() if re.match(rf"(.*\.)?({pattern})$", layer))
        return next(found, self.lora_alpha) / (rank**0.5 if self.use_rslora else rank)


def read_adapter_configuration(folder: Path) -> AdapterConfiguration | None:
    """The configuration of a folder's adapter; None where there is none.

    Raises: ModelError, for one that is no LoRA, or changes the base in a way that is not read here.
    """
    file = folder / CONFIG
    if not file.is_file():
        return None
    said = read_json_object(file)
    kind, start, alpha = str(said.get("peft_type", "?"))[:40], said.get("init_lora_weights"), said.get("lora_alpha", 8)
    if kind != "LORA":
        raise unread_adapter_error(file.name, kind)
    named = [name for name in said if said[name] and (name in MIXED or (name.startswith("use_") and name not in UNDERSTOOD))]
    named += [] if start in KEEPS_BASE else [f"init_lora_weights={start}"[:40]]
    if named:
        raise unread_adapter_error(file.name, named[0])
    patterns = said.get("alpha_pattern") or {}
    if (
        not isinstance(patterns, dict)
        or not all(map(_is_alpha, (alpha, *patterns.values())))
        or not all(map(_is_pattern, patterns))
    ):
        raise unread_adapter_error(file.name, "lora_alpha, alpha_pattern")
    told = said.get("auto_mapping")
    wraps = told if isinstance(told, dict) else {}
    return AdapterConfiguration(
        float(alpha), bool(said.get("use_rslora")), str(said.get("base_model_name_or_path") or ""),
        str(wraps.get("base_model_class") or ""), patterns,
        tuple(name for name in said.get("modules_to_save") or () if isinstance(name, str) and name),
    )  # fmt: skip


def _is_alpha(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < 1e6


def _is_pattern(text: str) -> bool:
    """Whether a regular expression is one, and takes no time on any name."""
    if not re.fullmatch(r"[\w.^$\\|\-\[\]+*?]{1,200}", text) or sum(text.count(sign) for sign in "+*") > MOST_REPETITIONS:
        return False
    try:
        return bool(re.compile(text))
    except re.error:
        return False


def find_base(folder: Path, configuration: AdapterConfiguration, anywhere: bool = True) -> Path:
    """The folder of the base that an adapter names: in the adapter's own folder, beside it, or, with `anywhere`, where it says.

    Raises: ModelError, where there is none.
    """
    named = configuration.base
    last = re.split(r"[\\/]", named.rstrip("\\/"))[-1]
    places = [folder / last, folder.parent / last] + ([folder.parent / named, Path(named)] if anywhere else [])
    try:
        found = next((place for place in places if last not in ("", ".", "..") and place.is_dir() and place != folder), None)
    except (OSError, ValueError):  # too long for a name
        found = None
    if found is None:
        raise ModelError(
            "{folder} holds an adapter without its base model, {base}: say where that is (base=…, --base), or put its folder "
            "beside it.",
            folder=folder.name, base=named[:80] or "?",
        )  # fmt: skip
    return found


def unread_adapter_error(file: str, what: str) -> ModelError:
    """What is said of an adapter of a kind that is not read here."""
    return ModelError("{name} holds an adapter of a kind that is not read here ({what}): merge it with peft's merge_and_unload.",
                      name=file, what=what[:60])  # fmt: skip

"""A config.json that transformers itself is to read: what of it may be, and what never is: code, names on the hub, vast sizes."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from vitcore.errors import log_traceback, model_misfit_reason
from vitcore.models.model_cards import ModelError
from vitcore.models.torchvision_ops import declare_torchvision_ops

LEFT_OUT = re.compile(
    r"auto_map|custom_pipelines|_commit_hash|_?name_or_path|.*(attn|attention|experts)_implementation.*|(torch_)?dtype|"
    r"transformers_(weights|version)|output_(attentions|hidden_states)|return_dict|.*kernel_config"
)
FETCHED = ("use_timm_backbone", "use_pretrained_backbone")
OF_THE_HUB = ("timm_backbone", "timm_wrapper")  # model types whose weights timm would fetch
MAX_LAYERS, MAX_COUNT, MAX_PATCHES, MAX_DEPTH = 400, 2**21, 8192, 12


def import_transformers(kind: str) -> Any:
    """The package transformers. Raises: ModelError, where it is not installed; kind: the model type that asks for it."""
    declare_torchvision_ops()  # transformers imports torchvision
    try:
        import transformers
    except ImportError as error:
        log_traceback(error)
        raise ModelError("Its config.json describes a {kind} model, which is opened through the package transformers: "
                         "pip install inside-vit[transformers].", kind=kind) from None  # fmt: skip
    return transformers


@contextmanager
def silenced_transformers(transformers: Any) -> Iterator[None]:
    """Within it transformers draws no progress bars and logs errors alone."""
    log = transformers.utils.logging
    level, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(level)
        if bars:
            log.enable_progress_bar()


def read_transformers_configuration(config_json: Mapping[str, Any]) -> Any:
    """The configuration object of what config.json says; nothing of the file is run, and nothing fetched.

    Raises: ModelError, for a model type that transformers does not know, and for settings that are refused.
    """
    kind = printable_model_type(config_json)
    _check(config_json)
    transformers = import_transformers(kind)
    if kind not in transformers.CONFIG_MAPPING:
        raise ModelError("Its config.json describes a {kind} model, which transformers {version} does not know. Code of a file's "
                         "own is never run.", kind=kind, version=transformers.__version__)  # fmt: skip
    try:
        with silenced_transformers(transformers):
            return transformers.AutoConfig.for_model(kind, **{k: v for k, v in _clean(config_json).items() if k != "model_type"})
    except Exception as error:  # each class looks its fields over in its own way
        raise ModelError("{name} does not say what such a file says: {reason}.", name="config.json",
                         reason=model_misfit_reason(error)) from None  # fmt: skip


def printable_model_type(config_json: Mapping[str, Any]) -> str:
    """`model_type` as it can stand in a sentence."""
    return str(config_json.get("model_type", "?"))[:40]


def _clean(said: Any) -> Any:
    """The same without what tells where a model came from, what code it has, and how it is run."""
    if isinstance(said, Mapping):
        return {name: _clean(value) for name, value in said.items() if not LEFT_OUT.fullmatch(name)}
    return said


def _check(said: Mapping[str, Any], depth: int = 0) -> None:
    """Raises: ModelError, for what would be fetched, and for sizes that no model of pictures has."""
    for name, value in said.items():
        fetched = (name == "backbone" and isinstance(value, str)) or (name in FETCHED and value)
        if fetched or (name == "model_type" and value in OF_THE_HUB):
            raise ModelError("Its config.json names another model inside it ({name}), and a file's models are not fetched.",
                             name=str(value)[:40] if isinstance(value, str) else name)  # fmt: skip
        if name == "quantization_config" and value:
            raise ModelError("Its config.json says that its weights are quantised: save them as plain floating-point numbers.")
        numbers = value if isinstance(value, list) else [value]
        whole = [n for n in numbers if isinstance(n, int) and not isinstance(n, bool)]
        layers = bool(re.search(r"layer|depth|block|stage", name)) and not name.endswith(("_id", "_ids"))
        if any(abs(n) > MAX_COUNT for n in whole) or (layers and (sum(map(abs, whole)) > MAX_LAYERS or len(numbers) > MAX_LAYERS)):
            raise _impossible(name, value)
        if isinstance(value, Mapping):
            if depth > MAX_DEPTH:
                raise _impossible(name, "{…}")
            _check(value, depth + 1)
    side, patch = _largest(said.get("image_size")), _largest(said.get("patch_size"))
    if "patch_size" in said and (side // patch) ** 2 > MAX_PATCHES:
        raise _impossible("image_size", said.get("image_size"))


def _largest(value: Any) -> int:
    """The largest of a side or of several; 1 where there is none."""
    return max([1, *(n for n in (value if isinstance(value, list) else [value]) if isinstance(n, int))])


def _impossible(name: str, value: Any) -> ModelError:
    return ModelError("{name} says that {field} is {value}, which is impossible.", name="config.json", field=name[:40],
                      value=str(value)[:40])  # fmt: skip

"""Models in files of one's own that a JSON card beside the weights describes: what a name means, the card, and building it.

The card holds `card` (the menu's row), `architecture` (a description as `vitcore.architectures.build_model` takes it), `input`
(timm's terms for resizing and normalising) and perhaps `labels` (one name a class). A run's folder has both as `model.*`.
"""

from dataclasses import fields
from pathlib import Path
from typing import Any

from vitcore.architectures.paper_models import find_paper_model
from vitcore.assets import asset_path
from vitcore.models.formats import SUFFIXES
from vitcore.models.formats.containers import json_file
from vitcore.models.model_cards import ModelCard, ModelError, missing_file_error

SHIPPED_MODELS = asset_path("models")
INPUT_TERMS = {"mean", "std", "interpolation", "crop_pct", "crop_mode", "input_size", "resize", "crop"}


def find_local_weights(name: str | Path) -> Path | None:
    """The weights file that a name, a file or a run's folder means, or None where it may be the name of a hub model.

    A folder without weights means itself only where its name is that of no model (`vit_base_patch16_224`, with a training's logs).

    Raises: ModelError, for a file that is not there and a run that has no model yet.
    """
    path = Path(name)
    try:
        if path.suffix in SUFFIXES or path.is_symlink():
            if not path.exists():
                raise missing_file_error(path)
            return path
        if not path.exists():
            return _find_shipped(path, name)
        if path.is_dir() and (path / "model.json").is_file():
            return path / "model.safetensors"
        if (path / "recipe.json").is_file():
            raise ModelError("the run {path} holds no model yet: model.safetensors and model.json are missing.", path=path)
        if str(name).strip() and (path.is_file() or (path.is_dir() and _is_model(path))):
            return path
        if path.is_dir() and not _is_known_name(name):
            from vitcore.models.formats.containers.weight_files import unread_folder_sentence

            if said := unread_folder_sentence(path, str(name)):
                raise ModelError(said)
        return _find_shipped(path, name)
    except OSError as error:  # too long for a file's name, a folder that may not be read
        raise ModelError(
            "{name!r} is neither a model's name nor a file: {reason}.", name=str(name)[:60], reason=error.strerror
        ) from None


def _find_shipped(path: Path, name: str | Path) -> Path | None:
    file = SHIPPED_MODELS / f"{path.name}.safetensors"
    return file if path.name == str(name) and file.is_file() else None


def _is_known_name(name: str | Path) -> bool:
    """Whether it is also the name of a shipped model, of timm's or the paper's: a folder without weights does not hide that."""
    import timm

    return isinstance(name, str) and bool(_find_shipped(Path(name), name) or timm.is_model(name) or find_paper_model(name))


def _is_model(folder: Path) -> bool:
    """Whether a directory holds weights, or says that it should."""
    return (folder / "config.json").is_file() or any(file.suffix in SUFFIXES for file in folder.iterdir())


def has_model_card(file: Path) -> bool:
    """Whether a card beside a weights file says what they are; where none does, `inspect` finds out."""
    return file.is_file() and file.suffix != ".json" and file.with_suffix(".json").is_file()


def read_model_card(file: Path) -> dict[str, Any]:
    """What the card beside a weights file says. Raises: ModelError, when it is missing or no JSON object."""
    card = file.with_suffix(".json")
    if not card.is_file():
        raise ModelError("{name} needs its card {card} beside it (see CONTRIBUTING.md).", name=file.name, card=card.name)
    said = json_file.read_json_object(card)
    row = {field.name: field.type for field in fields(ModelCard) if field.name != "name"}
    missing = [name for name in ("card", "architecture", "input") if not isinstance(said.get(name), dict)]
    missing += [] if missing else [name for name in ("title", "params_m", "download_mb", "licence") if name not in said["card"]]
    if missing:
        raise ModelError(
            "{called} can't be loaded: its card {stem}.json has no {error}.", called=file.name, stem=file.stem, error=missing[0]
        )
    for section, known in (("card", set(row)), ("input", INPUT_TERMS)):
        if unknown := next((name for name in said[section] if name not in known), None):
            raise ModelError("{name} says that {field} is {value}, which is impossible.", name=card.name, field=section,
                             value=repr(unknown)[:60])  # fmt: skip
    return said


def build_module(architecture: dict[str, Any], size: int | tuple[int, int] | None) -> Any:
    """The module that a card describes, for images of `size` px: see `vitcore.architectures.build_model`."""
    from vitcore.architectures.build_model import build_from_description as of

    return of(architecture, size)


def load_weights_into(module: Any, file: Path, as_it_is: bool = False) -> None:
    """Read the weights as 32-bit floats, each into memory once, and give them to a module built without memory.

    as_it_is: the names are those of the module, an architecture of timm's that its card names.
    Where their positions are those of another input size than the card says, timm resamples them.
    """
    import timm  # noqa: F401
    from timm.models.vision_transformer import checkpoint_filter_fn

    from vitcore.architectures.classifier_head import add_pooler_to_head
    from vitcore.models.formats import checkpoint_models
    from vitcore.models.formats.containers import weight_files
    from vitcore.models.formats.containers.lazy_tensor import LazyTensor

    tree = weight_files.read_weights_tree(file)
    if as_it_is:
        module.load_state_dict(checkpoint_models.read_tensors(checkpoint_models.whole_models(tree, file.name)[0]), assign=True)
        return
    if not hasattr(module, "patch_embed"):  # a network without patches, saved by ourselves under its own names
        own = {name: weight for name, weight in tree.items() if isinstance(weight, LazyTensor)}
        module.load_state_dict({name: weight.values().float() for name, weight in own.items()}, assign=True)
        return
    part = checkpoint_models.find_models(tree, file.name)[0]
    state = part.with_computed_positions(part.with_timm_names(checkpoint_models.read_tensors(part)), module)
    state = add_pooler_to_head(state, module)
    kernel, layer = state.get("patch_embed.proj.weight"), getattr(module.patch_embed, "proj", None)
    if (
        kernel is None or kernel.ndim != 4 or layer is None or kernel.shape == layer.weight.shape
    ):  # else timm resamples the kernel, too
        state = checkpoint_filter_fn(state, module, interpolation="bicubic", antialias=True)
    module.load_state_dict(state, assign=True)

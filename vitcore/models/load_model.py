"""The models: a table of cards, and `load`, which turns a name or a file into a `Vit` every other room can use.

Weights come from this package, from a folder of the user's, or from the Hugging Face hub through timm's own loader.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vitcore.architectures import paper_models
from vitcore.architectures.meta_device import meta_device
from vitcore.errors import refusal_reason
from vitcore.models import local_files
from vitcore.models.attention_structure import image_px_of_module, read_attention_structure
from vitcore.models.checkpoint_inspection.assumed_answers import AssumedAnswersWarning as AssumedAnswersWarning
from vitcore.models.checkpoint_inspection.assumed_answers import assumed_class_names, assumed_sentence, stated_assumptions
from vitcore.models.checkpoint_inspection.differences import shape_text
from vitcore.models.checkpoint_inspection.inspect_checkpoint import inspect as inspect
from vitcore.models.checkpoint_inspection.inspection import Inspection
from vitcore.models.embeddings import can_permute_positions as can_permute_positions
from vitcore.models.embeddings import can_replace_positions_by_mean as can_replace_positions_by_mean
from vitcore.models.embeddings import first_kernel as first_kernel
from vitcore.models.embeddings import patch_kernel as patch_kernel
from vitcore.models.embeddings import position_embeddings as position_embeddings
from vitcore.models.embeddings import relative_positions as relative_positions
from vitcore.models.embeddings import resample_positions as resample_positions
from vitcore.models.embeddings import resampling_arguments
from vitcore.models.embeddings import root_kernel as root_kernel
from vitcore.models.embeddings import with_mean_position as with_mean_position
from vitcore.models.embeddings import with_permuted_positions as with_permuted_positions
from vitcore.models.formats import image_processor
from vitcore.models.hub import HUB_PREFIX, Progress
from vitcore.models.hub import fetch_weights as fetch_weights
from vitcore.models.hub_ids import fetch_hub_folder
from vitcore.models.model_cards import DEFAULT_MODEL, MODEL_CARDS, ModelCard, ModelError
from vitcore.models.torchvision_ops import declare_torchvision_ops
from vitcore.models.vit import Vit as Vit
from vitcore.probabilities import OUTPUTS, Output

declare_torchvision_ops()

SHIPPED = local_files.SHIPPED_MODELS
MAX_SIDE_PX = 4096  # a side of an input: more tokens than any of these models was made for


def load(
    name: str | Path = DEFAULT_MODEL,
    image_px: int | tuple[int, int] | None = None,
    progress: Progress | None = None,
    answers: Mapping[str, Any] | None = None,
    positions_by: str = "timm",
) -> Vit:
    """Load a model by name (shipped, of the paper as "ViT-B/16", any of timm's on the hub), by `hf-hub:` id, from a weights
    file, a directory of timm's, transformers' or OpenCLIP's, or a run's folder (model.safetensors and model.json).

    `image_px` asks for another input size (height, width); positions are then resampled as `positions_by` says, "timm" or
    "paper" (see `resample_positions`); each side is a multiple of the patch. Of a file without a card everything is inferred
    (`vitcore.inspect` says what), and `answers` may say what its shapes do not, by `Question.key`.
    Warns: AssumedAnswersWarning, where something is assumed that neither says (`Vit.assumed`).
    Raises: ModelError, with a sentence that says what to do.
    """
    vit = _load(name, image_px, progress, answers, positions_by)
    if vit.assumed:
        said = "".join(assumed_sentence(vit.display_name, vit.assumed))
        warnings.warn(said, AssumedAnswersWarning, stacklevel=2)
    return vit


def _load(
    name: str | Path,
    image_px: int | tuple[int, int] | None,
    progress: Progress | None,
    answers: Mapping[str, Any] | None,
    positions_by: str,
) -> Vit:
    if image_px is not None:
        _check_size(image_px)
    if str(name).startswith(HUB_PREFIX):
        return open_inspected(
            inspect(fetch_hub_folder(str(name), progress)),
            answers,
            image_px=image_px,
            display_name=str(name),
            positions_by=positions_by,
        )
    name = timm_name(name)
    file = local_files.find_weights(name)
    if file is None:
        return _load_hub(str(name), image_px, progress, positions_by)
    if file.is_dir() or (file.is_file() and not local_files.has_card(file)):
        return open_inspected(inspect(file), answers, image_px=image_px, positions_by=positions_by)
    return _load_own(file, str(name) if Path(name).is_dir() else file.stem, image_px, positions_by)


def timm_name(name: str | Path) -> str | Path:
    """The hub's name of weights for a name of the paper's ("ViT-B/16"); any other name as it is.

    Raises: ModelError, for a model of the paper that nobody has published weights of.
    """
    family = paper_models.find_paper_model(str(name))
    if family is None or Path(name).exists():
        return name
    if not family.trained_weights:
        raise ModelError(
            "There are no trained weights of {name}: train it yourself, with vitcore train --model {name}.", name=family.name
        )
    return family.trained_weights


def open_inspected(
    inspection: Inspection,
    answers: Mapping[str, Any] | None = None,
    labels: list[str] | None = None,
    image_px: int | tuple[int, int] | None = None,
    display_name: str = "",
    positions_by: str = "timm",
) -> Vit:
    """The model that `vitcore.inspect` found in a file; what is not answered is taken as likely.

    labels: one name a class; image_px: another input size (height, width), to which positions are resampled as `positions_by`
    says, "timm" or "paper"; called: its name here, else that of the file.
    Raises: ModelError, when it can't be opened, and for an impossible answer.
    """
    facts, module = inspection.card(answers, labels), inspection.module(answers)
    for note in inspection.warned_notes:
        warnings.warn("".join(note), stacklevel=2)  # text of no language class of ours: it may be pickled
    if not image_px and inspection.configuration.preprocessed_px:
        image_px, positions_by = inspection.configuration.preprocessed_px, "transformers"
    try:
        if image_px:
            _resize(module, image_px, positions_by)
        size = getattr(getattr(module, "patch_embed", None), "img_size", None)
        size = tuple(size or inspection.configuration.known_answers.get("size") or (224, 224))
        card = ModelCard(display_name or inspection.name, **facts["card"])
        return _assemble(
            card, module, {**facts["input"], "input_size": (3, *size)}, facts.get("labels"), facts["output"], facts.get("assumed")
        )
    except ModelError:
        raise
    except Exception as error:  # sizes that no patches fit, and models that keep their grid to themselves
        raise ModelError("{name} can't be loaded: {reason}", name=inspection.name, reason=refusal_reason(error)) from None


def available_cards() -> list[ModelCard]:
    """Cards of every model offered in menus: shipped ones first."""
    return list(MODEL_CARDS)


def _load_own(file: Path, name: str, image_px: int | tuple[int, int] | None, positions_by: str) -> Vit:
    facts, called = local_files.read_card(file), file.name if name == file.stem else f"{name}/{file.name}"
    try:
        native = facts["architecture"]["img_size"]
        size = image_px or native
        named = "timm" in facts["architecture"]  # its buffers are no weights: they are not in the file
        with torch.device("cpu") if named else meta_device():
            module = local_files.build_module(facts["architecture"], native)
        local_files.load_weights_into(module, file, named)
        if image_px:
            _resize(module, image_px, positions_by)
        card = ModelCard(name, **facts["card"])
        return _assemble(
            card, module, {**facts["input"], "input_size": (3, *_pair(size))}, facts.get("labels"),
            _stated_output(facts.get("output", "softmax")), stated_assumptions(facts, file.parent == SHIPPED, module),
        )  # fmt: skip
    except KeyError as error:
        raise ModelError(
            "{called} can't be loaded: its card {stem}.json has no {error}.", called=called, stem=file.stem, error=error
        ) from None
    except Exception as error:  # somebody's file: safetensors, timm and torch each complain in their own way
        raise ModelError("{called} can't be loaded: {reason}", called=called, reason=refusal_reason(error)) from None


def _check_size(size: Any) -> None:
    """Raises: ModelError, for what is no input size."""
    sides = size if isinstance(size, tuple | list) else (size, size)
    if len(sides) != 2 or not all(type(side) is int and 1 <= side <= MAX_SIDE_PX for side in sides):
        raise ModelError("An input size is a number of pixels from 1 to {most}, or height and width, not {size}.",
                         most=f"{MAX_SIDE_PX:,}", size=repr(size))  # fmt: skip


def _check_patches(module: Any, size: int | tuple[int, int]) -> None:
    """Raises: ModelError, for an input size that the module's patches do not fill."""
    import timm  # noqa: F401
    from timm.layers import to_2tuple

    patch = to_2tuple(getattr(getattr(module, "patch_embed", None), "patch_size", 1))
    sides = list(zip(_pair(size), patch, strict=True))
    if any(side % step for side, step in sides):
        near = tuple(max(1, round(side / step)) * step for side, step in sides)
        raise ModelError("{size} px is no whole number of patches of {patch} px; {near} px is.",
                         size=shape_text(_pair(size)), patch=shape_text(patch), near=shape_text(near))  # fmt: skip


def _pair(size: int | tuple[int, int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (size[0], size[1])


def _resize(module: Any, image_px: int | tuple[int, int], positions_by: str) -> None:
    """Another input size for a module; its learned positions are resampled."""
    _check_patches(module, image_px)
    table, grid = module.pos_embed, list(module.patch_embed.grid_size)
    way = resampling_arguments(positions_by)
    module.set_input_size(img_size=_pair(image_px))  # as timm
    if positions_by != "timm" and isinstance(table, Tensor):
        import timm  # noqa: F401
        from timm.layers import resample_abs_pos_embed

        prefix, new = table.shape[1] - grid[0] * grid[1], list(module.patch_embed.grid_size)
        module.pos_embed = nn.Parameter(resample_abs_pos_embed(table, new, grid, num_prefix_tokens=prefix, **way))


def _load_hub(name: str, image_px: int | tuple[int, int] | None, progress: Progress | None, positions_by: str = "timm") -> Vit:
    import timm
    from timm.data import resolve_model_data_config

    file = fetch_weights(name, progress)
    size: dict[str, Any] = {"img_size": _pair(image_px)} if image_px and positions_by == "timm" else {}
    try:
        module: Any = timm.create_model(name, pretrained=True, pretrained_cfg_overlay={"file": str(file)}, **size)
        if size:
            _check_patches(module, size["img_size"])
        elif image_px:
            _resize(module, image_px, positions_by)
    except Exception as error:  # a file from elsewhere, or placed by hand
        raise ModelError("{name} can't be loaded: {reason}", name=name, reason=refusal_reason(error)) from None
    known = {card.name: card for card in MODEL_CARDS}
    count = sum(p.numel() for p in module.parameters()) / 1e6
    card = known.get(name) or ModelCard(name, name, count, 4 * count, str(module.pretrained_cfg.get("license") or "see the hub"))
    return _assemble(card, module, resolve_model_data_config(module))


def wrap_module(module: nn.Module, name: str = "model") -> Vit:
    """A Vit from a timm module of your own (its `pretrained_cfg` gives the transform).

    A model that attends in another way, or not at all, is opened in part (`Vit.is_global`, `Vit.why_undefined`).
    Raises: ModelError, when it makes no grid of features from a picture.
    """
    import timm  # noqa: F401
    from timm.data import resolve_model_data_config

    count = sum(p.numel() for p in module.parameters()) / 1e6
    config = resolve_model_data_config(module)
    named = (getattr(module, "pretrained_cfg", None) or {}).get("tag")  # one of timm's own, whose classes are known
    assumed = {} if named else assumed_class_names(module)
    return _assemble(ModelCard(name, name, count, 4 * count, ""), module, config, assumed=assumed)


def _stated_output(said: Any) -> Output:
    """What a card says its outputs mean. Raises: ModelError."""
    if said not in OUTPUTS:
        raise ModelError("its card's output is one of {choices}, not {said}.", choices=", ".join(OUTPUTS), said=repr(said)[:40])
    return said


def _output_of(module: Any) -> Output:
    """What the outputs of one of timm's models mean: a head without a bias, or with one of zeros, and no ImageNet's classes, is
    the projection of a model that was trained on pictures and texts."""
    text = "clip" in str((getattr(module, "pretrained_cfg", None) or {}).get("architecture", ""))
    head = getattr(module, "head", None)
    if not text or not isinstance(head, nn.Linear) or _imagenet(module) is not None:
        return "softmax"
    return "features" if head.bias is None or head.bias.is_meta or not bool(head.bias.any()) else "softmax"


def _assemble(
    card: ModelCard, module: Any, config: dict[str, Any], labels: list[str] | None = None, output: Output | None = None,
    assumed: Mapping[str, str] | None = None,
) -> Vit:  # fmt: skip
    import timm  # noqa: F401
    from timm.data import create_transform

    structure = read_attention_structure(card.name, module, image_px_of_module(module, config["input_size"][1:]))
    config = {**config, "input_size": (3, *structure.grid.image_px)}
    if "resize" in config:
        transform = image_processor.make_transform(image_processor.scale_preprocessing(config, structure.grid.image_px))
    else:
        transform = create_transform(**config, is_training=False)
    module.eval().requires_grad_(False)
    means = output or _output_of(module)
    names = () if means == "features" else _labels(module, labels)
    mean, std = tuple(config["mean"]), tuple(config["std"])
    return Vit(
        card=card, module=module, grid=structure.grid, transform=transform, mean=mean, std=std, labels=names, structure=structure,
        output=means, assumed=assumed or {},
    )  # fmt: skip


def _labels(module: Any, given: list[str] | None = None) -> tuple[str, ...]:
    """The names of a model's own card, else those timm carries for ImageNet-1k and -21k; none without a head."""
    classes = int(getattr(module, "num_classes", 0) or 0)
    if given is not None:
        if not isinstance(given, list) or len(given) != classes:
            raise ModelError("its card's labels are not a list of {classes} {classes:name|names}, one a class.", classes=classes)
        return tuple(str(label) for label in given)
    info = _imagenet(module)
    if info is None:
        return tuple(f"class {i}" for i in range(classes))
    return tuple(info.index_to_description(i).split(",")[0] for i in range(info.num_classes()))


def _imagenet(module: Any) -> Any:
    """timm's ImageNetInfo for a head that has as many classes as one of ImageNet's, or None."""
    import timm  # noqa: F401
    from timm.data import ImageNetInfo, infer_imagenet_subset

    classes = int(getattr(module, "num_classes", 0) or 0)
    subset = "imagenet-1k" if classes == 1000 else (infer_imagenet_subset(module) if classes > 1000 else None)
    return ImageNetInfo(subset) if subset else None


def wordnet_ids(vit: Vit) -> tuple[str, ...]:
    """WordNet ids of an ImageNet model's classes in the order of its logits; none for models with classes of their own."""
    info = _imagenet(vit.module)
    if info is None or vit.labels != _labels(vit.module):
        return ()
    return tuple(info.label_names())

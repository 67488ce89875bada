"""`vitcore.wrap(module)`: a model of your own that is in memory as a `Vit`, of timm, transformers, torchvision or OpenCLIP.

Whatever it is wrapped in (DDP, FSDP, torch.compile), and whatever state it is in, the module stays as it is: a copy is looked at.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from vitcore.architectures.grey_input import GREY_RULE, accepted_bands
from vitcore.errors import check_choice, log_traceback, warn_caller
from vitcore.models.assembly.assemble import accept_three_channels, assemble_vit
from vitcore.models.assembly.device_and_dtype import find_device, find_dtype, place_module
from vitcore.models.assembly.foreign_modules import (
    check_same_answers,
    inspect_module_in_memory,
    library_of,
    output_kind_in_configuration,
    timm_module_inside,
    unknown_module_error,
    update_class_count,
    vision_part_of_module,
    with_adapters_merged,
)
from vitcore.models.assembly.frozen_copy import frozen_copy_without_hooks, unwrapped_module
from vitcore.models.assembly.input_size import check_fixed_size, check_input_size, height_and_width, resize_module_input
from vitcore.models.assembly.model_in_wrapper import (
    ModelInside,
    extract_model_with_head,
    holds_a_model,
    module_with_head,
    put_layers_after,
)
from vitcore.models.assembly.random_state import restored_generators
from vitcore.models.attention_structure import image_px_of_module
from vitcore.models.checkpoint_inspection.assumed_answers import AssumedAnswersWarning, assumed_class_names, assumed_sentence
from vitcore.models.checkpoint_inspection.open_questions import (
    answer_text,
    broadcast_mean_and_std,
    crop_answer,
    crop_answer_terms,
    output_question,
)
from vitcore.models.formats.config_json import class_names_with_gaps_filled
from vitcore.models.formats.image_processor import likely_preprocessing
from vitcore.models.model_cards import ModelCard, ModelError
from vitcore.models.vit import Vit, check_classes
from vitcore.probabilities import Output

Colours = tuple[tuple[float, ...], tuple[float, ...]]


def wrap(
    module: nn.Module, *, name: str = "model", labels: Sequence[str] | None = None,
    mean: Sequence[float] | None = None, std: Sequence[float] | None = None, image_px: int | tuple[int, int] | None = None,
    device: torch.device | str | None = None, dtype: torch.dtype | str | None = None, output: Output | None = None,
) -> Vit:  # fmt: skip
    """A `Vit` of a module in memory: timm's, transformers', torchvision's (`VisionTransformer`) or OpenCLIP's.

    The Vit holds a copy, which what is done with the module later does not change; the module itself is left as it is, bit for
    bit. Of DDP, FSDP (all processes call then), torch.compile and activation checkpoints the model inside is taken; hooks of
    the module are not run. In a class of your own (a LightningModule, an `nn.Sequential`) the one model inside is taken, with
    the normalisation before it and the layers of a head after it; a class that does more is refused. Adapters of PEFT are merged
    into the weights of the copy, where they can be, so such a module is read as its merged model is. A timm model that attends
    in another way, or not at all, is opened in part (`Vit.is_global`, `Vit.why_undefined`).
    labels: one name a class; mean, std: of red, green and blue, what pixels from 0 to 1 were normalised with; image_px: another
    input size (height, width), to which positions are resampled as timm does; device, dtype: None as the module's; output: what
    logits mean, "softmax" (one class is right) or "sigmoid" (each by itself, as of several labels), None as transformers'
    configuration says, else "softmax", and "sigmoid" of one class. Where the module does not say how photos are cut, timm's way
    is taken: resized by bicubic interpolation, the middle cut out; of transformers' classes their image processor's. Either is
    named in `Vit.assumed`.
    Warns: AssumedAnswersWarning, where something is assumed that neither the module nor you say (`Vit.assumed`).
    Raises: TypeError, for what is no module; ValueError, for another `output`; ModelError, one sentence, for one that can't be
    read.
    """
    if output is not None:
        check_choice("output", output, ("softmax", "sigmoid"))
    vit = wrap_quietly(module, name=name, labels=labels, mean=mean, std=std, image_px=image_px, device=device, dtype=dtype)
    if output is not None:
        check_classes(vit)
        vit = replace(vit, output=output, assumed={key: one for key, one in vit.assumed.items() if key != "output"})
    if said := vit.assumed:
        warn_caller(assumed_sentence(vit.display_name, said), AssumedAnswersWarning)
    return vit


def wrap_quietly(
    module: nn.Module, *, name: str, labels: Sequence[str] | None = None,
    mean: Sequence[float] | None = None, std: Sequence[float] | None = None, image_px: int | tuple[int, int] | None = None,
    device: torch.device | str | None = None, dtype: torch.dtype | str | None = None, gather: bool = True,
) -> Vit:  # fmt: skip
    """`wrap` without its warning. gather: put weights together that are shared out among processes; all of them call then."""
    if not isinstance(module, nn.Module):
        raise TypeError(f"module is a torch.nn.Module, not {type(module).__name__}")
    if image_px is not None:
        check_input_size(image_px)
    colours = _colours(mean, std, accepted_bands(unwrapped_module(module)))
    where, numbers = None if device is None else find_device(device), None if dtype is None else find_dtype(dtype)
    with restored_generators(), torch.inference_mode(False), torch.no_grad():
        own = unwrapped_module(module)
        if holds_a_model(own) or (library_of(own) and timm_module_inside(own) is own):
            first = next(p for p in own.parameters() if p.is_floating_point())
            twin = frozen_copy_without_hooks(module, name, device="cpu", dtype=torch.float32, gather=gather)
            vit = _of_copy(with_adapters_merged(twin), name, labels, colours, image_px)
            place_module(vit.module, where or first.device, numbers or first.dtype)
        else:
            named = labels if labels is not None else _label_names(own)
            twin = timm_module_inside(frozen_copy_without_hooks(module, name, device=where, dtype=numbers, gather=gather))
            vit = _timms(twin, name, named, colours, image_px)
    if vit.output == "softmax" and output_question(len(vit.labels)).likely == "sigmoid":  # the share of all would be 1
        vit = replace(vit, output="sigmoid", assumed={**vit.assumed, "output": "sigmoid"})
    return vit


def _of_copy(twin: nn.Module, name: str, labels: Sequence[str] | None, colours: Colours | None, image_px: Any) -> Vit:
    """The Vit of a copy of a module, of 32-bit floats on the CPU, that is no timm module from the start.

    A module of one's own may normalise pictures before the model in it, and have a head after it.
    """
    found = extract_model_with_head(twin, name) if holds_a_model(twin) else ModelInside(twin)
    if colours is not None and found.colours is not None:
        raise ModelError("{name} normalises pictures itself: leave out mean and std.", name=name)
    inner, colours = timm_module_inside(found.module), colours or found.colours
    if inner is found.module and library_of(inner):
        vit = _foreign(inner, name, labels, colours, image_px, found)
    else:
        vit = _timms(inner, name, labels if labels is not None else _label_names(found.module), colours, image_px)
    guess = {"normalise": answer_text(found.colours)} if found.colours and found.takes_bytes else {}
    return replace(vit, output=found.output or vit.output, assumed={**vit.assumed, **guess})


def _timms(module: Any, name: str, labels: Sequence[str] | None, colours: Colours | None, image_px: Any) -> Vit:
    """The Vit of a copy of a timm module, or of one built like timm's."""
    import timm  # noqa: F401
    from timm.data import resolve_model_data_config

    config = resolve_model_data_config(module)
    update_class_count(module)
    said = getattr(module, "pretrained_cfg", None) or {}
    named = said.get("tag") or labels is not None  # the classes of timm's own weights are known
    assumed = {} if named else assumed_class_names(module)
    if accepted_bands(module) != 3 and colours is None:
        config |= {"mean": (), "std": ()}  # timm's are of three colours, cut short or repeated: `assemble_vit` says what it takes
    elif colours is not None:
        config |= {"mean": colours[0], "std": colours[1]}
    elif not (said.get("mean") and said.get("std")):
        assumed["normalise"] = answer_text((tuple(config["mean"]), tuple(config["std"])))
    if not (said.get("crop_pct") or said.get("crop_mode")):
        assumed["crop"] = crop_answer(config["crop_mode"], config["crop_pct"])
    if not said.get("interpolation"):
        assumed["interpolation"] = config["interpolation"]
    if accept_three_channels(module, name):
        assumed["channels"] = GREY_RULE
    config["input_size"] = (3, *_input_px(module, name, config["input_size"][1:], image_px))
    _check_labels(module, name, labels)
    return assemble_vit(_card(module, name), module, config, labels, assumed=assumed)


def _foreign(
    twin: nn.Module, name: str, labels: Sequence[str] | None, colours: Colours | None, image_px: Any, inside: ModelInside
) -> Vit:
    """The Vit of a copy of a module of another library, as the timm module that has its weights, and those of a head after it."""
    answers: dict[str, Any] = {}
    trial, layers = inside.trial, inside.layers
    try:
        found = inspect_module_in_memory(twin, name, colours, trial[0] if trial and not layers else None)
        if trial and not layers:
            answers, ours = module_with_head(found, trial, name)
        else:
            ours = found.module()
    except ModelError as error:
        log_traceback(error)
        if trial:
            raise
        if library_of(twin) == "transformers":
            return _of_transformers(twin, name, labels, colours, image_px)
        raise unknown_module_error(twin, name) from None
    if trial and layers:
        put_layers_after(ours, layers, trial, name, inside.path)
    _check_labels(ours, name, labels)
    facts = found.card(answers, labels=list(labels) if labels is not None else None)
    assumed = facts.get("assumed", {})
    if layers:  # the model's own classes are not those of the head after it
        facts |= {"labels": labels, "output": "softmax"}
        assumed = {key: answer for key, answer in assumed.items() if key != "class_names"}
        assumed |= assumed_class_names(ours) if labels is None else {}
    size = image_px_of_module(ours, found.configuration.known_answers.get("size", (224, 224)))
    if not trial:
        check_same_answers(twin, ours, size, name)
    if image_px is not None:
        resize_module_input(ours, image_px, "timm")
        size = height_and_width(image_px)
    return assemble_vit(
        _card(ours, name), ours, {**facts["input"], "input_size": (3, *size)}, facts.get("labels"), facts["output"],
        assumed,
    )  # fmt: skip


def _of_transformers(twin: Any, name: str, labels: Sequence[str] | None, colours: Colours | None, image_px: Any) -> Vit:
    """The Vit of a copy of a module of transformers that is run as it is. Raises: ModelError."""
    import timm  # noqa: F401
    from timm.data import resolve_model_data_config

    ours = vision_part_of_module(twin, name)
    check_fixed_size(ours, name, image_px)
    named = labels if labels is not None else _label_names(twin) if ours.num_classes else None
    likely = {"crop": "center", "interpolation": "bicubic", **likely_preprocessing(str(twin.config.model_type))[0]}  # as of files
    cut = {key: likely[key] for key in ("crop", "interpolation")}
    config = {**resolve_model_data_config(ours), **crop_answer_terms(cut["crop"]), "interpolation": cut["interpolation"]}
    assumed = {**(assumed_class_names(ours) if named is None else {}), **cut}
    if told := colours or likely.get("normalise"):
        config |= {"mean": told[0], "std": told[1]}
    if colours is None:
        assumed["normalise"] = answer_text((tuple(config["mean"]), tuple(config["std"])))
    if accept_three_channels(ours, name):
        assumed["channels"] = GREY_RULE
    _check_labels(ours, name, named)
    config["input_size"] = (3, *ours.image_px)
    output: Output = (output_kind_in_configuration(twin) or "softmax") if ours.num_classes else "features"
    return assemble_vit(_card(ours, name), ours, config, named, output, assumed)


def _check_labels(module: Any, name: str, labels: Sequence[str] | None) -> None:
    """Raises: ModelError, for labels that are not one a class."""
    classes = int(getattr(module, "num_classes", 0) or 0)
    if labels is not None and len(labels) != classes:
        raise ModelError(
            "{name} has {classes} {classes:class|classes}, not {count}.", name=name, classes=classes, count=len(labels)
        )


def _card(module: nn.Module, name: str) -> ModelCard:
    count = sum(p.numel() for p in module.parameters()) / 1e6
    return ModelCard(name, name, count, 4 * count, "")


def _colours(mean: Sequence[float] | None, std: Sequence[float] | None, bands: int) -> Colours | None:
    """Raises: ModelError, for one without the other, and for what are not as many numbers as bands (or one, for all)."""
    if mean is None and std is None:
        return None
    try:
        return broadcast_mean_and_std(() if mean is None else mean, () if std is None else std, bands)
    except (ValueError, TypeError):
        if bands != 3:
            raise ModelError("mean and std are {bands} numbers each, one a band, and std is above 0.", bands=bands) from None
        raise ModelError("mean and std are three numbers each, of red, green and blue, and std is above 0.") from None


def _label_names(module: Any) -> list[str] | None:
    """The names of classes that transformers' configuration has, if somebody gave them some."""
    names = class_names_with_gaps_filled(getattr(getattr(module, "config", None), "id2label", None))
    inner = timm_module_inside(module)
    fits = names is not None and (inner is module or len(names) == int(getattr(inner, "num_classes", 0) or 0))
    return list(names) if names is not None and fits else None


def _input_px(module: Any, name: str, usual: tuple[int, int], image_px: Any) -> tuple[int, int]:
    """The input size of a module; another one, if it is asked for, is given to it. Raises: ModelError, where it takes no other."""
    own = image_px_of_module(module, usual)
    if image_px is None or height_and_width(image_px) == own:
        return own
    if getattr(getattr(module, "patch_embed", None), "img_size", None) is None:
        return height_and_width(image_px)  # it takes pictures of any size
    try:
        resize_module_input(module, image_px, "timm")
    except AttributeError:
        high, wide = own
        raise ModelError("{name} takes only pictures of {high}×{wide} px.",
                         name=name, high=high, wide=wide) from None  # fmt: skip
    return height_and_width(image_px)

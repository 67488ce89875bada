"""A timm module in memory made a `Vit`: its grid and how it attends, timm's transform, the names of its classes."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from vitcore.architectures.grey_input import (
    GreyConv2d,
    accepted_bands,
    bands_rule_sentence,
    first_convolution,
    grey_mean_and_std,
    input_channels,
)
from vitcore.models.attention_structure import image_px_of_module, read_attention_structure
from vitcore.models.checkpoint_inspection.saved_settings.class_names_file import imagenet_class_names, imagenet_info
from vitcore.models.formats import image_processor
from vitcore.models.formats.config_json import is_text_projection
from vitcore.models.model_cards import ModelCard, ModelError
from vitcore.models.vit import Vit
from vitcore.probabilities import Output


def _output_kind_of_timm(module: Any) -> Output:
    """What the outputs of one of timm's models mean: "features" of one without classes, and where its last layer is the projection
    to the space of texts."""
    classes, said = int(getattr(module, "num_classes", 0) or 0), getattr(module, "pretrained_cfg", None) or {}
    return "features" if not classes or is_text_projection(said, classes) else "softmax"


def assemble_vit(
    card: ModelCard, module: Any, config: dict[str, Any], labels: Sequence[str] | None = None, output: Output | None = None,
    assumed: Mapping[str, str] | None = None,
) -> Vit:  # fmt: skip
    """The Vit of a timm module that is nobody else's: it is put into evaluation mode and frozen.

    config: timm's terms for resizing and normalising, or transformers' (`formats.image_processor`), with `input_size`.
    A model of one channel is shown photos in grey (see `grey_input`), with one mean and one deviation; one of other than three is
    given as many bands, which stay as they are where `config` has not as many means.
    Raises: ModelError, where it makes no grid of features from a picture, and for labels that are not one a class.
    """
    import timm  # noqa: F401
    from timm.data import create_transform

    grey = accept_three_channels(module, card.called or card.name)
    structure = read_attention_structure(card.name, module, image_px_of_module(module, config["input_size"][1:]))
    config = {**config, "input_size": (3, *structure.grid.image_px)}
    if grey:
        config["mean"], config["std"] = grey_mean_and_std(config["mean"], config["std"])
    elif len(config["mean"]) != 3 == accepted_bands(module):
        raise ModelError("mean and std are three numbers each, of red, green and blue, and std is above 0.")
    assumed = dict(assumed or {})
    if (bands := accepted_bands(module)) != 3:
        assumed["channels"] = bands_rule_sentence(bands)
        if len(config["mean"]) != bands:  # of three colours: it says nothing of these bands
            config["mean"], config["std"] = (0.0,) * bands, (1.0,) * bands
            assumed["normalise"] = "none"
    if "resize" in config:
        transform = image_processor.preprocessing_transform(image_processor.preprocessing_for_size(config, structure.grid.image_px))
    else:
        transform = create_transform(**config, is_training=False)
    module.eval().requires_grad_(False)
    means = _output_kind_of_timm(module) if output is None or not getattr(module, "num_classes", 0) else output
    names = () if means == "features" else _class_labels(module, labels)
    mean, std = tuple(config["mean"]), tuple(config["std"])
    return Vit(
        card=card, module=module, grid=structure.grid, transform=transform, mean=mean, std=std, labels=names, structure=structure,
        output=means, assumed=assumed,
    )  # fmt: skip


def accept_three_channels(module: Any, name: str) -> bool:
    """Let a module of one channel take pictures of three, and say whether it is one.

    Raises: ModelError, for a first layer that can't be shown grey.
    """
    channels = input_channels(module)
    if channels != 1:
        return False
    first: Any = first_convolution(module)
    if type(first) not in (nn.Conv2d, GreyConv2d):
        raise ModelError("{name} takes pictures of {count} {count:channel|channels}, and photos have 3.", name=name, count=channels)
    first.__class__ = GreyConv2d
    return True


def _class_labels(module: Any, own_labels: Sequence[str] | None = None) -> tuple[str, ...]:
    """The names of a model's own card, else those timm carries for ImageNet-1k and -21k; none without a head."""
    classes = int(getattr(module, "num_classes", 0) or 0)
    if own_labels is not None:
        if not isinstance(own_labels, list | tuple) or len(own_labels) != classes:
            raise ModelError("its card's labels are not a list of {classes} {classes:name|names}, one per class.", classes=classes)
        return tuple(str(label) for label in own_labels)
    return imagenet_class_names(classes) or tuple(f"class {i}" for i in range(classes))


def wordnet_ids(vit: Vit) -> tuple[str, ...]:
    """WordNet ids of an ImageNet model's classes in the order of its logits; none for models with classes of their own."""
    info = imagenet_info(int(getattr(vit.module, "num_classes", 0) or 0))
    if info is None or vit.labels != _class_labels(vit.module):
        return ()
    return tuple(info.label_names())

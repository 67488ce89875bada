"""What the JSON files beside the weights say, of timm's, transformers' and OpenCLIP's directories: nothing of it is asked again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vitcore.errors import log_traceback
from vitcore.models.formats.containers.json_file import check_field_types, parse_unchecked_json
from vitcore.models.formats.image_processor import (
    likely_preprocessing,
    preprocessing_output_px,
    read_preprocessing,
    unfollowed_fields_sentence,
)
from vitcore.models.model_cards import ModelError
from vitcore.probabilities import Output
from vitcore.translation import say

ACTIVATIONS = {
    "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_fast": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "quick_gelu": "quick_gelu",
    "relu": "relu", "silu": "silu", "swish": "silu", "gelu_python": "gelu", "gelu_accurate": "gelu_tanh", "relu6": "relu6",
    "mish": "mish", "leaky_relu": "leaky_relu", "sigmoid": "sigmoid", "tanh": "tanh", "linear": "identity",
}  # fmt: skip


CONVERTED = {  # model types of transformers whose weights become timm's here
    "vit", "deit", "dinov2", "dinov2_with_registers", "dinov3_vit", "clip", "clip_vision_model", "siglip", "siglip_vision_model",
    "vit_mae", "vit_msn", "ijepa",
}  # fmt: skip
RESAMPLES = ("dinov2", "dinov2_with_registers", "dinov3_vit")  # types that take other sizes unasked
ANTIALIASED = ("dinov2_with_registers",)  # types that resample their positions as timm does; the others do without antialiasing
NOT_CONVERTED = {  # classes whose own names of tensors are others, and a model type whose answer is a projection of such a one's
    "ViTMSNForImageClassification", "VisionTextDualEncoderModel",
}  # fmt: skip
OPENCLIP_FILE, OPENCLIP_CROPS = "open_clip_config.json", {"squash": "squash", "longest": "border"}
DEPENDS_ON_THE_PHOTO = {"size", "do_resize", "crop_size"}  # how large it becomes, where an image processor's field is not followed
ONE_NUMBER = ("num_attention_heads", "num_heads", "hidden_size", "embed_dim", "depth", "num_hidden_layers")  # of a plain ViT


@dataclass(frozen=True)
class CheckpointConfiguration:
    """known: answers by `OpenQuestion.key`, and `size` (height, width in pixels); input: timm's terms for resizing and normalising.

    shown_px: (height, width) of what the model is shown, where that is not `size`; notes: what can't be done as it says.
    """

    known_answers: Mapping[str, Any] = field(default_factory=dict)
    input: Mapping[str, Any] = field(default_factory=dict)
    labels: tuple[str, ...] | None = None
    preprocessed_px: tuple[int, int] | None = None
    positions_by: str = "transformers"  # how positions become those of that size: see `resample_positions`
    notes: tuple[str, ...] = ()
    says_crop: bool = False  # the library's own way, where `input` need not name it
    timm: Mapping[str, Any] | None = None  # an architecture of timm's: its name under `timm`, and its arguments
    transformers: Mapping[str, Any] | None = None  # what config.json says of a model that only transformers itself can make
    model_type: str = ""  # transformers' name of a model beside which no file says how photos are prepared

    @property
    def likely(self) -> tuple[dict[str, Any], str]:
        """Answers by `OpenQuestion.key` that transformers' image processor gives without a file, and the sentence why."""
        answers, name = likely_preprocessing(self.model_type)
        why = say("as transformers' {name} does where no file says otherwise", name=name) if answers else ""
        return {key: answer for key, answer in answers.items() if key not in self.known_answers}, why


def read_configuration(folder: Path) -> CheckpointConfiguration:
    """The configuration in a folder of weights; an empty one where there is none.

    Raises: ModelError, for one that can't be read, and for a model that sees no photos.
    """
    for file in (folder / OPENCLIP_FILE, folder / "config.json"):
        if file.is_file():
            try:
                said = parse_unchecked_json(file)
                check_field_types({"architectures": said.get("architectures")}, file.name)
                if "model_type" in said and "architecture" not in said and not _is_converted(said):
                    return _through_transformers(said, folder)
                check_field_types(said, file.name)
                if file.name == OPENCLIP_FILE:
                    return _openclip(said)
                return _timm(said) if "architecture" in said else _transformers(said, folder)
            except ModelError:
                raise
            except Exception as error:  # fields that are missing, or don't fit together
                log_traceback(error)
                reason = repr(error.args[0])[:60] if isinstance(error, KeyError) else say("its fields do not fit together")
                raise ModelError("{name} does not say what such a file says: {reason}.", name=file.name, reason=reason) from None
    return CheckpointConfiguration()


def _timm(said: dict[str, Any]) -> CheckpointConfiguration:
    cfg = said.get("pretrained_cfg") or said
    shape = {"timm": said["architecture"], **(said.get("model_args") or {})}
    for term in ("num_classes", "global_pool"):
        if term in said:
            shape.setdefault(term, said[term])
    size = cfg.get("input_size")
    if size and "img_size" not in shape and cfg.get("fixed_input_size"):
        shape["img_size"] = list(size[-2:])
    known = _mean_and_std(cfg.get("mean"), cfg.get("std"))
    made_for = shape.get("img_size") or size
    if isinstance(made_for, list):
        known["size"] = _pair(made_for[-2:])
    if is_text_projection(
        {"architecture": said["architecture"], **cfg}, int(shape.get("num_classes") or cfg.get("num_classes") or 0)
    ):
        known["output"] = "features"
    kept = {term: cfg[term] for term in ("interpolation", "crop_pct", "crop_mode") if term in cfg}
    names = said.get("label_names") or cfg.get("label_names")
    if said.get("model_type") == "timm_wrapper":  # transformers' class around one of timm's
        numbered = dict(enumerate(names or ()))
        if (
            output := output_kind_from_configuration({**said, "num_labels": said.get("num_classes"), "id2label": numbered})
        ) is not None:
            known["output"] = output
        else:
            shape["num_classes"] = 0  # its number of classes is that of transformers' settings, of a model without a head, too
        names = class_names_with_gaps_filled(numbered)
    told = said.get("label_descriptions") or cfg.get("label_descriptions") or {}
    labels = tuple(str(told.get(name, name)).split(",")[0] for name in names) if names else None
    return CheckpointConfiguration(known, kept, labels, timm=shape)


def is_text_projection(pretrained_cfg: Mapping[str, Any], classes: int) -> bool:
    """Whether the last layer of one of timm's models makes no classes: it is the projection to the space of texts.

    pretrained_cfg: timm's, whose `architecture` or `tag` names CLIP, or Meta's Perception Encoder, of which the same holds;
    classes: how many numbers the last layer makes. A head that was made anew for other classes has another number of them than
    timm's weights, whose number is that of timm's table: the one in a saved `pretrained_cfg` is the file's own.
    """
    import timm
    from timm.data import infer_imagenet_subset

    architecture, tag = (str(pretrained_cfg.get(term) or "") for term in ("architecture", "tag"))
    if not ("clip" in architecture or "clip" in tag or architecture.startswith("vit_pe_core")):
        return False
    whole = f"{architecture}.{tag}"
    names = [whole] if timm.is_model_pretrained(whole) else timm.list_pretrained(f"{architecture}.*")
    own = {config.num_classes for name in names if (config := timm.get_pretrained_cfg(name)) is not None}
    return classes > 0 and classes in own and not infer_imagenet_subset({"num_classes": classes})


def transformers_configuration(config_json: dict[str, Any]) -> CheckpointConfiguration:
    """What the configuration of one of transformers' models says (`config.to_dict()`, with `architectures`); of photos nothing.

    Raises: ModelError, for a model that sees no photos as patches.
    """
    return _transformers(config_json, None)


def _transformers(said: dict[str, Any], folder: Path | None) -> CheckpointConfiguration:
    vision = _vision_section(said)
    if not _is_plain_vit(vision):
        raise _other_kind_error(said)
    known: dict[str, Any] = {"heads": int(vision["num_attention_heads"])}
    if "hidden_act" in vision:
        if vision["hidden_act"] not in ACTIVATIONS:
            raise ModelError("its config.json names an activation function that is not supported: {name}.",
                             name=repr(vision["hidden_act"])[:40])  # fmt: skip
        known["activation"] = ACTIVATIONS[vision["hidden_act"]]
    if "layer_norm_eps" in vision:
        known["eps"] = float(vision["layer_norm_eps"])
    if vision.get("image_size"):
        known["size"] = _pair(vision["image_size"])
    known |= {name: vision[name] for name in ("num_hidden_layers", "num_register_tokens") if name in vision}
    if "rope_theta" in vision:
        known["rope_theta"] = float(vision["rope_theta"])
    of_clip = "CLIPForImageClassification" in (said.get("architectures") or ())  # it reads the patches, without a norm
    known["pool"] = "avg" if of_clip else "token"
    return _with_preprocessing(said, folder, known)


def _with_preprocessing(
    said: dict[str, Any], folder: Path | None, known: dict[str, Any], transformers: Mapping[str, Any] | None = None
) -> CheckpointConfiguration:
    """What the files say beside what is known of the model: what its answer means, its classes, how photos are prepared."""
    if output := output_kind_from_configuration(said):
        known["output"] = output
    kind = str(said.get("model_type", ""))
    shown, unfollowed = read_preprocessing(folder, kind) if folder else ({}, [])
    labels, notes = class_names_with_gaps_filled(said.get("id2label")), _notes(said, unfollowed)
    if not shown:
        return CheckpointConfiguration(known, {}, labels, notes=notes, transformers=transformers, model_type=kind)
    known |= _mean_and_std(shown.pop("mean"), shown.pop("std"))
    other = None
    if DEPENDS_ON_THE_PHOTO & set(unfollowed) and (transformers or "size" in known):
        shown = {"interpolation": shown["interpolation"]}
    elif (px := preprocessing_output_px(shown)) != known.setdefault("size", px):
        other = px
    vision = str(_vision_section(said).get("model_type", kind))
    by = "timm" if vision in ANTIALIASED else "transformers"
    if other and vision not in RESAMPLES and not transformers:
        shown_px, made_px = (f"{high}×{wide}" for high, wide in (other, known["size"]))
        notes += (say("It was made for pictures of {made} px, and its preprocessor_config.json makes some of {shown} px. "
                      "Its positions are resampled, which transformers does only when it is asked.",
                      made=made_px, shown=shown_px),)  # fmt: skip
    return CheckpointConfiguration(known, shown, labels, other, by, notes, transformers=transformers)


def _vision_section(said: Mapping[str, Any]) -> Any:
    """The settings of what sees the picture: the model's own, or those of its tower, encoder or backbone."""
    inner = (said.get(name) for name in ("vision_config", "encoder", "backbone_config"))
    return next((one for one in inner if isinstance(one, dict) and one), said)


def _is_converted(said: Mapping[str, Any]) -> bool:
    """Whether a model of transformers becomes timm's here, without transformers."""
    vision = _vision_section(said)
    kind = str(vision.get("model_type", said.get("model_type")))
    return kind in CONVERTED and _is_plain_vit(vision) and not NOT_CONVERTED & set(map(str, said.get("architectures") or ()))


def _through_transformers(said: dict[str, Any], folder: Path) -> CheckpointConfiguration:
    """What is read here of a model that transformers itself makes."""
    check_field_types({name: said[name] for name in ("id2label", "problem_type", "architectures", "num_labels") if name in said},
                 "config.json")  # fmt: skip
    return _with_preprocessing(said, folder, {}, transformers=said)


def _is_plain_vit(vision: Any) -> bool:
    """Whether a configuration is of one width and one number of heads; those of hierarchies have lists, one number a stage."""
    if not isinstance(vision, dict) or not ({"image_size", "patch_size"} & set(vision)):
        return False
    return "num_attention_heads" in vision and not any(isinstance(vision.get(one), list) for one in ONE_NUMBER)


def _other_kind_error(said: Mapping[str, Any]) -> ModelError:
    if "model_type" not in said:
        return ModelError("Its config.json names neither transformers' model_type nor timm's architecture: add one of them, or "
                          "take the file away.")  # fmt: skip
    return ModelError("Its config.json describes a {kind} model, which is not opened from transformers' files. timm may have such "
                      "models: open one of those by name.", kind=str(said["model_type"])[:40])  # fmt: skip


def output_kind_from_configuration(config_json: dict[str, Any]) -> Output | None:
    """What the outputs of a transformers model mean, as its pipeline takes them; None without classes."""
    heads = [str(name) for name in config_json.get("architectures") or ()]
    problem, labels = config_json.get("problem_type"), config_json.get("id2label")
    count = len(labels) if isinstance(labels, dict) and labels else int(config_json.get("num_labels") or 2)
    if problem == "regression" or any(name.endswith("WithProjection") for name in heads):
        return "features"
    if problem == "multi_label_classification" or (count == 1 and labels):
        return "sigmoid"
    classifies = problem == "single_label_classification" or any("ForImageClassification" in name for name in heads)
    return "softmax" if classifies else None


def class_names_with_gaps_filled(id2label: Any) -> tuple[str, ...] | None:
    """One name a class of transformers' `id2label`, under its own number, else "class 1"; None where all are like LABEL_1."""
    if not isinstance(id2label, dict) or not id2label:
        return None
    by_number = {int(key): str(name) for key, name in id2label.items()}
    labels = tuple(by_number.get(i, f"class {i}") for i in range(len(id2label)))
    return None if all(label == f"LABEL_{i}" for i, label in enumerate(labels)) else labels


def _notes(said: Mapping[str, Any], unfollowed: list[str]) -> tuple[str, ...]:
    """What the files say that is not done, a sentence each."""
    numbers, notes = {int(key) for key in said.get("id2label") or ()}, []
    if numbers != set(range(len(numbers))):
        notes.append(say("Its id2label does not number its classes from 0 without gaps, so some have no name."))
    return (*notes, *([unfollowed_fields_sentence(unfollowed)] if unfollowed else []))


def _openclip(said: dict[str, Any]) -> CheckpointConfiguration:
    model, preprocessing = said.get("model_cfg", said), said.get("preprocess_cfg", {})
    vision = model["vision_cfg"]
    known: dict[str, Any] = {"size": _pair(vision["image_size"]), "output": "features"}  # a place in the space of texts
    known |= _mean_and_std(preprocessing.get("mean"), preprocessing.get("std"))
    if "timm_model_name" not in vision:
        known |= {"heads": int(vision["width"]) // int(vision.get("head_width", 64)), "eps": 1e-5,
                  "activation": "quick_gelu" if model.get("quick_gelu") else "gelu"}  # fmt: skip
        known |= {"eps": float(eps)} if (eps := (vision.get("norm_kwargs") or {}).get("eps")) else {}
        known |= {"activation": "gelu_tanh"} if (vision.get("act_kwargs") or {}).get("approximate") == "tanh" else {}
        known["pool"] = {"avg": "avg"}.get(vision.get("pool_type", "tok"), "token")
        known["norm_after_pool"] = known["pool"] == "avg" and bool(vision.get("final_ln_after_pool"))
    elif vision.get("timm_pool") in ("avg", "token"):
        known["pool"] = vision["timm_pool"]
    way = str(preprocessing.get("resize_mode") or "shortest")
    shown = {"interpolation": preprocessing.get("interpolation", "bicubic"), "crop_mode": OPENCLIP_CROPS.get(way, "center")}
    notes = () if way in ("shortest", "squash") else (unfollowed_fields_sentence([f"resize_mode={way}"], OPENCLIP_FILE),)
    return CheckpointConfiguration(known, shown, notes=notes)


def _mean_and_std(mean: Any, std: Any) -> dict[str, Any]:
    numbers: Callable[[Any], tuple[float, ...]] = lambda given: tuple(float(x) for x in given)  # noqa: E731
    if not mean or not std or len(mean) != len(std) or len(mean) not in (1, 3):
        return {}
    return {"normalise": (numbers(mean) * (3 // len(mean)), numbers(std) * (3 // len(std)))}


def _pair(size: Any) -> tuple[int, int]:
    return (int(size), int(size)) if isinstance(size, int) else (int(size[0]), int(size[1]))

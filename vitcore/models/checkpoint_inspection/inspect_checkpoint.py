"""A model's file that nobody has described: `inspect` says what is in it, `Inspection.module` makes a timm model of it.

    inspection = inspect("dino_deitsmall16_pretrain.pth")
    inspection.facts, inspection.questions, inspection.problems
    vit = load_model.open_inspected_checkpoint(inspection, {"heads": 6})

Nothing is loaded before `module`: names and shapes are enough for all the rest.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from vitcore.architectures.classifier_head import read_classifier_head, with_timm_head
from vitcore.architectures.meta_device import building_on_meta_device
from vitcore.errors import model_misfit_reason, shorten_name
from vitcore.models import local_files
from vitcore.models.checkpoint_inspection import likely_answers
from vitcore.models.checkpoint_inspection.check_shapes import check_shapes, check_weights_have_values
from vitcore.models.checkpoint_inspection.differences import TensorDifferences, fit_to_module, tensor_differences
from vitcore.models.checkpoint_inspection.infer_architecture import InferredArchitecture, infer_architecture
from vitcore.models.checkpoint_inspection.inspection import Inspection, submodel_label
from vitcore.models.checkpoint_inspection.open_questions import (
    CROPS,
    INTERPOLATIONS,
    OpenQuestion,
    crop_answer_terms,
    normalise_question,
)
from vitcore.models.checkpoint_inspection.saved_settings.apply_settings import with_saved_settings
from vitcore.models.checkpoint_inspection.saved_settings.class_names_file import imagenet_class_names
from vitcore.models.checkpoint_inspection.timm_architectures import (
    architectures_with_tensors,
    classifier_names,
    family_of_tensors,
    has_names_unlike_plain_vit,
    may_be_rotary,
    named_architecture,
    rotary_architectures,
)
from vitcore.models.formats import checkpoint_models, config_json, dinov3, google_npz, openclip, timm_names
from vitcore.models.formats.adapters.add_adapter import add_adapter
from vitcore.models.formats.adapters.merge_adapter import entry_names, holds_adapter
from vitcore.models.formats.config_json import CheckpointConfiguration
from vitcore.models.formats.containers import weight_files
from vitcore.models.formats.containers.lazy_tensor import LazyTensor
from vitcore.models.formats.rename_and_join_tensors import CheckpointFormat, StateDict, tensor_shapes
from vitcore.models.model_cards import ModelError

VIEW_PREDICTORS = re.compile(r"(^|\.)(predictor|momentum_encoder|encoder_k)\.")  # beside a model: BYOL's, MoCo's
OF_ADAPTERHUB = re.compile(r"\.(adapters\.\w+\.adapter_(down|up)\.|loras\.\w+\.lora_[AB]$)")
OF_TRANSFORMERS = re.compile(r"\.attention\.(attention|self|output)\.|\.layernorm_(before|after)\.|\.self_attn\.[qkv]_proj\.")
PLAIN_FAMILIES = ("vision_transformer", "eva", "vision_transformer_hybrid", "deit", "beit")  # whose tensors are read one by one
THROUGH_TRANSFORMERS = CheckpointFormat("transformers", ("",), lambda state: state)  # its own class reads the names


def inspect(
    path: str | Path, part: str | None = None, like: str | None = None, base: str | Path | None = None, anywhere: bool = True
) -> Inspection:
    """What is in a weights file, or in a directory with a configuration: names and shapes are read, no weights.

    part: which model, where the file holds several (a name of `Inspection.parts`); else the average or the teacher before others;
    like: the name of one of timm's models, for which photos were prepared as for this one;
    base: file or directory of the model that an adapter of PEFT changes; None: where the adapter says, which without `anywhere`
    is a directory in or beside the adapter's own.
    Raises: ModelError, one sentence, where no Vision Transformer is in it.
    """
    path = Path(path)
    file = weight_files.require_weights_file(path)
    configured = config_json.read_configuration(file.parent)
    tree = weight_files.read_weights_tree(file)
    if hub := next((name for name in entry_names(tree) if OF_ADAPTERHUB.search(name)), None):
        raise ModelError("{name} holds {tensor}, of AdapterHub's library adapters, whose layers are not opened here. Of LoRA, "
                         "merge_adapter there makes plain weights.", name=file.name, tensor=shorten_name(hub))  # fmt: skip
    if holds_adapter(tree) or file.name in weight_files.ADAPTER_FILES:
        tree, configured = add_adapter(tree, configured, file, base, anywhere)
    found = with_saved_settings(_inspect_tree(path, file, tree, configured, part, like), tree, configured)
    asked = next((len(q.likely[0]) for q in found.questions if q.key == "normalise"), 0)
    if not asked:
        return found
    beside = {name: weight for _, weights in checkpoint_models.weight_mappings(tree) for name, weight in weights.items()}
    return found.with_likely(*likely_answers.normalisation_by_tensors(beside, asked))


def _inspect_tree(
    path: Path, file: Path, tree: Mapping[str, Any], configured: CheckpointConfiguration, part: str | None, like: str | None
) -> Inspection:
    if configured.transformers:
        models = checkpoint_models.whole_models(tree, file.name)
        whole, names = _chosen(models, part if len(models) > 1 else None, file)
        if like is not None:
            likely_answers.preprocessing_like(like, tensor_shapes(whole.weights), file.name)  # refuses: not timm's tensors
        told = _through_transformers(path, file, whole, configured.transformers, configured)
        if len(models) > 1:
            return replace(told, part=replace(told.part, name=whole.name), parts=names)
        _chosen([told.part], part, file)
        return told
    if configured.timm:
        models = [checkpoint_models.without_wrappers(model) for model in checkpoint_models.whole_models(tree, file.name)]
        return _inspection(path, file, _chosen(models, part, file), configured, like)
    try:
        found = _inspection(path, file, _chosen(checkpoint_models.find_models(tree, file.name), part, file), configured, like)
        if not found.problems:
            return found
    except ModelError:
        if (other := _other_architecture(path, file, tree, part, configured, like)) is None:
            raise
        return other
    if other := _other_architecture(path, file, tree, part, configured, like):
        return other
    unknown = configured == CheckpointConfiguration() and found.differences.unexpected
    if unknown and any(OF_TRANSFORMERS.search(name) for name in found.part.weights):
        raise ModelError("{name} has tensors of transformers that no plain ViT of it has, such as {tensor}: put its config.json "
                         "beside it, and transformers itself opens it.", name=file.name,
                         tensor=shorten_name(found.differences.unexpected[0]))  # fmt: skip
    return found


def _other_architecture(
    path: Path, file: Path, tree: Mapping[str, Any], part: str | None, configured: CheckpointConfiguration, like: str | None
) -> Inspection | None:
    """The inspection of a file whose tensors are those of another architecture of timm's than a plain ViT; None if of none.

    Raises: ModelError, where they have the names of one of timm's families and the shapes of none of its models.
    """
    if configured != CheckpointConfiguration():
        return None
    whole = checkpoint_models.without_wrappers(checkpoint_models.whole_models(tree, file.name)[0])
    shapes = tensor_shapes(whole.weights)
    for one in (whole, *checkpoint_models.with_linear_head(whole, classifier_names())):
        if named := architectures_with_tensors(tensor_shapes(one.weights)):
            told = replace(configured, timm=next(iter(named.values())))
            return _inspection(path, file, _chosen([one], part, file), told, like, named=named)
    family = family_of_tensors(shapes)
    if not family or family in PLAIN_FAMILIES:
        return None
    raise ModelError("{file} has the tensor names of timm's {family} models, but the shapes of none of them. A config.json beside "
                     "it can describe the architecture.", file=file.name, family=family)  # fmt: skip


def _through_transformers(
    path: Path, file: Path, whole: checkpoint_models.CheckpointModel, said: Mapping[str, Any], configured: CheckpointConfiguration
) -> Inspection:
    """The inspection of a model that transformers' own class makes. Raises: ModelError, also where that is not installed."""
    from vitcore.models.transformers_models.vision_part import expected_picture_shape, find_vision_part

    check_weights_have_values(whole.weights, file.name)
    part = find_vision_part(said, tensor_shapes(whole.weights))
    name = part.kind.__name__
    known = {"output": "softmax" if part.classes else "features", **configured.known_answers}
    shape = {"transformers": dict(said), "class": name, "num_classes": part.classes}
    shape["img_size"] = list(known.get("size") or expected_picture_shape(part.config)[1:])
    asked = () if "normalise" in known else (normalise_question("imagenet", 3),)
    also = _class_names_question(part.classes, configured, known)
    inferred = InferredArchitecture(shape, (1, 1), None, (*asked, *also), _preprocessing_questions(configured))
    differences = TensorDifferences(
        tuple(f"{name}.{one}" for one in part.missing), tuple(f"{name}.{one}" for one in part.unexpected),
        tuple((f"{name}.{one}", shape, wanted) for one, shape, wanted in part.misshapen),
    )  # fmt: skip
    inside = {key: weight for key, weight in whole.weights.items() if key.startswith(part.roof)}
    others = tuple(key for key in whole.weights if key not in inside)
    model = replace(whole, name=part.roof, format=THROUGH_TRANSFORMERS, weights=inside, left_out=others)
    count, name = part.params, path.name if path.is_dir() else file.stem
    found = Inspection(file, name, model, (part.roof,), inferred, configured, differences, count, known["output"], vision_part=part)
    return found.with_likely(*configured.likely)


def inspect_described(file: Path, config_json: Mapping[str, Any]) -> Inspection:
    """The inspection of weights whose card holds what their config.json said. Raises: ModelError."""
    [whole, *_] = checkpoint_models.whole_models(weight_files.read_weights_tree(file), file.name)
    return _through_transformers(file, file, whole, config_json, CheckpointConfiguration())


def inspect_state(state: Mapping[str, LazyTensor], configured: CheckpointConfiguration, name: str) -> Inspection:
    """The inspection of a state in memory, in any library's names, and what is known of its model.

    Raises: ModelError, one sentence, where no Vision Transformer is in it.
    """
    part = checkpoint_models.find_models(state, name)[0]
    nowhere = Path(f"{name}.state")  # a name in sentences: nothing is read
    return replace(_inspection(nowhere, nowhere, (part, (part.name,)), configured, by_name=False), name=name)


def _chosen(
    parts: list[checkpoint_models.CheckpointModel], asked: str | None, file: Path
) -> tuple[checkpoint_models.CheckpointModel, tuple[str, ...]]:
    names = tuple(part.name for part in parts)
    part = parts[0] if asked is None else next((part for part in parts if submodel_label(part.name) == asked), None)
    if part is None:
        raise ModelError("{name} holds no model {part}; there is {others}.", name=file.name, part=repr(asked),
                         others=", ".join(map(submodel_label, names)))  # fmt: skip
    return part, names


def _rotary(
    part: checkpoint_models.CheckpointModel, raw: StateDict, configured: CheckpointConfiguration, file: Path
) -> dict[str, dict[str, Any]]:
    """timm's architectures with rotary positions that a file may be of. Raises: ModelError, where it must be and none fits."""
    encoder = part.format is openclip.TOWER and openclip.is_perception_encoder(raw)
    if configured.timm or not (encoder or (part.format is timm_names.TIMM and may_be_rotary(raw))):
        return {}
    raw = part.with_timm_names(dict(raw)) if encoder else raw
    head = read_classifier_head(raw)
    if head and not head.is_linear:  # timm's own is linear: the others take its place
        raw = {name: w for name, w in raw.items() if not name.startswith("head.")}
        width = next((layer[1] for layer in head.layers if len(layer) > 1), 0)
        raw |= {"head.weight": torch.empty(head.classes, width, device="meta")}
        raw |= {"head.bias": torch.empty(head.classes, device="meta")}
    found = rotary_architectures(raw)
    if head and not head.is_linear:
        found = {name: shape | {"head_layers": head.layers} for name, shape in found.items()}
    if not found and encoder:
        raise ModelError("{name} has the tensors of OpenCLIP's tower without its last norm, or with another pool, as Meta's "
                         "Perception Encoders do, whose positions rotate. None that timm has is of these shapes.",
                         name=file.name)  # fmt: skip
    if not found and "pos_embed" not in raw and not any("relative_position_bias" in name for name in raw):
        raise ModelError(
            "{name} holds no position embeddings, so it may use rotary positions. None of timm's architectures with rotary "
            "positions has exactly these tensors. A config.json beside it can name the architecture.",
            name=file.name,
        )
    return found


def _inspection(
    path: Path, file: Path, chosen: tuple[checkpoint_models.CheckpointModel, tuple[str, ...]], configured: CheckpointConfiguration,
    like: str | None = None, by_name: bool = True, named: Mapping[str, dict[str, Any]] | None = None,
) -> Inspection:  # fmt: skip
    """named: the architectures of timm's that have the file's tensors, the likeliest first, which is that of `configured`."""
    part, names = chosen
    check_weights_have_values(part.weights, file.name)
    if "pool" not in configured.known_answers:
        part = checkpoint_models.drop_transformers_clip_classifier(part)
    raw = tensor_shapes(part.weights)
    told, by_tensors = _told_by_names(part, raw), bool(named) or not configured.timm
    kernel = raw.get("embeddings.patch_embeddings.projection.weight", torch.empty(0))
    if not configured.known_answers and "embeddings.distillation_token" in raw and kernel.shape[1:2] == (1,):
        raise ModelError("{name} has one channel and a distillation token, as models of sound have (AST), whose patches overlap. "
                         "If it sees photos, put its config.json beside it.", name=file.name)  # fmt: skip
    if part.format is timm_names.TIMM and not part.is_whole:
        raw = with_timm_head(raw)
    rotary = dict(named or _rotary(part, raw, configured, file))
    if rotary and part.format is timm_names.TIMM and has_names_unlike_plain_vit(raw):
        configured = replace(configured, timm=next(iter(rotary.values())))
    state = raw if configured.timm else part.with_timm_names(dict(raw))
    if not configured.timm:
        check_shapes(state, file.name)
    if rotary and part.format is openclip.TOWER:
        configured = replace(configured, timm=next(iter(rotary.values())))
    if like is not None:
        prepared = likely_answers.preprocessing_like(like, state, file.name)
        shown = {**crop_answer_terms(prepared["crop"]), "interpolation": prepared["interpolation"]}
        told_like = {key: prepared[key] for key in ("normalise", "norm_place")}
        configured = replace(configured, known_answers={**configured.known_answers, **told_like}, input=shown)
    known = {**part.format.fixed, **configured.known_answers, **told}
    if part.format in dinov3.FORMATS and not configured.timm:
        configured = replace(configured, timm=dinov3.describe_dinov3(raw, state, known))
    if configured.timm:
        inferred = named_architecture(part, raw, configured.timm, known, tuple(rotary), by_tensors)
    else:
        inferred = _with_values(part, state, known, file)
        if rotary:
            plain = OpenQuestion("architecture", "vit", ("vit", *rotary))
            inferred = replace(inferred, questions=(*inferred.questions, plain))
    try:
        with building_on_meta_device():
            shape = (
                inferred.architecture if configured.timm else inferred.with_answers({q.key: q.likely for q in inferred.questions})
            )
            module = local_files.build_module(shape, shape.get("img_size"))
    except Exception as error:  # shapes that no model has: timm and torch each complain in their own way
        raise ModelError("{name} can't be loaded: {reason}", name=file.name, reason=model_misfit_reason(error)) from None
    registers = shape.get("reg_tokens", shape.get("num_reg_tokens", 0))
    for field, count in (("num_hidden_layers", shape.get("depth")), ("num_register_tokens", registers)):
        if known.get(field, count) != count:  # transformers would leave some out, or make some up
            raise ModelError("config.json says that {field} is {said}, and by the tensors of {name} it is {count}.",
                             field=field, said=known[field], name=path.name, count=count)  # fmt: skip
    differences = tensor_differences(fit_to_module(part.with_computed_positions(state, module), module), module)
    classes = 0 if differences.only_head_differs else int(getattr(module, "num_classes", 0) or 0)
    also = _class_names_question(classes, configured, known)
    inferred = replace(
        inferred,
        questions=(*inferred.questions, *also),
        optional_questions=(*inferred.optional_questions, *_preprocessing_questions(configured)),
    )
    count, name = sum(p.numel() for p in module.parameters()), path.name if path.is_dir() else file.stem
    flat = "timm" not in shape and all(len(weight.shape) < 4 for weight in part.weights.values())
    output = known.get("output", "softmax")
    built = [] if "timm" in shape else [(shape, module)]
    found = Inspection(file, name, part, names, inferred, configured, differences, count, output, rotary, None, flat, built)
    if any(q.key == "norm_place" for q in found.unproven_questions):
        found = found.with_likely(*likely_answers.norm_place_by_values(part.weights))
    found = found.with_likely(*likely_answers.preprocessing_by_name(name, state)) if by_name else found
    return found.with_likely(*configured.likely)


def _told_by_names(part: checkpoint_models.CheckpointModel, raw: StateDict) -> dict[str, Any]:
    """What names of tensors tell beyond their shapes, by `OpenQuestion.key`."""
    told: dict[str, Any] = {"heads": google_npz.head_count_from_query(raw)} if part.format is google_npz.FORMAT else {}
    told |= {} if part.format.title == timm_names.TIMM.title else {"norm_place": "before"}  # as all other libraries have it
    if any(VIEW_PREDICTORS.search(name) for name in part.left_out):  # its head compares views of a photo
        told["output"] = "features"
    if part.format.projection and any(re.search(part.format.projection, name) for name in raw):
        told["output"] = "features"
    if any(re.search(r"\.mlp\.(w12|weights_in|gate_proj)\.", name) for name in raw):  # DINOv2's and DINOv3's own
        told["gate"] = "first half"
        told |= {} if any(".mlp.gate_proj." in name for name in raw) else {"activation": "silu"}
    if any(name.startswith("visual.head.mlp.") for name in raw):  # OpenCLIP's, of timm's `Mlp`
        told["head_activation"] = "gelu"
    if any("pre_logits" in name for name in raw):  # the paper's, in every library
        told["head_activation"] = "tanh"
    return told


def _class_names_question(classes: int, configured: CheckpointConfiguration, known: Mapping[str, Any]) -> tuple[OpenQuestion, ...]:
    """As many classes as ImageNet's may be others: asked, where nothing names them."""
    if configured.labels or known.get("output") == "features" or not imagenet_class_names(classes):
        return ()
    return (OpenQuestion("class_names", "imagenet", ("imagenet", "numbers"), (("classes", f"{classes:,}"),)),)


def _preprocessing_questions(configured: CheckpointConfiguration) -> tuple[OpenQuestion, ...]:
    """Crop and interpolation, where no configuration says them."""
    said, asked = set(configured.input), []
    if not configured.says_crop and not {"crop_mode", "crop_pct", "resize"} & said:
        asked.append(OpenQuestion("crop", "center", tuple(CROPS)))
    if not {"interpolation", "resize"} & said:
        asked.append(OpenQuestion("interpolation", "bicubic", INTERPOLATIONS))
    return tuple(asked)


def _with_values(
    part: checkpoint_models.CheckpointModel, state: StateDict, known: Mapping[str, Any], file: Path
) -> InferredArchitecture:
    """Inferred from shapes, and from the values of the position embeddings alone: they know the rows of their grid."""
    table, given = state.get("pos_embed"), part.format
    if table is not None and table.ndim == 3:
        held = next((w for name, w in part.weights.items() if "pos" in name and math.prod(w.shape) == table.numel()), None)
        if held is not None:
            state = {**state, "pos_embed": held.values().float().reshape(table.shape)}
    found = infer_architecture(state, known, given.likely, file.name)
    terms = {**found.architecture, **given.architecture}
    if given.positions is not None:
        terms.pop("pos_embed", None)
    return replace(found, architecture=terms)

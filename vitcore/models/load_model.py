"""The models: a table of cards, and `load`, which turns a name or a file into a `Vit` every other room can use.

Weights come from this package, from a folder of the user's, or from the Hugging Face hub through timm's own loader.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps

from vitcore.architectures import paper_models
from vitcore.architectures.meta_device import building_on_meta_device
from vitcore.assets import SAMPLES
from vitcore.errors import model_misfit_reason, shorten_name, warn_caller
from vitcore.images import open_photo
from vitcore.models import local_files
from vitcore.models.assembly.assemble import assemble_vit
from vitcore.models.assembly.assemble import wordnet_ids as wordnet_ids
from vitcore.models.assembly.device_and_dtype import place_module
from vitcore.models.assembly.input_size import (
    check_fixed_size,
    check_input_size,
    check_patches_fill_input,
    height_and_width,
    resize_module_input,
)
from vitcore.models.assembly.random_state import restored_generators
from vitcore.models.attention_structure import image_px_of_module
from vitcore.models.checkpoint_inspection.assumed_answers import AssumedAnswersWarning as AssumedAnswersWarning
from vitcore.models.checkpoint_inspection.assumed_answers import assumed_sentence, stated_assumptions
from vitcore.models.checkpoint_inspection.inspect_checkpoint import inspect as inspect
from vitcore.models.checkpoint_inspection.inspect_checkpoint import inspect_described
from vitcore.models.checkpoint_inspection.inspection import Inspection
from vitcore.models.checkpoint_inspection.likely_answers import most_confident_normalisation
from vitcore.models.checkpoint_inspection.open_questions import NORMALISATIONS
from vitcore.models.embeddings import can_permute_positions as can_permute_positions
from vitcore.models.embeddings import can_replace_positions_by_mean as can_replace_positions_by_mean
from vitcore.models.embeddings import first_layer_filters as first_layer_filters
from vitcore.models.embeddings import patch_kernel as patch_kernel
from vitcore.models.embeddings import position_embeddings as position_embeddings
from vitcore.models.embeddings import relative_positions as relative_positions
from vitcore.models.embeddings import resample_positions as resample_positions
from vitcore.models.embeddings import root_kernel as root_kernel
from vitcore.models.embeddings import with_mean_position as with_mean_position
from vitcore.models.embeddings import with_permuted_positions as with_permuted_positions
from vitcore.models.formats.containers.file_errors import MOST_NAMED
from vitcore.models.formats.containers.read_weights import check_weights_are_finite_and_not_all_zero, first_weights_of_zeros
from vitcore.models.hub_folder import fetch_hub_folder
from vitcore.models.hub_ids_and_weights import HUB_PREFIX, Progress
from vitcore.models.hub_ids_and_weights import fetch_weights as fetch_weights
from vitcore.models.model_cards import DEFAULT_MODEL, MODEL_CARDS, ModelCard, ModelError
from vitcore.models.torchvision_ops import declare_torchvision_ops
from vitcore.models.vit import Vit as Vit
from vitcore.probabilities import OUTPUTS, Output
from vitcore.translation import say

declare_torchvision_ops()

MANY_PHOTOS, FEW_PHOTOS, SMALL_MODEL_PARAMS = 8, 4, 30_000_000  # a large model looks at fewer: four times each
SHIPPED = local_files.SHIPPED_MODELS


def load(
    name: str | Path = DEFAULT_MODEL,
    image_px: int | tuple[int, int] | None = None,
    progress: Progress | None = None,
    answers: Mapping[str, Any] | None = None,
    positions_by: str = "timm",
    *,
    like: str | None = None,
    base: str | Path | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | str | None = None,
) -> Vit:
    """Load a model by name (shipped, of the paper as "ViT-B/16", any of timm's on the hub), by `hf-hub:` id, from a weights
    file, a directory of timm's, transformers' or OpenCLIP's, or a run's folder (model.safetensors and model.json).

    `image_px` asks for another input size (height, width); positions are then resampled as `positions_by` says, "timm" or
    "paper" (see `resample_positions`); each side is a multiple of the patch. Of a file without a card everything is inferred
    (`vitcore.inspect` says what), and `answers` may say what its shapes do not, by `OpenQuestion.key`.
    like: the name of one of timm's models, for which photos were prepared (mean, deviation, crop) as for the file's. Without it
    timm's weights of the file's name and shapes tell; where no name does and it names ImageNet's classes, the likely mean and
    deviation are those under which it is surest of the photos that ship.
    base: a file, a directory or an `hf-hub:` id of the model that an adapter of PEFT (LoRA, DoRA) changes, in place of the one
    that the adapter names.
    device: "cpu", "cuda", "mps" or what torch calls one, "auto" for the accelerator of this machine, if it has one; dtype: of
    weights and passes, such as torch.bfloat16 or "bfloat16". None: 32-bit floats on the CPU.
    Warns: AssumedAnswersWarning, where something is assumed that neither says (`Vit.assumed`).
    Raises: ModelError, with a sentence that says what to do.
    """
    with restored_generators():  # random numbers are the caller's
        vit = _load(name, image_px, progress, answers, positions_by, like, base)
    place_module(vit.module, device, dtype)
    if vit.assumed:
        warn_caller(assumed_sentence(vit.display_name, vit.assumed, vit.assumed_because), AssumedAnswersWarning)
    return vit


def _load(
    name: str | Path,
    image_px: int | tuple[int, int] | None,
    progress: Progress | None,
    answers: Mapping[str, Any] | None,
    positions_by: str,
    like: str | None,
    base: str | Path | None,
) -> Vit:
    if image_px is not None:
        check_input_size(image_px)

    def opened(path: Path, called: str = "") -> Vit:
        where = fetch_hub_folder(str(base), progress) if str(base).startswith(HUB_PREFIX) else base
        return open_inspected_checkpoint(inspect(path, like=like, base=where), answers, None, image_px, called, positions_by)

    if str(name).startswith(HUB_PREFIX):
        return opened(fetch_hub_folder(str(name), progress), str(name))
    name = timm_name_of_model(name)
    file = local_files.find_local_weights(name)
    unasked = {"like": like, "base": base, **(answers or {})}
    given = [key for key, value in unasked.items() if value is not None]
    if given and (file is None or local_files.has_model_card(file)):
        raise ModelError(
            "{name} is a known model, which leaves nothing open: leave out {given}.", name=name, given=", ".join(given)
        )
    if file is None:
        return _load_hub(str(name), image_px, progress, positions_by)
    if file.is_dir() or (file.is_file() and not local_files.has_model_card(file)):
        return opened(file)
    vit = _load_own(file, str(name) if Path(name).is_dir() else file.stem, image_px, positions_by)
    check_weights_are_finite_and_not_all_zero(vit.module, file.name)
    return _with_zeros_as_assumption(vit)


def timm_name_of_model(name: str | Path) -> str | Path:
    """The hub's name of weights for a name of the paper's ("ViT-B/16"); any other name as it is.

    Raises: ModelError, for a model of the paper that nobody has published weights of.
    """
    family = paper_models.find_paper_model(str(name))
    if family is None or local_files.find_local_weights(name) is not None:
        return name
    if not family.trained_weights:
        raise ModelError("{name} has no trained weights: train it yourself, with vitcore train --model {name}.", name=family.name)
    return family.trained_weights


def open_inspected_checkpoint(
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
    module = inspection.module(answers)
    inspection = _with_surest_colours(inspection, module, answers)
    facts = inspection.card(answers, labels)
    for note in inspection.warned_notes:
        warn_caller(note, UserWarning)
    check_fixed_size(module, inspection.name, image_px)
    if hasattr(module, "image_px"):  # one of transformers', which stays as it was made
        image_px = None
    if not image_px and inspection.configuration.preprocessed_px:
        image_px, positions_by = inspection.configuration.preprocessed_px, inspection.configuration.positions_by
    try:
        if image_px:
            resize_module_input(module, image_px, positions_by)
        size = image_px_of_module(module, inspection.configuration.known_answers.get("size"))
        card = ModelCard(display_name or inspection.name, **facts["card"])
        vit = assemble_vit(
            card, module, {**facts["input"], "input_size": (3, *size)}, facts.get("labels"), facts["output"], facts.get("assumed")
        )
        return _with_zeros_as_assumption(replace(vit, assumed_because=inspection.reasons(answers)))
    except ModelError:
        raise
    except Exception as error:  # sizes that no patches fit, and models that keep their grid to themselves
        raise ModelError("{name} can't be loaded: {reason}", name=inspection.name, reason=model_misfit_reason(error)) from None


def _with_zeros_as_assumption(vit: Vit) -> Vit:
    """The model, of which weights of zeros alone are taken as meant: pruned, or a block switched off."""
    zeros = first_weights_of_zeros(vit.module)
    if not zeros:
        return vit
    listed = ", ".join(zeros[:MOST_NAMED]) + ("…" if len(zeros) > MOST_NAMED else "")
    why = say("switched off or pruned; a download that was broken off leaves zeros, too")
    return replace(vit, assumed={**vit.assumed, "zeros": listed}, assumed_because={**vit.assumed_because, "zeros": why})


def _with_surest_colours(inspection: Inspection, module: Any, answers: Mapping[str, Any] | None) -> Inspection:
    """The inspection with the normalisation under which a classifier of ImageNet's classes is surest of the photos that ship, as
    the likely answer; the same where one is told or a name tells, and for other models."""
    asked = {q.key: q for q in inspection.questions}
    told = {key for key, value in (answers or {}).items() if value is not None}
    photos = sorted(SAMPLES.glob("*.jpg"))[: MANY_PHOTOS if inspection.params < SMALL_MODEL_PARAMS else FEW_PHOTOS]
    if "normalise" not in asked or len(asked["normalise"].likely[0]) != 3:
        return inspection
    if "class_names" not in asked or told & {"normalise", "class_names", "output"} or not photos:
        return inspection
    if asked["normalise"].reason or inspection.configuration.timm or getattr(module, "patch_embed", None) is None:
        return inspection
    high, wide = image_px_of_module(module, (224, 224))
    pixels = [np.asarray(ImageOps.fit(open_photo(photo).image, (wide, high), Image.Resampling.BICUBIC)) for photo in photos]
    surest, bits = most_confident_normalisation(module, pixels)
    why = say("its classes have {bits:.1f} bits of entropy on the photos that ship, and {next:.1f} or more with others",
              bits=bits[surest], next=sorted(bits.values())[1])  # fmt: skip
    return inspection.with_likely({"normalise": NORMALISATIONS[surest]}, why)


def _load_own(file: Path, name: str, image_px: int | tuple[int, int] | None, positions_by: str) -> Vit:
    facts, called = local_files.read_model_card(file), file.name if name == file.stem else f"{name}/{file.name}"
    try:
        if "transformers" in facts["architecture"]:  # its own class reads the weights
            return _open_described(file, name, facts, image_px)
        named = "timm" in facts["architecture"]  # its buffers are no weights: they are not in the file
        native = facts["architecture"].get("img_size") if named else facts["architecture"]["img_size"]
        with torch.device("cpu") if named else building_on_meta_device():
            module = local_files.build_module(facts["architecture"], native)
        local_files.load_weights_into(module, file, named)
        if image_px:
            resize_module_input(module, image_px, positions_by)
        card, size = ModelCard(name, **facts["card"]), height_and_width(image_px or native or image_px_of_module(module))
        return assemble_vit(
            card, module, {**facts["input"], "input_size": (3, *size)}, facts.get("labels"),
            _stated_output(facts.get("output", "softmax")), stated_assumptions(facts, file.parent == SHIPPED, module),
        )  # fmt: skip
    except KeyError as error:
        raise ModelError(
            "{called} can't be loaded: its card {stem}.json has no {error}.",
            called=called, stem=file.stem, error=shorten_name(str(error)),
        ) from None  # fmt: skip
    except Exception as error:  # somebody's file: safetensors, timm and torch each complain in their own way
        raise ModelError("{called} can't be loaded: {reason}", called=called, reason=model_misfit_reason(error)) from None


def _open_described(file: Path, name: str, facts: dict[str, Any], image_px: int | tuple[int, int] | None) -> Vit:
    """A model of transformers with a card: its architecture holds what config.json said."""
    inspection = inspect_described(file, facts["architecture"]["transformers"])
    module = inspection.module({"normalise": (facts["input"]["mean"], facts["input"]["std"])})
    check_fixed_size(module, name, image_px)
    output = _stated_output(facts.get("output", "softmax"))
    given = {**facts["input"], "input_size": (3, *module.image_px)}
    return assemble_vit(ModelCard(name, **facts["card"]), module, given, facts.get("labels"), output,
                    stated_assumptions(facts, file.parent == SHIPPED, module))  # fmt: skip


def _load_hub(name: str, image_px: int | tuple[int, int] | None, progress: Progress | None, positions_by: str = "timm") -> Vit:
    import timm
    from timm.data import resolve_model_data_config

    file = fetch_weights(name, progress)
    size: dict[str, Any] = {"img_size": height_and_width(image_px)} if image_px and positions_by == "timm" else {}
    try:
        module: Any = timm.create_model(name, pretrained=True, pretrained_cfg_overlay={"file": str(file)}, **size)
        if size:
            check_patches_fill_input(module, size["img_size"])
        elif image_px:
            resize_module_input(module, image_px, positions_by)
    except Exception as error:  # a file from elsewhere, or placed by hand
        raise ModelError("{name} can't be loaded: {reason}", name=name, reason=model_misfit_reason(error)) from None
    known = {card.name: card for card in MODEL_CARDS}
    count = sum(p.numel() for p in module.parameters()) / 1e6
    card = known.get(name) or ModelCard(name, name, count, 4 * count, str(module.pretrained_cfg.get("license") or "see the hub"))
    return assemble_vit(card, module, resolve_model_data_config(module))


def _stated_output(said: Any) -> Output:
    """What a card says its outputs mean. Raises: ModelError."""
    if said not in OUTPUTS:
        raise ModelError("its card's output is one of {choices}, not {said}.", choices=", ".join(OUTPUTS), said=repr(said)[:40])
    return said

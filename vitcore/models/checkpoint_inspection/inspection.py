"""What was found in a model's file: facts, questions, assumptions, the card that settles them, and the module."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from vitcore.architectures.classifier_head import with_timm_head
from vitcore.architectures.grey_input import GREY_RULE, bands_rule_sentence
from vitcore.architectures.meta_device import building_on_meta_device
from vitcore.errors import shorten_name
from vitcore.models import local_files
from vitcore.models.checkpoint_inspection.architecture_facts import architecture_facts
from vitcore.models.checkpoint_inspection.differences import HEAD_NAMES, TensorDifferences, fit_to_module
from vitcore.models.checkpoint_inspection.infer_architecture import InferredArchitecture
from vitcore.models.checkpoint_inspection.likely_answers import with_likely_answers
from vitcore.models.checkpoint_inspection.open_questions import OpenQuestion, answer_text, complete_answers, crop_answer_terms
from vitcore.models.checkpoint_inspection.saved_settings.class_names_file import imagenet_class_names
from vitcore.models.formats import checkpoint_models, timm_names
from vitcore.models.formats.config_json import CheckpointConfiguration
from vitcore.models.formats.containers.read_weights import check_weights_are_finite_and_not_all_zero
from vitcore.models.model_cards import OWN_FILE, ModelError
from vitcore.probabilities import Output
from vitcore.translation import say

HEAD_TERMS = ("mlp_head", "head_layers", "head_activation", "head_input", "head_eps")


@dataclass(frozen=True, eq=False)
class Inspection:
    """What was found in a file: the model that it must be, what is left to ask, and what does not fit."""

    file: Path
    name: str
    part: checkpoint_models.CheckpointModel
    parts: tuple[str, ...]  #: all models in the file, this one among them
    inferred: InferredArchitecture
    configuration: CheckpointConfiguration
    differences: TensorDifferences
    params: int
    known_output: Output = "softmax"  #: where it is not asked
    rotary: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  #: architectures of timm's that may be meant
    vision_part: Any = None  #: of a model that transformers itself makes: a `VisionPart`
    flat_patches: bool = False  #: whether a layer over a patch's numbers embeds it, not a convolution, whose kernel has its sides
    built: list[tuple[dict[str, Any], Any]] = field(default_factory=list)  #: an architecture and its module without memory, unused
    read_from_file: tuple[str, ...] = ()  #: settings beside the weights, by their names there

    def __repr__(self) -> str:
        assumed = ", ".join(f"{key}={value}" for key, value in self.assumed_answers().items()) or "nothing"
        known = f"{self.part.format.title} layout, {self.params:,} parameters, assumed: {assumed}"
        return f"<Inspection of {self.file.name}: {known}; {len(self.problems)} problems>"

    @property
    def questions(self) -> tuple[OpenQuestion, ...]:
        """What the file does not say, each with the likely answer."""
        return self.inferred.questions

    @property
    def unproven_questions(self) -> tuple[OpenQuestion, ...]:
        """The same with those that are seldom worth asking, and whose likely answers nothing proves."""
        return (*self.questions, *(q for q in self.inferred.optional_questions if not q.proven))

    @property
    def problems(self) -> tuple[str, ...]:
        """Why it can't be opened, one sentence a tensor; empty where it can, with its head or without."""
        return () if self.differences.only_head_differs else self.differences.sentences

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing though it can be opened."""
        said = list(self.warned_notes)
        if self.part.left_out:
            said.append(say("{count} {count:tensor that does|tensors that do} not belong to the model {count:was|were} left out; "
                            "the first is {first}.",
                            count=len(self.part.left_out), first=shorten_name(self.part.left_out[0])))  # fmt: skip
        return tuple(said)

    @property
    def warned_notes(self) -> tuple[str, ...]:
        """Those of them that `load` warns of: other models, a head that is not taken, and settings that are not followed."""
        said = []
        if others := ", ".join(submodel_label(name) for name in self.parts if name != self.part.name):
            said.append(say("It holds {count} models; this is {part}, and there is {others}.", count=len(self.parts),
                            part=submodel_label(self.part.name), others=others))  # fmt: skip
        if self.differences.only_head_differs:
            said.append(say("Its head does not fit ({tensors}). So the model gives features and names no classes.",
                            tensors=", ".join(map(shorten_name, self.differences.names[:4]))))  # fmt: skip
        if self.part.unread_head:
            said.append(say("Some tensors may be a classifier, but how it is attached is not certain ({tensors}). So the "
                            "model gives features and names no classes.",
                            tensors=", ".join(map(shorten_name, self.part.unread_head[:4]))))  # fmt: skip
        roofs = tuple(roof for name in self.parts if (roof := name.rpartition(" · ")[2]).endswith(".") and name != self.part.name)
        beside = self.part.unused_beside(int(self.inferred.architecture.get("num_classes") or 0))
        beside = tuple(name for name in beside if not name.startswith(roofs))  # of the other models
        if beside and self.vision_part is None:  # what is not the tower of transformers' models lies beside it
            said.append(say("Tensors beside the model are not used here ({tensors}). If its own code computes with them, these "
                            "answers are not its own.", tensors=", ".join(map(shorten_name, beside[:4]))))  # fmt: skip
        return (*said, *self.configuration.notes)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was inferred: a term and its value, in the reader's language."""
        read = ", ".join(map(shorten_name, self.read_from_file))
        return (*architecture_facts(self.inferred, self.part.format.title), *([(say("read from the file"), read)] if read else []))

    def assumed_answers(self, answers: Mapping[str, Any] | None = None, labels: list[str] | None = None) -> dict[str, str]:
        """What is taken as likely though neither the file nor a person says it: answers as text, by `OpenQuestion.key`."""
        told = self._complete_answers(answers)
        moot = {"class_names"} if labels or told.get("output") == "features" else set()
        moot |= {"grid", "pool", "norm_place"} if told.get("architecture", "vit") != "vit" else set()
        said = {
            q.key: answer_text(q.likely)
            for q in self.unproven_questions
            if (answers or {}).get(q.key) is None and q.key not in moot
        }
        channels = self.inferred.architecture.get("in_chans", 3)
        if self.flat_patches:  # their sides are not in the file: frames or slices would be as many numbers
            high, wide = self.inferred.step_px
            said["patches"] = f"{high}x{wide} px of {channels} {'channel' if channels == 1 else 'colours'}"
        return said | ({} if channels == 3 else {"channels": GREY_RULE if channels == 1 else bands_rule_sentence(channels)})

    def reasons(self, answers: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Why answers that are assumed are more than the usual, in the reader's language, by `OpenQuestion.key`."""
        return {q.key: q.reason for q in self.unproven_questions if q.reason and (answers or {}).get(q.key) is None}

    def with_likely(self, answers: Mapping[str, Any], why: str) -> "Inspection":
        """The same with other likely answers, and the reason for them."""
        asked, also = (with_likely_answers(qs, answers, why) for qs in (self.questions, self.inferred.optional_questions))
        return replace(self, inferred=replace(self.inferred, questions=asked, optional_questions=also))

    def architecture_and_input(self, answers: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Architecture and input as a card has them, with these answers and the likely ones.

        Raises: ModelError, for an impossible answer.
        """
        told = self._complete_answers(answers)
        for key in ("output", "class_names"):
            told.pop(key, None)
        shown = crop_answer_terms(told.pop("crop")) if "crop" in told else {}
        shown |= {"interpolation": told.pop("interpolation")} if "interpolation" in told else {}
        named = self.rotary.get(told.pop("architecture", ""))
        mean, std = told.pop("normalise", None) or self.configuration.known_answers["normalise"]
        if named or {"timm", "transformers"} & set(self.inferred.architecture):
            shape = dict(named or self.inferred.architecture)
            shape |= {key: told[key] for key in HEAD_TERMS if key in told}
            shape |= {to: told[key] for key, to in (("heads", "num_heads"), ("pool", "global_pool")) if key in told and not named}
        else:
            shape = self.inferred.with_answers(told)
        if self.differences.only_head_differs:
            shape = {term: value for term, value in shape.items() if term not in HEAD_TERMS} | {"num_classes": 0}
        preprocessing = {"interpolation": "bicubic", "crop_pct": 1.0, "crop_mode": "center"}
        preprocessing |= shown | dict(self.configuration.input)
        return shape, {"mean": list(mean), "std": list(std), **preprocessing}

    def output(self, answers: Mapping[str, Any] | None = None) -> Output:
        """What the numbers of the last layer mean: as the file says, as answered, or as is likely. Raises: ModelError."""
        said: Output = self._complete_answers(answers).get("output", self.known_output)
        return said

    def _complete_answers(self, answers: Mapping[str, Any] | None) -> dict[str, Any]:
        return complete_answers((*self.questions, *self.inferred.optional_questions), answers)

    def card(self, answers: Mapping[str, Any] | None = None, labels: list[str] | None = None) -> dict[str, Any]:
        """The card that would say all this: beside the weights as NAME.json, nothing need be asked again.

        Raises: ModelError, for an impossible answer, and for a configuration that names other classes than the head has.
        """
        shape, input_ = self.architecture_and_input(answers)
        params_m = round(self.params / 1e6, 2)
        row = {"title": self.name, "params_m": params_m, "download_mb": 0, "licence": "", "note": OWN_FILE}
        output = self.output(answers)
        named = labels or (self.configuration.labels if shape.get("num_classes") else None)
        if named and not labels and len(named) != shape["num_classes"]:
            raise ModelError("Its config.json names {count} classes, and its head has {classes}.",
                             count=len(named), classes=shape["num_classes"])  # fmt: skip
        question = next((q for q in self.questions if q.key == "class_names"), None)
        if not named and question:
            classes = int(str(dict(question.facts)["classes"]).replace(",", ""))
            numbers = [f"class {i}" for i in range(classes)]
            by_name = self._complete_answers(answers)["class_names"] == "imagenet"
            named = (imagenet_class_names(classes) or numbers) if by_name else numbers
        said: dict[str, Any] = {"labels": list(named)} if named and output != "features" else {}
        assumed = self.assumed_answers(answers, labels)
        said |= {"assumed": assumed} if assumed else {}
        return {"card": row, "architecture": shape, "input": input_, "output": output} | said

    @property
    def card_file(self) -> Path:
        """Where `local_files` looks for the card of this file."""
        return self.file.with_suffix(".json")

    def write_card(self, card: dict[str, Any]) -> None:
        """Put a card beside the file. Raises: ModelError, where it would replace a file or can't be written."""
        try:
            with self.card_file.open("x", encoding="utf-8") as out:
                json.dump(card, out, ensure_ascii=False, indent=1)
        except FileExistsError:
            raise ModelError("{name} is there already.", name=self.card_file.name) from None
        except OSError as error:
            raise ModelError("{name} can't be written: {reason}.", name=self.card_file.name, reason=error.strerror) from None

    def module(self, answers: Mapping[str, Any] | None = None) -> Any:
        """The timm model with the file's weights, in memory once, for the input size that it was made for.

        Raises: ModelError, when tensors are missing, unexpected or misshapen, or weights are no numbers.
        """
        if self.problems:
            listed = "; ".join(self.problems[:3])
            raise ModelError("{name} can't be opened: {count} {count:tensor does|tensors do} not fit ({listed}). "
                             "`vitcore inspect` lists them all.",
                             name=self.name, count=len(self.problems), listed=listed)  # fmt: skip
        shape, _ = self.architecture_and_input(answers)
        if self.vision_part is not None:
            from vitcore.models.transformers_models.vision_module import build_vision_module
            from vitcore.models.transformers_models.vision_part import build_vision_part

            model = build_vision_part(self.vision_part, checkpoint_models.read_tensors(self.part))
            module = build_vision_module(model, self.vision_part.has_text_parts, tuple(shape["img_size"]))
            check_weights_are_finite_and_not_all_zero(module, self.name)
            return module
        module = self._take_built(shape)
        if module is None:
            with torch.device("cpu") if "timm" in shape else building_on_meta_device():
                module = local_files.build_module(shape, shape.get("img_size"))
        self._fill(module, "timm" in shape)
        check_weights_are_finite_and_not_all_zero(module, self.name)
        return module

    def _take_built(self, shape: dict[str, Any]) -> Any:
        """The module that was built to be compared with the file, once, where these are its settings."""
        try:
            built, module = self.built.pop()
        except IndexError:
            return None
        return module if built == shape else None

    def _fill(self, module: Any, as_it_is: bool) -> None:
        state = checkpoint_models.read_tensors(self.part)
        if not as_it_is:
            state = self.part.with_computed_positions(self.part.with_timm_names(state), module)
            state = fit_to_module(state, module)
        elif not self.part.is_whole:
            state = with_timm_head(state) if self.part.format is timm_names.TIMM else self.part.with_timm_names(state)
        if self.differences.only_head_differs:
            state = {name: w for name, w in state.items() if not HEAD_NAMES.match(name)}
        module.load_state_dict({name: w.contiguous() for name, w in state.items()}, assign=True)


def submodel_label(submodel_prefix: str) -> str:
    """What a person calls a part of a file."""
    return submodel_prefix.rstrip(".") or "model"

"""A model's file that nobody has described: `inspect` says what is in it, `Inspection.module` makes a timm model of it.

    inspection = inspect("dino_deitsmall16_pretrain.pth")
    inspection.facts, inspection.questions, inspection.problems
    vit = load_model.open_inspected(inspection, {"heads": 6})

Nothing is loaded before `module`: names and shapes are enough for all the rest.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vitcore.architectures.meta_device import meta_device
from vitcore.errors import refusal_reason
from vitcore.models import local_files
from vitcore.models.checkpoint_inspection.differences import (
    HEAD_NAMES,
    TensorDifferences,
    as_conv_patch_embedding,
    shape_text,
    tensor_differences,
)
from vitcore.models.checkpoint_inspection.infer_architecture import (
    InferredArchitecture,
    infer_architecture,
    output_question,
)
from vitcore.models.checkpoint_inspection.open_questions import (
    NORMALISATIONS,
    OpenQuestion,
    answer_text,
    complete_answers,
)
from vitcore.models.checkpoint_inspection.rotary import may_be_rotary, rotary_architectures
from vitcore.models.formats import checkpoint_layout, config_json, google_npz, timm_names, weight_files
from vitcore.models.formats.config_json import CheckpointConfiguration
from vitcore.models.formats.state_dict import StateDict, tensor_shapes
from vitcore.models.model_cards import OWN_FILE, ModelError
from vitcore.probabilities import Output
from vitcore.translation import say

MAX_LISTED = 20


@dataclass(frozen=True, eq=False)
class Inspection:
    """What was found in a file: the model that it must be, what is left to ask, and what does not fit."""

    file: Path
    name: str
    part: checkpoint_layout.CheckpointModel
    parts: tuple[str, ...]  # all models in the file, this one among them
    inferred: InferredArchitecture
    configuration: CheckpointConfiguration
    differences: TensorDifferences
    params: int
    known_output: Output = "softmax"  # where it is not asked
    rotary: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # architectures of timm's that may be meant

    @property
    def questions(self) -> tuple[OpenQuestion, ...]:
        """What the file does not say, each with the likely answer."""
        return self.inferred.questions

    @property
    def problems(self) -> tuple[str, ...]:
        """Why it can't be opened, one sentence a tensor; empty where it can, with its head or without."""
        return () if self.differences.only_head_differs else self.differences.sentences

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing though it can be opened."""
        said = []
        if self.differences.only_head_differs:
            said.append(say("Its head does not fit, so it gives features and names no classes ({tensors}).",
                            tensors=", ".join(self.differences.names[:4])))  # fmt: skip
        if others := ", ".join(_part_label(name) for name in self.parts if name != self.part.name):
            said.append(say("It holds {count} models; this is {part}, and there is {others}.", count=len(self.parts),
                            part=_part_label(self.part.name), others=others))  # fmt: skip
        said += self.configuration.notes
        if self.part.left_out:
            said.append(say("{count} tensors beside the model were left out, the first is {first}.",
                            count=len(self.part.left_out), first=self.part.left_out[0][:60]))  # fmt: skip
        return tuple(said)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was inferred: a term and its value, in the reader's language."""
        a = self.inferred.architecture
        if "timm" in a:
            return ((say("format"), self.part.format.title), (say("architecture"), str(a["timm"])))
        grid, step = self.inferred.grid, self.inferred.step_px
        tokens = [say("class token")] * a["class_token"] + [say("distillation token")] * bool(a.get("distilled"))
        tokens += [say("{count} registers", count=a.get("reg_tokens"))] * bool(a.get("reg_tokens"))
        table = [
            (say("format"), self.part.format.title),
            (say("width"), str(a["embed_dim"])),
            (say("blocks"), str(a["depth"])),
            (say("patch"), f"{shape_text(step)} px"),
            (say("grid"), f"{shape_text(grid)}, {shape_text((grid[0] * step[0], grid[1] * step[1]))} px" if grid else "?"),
            (say("heads"), str(a.get("num_heads", "?"))),
            (say("MLP"), f"{round(a['embed_dim'] * a['mlp_ratio'])}" + (f", {a['mlp']}" if "mlp" in a else "")),
            (say("tokens before the patches"), ", ".join(tokens) or say("none")),
            (say("positions"), say("none") if a.get("pos_embed") == "none" else
             say("learned, of patches only") if a.get("no_embed_class") else say("learned")),
            (say("classes"), str(a["num_classes"]) if a["num_classes"] else say("none: it gives features")),
        ]  # fmt: skip
        also = {"init_values": "LayerScale", "pre_norm": "pre-norm", "qk_norm": "QK norm", "mlp_head": "tanh head",
                "norm": "RMSNorm"}  # fmt: skip
        extra = [also[term] for term in also if a.get(term)]
        if "backbone" in a:
            extra.append("ResNet " + "-".join(map(str, a["backbone"] or ["root"])))
        return (*table, *([(say("also"), ", ".join(extra))] if extra else []))

    def architecture_and_input(self, answers: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Architecture and input as a card has them, with these answers and the likely ones.

        Raises: ModelError, for an impossible answer.
        """
        told = self._complete_answers(answers)
        told.pop("output", None)
        named = self.rotary.get(told.pop("architecture", ""))
        mean, std = told.pop("normalise", None) or self.configuration.known_answers["normalise"]
        if named or "timm" in self.inferred.architecture:
            shape = dict(named or self.inferred.architecture)
        else:
            shape = self.inferred.with_answers(told)
        if self.differences.only_head_differs:
            shape = {term: value for term, value in shape.items() if term != "mlp_head"} | {"num_classes": 0}
        preprocessing = {"interpolation": "bicubic", "crop_pct": 1.0, "crop_mode": "center"} | dict(
            self.configuration.input
        )
        return shape, {"mean": list(mean), "std": list(std), **preprocessing}

    def output(self, answers: Mapping[str, Any] | None = None) -> Output:
        """What the numbers of the last layer mean: as the file says, as answered, or as is likely. Raises: ModelError."""
        said: Output = self._complete_answers(answers).get("output", self.known_output)
        return said

    def _complete_answers(self, answers: Mapping[str, Any] | None) -> dict[str, Any]:
        return complete_answers((*self.questions, *self.inferred.optional_questions), answers)

    def card(self, answers: Mapping[str, Any] | None = None, labels: list[str] | None = None) -> dict[str, Any]:
        """The card that would say all this: beside the weights as NAME.json, nothing need be asked again."""
        shape, input_ = self.architecture_and_input(answers)
        params_m = round(self.params / 1e6, 2)
        row = {"title": self.name, "params_m": params_m, "download_mb": 0, "licence": "", "note": OWN_FILE}
        output = self.output(answers)
        named = labels or (self.configuration.labels if shape.get("num_classes") else None)
        said = {"labels": list(named)} if named and output != "features" else {}
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
            raise ModelError(
                "{name} can't be written: {reason}.", name=self.card_file.name, reason=error.strerror
            ) from None

    def module(self, answers: Mapping[str, Any] | None = None) -> Any:
        """The timm model with the file's weights, in memory once, for the input size that it was made for.

        Raises: ModelError, when tensors are missing, unexpected or misshapen, or weights are no numbers.
        """
        if self.problems:
            listed = "; ".join(self.problems[:3])
            raise ModelError("{name} can't be opened: {count} tensors do not fit ({listed}). `vitcore inspect` lists them all.",
                             name=self.name, count=len(self.problems), listed=listed)  # fmt: skip
        shape, _ = self.architecture_and_input(answers)
        with torch.device("cpu") if "timm" in shape else meta_device():
            module = local_files.build_module(shape, shape.get("img_size"))
        self._fill(module, "timm" in shape)
        wrong = next((name for name, p in module.named_parameters() if not bool(p.isfinite().all())), None)
        if wrong:
            raise ModelError("{name} holds weights that are no numbers (NaN or infinite) in {tensor}.",
                             name=self.name, tensor=wrong)  # fmt: skip
        return module

    def _fill(self, module: Any, as_it_is: bool) -> None:
        if as_it_is:
            module.load_state_dict(checkpoint_layout.read_tensors(self.part, self.file), assign=True)
            return
        if self.part.format is google_npz.FORMAT and isinstance(module.head, torch.nn.Linear | torch.nn.Identity):
            module.to_empty(device="cpu")
            prefix = self.part.name.rpartition(" · ")[2]
            module.load_pretrained(str(self.file), prefix)  # timm's own
            return
        state = as_conv_patch_embedding(
            self.part.format.convert(checkpoint_layout.read_tensors(self.part, self.file)), module
        )
        if self.differences.only_head_differs:
            state = {name: w for name, w in state.items() if not HEAD_NAMES.match(name)}
        module.load_state_dict(state, assign=True)


def inspect(path: str | Path, part: str | None = None) -> Inspection:
    """What is in a weights file, or in a directory with a configuration: names and shapes are read, no weights.

    part: which model, where the file holds several (a name of `Inspection.parts`); else the average or the teacher before others.
    Raises: ModelError, one sentence, where no Vision Transformer is in it.
    """
    path = Path(path)
    file = weight_files.find_weights_file(path) if path.is_dir() else path
    if file is None:
        raise ModelError("{folder} holds no weights.", folder=path.name or str(path))
    if not file.is_file():
        raise ModelError("{name} does not exist.", name=path.name)
    configured = config_json.read_configuration(file.parent)
    tree = weight_files.read_weights_tree(file)
    if configured.timm:
        found = [checkpoint_layout.whole_model(tree, file.name)]
    else:
        found = checkpoint_layout.find_models(tree, file.name)
    return _inspection(path, file, _chosen(found, part, file), configured)


def _chosen(
    parts: list[checkpoint_layout.CheckpointModel], asked: str | None, file: Path
) -> tuple[checkpoint_layout.CheckpointModel, tuple[str, ...]]:
    names = tuple(part.name for part in parts)
    part = parts[0] if asked is None else next((part for part in parts if _part_label(part.name) == asked), None)
    if part is None:
        raise ModelError("{name} holds no model {part}; there is {others}.", name=file.name, part=repr(asked),
                         others=", ".join(map(_part_label, names)))  # fmt: skip
    return part, names


def _rotary(
    part: checkpoint_layout.CheckpointModel, raw: StateDict, configured: CheckpointConfiguration, file: Path
) -> dict[str, dict[str, Any]]:
    """timm's architectures with rotary positions that a file may be of. Raises: ModelError, where it must be and none fits."""
    if configured.timm or part.format is not timm_names.TIMM or not may_be_rotary(raw):
        return {}
    found = rotary_architectures(raw)
    if not found and "pos_embed" not in raw:
        raise ModelError(
            "{name} holds no positions, so it may rotate queries and keys, and its tensors don't say how: of timm's "
            "architectures with rotary positions none has just these. A config.json beside it can name the architecture.",
            name=file.name,
        )
    return found


def _colours_of(architecture: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """How timm's weights of an architecture are mostly used to have their photos normalised."""
    import timm

    found = timm.get_pretrained_cfg(architecture)
    return (tuple(found.mean), tuple(found.std)) if found else NORMALISATIONS["imagenet"]


def _part_label(part: str) -> str:
    return part.rstrip(".") or "model"


def _inspection(
    path: Path, file: Path, chosen: tuple[checkpoint_layout.CheckpointModel, tuple[str, ...]], configured: CheckpointConfiguration
) -> Inspection:  # fmt: skip
    part, names = chosen
    raw = tensor_shapes(part.weights)
    told: dict[str, Any] = {"heads": google_npz.head_count(raw)} if part.format is google_npz.FORMAT else {}
    if part.format.projection and any(re.search(part.format.projection, name) for name in raw):
        told["output"] = "features"
    rotary = _rotary(part, raw, configured, file)
    # Names that a plain ViT has not: no table, queries apart, a pool of attention beside a class token.
    pooled = {"attn_pool.latent", "cls_token"} <= set(raw)
    if rotary and ("pos_embed" not in raw or pooled or any(".attn.q_" in name for name in raw)):
        configured = replace(configured, timm=next(iter(rotary.values())))
    state = raw if configured.timm else part.format.convert(dict(raw))
    known = {**configured.known_answers, **told}
    if configured.timm:
        asked = []
        if "normalise" not in known:
            colours = _colours_of(str(configured.timm["timm"]))
            asked.append(OpenQuestion("normalise", colours, tuple(NORMALISATIONS.values())))
        if len(rotary) > 1:
            asked.append(OpenQuestion("architecture", next(iter(rotary)), tuple(rotary)))
        if configured.timm.get("num_classes") == 1 and "output" not in known:
            asked.append(output_question(1))
        inferred = InferredArchitecture(dict(configured.timm), (1, 1), None, tuple(asked))
    else:
        inferred = _with_values(part, state, known, file)
        if rotary:
            plain = OpenQuestion("architecture", "vit", ("vit", *rotary))
            inferred = replace(inferred, questions=(*inferred.questions, plain))
    try:
        with meta_device():
            shape = (
                inferred.architecture
                if configured.timm
                else inferred.with_answers({q.key: q.likely for q in inferred.questions})
            )
            module = local_files.build_module(shape, shape.get("img_size"))
    except Exception as error:  # shapes that no model has: timm and torch each complain in their own way
        raise ModelError("{name} can't be loaded: {reason}", name=file.name, reason=refusal_reason(error)) from None
    count = sum(p.numel() for p in module.parameters())
    name = path.name if path.is_dir() else file.stem
    return Inspection(
        file,
        name,
        part,
        names,
        inferred,
        configured,
        tensor_differences(as_conv_patch_embedding(state, module), module),
        count,
        known.get("output", "softmax"),
        rotary,
    )


def _with_values(
    part: checkpoint_layout.CheckpointModel, state: StateDict, known: Mapping[str, Any], file: Path
) -> InferredArchitecture:
    """Inferred from shapes, and from the values of the position embeddings alone: they know the rows of their grid."""
    table = state.get("pos_embed")
    if table is None or table.ndim != 3:
        return infer_architecture(state, known, part.format.likely, file.name)
    held = next((w for name, w in part.weights.items() if "pos" in name and math.prod(w.shape) == table.numel()), None)
    if held is None:
        return infer_architecture(state, known, part.format.likely, file.name)
    read: dict[str, Tensor] = {**state, "pos_embed": held.values().float().reshape(table.shape)}
    return infer_architecture(read, known, part.format.likely, file.name)


def assumed_answers(inspection: Inspection, answers: Mapping[str, Any] | None = None) -> str:
    """The answers that are taken though nobody gave them: `heads=3, activation=gelu`."""
    return ", ".join(
        f"{q.key}={answer_text(q.likely)}" for q in inspection.questions if (answers or {}).get(q.key) is None
    )

"""What the shapes of a model's tensors cannot say: the questions, the likely answers, and what a wrong answer does."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vitcore.models.model_cards import ModelError
from vitcore.probabilities import OUTPUTS
from vitcore.translation import say

NORMALISATIONS = {  # mean and standard deviation of red, green and blue, after division by 255
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "half": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
    "clip": ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
    "none": ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
}
ACTIVATIONS = ("gelu", "gelu_tanh", "quick_gelu", "relu", "silu")
GATE_ACTIVATIONS = ("silu", "gelu", "gelu_tanh", "sigmoid", "relu")  # of a gated MLP: SwiGLU, GEGLU, GLU, ReGLU (arXiv 2002.05202)
GATES = ("first half", "second half")  # of a gated MLP's one first layer, as timm's SwiGLUPacked and as its GluMlp have it
MAX_SIDE_PATCHES = 256  # of a grid that is told
NORMS = ("rms", "layer")  # of those without a bias
NORM_PLACES = ("before", "after")
POOLINGS = ("token", "avg", "max", "avgmax")
CROPS: dict[str, dict[str, Any]] = {  # timm's terms
    "center": {"crop_mode": "center", "crop_pct": 1.0}, "center 0.95": {"crop_mode": "center", "crop_pct": 0.95},
    "center 0.9": {"crop_mode": "center", "crop_pct": 0.9}, "center 0.875": {"crop_mode": "center", "crop_pct": 0.875},
    "squash": {"crop_mode": "squash", "crop_pct": 1.0},
}  # fmt: skip
INTERPOLATIONS = ("bicubic", "bilinear", "nearest", "lanczos")


@dataclass(frozen=True)
class OpenQuestion:
    """One thing to ask: `key` names it, `likely` is the answer that is taken unless another is given."""

    key: str
    likely: Any
    choices: tuple[Any, ...] = ()
    facts: tuple[tuple[str, Any], ...] = ()
    is_free: bool = False  # other answers than `choices` can be told: no tensor limits the grid
    proven: bool = False  # nothing else is possible: it may be told, and is no assumption
    reason: str = ""  # why `likely` is likely, where it is more than the usual, in the reader's language

    @property
    def sentence(self) -> str:
        """The question, in the reader's language."""
        return {
            "heads": say("How many attention heads does each block have?"),
            "normalise": say("How were the colours of its photos normalised?"),
            "activation": say("Which activation function do its MLPs use?"),
            "gate": say("Which half of the first layer of its gated MLPs goes through the activation function?"),
            "eps": say("Which ε do its LayerNorms add to the variance?"),
            "grid": say("How many rows and columns of patches does its input have?"),
            "pool": say("Where does its head read the output?"),
            "architecture": say("Which architecture is it? Its tensors fit several."),
            "output": say("What do the numbers of its last layer mean?"),
            "head_activation": say("Which activation function is between the layers of its classifier?"),
            "head_input": say("Is there an activation function before its classifier, or only dropout, which does nothing?"),
            "head_eps": say("Which ε do the norms of its classifier add to the variance?"),
            "norm": say("Do its norms, which have no bias, subtract the mean (LayerNorm) or not (RMSNorm)?"),
            "norm_place": say("Do the norms of a block come before attention and MLP, or after them?"),
            "class_names": say(
                "Are its {classes} classes those of ImageNet, in its order?", classes=dict(self.facts).get("classes", "")
            ),
            "crop": say("Which part of a photo does it see?"),
            "interpolation": say("How were photos resized for it?"),
        }[self.key]

    @property
    def consequence(self) -> str:
        """What happens where the answer is wrong, in the reader's language."""
        facts = dict(self.facts)
        return {
            "heads": say("The weights fit every number that divides the width, {width}. A wrong number raises no error, but makes "
                "every head's map and every prediction wrong.", width=facts.get("width", "")),
            "normalise": say("Other numbers give the model other colours. Predictions get worse, and maps change a little."),
            "activation": say("gelu and gelu_tanh hardly differ, and quick_gelu differs a little from both. A function of "
                              "another kind makes the predictions wrong."),
            "gate": say("The weights fit both. The wrong one makes every prediction wrong."),
            "eps": say("It matters only where values vary very little. Predictions change in the last digits."),
            "grid": say("{patches} patches can form several grids. A wrong grid scrambles every map.",
                        patches=facts.get("patches", "")),
            "pool": say("A wrong place makes the predictions wrong, but attention stays the same."),
            "architecture": say("All of these have exactly its tensors. A wrong one makes every map and every prediction wrong."),
            "output": say("softmax: one class is right. sigmoid: each class has its own probability. features: there are no "
                          "classes. A wrong choice makes every percentage wrong."),
            "head_activation": say("It leaves no tensor. A wrong one makes the predictions wrong, but attention stays the same."),
            "head_input": say("It leaves no tensor. A wrong one makes the predictions wrong, but attention stays the same."),
            "head_eps": say("It matters only where values vary very little. Predictions change in the last digits."),
            "norm": say("The weights fit both. The wrong one makes every prediction wrong."),
            "norm_place": say("The weights fit both. The wrong one makes every prediction wrong."),
            "class_names": say("Other classes can be as many, or in another order. Then every name is wrong."),
            "crop": say("Another part gives the model another picture. Predictions get worse, and maps change a little."),
            "interpolation": say("Another one changes pixels a little, and so predictions and maps."),
        }[self.key]  # fmt: skip


def normalise_question(likely: str, channels: int) -> OpenQuestion:
    """How colours were normalised, one of `NORMALISATIONS` being likely; of other than three bands not at all."""
    if channels in (1, 3):
        return OpenQuestion("normalise", NORMALISATIONS[likely], tuple(NORMALISATIONS.values()))
    return OpenQuestion("normalise", ((0.0,) * channels, (1.0,) * channels), ((((0.0,) * channels), ((1.0,) * channels)),))


def output_question(classes: int) -> OpenQuestion:
    """What the numbers of the last layer mean: one class alone excludes no other."""
    return OpenQuestion("output", "softmax" if classes > 1 else "sigmoid", OUTPUTS)


def head_questions(inferred: dict[str, Any], known: Mapping[str, Any]) -> list[OpenQuestion]:
    """What the layers of a head that leave no tensors are, and ε of its norms; what is known goes into `inferred`."""
    from vitcore.architectures.head_layers import HEAD_ACTIVATIONS  # torch, which the app's first frame has no time for

    layers = inferred.get("head_layers", [])
    kinds = [kind for kind, *_ in layers]
    first = kinds.index("linear") if "linear" in kinds else 0
    if known.get("head_activation") == "tanh" and kinds == ["linear", "activation", "linear"]:
        if layers[0][1:] == [inferred.get("embed_dim")] * 2 and not inferred.get("reads_class_and_mean"):
            del inferred["head_layers"]
            inferred["mlp_head"] = True  # the paper's
            return []
    asked = [
        OpenQuestion("head_activation", "relu", tuple(HEAD_ACTIVATIONS)) if "activation" in kinds[first:] else None,
        OpenQuestion("head_input", "none", tuple(HEAD_ACTIVATIONS)) if "activation" in kinds[:first] else None,
        OpenQuestion("head_eps", 1e-5) if {"layer_norm", "batch_norm"} & set(kinds) else None,
    ]
    inferred |= {q.key: known[q.key] for q in asked if q and q.key in known}
    return [q for q in asked if q and q.key not in known]


def norm_questions(inferred: dict[str, Any], known: Mapping[str, Any]) -> tuple[list[OpenQuestion], list[OpenQuestion]]:
    """Which norms those without a bias are, and whether norms come before or after attention and MLP: what must be asked, and what
    may be told. Blocks with the shapes of timm's res-post-norm ViTs (arXiv 2111.09883, Fig. 1) must be asked about, and no names
    but those of layer scale tell others apart; what is known goes into `inferred`."""
    after = not inferred["qkv_bias"] and not inferred["class_token"] and bool(inferred.get("fc_norm"))
    after = after and not {"norm", "mlp", "qk_norm", "pre_norm"} & set(inferred)
    norm = [OpenQuestion("norm", "rms", NORMS)] if inferred.get("norm") == "rms" else []
    place = [OpenQuestion("norm_place", "before", NORM_PLACES)] if "init_values" not in inferred else []
    inferred |= {q.key: known[q.key] for q in (*norm, *place) if q.key in known}
    norm, place = ([q for q in asked if q.key not in known] for asked in (norm, place))
    return (norm + place, []) if after else (norm, place)


def crop_answer(mode: str, share: float | None) -> str:
    """timm's `crop_mode` and `crop_pct` as an answer: "center 0.9"."""
    return mode if share is None or share == 1 else f"{mode} {share:g}"


def crop_answer_terms(answer: str) -> dict[str, Any]:
    """An answer on cropping as timm's terms `crop_mode` and `crop_pct`."""
    mode, _, share = answer.partition(" ")
    return {"crop_mode": mode, "crop_pct": float(share or 1)}


def parse_answer(question: OpenQuestion, answer: Any) -> Any:
    """The answer as a value, from a value or from what a person typed.

    Raises: ModelError, naming the answers that are possible.
    """
    text = str(answer).strip().lower()
    try:
        if question.key == "heads":
            parsed: Any = int(text)
        elif question.key in ("eps", "head_eps"):
            parsed = float(text)
        elif question.key == "grid":
            rows, cols = answer if isinstance(answer, list | tuple) else re.split(r"\s*[x×,]\s*", text)
            parsed = (int(rows), int(cols))
        elif question.key == "normalise":
            bands = len(question.likely[0])
            named = {text: question.likely} if text == "none" and bands != 3 else NORMALISATIONS if bands == 3 else {}
            parsed = named[text] if text in named else _parse_mean_and_std(answer, bands)
        else:
            parsed = text
    except (ValueError, TypeError):
        raise _invalid_answer_error(question, answer) from None
    free = question.is_free and question.key == "grid" and all(0 < n <= MAX_SIDE_PATCHES for n in parsed)
    fits = {"eps": lambda: 0 < parsed < 1, "head_eps": lambda: 0 < parsed < 1, "normalise": lambda: True}.get(
        question.key, lambda: free or parsed in question.choices
    )
    if not fits():
        raise _invalid_answer_error(question, answer)
    return parsed


def _parse_mean_and_std(answer: Any, bands: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation from ((r, g, b), (r, g, b)) or "r,g,b/r,g,b"; one number stands for all bands."""
    mean, std = answer.split("/") if isinstance(answer, str) else answer
    first, second = (part.split(",") if isinstance(part, str) else part for part in (mean, std))
    return broadcast_mean_and_std(first, second, bands)


def broadcast_mean_and_std(mean: Iterable[Any], std: Iterable[Any], bands: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """As many numbers as bands each; one stands for all of them. Raises: ValueError or TypeError, for what are none."""
    numbers = [tuple(map(float, part)) for part in (mean, std)]
    numbers = [part * bands if len(part) == 1 else part for part in numbers]
    if [len(part) for part in numbers] != [bands, bands] or not all(map(math.isfinite, sum(numbers, ()))) or min(numbers[1]) <= 0:
        raise ValueError
    return numbers[0], numbers[1]


def _invalid_answer_error(question: OpenQuestion, answer: Any) -> ModelError:
    can = {"eps": "1e-6 · 1e-5 · 1e-12", "head_eps": "1e-5 · 1e-6", "normalise": " · ".join([*NORMALISATIONS, "r,g,b/r,g,b"])}
    shown = can.get(question.key) or " · ".join(answer_text(choice) for choice in question.choices)
    return ModelError("“{question}” {answer} is not a possible answer. Choose one of {choices}.",
                      answer=repr(str(answer)[:40]), question=question.sentence, choices=shown)  # fmt: skip


def answer_text(value: Any) -> str:
    """An answer as a person types it: 16x16, 1e-06, gelu."""
    if value in NORMALISATIONS.values():
        return next(name for name, numbers in NORMALISATIONS.items() if numbers == value)
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        if not any(value[0]) and set(value[1]) == {1.0}:
            return "none"  # of however many bands
        return "/".join(",".join(f"{x:g}" for x in part) for part in value)
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def complete_answers(questions: tuple[OpenQuestion, ...], answers: Mapping[str, Any] | None) -> dict[str, Any]:
    """Every question's answer: the one given, else the likely one.

    Raises: ModelError, for answers that are impossible, and for answers to what was not asked.
    """
    given = {key: value for key, value in (answers or {}).items() if value is not None}
    asked = {question.key: question for question in questions}
    if unknown := sorted(set(given) - set(asked)):
        raise ModelError("{what} need not be given: the file says it.", what=", ".join(unknown))
    return {key: parse_answer(q, given[key]) if key in given else q.likely for key, q in asked.items()}

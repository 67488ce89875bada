"""Settings that a training saved in the file of its weights, found by the names that people give them.

Lists and dictionaries in a `.pth`, `argparse.Namespace`, Lightning's hyper-parameters, OmegaConf, and text in the header of a
`.safetensors`: class names, mean and deviation, crop and interpolation, heads. What two of them say differently is not taken.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from vitcore.models.checkpoint_inspection.open_questions import INTERPOLATIONS, broadcast_mean_and_std, crop_answer
from vitcore.models.checkpoint_inspection.saved_settings.class_names_file import class_names_in_order
from vitcore.models.formats.config_json import ACTIVATIONS, class_names_with_gaps_filled, output_kind_from_configuration
from vitcore.models.formats.containers.file_errors import NO_MODELS

CLASS_LISTS = {
    "classes", "classnames", "classname", "labels", "labelnames", "names", "categories", "classlabels", "targetnames", "classlist",
    "labellist", "idxtoclass", "idx2class", "idxtolabel", "idx2label", "id2label", "idtolabel", "id2class", "idtoclass",
    "indextoclass", "indextoname", "inttolabel", "index2label", "labelmap", "classmap", "labelencoder",
}  # fmt: skip
CLASS_NUMBERS = {
    "classtoidx", "class2idx", "classtoindex", "classtoid", "class2id", "labeltoidx", "label2idx", "label2id", "labeltoid",
    "labeltoindex", "labeltoint", "nametoidx", "nametoindex",
}  # fmt: skip
MEANS = re.compile(r"((?:image|img|pixel|norm|normali[sz]e|rgb|data|dataset|input|channel)?)(means?|mu)")
DEVIATIONS = {"mean": "std", "means": "stds", "mu": "sigma"}
TERMS = {  # by the question that they answer
    "heads": {"numheads", "numattentionheads", "nheads", "heads", "nhead"},
    "activation": {"hiddenact", "actlayer", "activation"},
    "eps": {"layernormeps", "normeps", "lneps"},
}  # fmt: skip
MODELS = {"arch", "architecture", "model", "modelname", "modelarch", "backbone", "backbonename", "encoder", "encodername"}
MODEL_NAME = re.compile(r"(?:(?:hf[-_]hub:)?timm/)?(\w{3,80})(\.\w{1,80})?")
SIZES = {"imgsize", "inputsize", "imagesize"}
MOST_MODELS, MAX_SIDE_PX = 4, 4096
MOST_NESTED, MOST_SETTINGS, MOST_TEXT = 6, 20_000, 2 * 10**6
MOST_NAMES, MOST_BANDS = 50_000, 64


@dataclass
class SavedSettings:
    """What was found: each with the name that it has in the file. Several of one kind contradict each other."""

    class_names: dict[tuple[str, ...], str] = field(default_factory=dict)
    colours: dict[tuple[tuple[float, ...], tuple[float, ...]], str] = field(default_factory=dict)
    terms: dict[str, dict[Any, str]] = field(default_factory=dict)  # by `OpenQuestion.key`
    architectures: dict[str, str] = field(default_factory=dict)  # names that timm has
    sizes: dict[tuple[int, int], str] = field(default_factory=dict)  # of the input: height and width, px

    def note(self, key: str, value: Any, name: str) -> None:
        """Keep an answer to a question."""
        self.terms.setdefault(key, {}).setdefault(value, name)


def find_saved_settings(tree: Mapping[str, Any]) -> SavedSettings:
    """The settings in a file's tree, tensors aside."""
    found = SavedSettings()
    for said in _mappings(tree):
        plain = {_plain_name(name): (name, value) for name, value in said.items()}
        for short, (name, value) in plain.items():
            if short in CLASS_LISTS | CLASS_NUMBERS and (names := _class_names(value, short in CLASS_NUMBERS)):
                found.class_names.setdefault(names, name)
            elif (m := MEANS.fullmatch(short)) and (other := plain.get(m[1] + DEVIATIONS[m[2]])):
                if colours := _colours(value, other[1]):
                    found.colours.setdefault(colours, f"{name}, {other[0]}")
            for key, names_of_term in TERMS.items():
                if short in names_of_term and isinstance(value, str | int | float) and not isinstance(value, bool):
                    found.note(key, ACTIVATIONS.get(str(value), value) if key == "activation" else value, name)
        _note_preparation(found, plain)
        _note_model(found, plain)
    return found


def _note_model(found: SavedSettings, plain: Mapping[str, tuple[str, Any]]) -> None:
    """What the model is called where timm has one of that name, and the size of its input."""
    for short, (name, value) in plain.items():
        named = MODEL_NAME.fullmatch(value) if short in MODELS and isinstance(value, str) else None
        if named and len(found.architectures) < MOST_MODELS:
            import timm

            if timm.is_model(named[1]):
                found.architectures.setdefault(f"{named[1]}{named[2] or ''}", name)
        sides = [value] if isinstance(value, int) else list(value)[-2:] if isinstance(value, list | tuple) else []
        if short in SIZES and sides and all(type(side) is int and 0 < side <= MAX_SIDE_PX for side in sides):
            found.sizes.setdefault((sides[0], sides[-1]), name)


def _mappings(tree: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every dictionary of a file, the outermost first, but what an optimiser keeps."""
    waiting, count = [(tree, 0)], 0
    while waiting and count < MOST_SETTINGS:
        said, depth = waiting.pop(0)
        count += len(said)
        yield said
        for name, value in said.items():
            if isinstance(value, Mapping) and depth < MOST_NESTED and not NO_MODELS.fullmatch(str(name)):
                waiting.append((value, depth + 1))


def _plain_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).rpartition(".")[2].lower()) if len(str(name)) < 100 else ""


def _note_preparation(found: SavedSettings, plain: Mapping[str, tuple[str, Any]]) -> None:
    """timm's terms for the crop and the interpolation, transformers' for what the answer means."""
    value: Any
    name, value = plain.get("interpolation", ("", None))
    if isinstance(value, str) and value in INTERPOLATIONS:
        found.note("interpolation", value, name)
    name, value = plain.get("croppct", ("", None))
    mode = plain.get("cropmode", ("", None))[1] or "center"
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1 and isinstance(mode, str):
        found.note("crop", crop_answer(mode, float(value)), name)
    name, value = plain.get("problemtype", ("", None))
    if output := output_kind_from_configuration({"problem_type": value}):
        found.note("output", output, name)


def _parsed(value: Any) -> Any:
    """A list or dictionary that was written as text: as JSON or Python writes it, or between commas or lines."""
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        return value
    text = value.strip()
    if text[:1] in ("[", "{", "("):
        for read in (json.loads, ast.literal_eval):
            try:
                return read(text)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    parts = [part.strip() for part in re.split(r"[\n,]", text)]
    return parts if len(parts) > 1 else None


def _class_names(value: Any, numbers: bool) -> tuple[str, ...] | None:
    """One name a class; None where it holds none, or not one for each number from 0. numbers: it gives each name its number."""
    said = _parsed(value)
    said = said.get("classes_", said) if isinstance(said, Mapping) else said  # scikit-learn's LabelEncoder
    if not isinstance(said, Mapping | list | tuple) or not 1 <= len(said) <= MOST_NAMES:
        return None
    try:
        if isinstance(said, Mapping):
            if all(isinstance(one, str) for one in said.values()) and class_names_with_gaps_filled(said) is None:
                return None  # all like LABEL_1
            flipped = numbers or all(isinstance(one, int) for one in said.values())
            said = {number: name for name, number in said.items()} if flipped else dict(said)
        if not all(isinstance(one, str) for one in (said.values() if isinstance(said, dict) else said)):
            return None
        return tuple(class_names_in_order(said)) or None
    except (ValueError, TypeError, AttributeError, OverflowError):
        return None


def _colours(mean: Any, std: Any) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    first, second = ([one] if isinstance(one, int | float) else one for one in (_parsed(mean), _parsed(std)))
    if not all(isinstance(one, list | tuple) and 1 <= len(one) <= MOST_BANDS for one in (first, second)):
        return None
    try:
        mean, std = broadcast_mean_and_std(first, second, len(first))
    except (ValueError, TypeError, OverflowError):
        return None
    most = 255 if len(mean) > 1 else 1  # one number alone may be of what is predicted
    return (mean, std) if min(mean) >= 0 and max(*mean, *std) <= most else None  # NaN and infinity are not, either

"""An inspection with what its file's own settings say: known where a name means one thing, likely where it may mean another."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vitcore.errors import shorten_name
from vitcore.models.checkpoint_inspection.likely_answers import answers_of_architecture, as_unit_pixel_normalisation
from vitcore.models.checkpoint_inspection.open_questions import OpenQuestion, crop_answer_terms, parse_answer
from vitcore.models.checkpoint_inspection.saved_settings.find_settings import SavedSettings, find_saved_settings
from vitcore.models.checkpoint_inspection.timm_architectures import ROTARY_FAMILIES
from vitcore.models.formats.config_json import CheckpointConfiguration
from vitcore.models.formats.rename_and_join_tensors import tensor_shapes
from vitcore.models.model_cards import ModelError
from vitcore.translation import say

if TYPE_CHECKING:
    from vitcore.models.checkpoint_inspection.inspection import Inspection

PROVEN = ("crop", "interpolation", "output")  # by a name that means nothing else; heads and functions may be another part's


def with_saved_settings(inspection: "Inspection", tree: Mapping[str, Any], configured: CheckpointConfiguration) -> "Inspection":
    """The inspection with the settings that lie beside the weights in a file's tree; what `configured` says comes first.

    What two of them say differently is not taken, and said; so are names of more or fewer classes than the head has.
    """
    settings = find_saved_settings(tree)
    asked = {q.key: q for q in (*inspection.questions, *inspection.inferred.optional_questions)}
    inspection, sized = _of_saved_size(_like_saved_model(inspection, settings, asked), settings, asked)
    answers: dict[str, Any] = {}
    read, notes = list(sized), []
    for key, values in settings.terms.items():
        if key not in asked:
            continue
        fitting = {answer: name for value, name in values.items() if (answer := _fitting(asked[key], value)) is not None}
        if len(fitting) != 1:
            notes += [_several(values)] if fitting else []
            continue
        [(answer, name)] = fitting.items()
        if key in PROVEN:
            answers[key] = answer
            read.append(name)
        else:
            inspection = inspection.with_likely({key: answer}, say("as {field} in the file says", field=shorten_name(name)))
    if "normalise" in asked:
        bands = len(asked["normalise"].likely[0])
        colours = {numbers: name for numbers, name in settings.colours.items() if len(numbers[0]) in (1, bands)}
        if len(colours) > 1:
            notes.append(_several(colours))
        for numbers, name in colours.items() if len(colours) == 1 else ():
            rounded, of_bytes = as_unit_pixel_normalisation(*numbers)
            unit = rounded if of_bytes else numbers
            mean, std = (part * (bands // len(part)) for part in unit)
            if of_bytes or len(numbers[0]) != bands:
                inspection = inspection.with_likely(
                    {"normalise": (mean, std)}, say("as {field} in the file says", field=shorten_name(name))
                )
            else:
                answers["normalise"] = (mean, std)
                read.append(name)
    notes += _other_than_beside(configured, settings)
    labels, said = _class_names(inspection, settings)
    notes += said
    read += [settings.class_names[labels]] if labels else []
    return _with_known(inspection, answers, labels, read, notes)


def _like_saved_model(found: "Inspection", settings: SavedSettings, asked: Mapping[str, OpenQuestion]) -> "Inspection":
    """The inspection with the answers of timm's architecture that the file names, where it has the file's tensors, as likely."""
    for architecture, name in settings.architectures.items():
        raw = tensor_shapes(found.part.weights)
        states = (raw,) if found.part.is_whole else (raw, found.part.with_timm_names(dict(raw)))
        told = {key: parsed for key, answer in answers_of_architecture(architecture, states).items()
                if key in asked and (parsed := _fitting(asked[key], answer)) is not None}  # fmt: skip
        if told:
            return found.with_likely(told, say("as for timm's {name}, which {field} in the file says", name=architecture,
                                               field=shorten_name(name)))  # fmt: skip
    return found


def _of_saved_size(
    found: "Inspection", settings: SavedSettings, asked: Mapping[str, OpenQuestion]
) -> tuple["Inspection", list[str]]:
    """The inspection with the input's size that is in the file, as a likely grid, or where no tensor depends on it as told."""
    if len(settings.sizes) != 1:
        return found, []
    [(size, name)] = settings.sizes.items()
    sides = [px // step for px, step in zip(size, found.inferred.step_px, strict=True)]
    if "grid" in asked and (grid := _fitting(asked["grid"], sides)):
        return found.with_likely({"grid": grid}, say("as {field} in the file says", field=shorten_name(name))), []
    rotary = found.rotary and ROTARY_FAMILIES.search(str(found.inferred.architecture.get("timm")))
    if not rotary or any("pos_embed" in one or "relative_position" in one for one in found.part.weights):
        return found, []
    patch = next((w.shape[-1] for n, w in found.part.weights.items() if n.endswith("patch_embed.proj.weight")), max(size) + 1)
    if any(px % patch for px in size):
        return found, []
    return replace(found, configuration=replace(found.configuration, preprocessed_px=size, positions_by="timm")), [name]


def _fitting(question: OpenQuestion, value: Any) -> Any:
    """A saved value as an answer to a question; None where it is none."""
    try:
        return parse_answer(question, value)
    except ModelError:
        return None


def _class_names(found: "Inspection", settings: SavedSettings) -> tuple[tuple[str, ...] | None, list[str]]:
    """The names of the classes, and what is said of others."""
    classes = 0 if found.differences.only_head_differs else int(found.inferred.architecture.get("num_classes") or 0)
    if not classes or found.configuration.labels or not settings.class_names:
        return None, []
    fitting = [names for names in settings.class_names if len(names) == classes]
    if len(fitting) == 1:
        return fitting[0], []
    if fitting:
        return None, [_several({names: settings.class_names[names] for names in fitting})]
    sure = {names: name for names, name in settings.class_names.items() if len(set(names)) == len(names)}  # else each photo's class
    return None, [
        say("{field} in the file names {count} classes, and the head has {classes}: no name is taken.",
            field=shorten_name(name), count=len(names), classes=classes)
        for names, name in list(sure.items())[:1]
    ]  # fmt: skip


def _other_than_beside(configured: CheckpointConfiguration, settings: SavedSettings) -> list[str]:
    """What is said where files beside the weights say something else, which is followed."""
    both = ((configured.known_answers.get("normalise"), {c: n for c, n in settings.colours.items() if c[0][1:]}),
            (configured.labels, settings.class_names))  # fmt: skip
    other = [next(iter(inside.values())) for beside, inside in both if beside and inside and beside not in inside]
    return [say("{field} in the file says something else than the files beside it, and those are followed.",
                field=shorten_name(name)) for name in other]  # fmt: skip


def _several(values: Mapping[Any, str]) -> str:
    names = ", ".join(map(shorten_name, dict.fromkeys(values.values())))
    return say("The file says different things under {fields}: none of them is taken.", fields=names)


def _with_known(
    found: "Inspection", answers: Mapping[str, Any], labels: tuple[str, ...] | None, read: list[str], notes: list[str]
) -> "Inspection":
    """The inspection in which these answers are asked no more."""
    known, shown = dict(answers), dict(found.configuration.input)
    shown |= crop_answer_terms(known.pop("crop")) if "crop" in known else {}
    shown |= {"interpolation": known.pop("interpolation")} if "interpolation" in known else {}
    gone = {*answers, *(["class_names"] if labels else [])}
    left, also = (tuple(q for q in qs if q.key not in gone) for qs in (found.questions, found.inferred.optional_questions))
    configuration = replace(
        found.configuration, known_answers={**found.configuration.known_answers, **known}, input=shown,
        labels=labels or found.configuration.labels, notes=(*found.configuration.notes, *notes),
    )  # fmt: skip
    return replace(
        found, configuration=configuration, known_output=known.get("output", found.known_output), read_from_file=tuple(read),
        inferred=replace(found.inferred, questions=left, optional_questions=also),
    )  # fmt: skip

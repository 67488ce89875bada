"""`vitcore inspect FILE`: what a model's file is, what it leaves to ask, and the flags by which every verb is told the answers."""

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

ANSWER_FLAGS = {  # of `OpenQuestion.key`
    "heads": ("--heads", "attention heads of a block"),
    "normalise": ("--normalise", "colours: imagenet, half, clip, none, or r,g,b/r,g,b (mean/standard deviation)"),
    "activation": ("--activation", "function of the MLPs: gelu, gelu_tanh, quick_gelu, relu, silu"),
    "eps": ("--eps", "what LayerNorm adds to the variance, such as 1e-6"),
    "grid": ("--grid", "rows and columns of patches, such as 14x14"),
    "pool": ("--pool", "where the head reads: token, avg, max, avgmax"),
    "architecture": ("--architecture", "vit, or the name of one of timm's with rotary positions"),
    "head_activation": ("--head-activation", "function between the classifier's layers: relu, gelu, tanh, silu … none"),
    "head_input": ("--head-input", "function before the classifier: none, relu, gelu, tanh …"),
    "head_eps": ("--head-eps", "what the classifier's norms add to the variance, such as 1e-5"),
    "norm": ("--norm", "norms without a bias: rms, or layer, which subtracts the mean"),
    "norm_place": ("--norm-place", "norms of a block: before attention and MLP, or after"),
    "class_names": ("--class-names", "of as many classes as ImageNet's: imagenet, or numbers"),
    "crop": ("--crop", "what of a photo is shown: center, center 0.95, center 0.9, center 0.875, squash"),
    "interpolation": ("--interpolation", "how photos are resized: bicubic, bilinear, nearest, lanczos"),
    "output": ("--output-kind", "what the last layer's numbers mean: softmax, sigmoid (classes by themselves), features"),
}


def add_inspect_verb(verbs: Any) -> None:
    """The verb."""
    about = "what a model's file holds: architecture, questions, what does not fit, and the card it would get"
    verb = verbs.add_parser("inspect", help=about, description=about)
    verb.add_argument("model", help="a weights file, a directory of timm's, transformers' or OpenCLIP's, or an hf-hub: id")
    verb.add_argument("--part", help="which model, where the file holds several")
    verb.add_argument("--labels", type=Path, help="names of the classes: a text file, one a line, or JSON")
    verb.add_argument("--write-card", action="store_true", help="write the card beside the file, as NAME.json")
    verb.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    add_checkpoint_config_flags(verb)
    verb.set_defaults(run=_run_inspect)


def add_checkpoint_config_flags(verb: argparse.ArgumentParser) -> None:
    """`--base` for adapters, and one flag a question, for files without a card."""
    verb.add_argument("--base", help="what an adapter of PEFT (LoRA, DoRA) changes: a file, a directory or an hf-hub: id")
    group = verb.add_argument_group("what a file without a card does not say (see `vitcore inspect`)")
    for key, (flag, about) in ANSWER_FLAGS.items():
        group.add_argument(flag, dest=f"answer_{key}", metavar=key.upper(), help=about)


def answers_from_flags(args: argparse.Namespace) -> dict[str, str]:
    """The answers among the flags."""
    told = {key: getattr(args, f"answer_{key}", None) for key in ANSWER_FLAGS}
    return {key: value for key, value in told.items() if value is not None}


def base_from_flags(args: argparse.Namespace) -> str | Path | None:
    """The file or folder that `--base` names, fetched where it is the hub's; None without it."""
    base: str | None = getattr(args, "base", None)
    return _local(base) if base else None


def _local(name: str) -> str | Path:
    from vitcore.models.hub_folder import fetch_hub_folder
    from vitcore.models.hub_ids_and_weights import HUB_PREFIX

    return fetch_hub_folder(name) if name.startswith(HUB_PREFIX) else name


def print_assumed_answers(model: str, answers: dict[str, str], base: str | Path | None = None) -> None:
    """On standard error: the likely answers that are taken for a file without a card."""
    from vitcore.models import local_files
    from vitcore.models.load_model import AssumedAnswersWarning, inspect

    warnings.filterwarnings("ignore", category=AssumedAnswersWarning)  # said here, in a line of its own
    file = local_files.find_local_weights(model)
    if file is None:
        return
    by_card = local_files.has_model_card(file)
    assumed = local_files.read_model_card(file).get("assumed") if by_card else inspect(file, base=base).assumed_answers(answers)
    if isinstance(assumed, dict) and assumed:
        listed = ", ".join(f"{key}={value}" for key, value in assumed.items())
        print(f"{file.name} does not say: {listed} (`vitcore inspect {model}` tells more)", file=sys.stderr)


def _run_inspect(args: argparse.Namespace) -> None:
    """Print the table or the JSON object; write the card where asked."""
    from vitcore.models.checkpoint_inspection.inspect_checkpoint import inspect
    from vitcore.models.checkpoint_inspection.saved_settings.class_names_file import read_class_names

    inspection = inspect(_local(args.model), args.part, base=base_from_flags(args))
    labels = read_class_names(args.labels) if args.labels else None
    card = inspection.card(answers_from_flags(args), labels)
    if args.json:
        asked = [{"key": q.key, "asks": q.sentence, "likely": q.likely, "choices": q.choices, "consequence": q.consequence}
                 for q in inspection.questions]  # fmt: skip
        told = {"facts": dict(inspection.facts), "params": inspection.params, "questions": asked,
                "assumed": card.get("assumed", {}), "problems": inspection.problems,
                "notes": inspection.notes, "parts": inspection.parts,
                "left_out": inspection.part.left_out, "card": card}  # fmt: skip
        print(json.dumps(told, ensure_ascii=False))
    else:
        print("\n".join(_table(inspection, card, answers_from_flags(args))))
    if args.write_card:
        inspection.write_card(card)


def _table(inspection: Any, card: dict[str, Any], answers: dict[str, str]) -> list[str]:
    from vitcore.models.checkpoint_inspection.open_questions import answer_text

    rows = [("file", str(inspection.file)), *inspection.facts, ("parameters", f"{inspection.params:,}")]
    wide = max(len(term) for term, _ in rows)
    lines = [f"{term:<{wide}}  {value}" for term, value in rows]
    for q in inspection.questions:
        told = answers.get(q.key)
        answer = f"{ANSWER_FLAGS[q.key][0]} {told or answer_text(q.likely)}{'' if told else ' (likely)'}"
        lines += ["", f"{q.sentence}  {answer}", f"  {q.consequence}"]
    if assumed := card.get("assumed"):
        lines += ["", "Assumed, not proven: " + ", ".join(f"{key}={value}" for key, value in assumed.items())]
    lines += [""] * bool(inspection.notes) + [*inspection.notes]
    if inspection.problems:
        lines += ["", f"It can't be opened: {len(inspection.problems)} tensors do not fit."]
        lines += [f"  {line}" for line in inspection.problems]
    return [*lines, "", f"The card it would get ({inspection.card_file.name}):", json.dumps(card, ensure_ascii=False, indent=1)]

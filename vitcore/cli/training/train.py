"""The shell's verbs `train`, `export` and `runs`; a recipe's fields are the flags."""

import argparse
import dataclasses
import inspect
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from vitcore.architectures import paper_models
from vitcore.cli.training.evaluate import DATA_HELP, add_evaluation_verbs
from vitcore.train import run_folder
from vitcore.train.presets import PRESETS, recipe_of_preset
from vitcore.train.recipe import Recipe, RecipeError, recipe_fields, with_changes


def add_training_verbs(verbs: Any) -> None:
    """Add the verbs to the shell's."""
    _add_train(verbs)
    add_evaluation_verbs(verbs)
    share = verbs.add_parser("export", help="write a model as a timm hub directory, which timm.create_model opens")
    share.add_argument("model", help="a run, a shipped model's name or a .safetensors file")
    share.add_argument("--out", type=Path, required=True, help="the new directory")
    share.set_defaults(run=export_for_timm)
    listing = verbs.add_parser("runs", help="the trainings in ./runs")
    listing.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    listing.set_defaults(run=print_runs)


def _add_train(verbs: Any) -> None:
    about = "\n\n".join(f"{name}: {inspect.getdoc(make)}" for name, make in PRESETS.items())
    verb = verbs.add_parser(
        "train", help="train a model, or go on with a run", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=f"Train a model. Presets:\n\n{about}",
    )  # fmt: skip
    verb.add_argument("preset", nargs="?", choices=sorted(PRESETS),
                      help="a recipe to start from; --model or --start-from sets its shape")  # fmt: skip
    verb.add_argument("--data", help=DATA_HELP)
    verb.add_argument("--model", metavar="NAME", help="a model of the paper, which sets the fields of its shape: ViT-S/16, "
                      "R50+B/16, BiT R50x1, Axial-ViT-B/16, …")  # fmt: skip
    verb.add_argument("--id", help="the run's name (default: preset and time)")
    verb.add_argument("--resume", metavar="ID", help="go on with this run; preset, data and recipe are its own")
    verb.add_argument("--log-with", default="", help="also log to a tracker accelerate knows, such as tensorboard")
    groups: dict[str, Any] = {}
    for field in recipe_fields():
        about, unit = field.metadata["help"], field.metadata["unit"]
        group = groups.setdefault(field.metadata["group"], verb.add_argument_group(field.metadata["group"]))
        _flag(group, field, f"{about}{f' ({unit})' if unit else ''}")
    verb.set_defaults(run=start_or_resume_run)


def _flag(group: Any, field: dataclasses.Field, about: str) -> None:
    options: dict[str, Any] = {"default": None, "help": about, "dest": f"recipe_{field.name}"}
    if isinstance(field.default, bool):
        options["action"] = argparse.BooleanOptionalAction
    else:
        options |= {"type": type(field.default), "choices": field.metadata["choices"] or None}
        options |= {} if field.metadata["choices"] else {"metavar": type(field.default).__name__.upper()}
    group.add_argument(f"--{field.name.replace('_', '-')}", **options)


def start_or_resume_run(args: argparse.Namespace) -> None:
    """Start a run or go on with one, a line a record on standard error."""
    from accelerate import PartialState

    from vitcore.train.learning.training_loop import has_several_cpu_processes
    from vitcore.train.trainer.run_training import run_training

    state = PartialState(cpu=has_several_cpu_processes())
    with state.main_process_first():  # under torchrun the first process makes the folder, the others find it
        folder = run_folder.find_run(args.resume) if args.resume else _new_run(args, state.is_main_process, state.num_processes)
    ending = run_training(folder, _print_record, args.log_with)
    if state.is_main_process:
        print(f"{folder.path}: {ending}", flush=True)


def _new_run(args: argparse.Namespace, main: bool, processes: int) -> run_folder.RunFolder:
    recipe = _recipe(args)
    if not args.data:
        raise RecipeError(f"--data is missing: {DATA_HELP}.")
    if processes > 1 and not args.id:
        raise RecipeError("name the run with --id: several processes must agree on it.")
    run_id = args.id or f"{args.preset}-{datetime.now():%Y%m%d-%H%M%S}"
    return run_folder.create_run(run_id, recipe, args.data) if main else run_folder.find_run(run_id)


def _recipe(args: argparse.Namespace) -> Recipe:
    if not args.preset:
        raise RecipeError(f"name a preset ({', '.join(PRESETS)}), or --resume a run.")
    given = {field.name: getattr(args, f"recipe_{field.name}") for field in recipe_fields()}
    of_model: dict[str, Any] = {}
    if args.model:
        family = paper_models.find_paper_model(args.model)
        if family is None:
            raise RecipeError(f"{args.model} is no model of the paper: {', '.join(paper_models.PAPER_MODELS)}.")
        of_model = family.fields
    elif given["start_from"]:
        of_model = _shape_of_trained(given)
    return with_changes(
        recipe_of_preset(args.preset), of_model | {name: value for name, value in given.items() if value is not None}
    )


def _shape_of_trained(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of shape of the model that training starts from.

    Raises: RecipeError, for a flag that contradicts them; ModelError.
    """
    from vitcore.train.learning.model_from_recipe import shape_fields_of_model

    shape = shape_fields_of_model(given["start_from"])
    for name, value in shape.items():
        if given[name] not in (None, value):
            raise RecipeError(f"--{name.replace('_', '-')} is {given[name]}, but {value} in {given['start_from']}: leave it out.")
    return shape


def _print_record(record: dict[str, Any]) -> None:
    said = " ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in record.items())
    print(said, file=sys.stderr, flush=True)


def export_for_timm(args: argparse.Namespace) -> None:
    """A directory for timm.create_model("local-dir:…", pretrained=True)."""
    from vitcore.train.export import export as write

    write(args.model, args.out)
    print(f'timm.create_model("local-dir:{args.out}", pretrained=True)')


def print_runs(args: argparse.Namespace) -> None:
    """Every run with its state and last record."""
    rows = []
    for folder in run_folder.all_runs():
        log = run_folder.read_log(folder)
        rows.append({"id": folder.id, **run_folder.read_status(folder), "last": log[-1] if log else {}})
    if args.json:
        print(json.dumps({"runs": rows}, ensure_ascii=False))
        return
    for row in rows:
        print(f"{row['id']:<32} {row['state']:<10} step {row['step']:<8} {row['message']}")

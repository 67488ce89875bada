"""The shell's verbs `train`, `export` and `runs`; a recipe's fields are the flags."""

import argparse
import dataclasses
import inspect
import json
import math
import sys
from collections import deque
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from vitcore.architectures import paper_models
from vitcore.cli.training.evaluate import DATA_HELP, add_evaluation_verbs
from vitcore.train import run_folder
from vitcore.train.presets import PRESETS, recipe_of_preset
from vitcore.train.recipe import Recipe, RecipeError, recipe_fields, with_changes

LINE_EVERY_STEPS = 10
VALIDATION_HELP = (
    "photos to validate on, written like --data, of the same classes; nothing of --data is then held out "
    "(default: its own validation photos, else a tenth of each class)"
)


def add_training_verbs(verbs: Any) -> None:
    """Add the verbs to the shell's."""
    _add_train(verbs)
    add_evaluation_verbs(verbs)
    share = verbs.add_parser("export", help="write a model as a timm hub directory, which timm.create_model opens")
    share.add_argument("model", help="a run, a shipped model's name or a .safetensors file")
    share.add_argument("--out", type=Path, required=True, help="the new directory")
    share.set_defaults(run=_export_for_timm)
    listing = verbs.add_parser("runs", help="the trainings in ./runs")
    listing.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    listing.set_defaults(run=_print_runs)


def _add_train(verbs: Any) -> None:
    about = "\n\n".join(f"{name}: {inspect.getdoc(make)}" for name, make in PRESETS.items())
    verb = verbs.add_parser(
        "train", help="train a model, or go on with a run", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=f"Train a model. Presets:\n\n{about}",
    )  # fmt: skip
    verb.add_argument("preset", nargs="?", choices=sorted(PRESETS),
                      help="a recipe to start from; --model or --start-from sets its shape")  # fmt: skip
    verb.add_argument("--data", help=DATA_HELP)
    verb.add_argument("--val-data", metavar="DATA", default="", help=VALIDATION_HELP)
    verb.add_argument("--epochs", type=float, help="passes over the training photos, in place of --steps")
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
    verb.set_defaults(run=_start_or_resume_run)


def _flag(group: Any, field: dataclasses.Field, about: str) -> None:
    options: dict[str, Any] = {"default": None, "help": about, "dest": f"recipe_{field.name}"}
    if isinstance(field.default, bool):
        options["action"] = argparse.BooleanOptionalAction
    else:
        options |= {"type": type(field.default), "choices": field.metadata["choices"] or None}
        options |= {} if field.metadata["choices"] else {"metavar": type(field.default).__name__.upper()}
    group.add_argument(f"--{field.name.replace('_', '-')}", **options)


def _start_or_resume_run(args: argparse.Namespace) -> None:
    """Start a run or go on with one; on standard error a line every few steps."""
    from accelerate import PartialState

    from vitcore.train.learning.training_loop import has_several_cpu_processes
    from vitcore.train.trainer.run_training import run_training

    _refuse_flags_of_resumed(args)
    state = PartialState(cpu=has_several_cpu_processes())
    with state.main_process_first():  # under torchrun the first process makes the folder, the others find it
        folder = run_folder.find_run(args.resume) if args.resume else _new_run(args, state.is_main_process, state.num_processes)
    ending = run_training(folder, progress_lines(run_folder.read_recipe(folder)), args.log_with)
    if state.is_main_process:
        print(f"{folder.path}: {ending}", flush=True)


def _new_run(args: argparse.Namespace, main: bool, processes: int) -> run_folder.RunFolder:
    recipe = _recipe(args)
    if not args.data:
        raise RecipeError(f"--data is missing: {DATA_HELP}.")
    if processes > 1 and not args.id:
        raise RecipeError("name the run with --id: several processes must agree on it.")
    if main and (args.epochs is not None or args.val_data):  # opened before the name is taken
        recipe = _with_epochs(recipe, args)
    if main and recipe.steps <= recipe.warmup_steps:
        print(f"All {recipe.steps} steps are warm-up (--warmup-steps {recipe.warmup_steps}).", file=sys.stderr)
    run_id = args.id or f"{args.preset}-{datetime.now():%Y%m%d-%H%M%S}"
    if not main:
        return run_folder.find_run(run_id)
    return run_folder.create_run(run_id, recipe, args.data, validation=args.val_data)


def _refuse_flags_of_resumed(args: argparse.Namespace) -> None:
    """Raises: RecipeError, for flags that a run that goes on would not follow."""
    names = ("data", "val_data", "epochs", "model", *(f"recipe_{field.name}" for field in recipe_fields()))
    given = [f"--{name.removeprefix('recipe_').replace('_', '-')}" for name in names if getattr(args, name) not in (None, "")]
    if args.resume and given:
        raise RecipeError(f"{args.resume} goes on with its own data and recipe: leave out {', '.join(given)}.")


def _with_epochs(recipe: Recipe, args: argparse.Namespace) -> Recipe:
    """The recipe with the steps that so many passes over its photos take, once they could be opened."""
    from vitcore.train.trainer.run_training import open_run_photos

    photos, _ = open_run_photos(recipe, args.data, args.val_data)
    if args.epochs is None:
        return recipe
    steps = math.ceil(round(args.epochs * len(photos) / recipe.batch, 6))  # 0.1 · 30 photos are 3
    return with_changes(recipe, {"steps": max(steps, 1)})


def _recipe(args: argparse.Namespace) -> Recipe:
    if not args.preset:
        raise RecipeError(f"name a preset ({', '.join(PRESETS)}), or --resume a run.")
    given = {field.name: getattr(args, f"recipe_{field.name}") for field in recipe_fields()}
    if args.epochs is not None and given["steps"] is not None:
        raise RecipeError("--epochs and --steps both say how long to train: leave one out.")
    if args.epochs is not None and not 0 < args.epochs < math.inf:
        raise RecipeError(f"--epochs is a number above 0, not {args.epochs:g}.")
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


def progress_lines(recipe: Recipe) -> Callable[[dict[str, Any]], None]:
    """What prints a record: of the first step, every `LINE_EVERY_STEPS`, each evaluation and the last."""
    speeds: deque[float] = deque(maxlen=LINE_EVERY_STEPS)

    def show(record: dict[str, Any]) -> None:
        step, first = record["step"], not speeds
        speeds.append(record["images_per_s"])
        measured = any(name in record for name in ("val_loss", "few_shot"))
        if not (first or measured or step % LINE_EVERY_STEPS == 0 or step == recipe.steps):
            return
        facts = [f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in record.items() if k != "step"]
        left_s = (recipe.steps - step) * recipe.batch * len(speeds) / max(sum(speeds), 1e-9)
        left = [f"left {run_folder.readable_time(left_s)}"] if step < recipe.steps else []
        print(f"step {step}/{recipe.steps}", *facts, *left, file=sys.stderr, flush=True)

    return show


def _export_for_timm(args: argparse.Namespace) -> None:
    """A directory for timm.create_model("local-dir:…", pretrained=True)."""
    from vitcore.train.export import export as write

    write(args.model, args.out)
    print(f'timm.create_model("local-dir:{args.out}", pretrained=True)')


def _print_runs(args: argparse.Namespace) -> None:
    """Every run with its state and last record."""
    rows = []
    for folder in run_folder.all_runs():
        log = run_folder.read_log(folder)
        rows.append({"id": folder.id, **run_folder.read_status_and_check_alive(folder), "last": log[-1] if log else {}})
    if args.json:
        print(json.dumps({"runs": rows}, ensure_ascii=False))
        return
    for row in rows:
        print(f"{row['id']:<32} {row['state']:<10} step {row['step']:<8} {row['message']}")

"""Checkpoints and model files of a run: written whole or not at all, the one before kept in case the newest is damaged."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from vitcore.errors import refusal_reason
from vitcore.models import load_model
from vitcore.models.load_model import Vit
from vitcore.models.model_cards import ModelError
from vitcore.train.learning.model_from_recipe import architecture_of_recipe
from vitcore.train.learning.training_loop import TrainingState
from vitcore.train.run_folder import RunError, RunFolder, explain_write_errors, replace_file_atomically, write_file_atomically
from vitcore.translation import say

WRITE_ERRORS = (OSError, SafetensorError, RuntimeError)  # how a full disk shows, by who was writing
VIT_PREFIX = re.compile(r"(?:(?:module|_orig_mod)\.)*vit\.")  # the model in an objective, or in an average of it


def save_checkpoint(run: TrainingState, folder: RunFolder) -> None:
    """Write the state of every process beside the old one, then put it in its place. Raises: RunError."""
    machine, new = run.accelerator, folder.path / ".checkpoint-new"
    with explain_write_errors(folder, say("the checkpoint of step {step}", step=run.step), WRITE_ERRORS):
        try:
            if machine.is_main_process:
                shutil.rmtree(new, ignore_errors=True)
            machine.wait_for_everyone()
            machine.save_state(str(new))
            machine.wait_for_everyone()
            if machine.is_main_process:
                shutil.rmtree(folder.previous_checkpoint, ignore_errors=True)
                if folder.checkpoint.exists():
                    folder.checkpoint.replace(folder.previous_checkpoint)
                new.replace(folder.checkpoint)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
    machine.wait_for_everyone()


def restore_checkpoint(run: TrainingState, folder: RunFolder) -> None:
    """Go on from the newest checkpoint. Raises: RunError, which says what to do about a damaged one."""
    source = folder.checkpoint if folder.checkpoint.is_dir() else folder.previous_checkpoint
    if not source.is_dir():
        return
    try:
        # accelerate opens this one as a pickle, which may run code: first see that it holds tensors and numbers only.
        torch.load(source / "custom_checkpoint_0.pkl", map_location="cpu", weights_only=True)
        run.accelerator.load_state(str(source))
    except Exception as error:  # torch, pickle, zip and safetensors each complain in their own way
        again = say("its weights may be whole in {file}", file=folder.model)
        if source == folder.checkpoint and folder.previous_checkpoint.is_dir():
            again = say("delete {folder} to go on from the one before it", folder=folder.checkpoint)
        reason = refusal_reason(error, 120)
        raise RunError(
            "the checkpoint of run {id} is damaged ({reason}): {again}.", id=folder.id, reason=reason, again=again
        ) from error


def save_model(run: TrainingState, folder: RunFolder) -> None:
    """Write the kept weights and their card, which `vitcore.load(folder)` opens. Raises: RunError."""
    vit = run.kept_objective().vit  # all processes together
    if not run.accelerator.is_main_process:
        return
    weights = {k: v.detach().cpu().float().contiguous() for k, v in vit.state_dict().items()}
    with explain_write_errors(folder, say("the model"), WRITE_ERRORS):
        write_file_atomically(
            folder.model.with_suffix(".json"), json.dumps(_card_of_run(run, vit, folder), indent=1, ensure_ascii=False)
        )
        replace_file_atomically(folder.model, lambda to: save_file(weights, to))


def _card_of_run(run: TrainingState, vit: Any, folder: RunFolder) -> dict[str, Any]:
    """The card of a run's model, in the format of `assets/models/*.json`."""
    recipe = run.recipe
    count = round(sum(p.numel() for p in vit.parameters()) / 1e6, 1)
    both = {"teacher": recipe.teacher, "looker": recipe.looker} if recipe.task == "layers" else {}
    taught = {role: Path(name).stem for role, name in both.items()}
    facts = {"title": f"run {folder.id}", "params_m": count, "download_mb": 0, "licence": "",
             "good_for": f"what it saw: {run.step} steps of {recipe.task}", **taught}  # fmt: skip
    input_ = {k: v for k, v in vit.pretrained_cfg.items() if k != "input_size"}
    return {
        "card": facts, "architecture": architecture_of_recipe(recipe, len(run.classes)), "input": input_,
        "labels": list(run.classes),
        "trained": {"steps": run.step, "last": run.last_record},
    }  # fmt: skip


def open_checkpoint_model(folder: RunFolder, which: str = "checkpoint") -> tuple[Vit, int]:
    """The model as it is in a run's `checkpoint` or `checkpoint-before`, and the step: its average where there is one.

    Raises: ModelError, for a run that has left no model yet, or a checkpoint that is not there or can't be read.
    """
    vit = load_model.load(folder.path)
    try:
        told = torch.load(folder.path / which / "custom_checkpoint_0.pkl", map_location="cpu", weights_only=True)
        whole = told.get("average") or load_file(folder.path / which / "model.safetensors")
        mine = {VIT_PREFIX.sub("", name, count=1): value.float() for name, value in whole.items() if VIT_PREFIX.match(name)}
        vit.module.load_state_dict(mine)
    except Exception as error:  # torch, pickle, zip and safetensors each complain in their own way
        reason = refusal_reason(error, 120)
        raise ModelError("the checkpoint of run {id} can't be read: {reason}", id=folder.id, reason=reason) from error
    return vit, int(told["step"])

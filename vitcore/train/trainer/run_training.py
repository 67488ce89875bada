"""Conducting a run: open its photos, go on where it stopped, train, look, save, and stop politely when asked."""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator

from vitcore.models import load_model
from vitcore.train.data.photo_sources import DataError, Photos, check_has_classes, open_training_photos
from vitcore.train.data.photo_tensors import EvaluationBatches, open_batches
from vitcore.train.data.photos import limit_photos
from vitcore.train.evaluation.accuracy import match_classes
from vitcore.train.evaluation.evaluate_during_training import evaluate_few_shot, evaluate_run, open_held_out_photos
from vitcore.train.film_files import film_snapshot_steps
from vitcore.train.learning import training_loop
from vitcore.train.recipe import FILMED, Recipe, needs_labels
from vitcore.train.run_folder import (
    RunError,
    RunFolder,
    explain_write_errors,
    hold_run_lock,
    read_recipe,
    read_source,
    read_validation_source,
    write_status,
)
from vitcore.train.trainer import checkpoint, film_snapshots
from vitcore.translation import say

ShowRecord = Callable[[dict[str, Any]], None]
STATUS_EVERY_S = 0.5
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)  # heard, so that what was learnt is saved first
TEST_SEED = 2010_11929  # draws the test photos


def run_training(folder: RunFolder, on_record: ShowRecord, log_with: str = "") -> str:
    """Train the run in `folder` to its end, from the start or where it stopped; returns "finished" or "stopped".

    `on_record` sees every record. Raises: RunError, DataError, RecipeError; the folder's status then says the same.
    """
    recipe = read_recipe(folder)
    if recipe.task == FILMED:
        raise RunError("run {id} films a training of your own: go on with that.", id=folder.id)
    machine = training_loop.make_accelerator(recipe, log_with=log_with or None, project_dir=str(folder.path))
    with denormals_as_zero():
        if not machine.is_main_process:
            return _conduct(folder, recipe, machine, lambda record: None)
        with hold_run_lock(folder):
            try:
                return _conduct(folder, recipe, machine, on_record)
            except Exception as error:
                with suppress(OSError):  # the disk that was full is full
                    write_status(folder, "failed", 0, str(error))
                raise


@contextmanager
def denormals_as_zero() -> Iterator[None]:
    """Inside, this thread takes denormal numbers as 0: tiny attention weights make them, and they slow a CPU many times.

    The processor's setting is the thread's, not torch's: left behind, it would change the caller's NumPy as well.
    """
    before = bool(torch.full((), 1e-310, dtype=torch.float64) == 0)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def _conduct(folder: RunFolder, recipe: Recipe, machine: Accelerator, show: ShowRecord) -> str:
    if machine.is_main_process:
        folder.stop_file.unlink(missing_ok=True)
        write_status(folder, "starting", 0)
    photos, held_out = open_run_photos(recipe, read_source(folder), read_validation_source(folder))
    run = training_loop.start_training(
        recipe, photos.classes, lambda module, device: _open_run_batches(recipe, folder, photos, module, device), machine
    )
    checkpoint.restore_checkpoint(run, folder)
    held_out, test = split_validation_and_test(held_out, recipe.test_share)
    judges, last = open_held_out_photos(run, held_out), open_held_out_photos(run, test)
    if machine.log_with:
        machine.init_trackers(folder.id)
    if run.step == 0 and 0 in film_snapshot_steps(recipe):
        film_snapshots.save_film_frame(run, folder)
    with listen_for_stop() as asked:
        for record in training_loop.training_records(run):
            record |= evaluate_and_save(run, folder, judges, last)
            _log_record(run, folder, record, show)
            if folder.stop_file.exists():
                asked.set()
            if any_process_stops(machine, asked):
                break
    checkpoint.save_checkpoint(run, folder)
    if run.best == -float("inf"):
        checkpoint.save_model(run, folder)
    machine.end_training()
    ending = "finished" if run.step >= recipe.steps else "stopped"
    if machine.is_main_process:
        write_status(folder, ending, run.step, problems=[*run.data.problems, *(judges.problems if judges else ())])
    return ending


def open_run_photos(recipe: Recipe, source: str, validation: str = "") -> tuple[Photos, Photos]:
    """The run's photos, to learn from and to validate on. Raises: DataError, when the recipe can't learn from them."""
    train, held_out = open_training_photos(source, validation, recipe.seed)
    if needs_labels(recipe):
        check_has_classes(train)
    elif recipe.task != "masked":
        train, held_out = (_relabel_with_teacher_classes(recipe.teacher, photos) for photos in (train, held_out))
    judged = _few(held_out, recipe)
    if validation and not len(judged):
        facts = {"count": len(held_out), "name": held_out.name}
        raise DataError("None of the {count} {count:photo|photos} of {name} can be tested.", **facts)
    return limit_photos(train, recipe.learn_most, recipe.seed), judged


def _relabel_with_teacher_classes(teacher: str, photos: Photos) -> Photos:
    """Photos labelled with a teacher's classes; -1, unlabelled, where the teacher knows no such class."""
    vit = load_model.load(teacher)
    try:
        to_teacher = np.append(match_classes(vit, photos.classes, photos.name), -1)  # label -1 stays so
    except DataError:  # photos of other things, or without labels, teach as well
        to_teacher = np.full(len(photos.classes) + 1, -1)
    return replace(photos, labels=to_teacher[photos.labels], classes=vit.labels)


def _few(held_out: Photos, recipe: Recipe) -> Photos:
    """At most `evaluate_most` of the held-out photos; for tasks that know classes, of those with a label."""
    which = np.arange(len(held_out)) if recipe.task == "masked" else np.flatnonzero(held_out.labels >= 0)
    if recipe.evaluate_most:
        which = np.random.default_rng(recipe.seed).permutation(which)[: recipe.evaluate_most]
    return held_out.subset(which)


def split_validation_and_test(held_out: Photos, share: float) -> tuple[Photos, Photos]:
    """The held-out photos as (validation, test): the same test whatever the seed, if the photos are the same."""
    order = np.random.default_rng(TEST_SEED).permutation(len(held_out))
    test = round(share * len(held_out))
    return held_out.subset(np.sort(order[test:])), held_out.subset(np.sort(order[:test]))


def _open_run_batches(recipe: Recipe, folder: RunFolder, photos: Photos, module: Any, device: Any) -> Any:
    """The training batches of a run, as the loop draws them."""
    config = module.vit.pretrained_cfg

    def decoding(done: int, of: int) -> None:
        write_status(folder, "starting", 0, say("decoding photos: {done} of {count}", done=done, count=of))

    return open_batches(recipe, photos, device, config["mean"], config["std"], decoding)


def evaluate_and_save(
    run: training_loop.TrainingState, folder: RunFolder, held_out: EvaluationBatches | None, test: EvaluationBatches | None = None
) -> dict[str, Any]:
    """Do what this step calls for: evaluate, keep a frame, save; returns what it says of the model."""
    recipe, step = run.recipe, run.step
    last = step >= recipe.steps
    evaluated: dict[str, Any] = {}
    if held_out and (last or (recipe.evaluate_every_steps and step % recipe.evaluate_every_steps == 0)):
        evaluated |= evaluate_run(run, held_out)
    if held_out and recipe.few_shot_every_steps and (last or step % recipe.few_shot_every_steps == 0):
        evaluated |= evaluate_few_shot(run, held_out)
    if test and last:
        evaluated |= {f"test_{name.removeprefix('val_')}": value for name, value in evaluate_run(run, test).items()}
    if step in film_snapshot_steps(recipe):
        film_snapshots.save_film_frame(run, folder)
    score = evaluated.get("top1", -evaluated["val_loss"] if "val_loss" in evaluated else None)
    if score is not None and score >= run.best:
        run.best = score
        checkpoint.save_model(run, folder)
    if step % recipe.save_every_steps == 0 and not last:
        checkpoint.save_checkpoint(run, folder)
    return evaluated


def _log_record(run: training_loop.TrainingState, folder: RunFolder, record: dict[str, Any], show: ShowRecord) -> None:
    """Log a record, write the run's status, and show the record."""
    if run.accelerator.log_with:
        run.accelerator.log({k: v for k, v in record.items() if k != "step"}, step=record["step"])
    if not run.accelerator.is_main_process:
        return
    with explain_write_errors(folder, say("the log")):
        with folder.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps({k: round(v, 7) if isinstance(v, float) else v for k, v in record.items()}) + "\n")
        if time.monotonic() - run.last_status_s > STATUS_EVERY_S:
            write_status(folder, "running", record["step"])
            run.last_status_s = time.monotonic()
    show(record)


@contextmanager
def listen_for_stop() -> Iterator[threading.Event]:
    """An event that Ctrl-C or SIGTERM sets, so that a run saves before it stops; a second Ctrl-C stops at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def note(number: int, frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, note) for number in STOP_SIGNALS}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def any_process_stops(machine: Accelerator, stop_event: threading.Event) -> bool:
    """Whether any process was asked to stop: all must end at the same step."""
    flag = torch.tensor(float(stop_event.is_set()), device=machine.device)
    return bool(machine.reduce(flag, "sum") > 0) if machine.num_processes > 1 else stop_event.is_set()

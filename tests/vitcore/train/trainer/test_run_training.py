"""Runs from start to end: exact resumption after any end, several processes as one, and clear words when things break."""

import json
import os
import random
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import vitcore
from tests.forked_python import shell, start, two_processes
from tests.vitcore.train.conftest import TINY
from vitcore.models.model_cards import ModelError
from vitcore.train import film_files, run_folder
from vitcore.train.data.photo_sources import open_photo_source
from vitcore.train.learning import training_loop
from vitcore.train.recipe import recipe_to_json, with_changes
from vitcore.train.run_folder import RunError
from vitcore.train.trainer import checkpoint
from vitcore.train.trainer.run_training import run_training, split_validation_and_test

GOLDEN = Path(__file__).parent / "golden.json"
KILLED_AT = random.Random(2010_11929).randint(4, 30)  # the same step every time: what fails, fails again


def quiet(record):
    """Nobody watches."""


def losses(folder):
    return [record["loss"] for record in run_folder.read_log(folder)]


def flags(**changes):
    """A recipe as flags of the shell, from the preset that has the fewest of its own."""
    recipe = with_changes(TINY, changes)
    plain = json.loads(recipe_to_json(recipe))
    plain.pop("version")
    found = []
    for name, value in plain.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            found.append(flag if value else flag.replace("--", "--no-", 1))
        elif value != "":
            found += [flag, str(value)]
    return found


def test_a_run_leaves_everything_behind(new_run):
    folder = new_run(snapshots=3)
    assert run_training(folder, quiet) == "finished"
    assert run_folder.read_status_and_check_alive(folder)["state"] == "finished"
    log = run_folder.read_log(folder)
    assert [r["step"] for r in log] == [1, 2, 3, 4, 5, 6]
    assert {"loss", "lr", "images_per_s"} <= set(log[0]) and {"top1", "top5", "val_loss"} <= set(log[2])
    looked = log[2]["top1"] / 100 * log[2]["val_photos"]
    assert log[2]["val_photos"] > 0 and looked == pytest.approx(round(looked), abs=1e-3)
    assert json.loads((folder.path / "environment.json").read_text())["versions"]["torch"] == torch.__version__
    film = film_files.film_of_run(folder.path)
    assert film.steps.tolist() == [0, 1, 6] and film.arrays["kernel"].shape == (3, 24, 3, 4, 4)
    vit = vitcore.load(folder.path)
    assert vit.labels == tuple("0123456789") and vit.grid.rows == 4
    rec = vitcore.record(vit, frames_photo())
    assert rec.rollout().shape == (4, 4) and len(rec.top_classes(3)) == 3


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_a_run_opens_at_its_checkpoint(new_run, average):
    folder = new_run(steps=2, warmup_steps=1, average_decay=average)
    run_training(folder, quiet)
    vit, step = checkpoint.open_checkpoint_model(folder)
    kept = vitcore.load(folder.path).module.state_dict()  # the last evaluation, at the same step
    assert step == 2 and all(torch.equal(value, kept[name]) for name, value in vit.module.state_dict().items())
    with pytest.raises(ModelError, match="can't be read"):
        checkpoint.open_checkpoint_model(folder, "checkpoint-before")


def frames_photo():
    from vitcore.train.film.default_film_photos import default_film_photos

    return default_film_photos()[0]


def test_training_leaves_the_callers_arithmetic_as_it_was(new_run):
    """Inside, denormal numbers count as 0, for speed; NumPy outside must not be changed by that."""
    seen = []
    run_training(new_run(steps=1), lambda record: seen.append(np.float64(1e-310) * 1 == 0))
    assert all(seen) and seen, "faster inside"
    assert np.float64(1e-310) * 1 > 0
    with pytest.raises(RunError):
        run_training(new_run(steps=1), lambda record: stumble())
    assert np.float64(1e-310) * 1 > 0


def stumble() -> None:
    raise RunError("in the middle")


def test_the_first_frame_is_the_beginning_and_the_last_the_model(new_run):
    folder = new_run(average_decay=0.0, evaluate_every_steps=0, snapshots=3)
    run_training(folder, quiet)
    film, vit = film_files.film_of_run(folder.path), vitcore.load(folder.path)
    kernel = vit.module.patch_embed.proj.weight.numpy()
    np.testing.assert_allclose(film.array_at("kernel", -1), kernel, atol=1e-3)
    assert np.abs(film.array_at("kernel", 0) - kernel).max() > 2e-3
    rec = vitcore.record(vit, frames_photo())
    np.testing.assert_allclose(film.array_at("rollout", -1)[0], rec.rollout(), atol=2e-3)


def test_the_zero_head_begins_with_every_class_alike(new_run):
    first = new_run("first")
    run_training(first, quiet)
    second = new_run("second", start_from=str(first.path), steps=1, lr_peak=0.0)
    run_training(second, quiet)
    assert losses(second)[0] == pytest.approx(np.log(10), abs=1e-6)


def test_golden_losses(new_run):
    """Fifty steps give the losses they gave when this was written (fp32, one thread, tolerance 1e-4)."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        folder = new_run(
            steps=50, batch=16, snapshots=0, evaluate_every_steps=0, save_every_steps=50, mixup=0.2, label_smoothing=0.1
        )
        run_training(folder, quiet)
    finally:
        torch.set_num_threads(threads)
    if os.environ.get("WRITE_GOLDEN"):  # and say in the commit why the curve moved
        GOLDEN.write_text(json.dumps(losses(folder)))
    np.testing.assert_allclose(losses(folder), json.loads(GOLDEN.read_text()), rtol=0, atol=1e-4)


def test_one_batch_is_learned_by_heart(new_run, tmp_path, digits):
    import pyarrow.parquet as pq

    few = tmp_path / "few.parquet"
    table = pq.read_table(digits).slice(0, 9)
    pq.write_table(table, few)
    folder = new_run(source=few, steps=200, batch=8, lr_peak=5e-3, warmup_steps=10, width=48, crop_area=1.0, flip=False,
                     snapshots=0, evaluate_every_steps=0, save_every_steps=200, weight_decay=0.0, average_decay=0.0)  # fmt: skip
    run_training(folder, quiet)
    assert losses(folder)[-1] < 0.05


def test_stopping_and_going_on_is_as_not_stopping(new_run):
    whole, broken = new_run("whole", snapshots=3), new_run("broken", snapshots=3)
    run_training(whole, quiet)

    class Enough(Exception):
        pass

    def three(record):
        if record["step"] == 3:
            raise Enough

    with pytest.raises(Enough):
        run_training(broken, three)
    assert run_folder.read_status_and_check_alive(broken)["state"] == "failed"
    run_training(broken, quiet)
    assert losses(broken) == losses(whole)
    same_weights(whole, broken)


def same_weights(one, other):
    a, b = load_file(one.model), load_file(other.model)
    assert a.keys() == b.keys()
    for name in a:
        assert torch.equal(a[name], b[name]), name


def test_sigkill_at_any_step_loses_nothing(tmp_path, digits):
    """Killed at some moment after a step that nobody chose, and resumed: bit-identical weights."""
    more = flags(steps=40, snapshots=4, evaluate_every_steps=0, save_every_steps=3)
    train = ["-m", "vitcore", "train", "image_folder_tiny", "--data", str(digits), *more]
    done = shell(*train, "--id", "whole", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    process = start(*train, "--id", "killed", cwd=tmp_path)
    folder = run_folder.RunFolder(tmp_path / "runs" / "killed")
    until(lambda: len(run_folder.read_log(folder)) >= KILLED_AT, process)
    process.kill()
    process.communicate()
    assert run_folder.read_status_and_check_alive(folder)["state"] == "broken off"
    done = shell("-m", "vitcore", "train", "--resume", "killed", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    whole = run_folder.RunFolder(tmp_path / "runs" / "whole")
    assert losses(folder) == losses(whole)
    same_weights(whole, folder)


def until(ready, process, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if ready():
            return
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    raise AssertionError("it did not happen")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_stop_it_saves_and_stops(tmp_path, digits, how):
    more = flags(steps=5000, snapshots=0, evaluate_every_steps=0, save_every_steps=5000)
    process = start("-m", "vitcore", "train", "image_folder_tiny", "--data", str(digits), "--id", "r", *more, cwd=tmp_path)
    folder = run_folder.RunFolder(tmp_path / "runs" / "r")
    until(lambda: len(run_folder.read_log(folder)) >= 3, process)
    process.send_signal(how)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "stopped" in out, err
    said = run_folder.read_status_and_check_alive(folder)
    assert said["state"] == "stopped" and said["step"] == len(run_folder.read_log(folder)) and folder.checkpoint.is_dir()


def test_two_processes_are_as_one(tmp_path, digits):
    """Four images a pass: one process in two passes, or two processes in one pass each (gloo)."""
    more = flags(steps=8, micro_batch=4, dropout=0.1, mixup=0.3, snapshots=0, evaluate_every_steps=4)
    train = ["train", "image_folder_tiny", "--data", str(digits), *more]
    one = shell("-m", "vitcore", *train, "--id", "one", cwd=tmp_path)
    assert one.returncode == 0, one.stderr
    two = two_processes(*train, "--id", "two", cwd=tmp_path)
    assert two.returncode == 0, two.stderr
    first, second = (run_folder.read_log(run_folder.RunFolder(tmp_path / "runs" / name)) for name in ("one", "two"))
    np.testing.assert_allclose([r["loss"] for r in second], [r["loss"] for r in first], rtol=0, atol=1e-5)
    assert second[3]["top1"] == pytest.approx(first[3]["top1"])
    assert second[3]["val_loss"] == pytest.approx(first[3]["val_loss"], abs=1e-4)


# What goes wrong


def test_two_processes_can_not_train_one_run(new_run):
    folder = new_run()
    with run_folder.hold_run_lock(folder), pytest.raises(RunError, match="by another process"):
        run_training(folder, quiet)


def test_a_loss_that_is_no_number_keeps_the_last_good_checkpoint(new_run, monkeypatch):
    folder = new_run()
    learn = training_loop.run_optimiser_step

    def spoiled(run):
        parts = learn(run)
        return {k: v * float("nan") for k, v in parts.items()} if run.step == 4 else parts

    monkeypatch.setattr(training_loop, "run_optimiser_step", spoiled)
    with pytest.raises(RunError, match="not a number at step 5"):
        run_training(folder, quiet)
    assert "step 5" in run_folder.read_status_and_check_alive(folder)["message"]
    monkeypatch.setattr(training_loop, "run_optimiser_step", learn)
    assert run_training(folder, quiet) == "finished" and [r["step"] for r in run_folder.read_log(folder)] == [1, 2, 3, 4, 5, 6]


def test_a_damaged_checkpoint_is_named_and_the_one_before_is_kept(new_run):
    folder = new_run()

    def five(record):
        if record["step"] == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_training(folder, five)
    weights = folder.checkpoint / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(RunError, match=r"is damaged .*: delete .* to go on from the one before it"):
        run_training(folder, quiet)
    shutil.rmtree(folder.checkpoint)
    assert run_training(folder, quiet) == "finished"


def test_a_recipe_of_another_version_is_refused(new_run):
    folder = new_run()
    facts = json.loads((folder.path / "recipe.json").read_text())
    run_folder.write_file_atomically(folder.path / "recipe.json", json.dumps(facts | {"version": 7}))
    with pytest.raises(RunError, match="version 7"):
        run_training(folder, quiet)


def test_photos_that_vanish(new_run, tmp_path, digits):
    moved = tmp_path / "moved.parquet"
    shutil.copy(digits, moved)
    folder = new_run(source=moved)
    moved.unlink()
    with pytest.raises(ValueError, match=r"moved\.parquet"):
        run_training(folder, quiet)
    word = run_folder.read_status_and_check_alive(folder)
    assert "moved.parquet" in word["message"] == word["parts"]["message"]["text"]
    assert "moved.parquet" in str(word["parts"]["message"]["facts"])


def test_a_full_disk_is_said_and_the_old_checkpoint_stays(new_run, monkeypatch):
    """As torch and safetensors report it; `test_disk_full.py` fills a real one where the system lets us mount it."""
    folder = new_run()
    save = checkpoint.save_checkpoint

    def full(run, where):
        if run.step == 4:
            monkeypatch.setattr(run.accelerator, "save_state", fails)
        save(run, where)

    def fails(path):
        Path(path).mkdir()
        (Path(path) / "half").write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_checkpoint", full)
    with pytest.raises(RunError, match=r"checkpoint of step 4 .* \(No space left on device\); the checkpoint before it is whole"):
        run_training(folder, quiet)
    assert not list(folder.path.glob(".checkpoint-new*"))
    monkeypatch.setattr(checkpoint, "save_checkpoint", save)
    assert run_training(folder, quiet) == "finished"


def test_a_batch_that_can_not_be_shared(new_run):
    with pytest.raises(RunError, match="can't be shared by 3 processes"):
        training_loop.passes_per_step(with_changes(TINY, {"batch": 8}), 3)


def test_what_is_held_out_is_parted_into_validation_and_test_whatever_the_seed():
    """No choice sees the test: it is apart from what a run reports on the way, and the same for every seed."""
    photos = open_photo_source("digits", seed=3)[1]
    validation, test = split_validation_and_test(photos, 0.4)
    images = lambda some: {one.tobytes() for one in some.items}  # noqa: E731
    assert (len(validation), len(test)) == (len(photos) - round(0.4 * len(photos)), round(0.4 * len(photos)))
    assert not images(validation) & images(test) and images(validation) | images(test) == images(photos)
    assert images(split_validation_and_test(photos, 0.4)[1]) == images(test)
    assert len(split_validation_and_test(photos, 0.0)[1]) == 0 and len(split_validation_and_test(photos, 0.0)[0]) == len(photos)

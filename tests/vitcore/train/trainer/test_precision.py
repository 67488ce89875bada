"""Precision: one process trains in one after the other, and the environment answers for the machine."""

import pytest
import torch

from tests.vitcore.train.conftest import TINY
from vitcore.train import run_folder
from vitcore.train.learning import training_loop
from vitcore.train.learning.optimiser_and_weight_average import _fast_bf16, cpu_or_gpu_has_fast_bf16
from vitcore.train.recipe import with_changes
from vitcore.train.run_folder import RunError
from vitcore.train.trainer.run_training import run_training


def trained(folder) -> list[float]:
    """The losses of the run, trained to its end here and now."""
    assert run_training(folder, lambda record: None) == "finished"
    return [record["loss"] for record in run_folder.read_log(folder)]


def test_one_process_trains_in_one_precision_after_the_other(new_run):
    """As in a notebook; accelerate keeps one state a process and refuses a second precision by itself."""
    first = trained(new_run("a", precision="fp32", steps=3))
    half = trained(new_run("b", precision="bf16", steps=3))
    again = trained(new_run("c", precision="fp32", steps=3))
    assert again == first
    assert half != first and half == pytest.approx(first, rel=0.02)


def test_a_training_that_failed_leaves_nothing_to_the_next(new_run):
    def stumble(record):
        raise ValueError("stumbled")

    with pytest.raises(ValueError, match="stumbled"):
        run_training(new_run("a", precision="bf16"), stumble)
    assert trained(new_run("b", precision="fp32", steps=2))


@pytest.mark.parametrize(("said", "mixed"), [("fp32", "no"), ("bf16", "bf16")])
def test_the_environment_answers_for_the_machine(monkeypatch, said, mixed):
    monkeypatch.setenv("VITCORE_PRECISION", said)
    assert cpu_or_gpu_has_fast_bf16() == (said == "bf16")
    assert training_loop.make_accelerator(with_changes(TINY, {"precision": "auto"})).mixed_precision == mixed


def test_a_recipe_that_names_its_precision_keeps_it(monkeypatch):
    monkeypatch.setenv("VITCORE_PRECISION", "bf16")
    assert training_loop.make_accelerator(TINY).mixed_precision == "no"


def test_another_answer_is_refused(monkeypatch):
    monkeypatch.setenv("VITCORE_PRECISION", "half")
    with pytest.raises(RunError, match="fp32 or bf16, not 'half'"):
        cpu_or_gpu_has_fast_bf16()


@pytest.mark.parametrize(
    ("supported", "fast"),
    [(lambda including_emulation=True: including_emulation, False), (lambda including_emulation=True: True, True)],
    ids=["emulated", "native"],
)
def test_bf16_that_a_gpu_emulates_is_not_fast(monkeypatch, supported, fast):
    """As on a V100, whose emulated bf16 is slower than fp32."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    assert _fast_bf16.__wrapped__() is fast


class Code:
    """What a pickle may hold: a call."""

    def __init__(self, file) -> None:
        self.file = file

    def __reduce__(self):
        return open, (str(self.file), "w")


def test_a_checkpoint_runs_no_code(new_run, tmp_path):
    """A run's folder may come from anybody."""
    folder = new_run("a", steps=2)
    trained(folder)
    torch.save({"step": Code(tmp_path / "ran")}, folder.checkpoint / "custom_checkpoint_0.pkl")
    with pytest.raises(RunError, match="is damaged"):
        run_training(folder, lambda record: None)
    assert not (tmp_path / "ran").exists()

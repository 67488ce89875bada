"""An experiment of seconds: cells of a few steps each on digits, of which one goes on from another, at the better of two rates."""

from dataclasses import replace

import pytest

from vitcore.experiments import catalogue, results_csv
from vitcore.experiments.architecture_experiments import POSITIONS, QUICK_RECIPE
from vitcore.experiments.experiment import Claim, ExperimentCell
from vitcore.train import run_folder
from vitcore.train.recipe import with_changes

SHORT = with_changes(QUICK_RECIPE, {
    "image_px": 8, "patch_px": 2, "steps": 6, "batch": 8, "width": 12, "blocks": 1, "optimiser": "adamw", "warmup_steps": 1,
    "save_every_steps": 2, "evaluate_most": 40,
})  # fmt: skip
TINY = replace(
    POSITIONS, name="tiny", seeds=2, drawn="digits", others=("top1",), base=lambda quick: SHORT,
    cells=lambda quick: [
        ExperimentCell("none", (("stem", "none"),), {"positions": "none"}), ExperimentCell("first", (), {"task": "masked"}),
        ExperimentCell("after", (("stem", "1-D"),), {}, "first", learning_rates=(1e-3, 4e-3)),
    ],
    claims=(Claim("Any kind is better than none.", lambda s: s["stem", "1-D"] - s["stem", "none"]),),
)  # fmt: skip


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """The experiment `TINY`, known by its name; runs and results go to tmp."""
    monkeypatch.setattr(run_folder, "RUNS_FOLDER", tmp_path / "runs")
    monkeypatch.setattr(results_csv, "RESULTS_FOLDER", tmp_path / "experiments")
    monkeypatch.setitem(catalogue.EXPERIMENTS, "tiny", TINY)
    return TINY

"""What is measured of a finished run, against numbers worked out by hand on weights put there for it."""

from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from vitcore.analysis.position_embeddings import position_similarity, same_line_and_elsewhere_cosines, same_line_excess_cosine
from vitcore.experiments import run_experiment
from vitcore.experiments.experiment import ExperimentCell, ExperimentError
from vitcore.experiments.measures import measure_run
from vitcore.grid import Grid
from vitcore.train import run_folder


@pytest.fixture
def run(tiny):
    """A run of a ViT of one block, 12 wide, three heads, on digits of 4×4 patches of 2 px: six steps of eight."""
    one = replace(tiny, cells=lambda quick: [ExperimentCell("one", (("stem", "1-D"),))])
    (task,) = run_experiment.training_tasks(replace(one, seeds=1), True, "digits")
    run_experiment.train_task(task)
    return run_folder.find_run(task.run, task.root)


def test_what_a_run_cost_and_what_its_model_shows(run):
    patches, width, classes = 16, 12, 10
    tokens = patches + 1
    macs = patches * 12 * width  # the embedding of 2×2×3 numbers
    macs += (
        tokens * width * (3 * width + width + 2 * 4 * width) + 2 * tokens**2 * width
    )  # the block, and its two attention products
    macs += width * classes
    assert measure_run(run, ["training_gflop"])["training_gflop"] == pytest.approx(3 * 2 * macs * 8 * 6 / 1e9, rel=1e-9)

    file = run.path / "model.safetensors"
    weights = load_file(file)
    weights["blocks.0.attn.qkv.weight"][: 2 * width] = 0  # no queries, no keys: every patch is attended to alike
    weights["blocks.0.attn.qkv.bias"][: 2 * width] = 0
    far_px = Grid(4, 4, 2).distances_px()
    _, axes = np.linalg.eigh(np.exp(-((far_px / 6) ** 2)))
    bumps = np.exp(-((far_px / 6) ** 2)) @ axes  # their cosines are those of bumps around each position
    weights["pos_embed"][0, 1:] = bumps[:, -width:]
    save_file(weights, file)
    seen = measure_run(run, ["nearest_head", "untrained_head", "nearness", "row_column", "test_top1", "top1", "shuffled_top1"])
    assert seen["nearest_head"] == pytest.approx(100, abs=1e-3)
    assert 90 < seen["untrained_head"] < 110 and seen["untrained_head"] != seen["nearest_head"]
    assert seen["nearness"] > 0.8 and seen["row_column"] == pytest.approx(0, abs=0.1), "round bumps: near counts, rows do not"
    named = np.eye(4)[np.repeat(range(4), 4)]
    rows_alone = position_similarity(
        named
    )  # a position is its row's: half of the pairs in a row or column are alike, and no others
    assert same_line_excess_cosine(rows_alone, Grid(4, 4, 2)) == pytest.approx(0.5)
    assert np.isnan(same_line_and_elsewhere_cosines(np.eye(4), Grid(1, 4, 2))).all(), "no others in a single row"
    with pytest.raises(ExperimentError, match="has no speed at its end"):
        measure_run(run, ["speed"])

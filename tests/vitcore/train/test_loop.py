"""The distillation loop: its schedule, what the student sees, that it learns, and that a broken-off run goes on."""

from pathlib import Path

import numpy as np
import pytest
import torch

import vitcore
from vitcore.train import loop, ship, teach
from vitcore.train.recipe import Distil

SMALL = Distil(
    image_px=32, patch_px=8, width=24, blocks=2, heads=3, classes=10, steps=6, batch=8, warmup_steps=2,
    sparse_share=0.5, snapshot_every_steps=2, ema_decay=0.5,
)  # fmt: skip


@pytest.fixture(scope="module")
def lessons() -> teach.Lessons:
    """Lessons a student can learn by heart: each photo is one flat colour with one class."""
    rng = np.random.default_rng(0)
    count, patches = 16, 16
    label = np.arange(count) % 5
    pixels = np.broadcast_to((40 * label)[:, None, None, None], (count, 32, 32, 3)).astype(np.uint8)
    classes = np.stack([label, label + 5], 1).astype(np.int16)
    attention = rng.random((count, patches)).astype(np.float16)
    tokens = rng.integers(-90, 90, (count, patches, teach.COMPONENTS)).astype(np.int8)
    sure = np.tile(np.array([0.9, 0.1], np.float16), (count, 1))
    return teach.Lessons(pixels, classes, sure, tokens, attention, np.arange(count) % 2 == 0)


def run_to_end(folder: Path, lessons: teach.Lessons, stop_after: int | None = None) -> loop.Run:
    run = loop.start(SMALL, folder)
    for record in loop.train(run, lessons):
        if record["step"] == stop_after:
            break
    return run


@pytest.mark.parametrize(("step", "rate"), [(0, 5e-4), (1, 1e-3), (2, 1e-3), (4, 5e-4), (6, 0.0)])
def test_learning_rate_is_linear_then_cosine(step: int, rate: float) -> None:
    assert loop.learning_rate(SMALL, step) == pytest.approx(rate)


def test_scattered_patches_are_distinct_and_counted() -> None:
    kept = loop.KeepPatches._scattered(5, 16, 0.25)
    assert kept.shape == (5, 4)
    assert all(len(set(row.tolist())) == 4 for row in kept)


def test_a_window_is_a_square_of_neighbours() -> None:
    for row in loop.KeepPatches._windows(20, 16, 0.25):
        y, x = row // 4, row % 4
        assert sorted(set((y - y.min()).tolist())) == sorted(set((x - x.min()).tolist())) == [0, 1]


def test_no_patch_is_dropped_outside_training() -> None:
    keep = loop.KeepPatches().eval()
    keep.share = 0.25
    x = torch.randn(2, 17, 3)
    assert torch.equal(keep(x), x)


def test_mirrored_targets_follow_mirrored_pixels(lessons: teach.Lessons) -> None:
    batch = loop.draw(lessons, SMALL, 0)
    again = loop.draw(lessons, SMALL, 0)
    assert torch.equal(batch.pixels, again.pixels)
    assert torch.allclose(batch.targets.sum(1), torch.ones(SMALL.batch))


def test_the_student_learns(tmp_path: Path, lessons: teach.Lessons) -> None:
    from dataclasses import replace

    recipe = replace(
        SMALL, steps=120, lr_peak=5e-3, patch_init_std=0.1, token_weight=0.0, attention_weight=0.0, sparse_share=0.0
    )
    records = list(loop.train(loop.start(recipe, tmp_path), lessons))
    assert records[0]["label"] > 1.5
    assert records[-1]["label"] < 0.5 * records[0]["label"]  # 2.3 at first; the entropy of (0.9, 0.1) is 0.33


def test_a_broken_off_run_ends_where_an_unbroken_one_does(tmp_path: Path, lessons: teach.Lessons) -> None:
    whole = run_to_end(tmp_path / "whole", lessons)
    run_to_end(tmp_path / "broken", lessons, stop_after=5)  # its last checkpoint is step 4
    resumed = run_to_end(tmp_path / "broken", lessons)
    assert resumed.step == whole.step == SMALL.steps
    pairs = zip(whole.student.state_dict().values(), resumed.student.state_dict().values(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_a_shipped_snapshot_loads(tmp_path: Path, lessons: teach.Lessons) -> None:
    run = run_to_end(tmp_path / "run", lessons)
    snapshot = tmp_path / "run" / f"snapshot-{SMALL.steps:06d}.safetensors"
    card = {"title": "Small", "params_m": 0.1, "download_mb": 0, "licence": "Apache-2.0"}
    ship.ship(snapshot, SMALL, tmp_path / "small", card, {"steps": SMALL.steps})
    vit = vitcore.load(tmp_path / "small.safetensors")
    assert (vit.grid.rows, vit.grid.cols, vit.grid.prefix) == (4, 4, 1)
    ours = run.average.module.vit.state_dict()["head.weight"]
    assert torch.allclose(vit.module.state_dict()["head.weight"], ours, atol=1e-3)

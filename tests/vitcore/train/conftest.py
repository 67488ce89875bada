"""What the training tests share: scikit-learn's handwritten digits as a Parquet file, a recipe of seconds, and runs in tmp."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from vitcore.train import run_folder
from vitcore.train.recipe import Recipe, with_changes

TINY = Recipe(
    image_px=16, patch_px=4, width=24, blocks=2, heads=3, steps=6, batch=8, warmup_steps=2, patch_init_std=0.02,
    crop_area=0.6, evaluate_every_steps=3, save_every_steps=2, snapshots=0, precision="fp32", average_decay=0.9,
)  # fmt: skip


def encoded(digit: np.ndarray) -> bytes:
    """An 8×8 digit as a 16×16 PNG."""
    file = io.BytesIO()
    Image.fromarray((digit * 15.9).astype(np.uint8)).resize((16, 16), Image.Resampling.BICUBIC).save(file, "PNG")
    return file.getvalue()


def losses_of(loss: Callable[[], torch.Tensor], optim: torch.optim.Optimizer, steps: int) -> list[float]:
    """What a loss is before each of some steps down it."""
    losses = []
    for _ in range(steps):
        value = loss()
        optim.zero_grad()
        value.backward()
        optim.step()
        losses.append(value.item())
    return losses


@pytest.fixture(scope="session")
def digits(tmp_path_factory) -> Path:
    """400 digits, every fifth held out."""
    from sklearn.datasets import load_digits

    found = load_digits()
    images = [encoded(d) for d in found.images[:400]]
    table = {"image": images, "label": found.target[:400], "split": ["val" if i % 5 == 0 else "train" for i in range(400)]}
    file = tmp_path_factory.mktemp("digits") / "digits.parquet"
    pq.write_table(pa.table(table), file)
    return file


@pytest.fixture
def new_run(tmp_path, digits, monkeypatch):
    """Make a run of `TINY` with changes, without a film unless one is asked for; `source` is the digits unless given."""
    monkeypatch.setattr(run_folder, "RUNS_FOLDER", tmp_path / "runs")

    def make(run_id: str = "r", source: str | Path = digits, **changes) -> run_folder.RunFolder:
        return run_folder.create_run(run_id, with_changes(TINY, changes), str(source))

    return make

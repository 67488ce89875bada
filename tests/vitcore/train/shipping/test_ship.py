"""Shipping a run: half the bytes, the card, the recipe, and a film that says what made it."""

import json
import sys

import numpy as np
import pytest
import torch

import vitcore
from tests.shipping import ship
from vitcore.train import film_files
from vitcore.train.trainer.run_training import run_training


def test_a_run_is_shipped(new_run, tmp_path, monkeypatch):
    folder = new_run(snapshots=3)
    run_training(folder, lambda record: None)
    (tmp_path / "trained.json").write_text(json.dumps({"measured": {"top1": 12.5}}))
    monkeypatch.setattr(sys, "argv", [
        "ship", str(folder.path), "--to", str(tmp_path / "out" / "mine"), "--film", str(tmp_path / "film.safetensors"),
        "--title", "Mine", "--trained", str(tmp_path / "trained.json"), "--command", "python -m vitcore train x",
    ])  # fmt: skip
    ship.main()
    facts = json.loads((tmp_path / "out" / "mine.json").read_text())
    assert facts["card"]["title"] == "Mine" and facts["trained"]["measured"]["top1"] == 12.5
    assert facts["recipe"]["steps"] == 6 and facts["labels"] == list("0123456789")
    small, large = vitcore.load(tmp_path / "out" / "mine.safetensors"), vitcore.load(folder.path)
    np.testing.assert_allclose(small.module.pos_embed.numpy(), large.module.pos_embed.numpy(), atol=1e-3)
    size = (tmp_path / "out" / "mine.safetensors").stat().st_size
    assert size < 0.6 * folder.model.stat().st_size
    assert film_files.open_film(tmp_path / "film.safetensors").command == "python -m vitcore train x"


@pytest.mark.parametrize(("share", "wanted"), [(0.0, [1.0, 2.0]), (1.0, [3.0, 6.0]), (0.25, [1.5, 3.0])])
def test_weights_in_between(share, wanted):
    start, end = {"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([3.0, 6.0])}
    assert ship.interpolate_weights(end, start, share)["w"].tolist() == wanted

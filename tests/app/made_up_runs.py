"""Runs as a training leaves them, made in milliseconds: folders with a log, frames of noise, and a small model."""

import json
from pathlib import Path

import numpy as np
from safetensors.torch import save_file

from vitcore.grid import Grid
from vitcore.train import film_files, run_folder
from vitcore.train.presets import recipe_of_preset

SMALL = {"image_px": 32, "patch_px": 8, "width": 24, "blocks": 2, "heads": 3, "steps": 40, "batch": 4, "warmup_steps": 2}
GRID = Grid(4, 4, 8, 1)
STEPS = (0, 1, 3, 10, 40)
NAMES = ("cat", "macaw")
CLASSES = ("Cat", "Macaw", "Crab")


def a_run(run_id: str = "demo", task: str = "classify", state: str = "finished", steps=STEPS, **word) -> run_folder.RunFolder:
    """A run that has come as far as the last of `steps`; `word`: what else its status says."""
    recipe = recipe_of_preset("masked_patches" if task == "masked" else "image_folder_tiny", **SMALL)
    run = run_folder.create_run(run_id, recipe, "samples")
    for step in steps:
        add_frame(run, step, task)
    still = masked_still() if task == "masked" else {}
    rng = np.random.default_rng(0)
    photos = rng.integers(0, 256, (len(NAMES), 32, 32, 3), np.uint8)
    film_files.save_shared_arrays(run, photos, NAMES, GRID, () if task == "masked" else CLASSES, **still)
    run.log.write_text("".join(json.dumps(record(step, task)) + "\n" for step in range(1, steps[-1] + 1)))
    run_folder.write_status(run, state, steps[-1], word.pop("message", ""), **word)
    return run


def record(step: int, task: str) -> dict:
    found = {"step": step, "loss": 3 / step, "lr": 1e-3, "images_per_s": 20.0}
    if step % 10 == 0:
        found |= {"val_loss": 3 / step} | ({"val_colours": 12.5} if task == "masked" else {"top1": 50.0, "top5": 75.0})
    return found


def add_frame(run: run_folder.RunFolder, step: int, task: str = "classify") -> None:
    """A frame of noise that is the same for every run."""
    rng, count = np.random.default_rng(step), len(NAMES)
    shares = rng.dirichlet(np.ones(16), (2, count)).reshape(2, count, 4, 4).astype(np.float16)
    frame = {
        "kernel": rng.normal(size=(24, 3, 8, 8)).astype(np.float16), "positions": rng.normal(size=(16, 24)).astype(np.float16),
        "distance_px": rng.uniform(5, 5 + step, (2, 3)).astype(np.float32), "rollout": shares[0], "last_block": shares[1],
    }  # fmt: skip
    if task == "masked":
        frame["predicted"] = rng.integers(0, 256, (count, 16, 3), np.uint8)
    else:
        frame["top_class"] = np.array([[1, 0, 2], [2, 1, 0]], np.int32)
        frame["top_p"] = np.array([[0.6, 0.3, 0.1]] * count, np.float16)
    film_files.save_frame(run, step, frame)


def masked_still() -> dict[str, np.ndarray]:
    fate = np.array([[0, 1, 2, 3] * 4] * len(NAMES), np.uint8)
    source = np.tile(np.arange(16, dtype=np.int32), (len(NAMES), 1))
    source[fate == 2] = 0
    return {"fate": fate, "source": source, "truth": np.full((len(NAMES), 16, 3), 100, np.uint8)}


def give_model(run: run_folder.RunFolder, module) -> Path:
    """Leave a model in the run's folder, as a checkpoint does."""
    shape = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 3, "num_heads": 3, "num_classes": 10}
    seen = {"mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "crop_pct": 1.0, "crop_mode": "center"}
    card = {"title": f"run {run.id}", "params_m": 0.0, "download_mb": 0, "licence": "", "good_for": ""}
    facts = {"card": card, "architecture": shape, "input": seen, "labels": [f"kind {i}" for i in range(10)]}
    (run.path / "model.json").write_text(json.dumps(facts))
    save_file({k: v.contiguous() for k, v in module.state_dict().items()}, run.model)
    return run.model

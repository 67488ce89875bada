"""Benchmark: masked patch prediction against its baselines, and fine-tuning from it against training from scratch.

Run `python tests/benchmarks/masked_patches.py [--photos PHOTOS] [--labelled CLASSES] [--id masked]`; without photos, on
scikit-learn's handwritten digits. Colours are predicted for held-out photos; the baselines are the commonest colour of
all, and the mean colour of what is left to see of the same photo. Both classifiers get the same steps, batches and rate.
"""

import argparse
import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from PIL import Image

from vitcore.train import run_folder
from vitcore.train.data.photo_sources import open_photo_source
from vitcore.train.data.photo_tensors import EvaluationBatches
from vitcore.train.learning.masked_patches import colour_class_index, corrupt_patches, mean_cell_colours
from vitcore.train.learning.model_from_recipe import MEAN, STD
from vitcore.train.recipe import Recipe, with_changes
from vitcore.train.trainer.run_training import run_training

SHAPE = {"image_px": 96, "patch_px": 6, "width": 96, "blocks": 4, "heads": 3, "batch": 64, "patch_init_std": 0.002}
DIGITS = {"image_px": 24, "patch_px": 3, "width": 48, "blocks": 3, "heads": 3, "batch": 64, "flip": False}


def digits(to: Path) -> str:
    """scikit-learn's 1,797 digits as a Parquet file of 24 px PNGs, every fifth held out, a quarter of the rest labelled."""
    from sklearn.datasets import load_digits

    found = load_digits()
    images = []
    for digit in found.images:
        file = io.BytesIO()
        Image.fromarray((digit * 15.9).astype(np.uint8)).resize((24, 24), Image.Resampling.BICUBIC).save(file, "PNG")
        images.append(file.getvalue())
    split = np.where(np.arange(len(images)) % 5 == 0, "val", "train")
    pq.write_table(pa.table({"image": images, "label": found.target, "split": split}), to / "digits.parquet")
    keep = (split == "val") | (np.arange(len(images)) % 5 == 1)
    pq.write_table(pq.read_table(to / "digits.parquet").filter(pa.array(keep)), to / "few.parquet")
    return str(to)


def baselines(recipe: Recipe, source: str) -> dict[str, float]:
    """Accuracy in % over corrupted patches: the commonest colour, and the mean of what can be seen; and the entropy in nats."""
    train, held_out = open_photo_source(source, seed=recipe.seed)
    counts = torch.zeros(512)
    for pixels, _ in EvaluationBatches(train.subset(range(min(2000, len(train)))), recipe.image_px, MEAN, STD, "cpu", 256):
        counts += torch.bincount(
            colour_class_index(mean_cell_colours(pixels / 2 + 0.5, recipe.patch_px, 1)).flatten(), minlength=512
        )
    share, total, common, mean, surprise = counts / counts.sum(), 0, 0.0, 0.0, 0.0
    torch.manual_seed(recipe.seed)
    for pixels, _ in EvaluationBatches(held_out, recipe.image_px, MEAN, STD, "cpu", recipe.batch):
        colours = mean_cell_colours(pixels / 2 + 0.5, recipe.patch_px, 1)[:, :, 0]
        hidden = corrupt_patches(len(pixels), colours.shape[1], recipe.masked_share).is_corrupted
        wanted = colour_class_index(colours)[hidden]
        left = (colours * ~hidden[..., None]).sum(1) / (~hidden).sum(1, keepdim=True)
        guess = colour_class_index(left)[:, None].expand_as(hidden)[hidden]
        total += len(wanted)
        common += (wanted == share.argmax()).sum().item()
        mean += (guess == wanted).sum().item()
        surprise -= share.clamp(min=1e-6).log()[wanted].sum().item()
    return {"commonest colour": 100 * common / total, "mean of what is seen": 100 * mean / total, "entropy": surprise / total}


def trained(run_id: str, recipe: Recipe, source: str) -> dict[str, Any]:
    """The last record of a run, which is gone on with if it is there."""
    try:
        folder = run_folder.find_run(run_id)
    except run_folder.RunError:
        folder = run_folder.create_run(run_id, recipe, source)
    if run_folder.read_status_and_check_alive(folder)["state"] != "finished":
        run_training(folder, lambda record: record["step"] % 50 or print(run_id, record, flush=True))
    return [r for r in run_folder.read_log(folder) if "val_loss" in r][-1]


def main(photos: str, labelled: str, shape: dict[str, Any], run_id: str, steps: int, tune_steps: int) -> None:
    """Pre-train, fine-tune, train from scratch; print the table."""
    masked = with_changes(Recipe(), {**shape, "task": "masked", "steps": steps, "warmup_steps": 50, "evaluate_every_steps": 100})
    rest = {"steps": tune_steps, "warmup_steps": 30, "evaluate_every_steps": 50, "label_smoothing": 0.1, "lr_peak": 1e-3,
            "snapshots": 0, "crop_area": 0.4}  # fmt: skip
    scratch = with_changes(Recipe(), {**shape, **rest})
    base = baselines(masked, photos)
    found = trained(f"{run_id}-pretrained", masked, photos)
    tuned = trained(
        f"{run_id}-tuned", with_changes(scratch, {"start_from": str(run_folder.find_run(f"{run_id}-pretrained").path)}), labelled
    )
    plain = trained(f"{run_id}-scratch", scratch, labelled)
    print("\nmean colour of corrupted patches (512 classes), held-out photos")
    for name in ("commonest colour", "mean of what is seen"):
        print(f"  {name:<24} {base[name]:6.2f} % right")
    print(f"  {'masked patch prediction':<24} {found['val_colours']:6.2f} % right")
    print(f"  cross-entropy {found['val_loss']:.3f} nats against {base['entropy']:.3f} of the colours' own distribution")
    print(f"classification, {tune_steps} steps of {scratch.batch}, top-1 on held-out photos")
    print(f"  from masked patch prediction {tuned['top1']:6.2f} %\n  from scratch                 {plain['top1']:6.2f} %")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", help="photos to pre-train on, as `--data` of python -m vitcore train")
    parser.add_argument("--labelled", help="photos in classes to fine-tune on")
    parser.add_argument("--id", default="masked", help="beginning of the runs' names")
    parser.add_argument("--steps", type=int, default=1200, help="of pre-training")
    parser.add_argument("--tune-steps", type=int, default=400)
    o = parser.parse_args()
    if o.photos:
        main(o.photos, o.labelled or o.photos, SHAPE, o.id, o.steps, o.tune_steps)
    else:
        with tempfile.TemporaryDirectory() as folder:
            run_folder.RUNS_FOLDER = Path(folder) / "runs"
            where = digits(Path(folder))
            main(f"{where}/digits.parquet", f"{where}/few.parquet", DIGITS, "digits", o.steps, o.tune_steps)

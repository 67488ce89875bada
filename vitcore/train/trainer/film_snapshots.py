"""Taking a frame: run the model of a moment on a few photos and keep what `film_files.py` describes."""

import copy

import numpy as np
import torch
from numpy.typing import NDArray

from vitcore.forward.recording import Recording, record, to_model_input
from vitcore.models.assembly.wrap import wrap_quietly
from vitcore.models.vit import Vit
from vitcore.train.film.compute_frame import film_frame_from_recordings
from vitcore.train.film.default_film_photos import default_film_photos
from vitcore.train.film_files import save_frame, save_shared_arrays
from vitcore.train.learning.masked_patches import MaskedPatches, corrupt_patches, mean_cell_colours
from vitcore.train.learning.training_loop import TrainingState
from vitcore.train.run_folder import RunFolder, explain_write_errors
from vitcore.translation import say


def save_film_frame(run: TrainingState, folder: RunFolder) -> None:
    """Keep the frame of this step; the first time, also the photos."""
    photos, kept = default_film_photos(), run.kept_objective()  # all processes together
    if not run.accelerator.is_main_process:
        return
    model = copy.deepcopy(kept if isinstance(kept, MaskedPatches) else kept.vit).cpu()  # the original goes on learning
    vit = wrap_quietly(getattr(model, "vit", model), name=f"run {folder.id}")
    if not vit.is_global:  # a film is of attention
        return
    with explain_write_errors(folder, say("a picture")):
        recs = [record(vit, photo) for photo in photos]
        frame = film_frame_from_recordings(vit, recs)
        still: dict[str, NDArray] = {}
        if isinstance(model, MaskedPatches):
            frame["predicted"], still = _predicted(model, vit, recs)
        save_frame(folder, run.step, frame)
        if not (folder.frames / "still.json").exists():
            pixels = np.stack([rec.model_input.pixels for rec in recs])
            names = [photo.name.rsplit(".", 1)[0] for photo in photos]
            save_shared_arrays(folder, pixels, names, vit.grid, run.classes, **still)


@torch.no_grad()
def _predicted(masked: MaskedPatches, vit: Vit, recs: list[Recording]) -> tuple[NDArray, dict[str, NDArray]]:
    """Predicted mean colours (K, N, 3) in bytes, and what does not change: fate and source of each patch, true colours."""
    pixels = torch.cat([to_model_input(vit, rec.model_input.pixels) for rec in recs])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # the same patches at every step
        corruption = corrupt_patches(len(pixels), vit.grid.patches, masked.recipe.masked_share)
    masked.eval()
    truth = mean_cell_colours(pixels * masked.std + masked.mean, masked.recipe.patch_px, 1)[:, :, 0]
    still = {"fate": corruption.codes.to(torch.uint8), "source": corruption.replacement_patches.int(), "truth": _bytes(truth)}
    return _bytes(masked.predicted_colours(pixels, corruption)).numpy(), {k: v.numpy() for k, v in still.items()}


def _bytes(colours: torch.Tensor) -> torch.Tensor:
    return (colours * 255).round().clamp(0, 255).to(torch.uint8)

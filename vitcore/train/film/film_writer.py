"""Your own training, filmed: `film = vitcore.film("runs/mine", photos)`, and `film.frame(module, step)` in any PyTorch loop.

What is written is a run like any other (`train/run_folder.py`), which opens on Watch it learn while it goes on. The training
ends with the very weights it would have without: a frame is taken of a stand-in, and one that fails is a warning.
"""

import json
import logging
import os
import time
import warnings
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from safetensors.numpy import load_file
from torch import nn

from vitcore.errors import refusal_reason
from vitcore.forward.recording import record
from vitcore.images import Photo, open_photo
from vitcore.models.model_cards import ModelError
from vitcore.train import run_folder
from vitcore.train.film.compute_frame import film_frame_from_recordings
from vitcore.train.film.default_film_photos import default_film_photos
from vitcore.train.film.find_vit import isolated_random_state, vit_to_film
from vitcore.train.film.frame_spacing import TIME_SHARE, FrameScheduler
from vitcore.train.film_files import save_frame, save_shared_arrays
from vitcore.train.recipe import FILMED, VERSION, Recipe
from vitcore.train.run_folder import RunError, RunFolder
from vitcore.translation import say

STATUS_EVERY_S = 2.0
LOG_EVERY_S = 0.5  # at most, but for what is measured on held-out photos

Pictures = Photo | Image.Image | str | Path | bytes | BinaryIO


def film(
    run: str | Path, photos: Sequence[Pictures] | Pictures | None = None, *, steps: int | None = None, frames: int = 24,
    labels: Sequence[str] | None = None, mean: Sequence[float] | None = None, std: Sequence[float] | None = None,
    share: float = TIME_SHARE, resume: bool = False, model: nn.Module | None = None,
) -> "FilmWriter":  # fmt: skip
    """Begin to film a training into the run `run`, a folder or a name in `runs/`.

    `photos` are those the film shows (default: eight that ship). With `steps`, how many the training will have, about
    `frames` are kept at steps spaced by a constant ratio, else at steps that grow by half. Two frames are always kept,
    the first and the last; the others wait until all of them fit in `share` of the training's time. `labels` name the
    classes; `mean` and `std` are what your pixels, 0 to 1, are normalised with, where timm's configuration of the model
    says something else. With `resume` a film of that name goes on: its frames after the first step that comes are taken
    away. With `model`, the module that `frame` will get, one that can't be filmed is refused here, before there is a run.
    Of several processes only the first films.
    Raises: PhotoError; ModelError, of `model`; RunError, where there is such a run already, or none that a film can go on with.
    """
    if isinstance(photos, Photo | Image.Image | str | Path | bytes) or hasattr(photos, "read"):
        photos = [photos]  # type: ignore[list-item]
    shown = default_film_photos() if photos is None else [open_photo(photo) for photo in photos]
    if not shown:
        raise ValueError("a film needs a photo to show")
    overlaid = {name: tuple(values) for name, values in {"mean": mean, "std": std}.items() if values is not None}
    first = _is_first_process()
    if model is not None and first:
        with isolated_random_state():
            vit_to_film(model, _name(Path(run).name), tuple(labels or ()), overlaid)
    folder = _folder(run, steps, resume) if first else None
    return FilmWriter(folder, shown, FrameScheduler(steps, frames, share), tuple(labels or ()), overlaid)


def _is_first_process() -> bool:
    """Whether this is the only process of a training, or the first of several."""
    spread = torch.distributed
    if spread.is_available() and spread.is_initialized():
        return spread.get_rank() == 0
    return int(os.environ.get("RANK") or os.environ.get("LOCAL_RANK") or 0) == 0


def _folder(run: str | Path, steps: int | None, resume: bool) -> RunFolder:
    path = Path(run)
    root = path.parent if len(path.parts) > 1 else run_folder.RUNS_FOLDER
    if resume and (root / path.name / "recipe.json").is_file():
        folder = RunFolder(root / path.name)
        if run_folder.read_recipe(folder).task != FILMED:
            raise RunError("run {id} is no film of a training of your own.", id=folder.id)
        return folder
    folder = run_folder.create_run(path.name, Recipe(), "", root)
    known = {"version": VERSION, "task": FILMED, "steps": steps or 1}  # and nothing that is not known
    run_folder.write_file_atomically(folder.path / "recipe.json", json.dumps(known))
    return folder


class FilmWriter:
    """A film in the making; use it in a `with` block, or `close` it at the end."""

    def __init__(
        self, folder: RunFolder | None, photos: Sequence[Photo], spacing: FrameScheduler, labels: tuple[str, ...],
        overlaid: Mapping[str, tuple[float, ...]],
    ) -> None:  # fmt: skip
        self.folder, self.photos, self.spacing, self.labels, self.overlaid = folder, photos, spacing, labels, overlaid
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._word = _RunStatus(folder, spacing.steps) if folder else None
        self._told = self._logged = 0.0
        self._line: dict[str, float] = {}  # of the log, the last
        if self._word:
            self._leave = weakref.finalize(self, self._word.leave)

    def frame(self, module: nn.Module, step: int, *, last: bool = False, **measured: Any) -> bool:
        """Keep a frame of this step if one is due, and log what was measured; returns whether a frame was kept.

        `module` is the ViT, or whatever wraps it (DDP, torch.compile, a class of your own). `last` asks for the frame
        whatever it costs. `measured` are numbers that Watch it learn draws: `loss`, `lr`, `val_loss`, and `top1` and
        `top5` in %; others are kept in the log. Never raises because of a frame: what went wrong is a warning.
        """
        folder = self.folder
        if folder is None or self._word is None or self._word.ended:
            return False
        began = self.spacing.clock()
        due = self.spacing.is_due(step, last)
        kept = False
        try:
            if self._word.step is None:
                self._forget_after(folder, step)
            self._word.step = step
            if due:
                kept = self._keep(folder, module, step)
            if measured:
                self._log(folder, step, measured)
            if due or time.monotonic() - self._told > STATUS_EVERY_S:
                run_folder.write_status(folder, "running", step)
                self._told = time.monotonic()
        except Exception as error:  # a full disk, say: the training goes on
            _warn(say("the film of run {id} could not be written: {reason}", id=folder.id, reason=refusal_reason(error)))
        finally:
            self.spacing.add_duration(step, self.spacing.clock() - began, due)
        return kept

    def close(self, ending: str = "finished", message: str = "") -> None:
        """The training has ended: "finished", "stopped" or "failed". What comes after is not filmed."""
        if self._word:
            self._word.end(ending, message)
            self._leave.detach()

    def __enter__(self) -> "FilmWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.close()
        elif isinstance(error, Exception):
            self.close("failed", refusal_reason(error))
        else:
            self.close("stopped")

    def _keep(self, folder: RunFolder, module: nn.Module, step: int) -> bool:
        """Take the frame and write it; what goes wrong with it is a warning."""
        try:
            with isolated_random_state():
                frame, still = self._look(folder, module)
            self._same(frame)
            save_frame(folder, step, frame)
            if not (folder.frames / "still.json").exists():
                save_shared_arrays(folder, *still)
        except Exception as error:
            _warn(say("the frame of step {step} could not be kept: {reason}", step=step, reason=refusal_reason(error)))
            return False
        return True

    def _look(self, folder: RunFolder, module: nn.Module) -> tuple[dict[str, NDArray], tuple[Any, ...]]:
        """The frame of this moment, and what all frames share."""
        vit, labels = vit_to_film(module, _name(folder.id), self.labels, self.overlaid)
        recs = [record(vit, photo) for photo in self.photos]
        pixels = np.stack([rec.model_input.pixels for rec in recs])
        return film_frame_from_recordings(vit, recs), (pixels, _names(self.photos), vit.grid, labels)

    def _same(self, frame: dict[str, NDArray]) -> None:
        """A film is of one shape of model. Raises: ModelError, when this frame is of another than the first."""
        shapes = {name: array.shape for name, array in frame.items()}
        self._shapes = self._shapes or shapes
        if shapes != self._shapes:
            raise ModelError("the model has another shape than at the first frame")

    def _forget_after(self, folder: RunFolder, step: int) -> None:
        """A film that goes on: what it holds of this step and later ones belongs to a training that broke off."""
        kept: list[Path] = []
        for file in sorted(folder.frames.glob("[0-9]*.safetensors")):
            (kept.append if int(file.stem) < step else Path.unlink)(file)
        if kept:
            self._shapes = {name: array.shape for name, array in load_file(kept[0]).items()}
        if log := run_folder.read_log(folder):
            lines = [json.dumps(record) + "\n" for record in log if record["step"] < step]
            run_folder.write_file_atomically(folder.log, "".join(lines))

    def _log(self, folder: RunFolder, step: int, measured: Mapping[str, Any]) -> None:
        """A line of the log; of what is measured at every step, not every step's."""
        before = self._line if self._line.get("step") == step else {}  # of a step's lines only the last is read
        held_out = any(name.startswith(("val_", "top")) for name in measured)
        if not (before or held_out) and time.monotonic() - self._logged < LOG_EVERY_S:
            return
        self._logged = time.monotonic()
        self._line = before | {"step": step} | {name: round(_number(value), 7) for name, value in measured.items()}
        with folder.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(self._line) + "\n")


class _RunStatus:
    """What the run says of itself, and the lock that tells it is alive; both outlive a film that nobody closed."""

    def __init__(self, folder: RunFolder, steps: int | None) -> None:
        self.folder, self.steps, self.ended = folder, steps, False
        self.step: int | None = None
        self.process = os.getpid()
        self.lock = ExitStack()
        self.lock.enter_context(run_folder.hold_run_lock(folder))
        run_folder.write_status(folder, "starting", 0)

    def leave(self) -> None:
        """The program ends, and nobody has said how the training did."""
        self.end("finished" if self.steps and (self.step or 0) >= self.steps else "stopped")

    def end(self, ending: str, message: str = "") -> None:
        """Leave the last word; once, and only in the process that films (a data loader's may be a copy of it)."""
        if self.ended or os.getpid() != self.process:
            return
        self.ended = True
        with suppress(OSError):
            run_folder.write_status(self.folder, ending, self.step or 0, message)
        self.lock.close()


def _name(run_id: str) -> str:
    return f"run {run_id}"


def _names(photos: Sequence[Photo]) -> list[str]:
    names: list[str] = []
    for photo in photos:
        name = photo.name.rsplit(".", 1)[0] or photo.name
        names.append(name if name not in names else f"{name} {len(names) + 1}")
    return names


def _number(value: Any) -> float:
    return float(value.detach() if isinstance(value, torch.Tensor) else value)


def _warn(message: str) -> None:
    """A warning, which may be shown, hidden or logged, but doesn't end a training even where warnings are errors."""
    try:
        warnings.warn(message, RuntimeWarning, stacklevel=4)
    except RuntimeWarning:
        logging.getLogger("vitcore").warning(message)

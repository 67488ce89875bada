"""Frames: what "Watch it learn" needs of a model at a step, small enough to keep dozens; a film is a run's frames in order.

A frame holds the patch kernel, the positions, every head's mean distance, and, for a few photos, rollout, the last block's
attention and the likeliest classes; for masked patch prediction also the predicted colours. `film.safetensors` with its
`.json` is a film in one file, which is how recorded trainings ship.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from vitcore.grid import Grid
from vitcore.train.recipe import Recipe
from vitcore.train.run_folder import (
    RunError,
    RunFolder,
    find_run,
    read_log,
    read_recipe,
    replace_file_atomically,
    validates_on_training_photos,
    write_file_atomically,
)
from vitcore.translation import translated_labels

TOP_CLASSES = 5  # classes kept per photo


class FilmAccuracy(NamedTuple):
    """What an evaluation during a training found: at which step, % named right, of how many photos (0: not known)."""

    step: int
    right: float
    photos: int


@dataclass(frozen=True, eq=False, repr=False)
class Film:
    """A run's frames over S steps, for K photos; arrays are stacked along the steps."""

    title: str
    task: str
    grid: Grid
    steps: NDArray[np.int64]  #: (S,)
    arrays: dict[str, NDArray]  #: kernel (S, D, 3, P, P), positions (S, N, D), distance_px (S, L, H), rollout (S, K, rows, cols), …
    photos: NDArray[np.uint8]  #: (K, px, px, 3)
    names: tuple[str, ...]  #: of the photos
    classes: tuple[str, ...]
    shared_arrays: dict[str, NDArray] = field(default_factory=dict)  #: what does not change: corrupted, truth
    log: list[dict[str, Any]] = field(default_factory=list)
    command: str = ""  #: what made it
    data: str = ""  #: the photos it learned from, in words
    shared: bool = False  #: whether it was measured on the photos it learned from, and none were held out
    class_count: int = 0  #: that it chooses from, 0 where it is not known: a saved film names only classes that it shows
    imagenet: tuple[int, ...] = ()  #: ImageNet-1k's numbers of a saved film's classes, -1 where one is not known; none for others

    def __repr__(self) -> str:
        return f"<Film {self.title}: {len(self.steps)} frames of {len(self.photos)} photos; {', '.join(self.arrays)}>"

    def array_at(self, name: str, frame: int) -> NDArray[np.float32]:
        """An array of a frame, as float32."""
        return self.arrays[name][frame].astype(np.float32)

    def accuracy(self) -> FilmAccuracy | None:
        """Of the last evaluation, on held-out or `shared` photos; None where no names are learned."""
        return last_accuracy(self.log)

    def steps_of_new_loss_terms(self) -> list[int]:
        """The steps at which the loss has a term that it did not have before."""
        no_terms = {"step", "loss", "lr", "images_per_s", "top1", "top5"}
        known: set[str] = set()
        steps = []
        for record in self.log:
            terms = {name for name in record.keys() - no_terms if not name.startswith("val_")}
            if known and terms - known:
                steps.append(int(record["step"]))
            known |= terms
        return steps

    def top(self, frame: int, photo: int, translated: bool = False) -> list[tuple[str, float]]:
        """(class, probability) of the likeliest classes, as they are read if `translated`; empty where no classes are learned."""
        if "top_class" not in self.arrays:
            return []
        classes, p = self.arrays["top_class"][frame, photo], self.arrays["top_p"][frame, photo]
        labels = translated_labels(self.classes, self.imagenet) if translated else self.classes
        return [(labels[i], float(v)) for i, v in zip(classes, p, strict=True)]


def last_accuracy(log: Sequence[dict[str, Any]]) -> FilmAccuracy | None:
    """What the last evaluation in a training's log found; None where there is none, or no names are learned."""
    return next((FilmAccuracy(r["step"], r["top1"], r.get("val_photos", 0)) for r in reversed(log) if "top1" in r), None)


def film_snapshot_steps(recipe: Recipe) -> set[int]:
    """Steps whose frame is kept: 0, the last, and the rest spaced by a constant ratio between."""
    return geometrically_spaced_steps(recipe.steps, recipe.snapshots)


def geometrically_spaced_steps(steps: int, count: int) -> set[int]:
    """About `count` of the steps 0 to `steps`, spaced by a constant ratio, with both ends; few steps have fewer."""
    if count < 1:
        return set()
    return {0, steps} | {round(s) for s in np.geomspace(1, steps, max(count - 1, 1)).tolist()}


def contiguous_arrays(arrays: dict[str, NDArray]) -> dict[str, NDArray]:
    """The arrays in reading order: safetensors writes memory as it lies, whatever the strides."""
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def save_frame(folder: RunFolder, step: int, frame: dict[str, NDArray]) -> None:
    """Write the frame of a step."""
    replace_file_atomically(folder.frames / f"{step:07d}.safetensors", lambda to: save_file(contiguous_arrays(frame), to))


def save_shared_arrays(folder: RunFolder, photos: NDArray[np.uint8], names: Sequence[str], grid: Grid, classes: Sequence[str],
               **still: NDArray) -> None:  # fmt: skip
    """Write what all frames share."""
    replace_file_atomically(
        folder.frames / "still.safetensors", lambda to: save_file(contiguous_arrays({"photos": photos, **still}), to)
    )
    facts = {"names": list(names), "grid": [grid.rows, grid.cols, grid.patch_px, grid.prefix], "classes": list(classes)}
    write_file_atomically(folder.frames / "still.json", json.dumps(facts))


def film_of_run(run_id: str | Path, title: str = "") -> Film:
    """The film of a run so far. Raises: RunError, when there is no frame yet."""
    folder = find_run(run_id)
    files = sorted(folder.frames.glob("[0-9]*.safetensors"))
    try:
        still = load_file(folder.frames / "still.safetensors")
        facts = json.loads((folder.frames / "still.json").read_text(encoding="utf-8"))
        frames = [load_file(file) for file in files]
    except (OSError, SafetensorError, ValueError) as error:
        raise RunError("the pictures of run {id} can't be read yet: {error}", id=folder.id, error=error) from None
    if not frames:
        raise RunError("run {id} has no pictures yet.", id=folder.id)
    arrays = {name: np.stack([frame[name] for frame in frames]) for name in frames[0]}
    return Film(
        title or folder.id, read_recipe(folder).task, Grid(*facts["grid"]), np.array([int(file.stem) for file in files]), arrays,
        still.pop("photos"), tuple(facts["names"]), tuple(facts["classes"]), still, read_log(folder),
        shared=validates_on_training_photos(folder), class_count=len(facts["classes"]),
    )  # fmt: skip


def save_film(film: Film, file: Path, max_records: int = 600) -> None:
    """Write a film as one .safetensors file and its .json; the log is thinned to about `max_records`."""
    used = sorted({int(i) for i in film.arrays.get("top_class", np.zeros(0)).ravel()})
    arrays = dict(film.arrays)
    if used:
        arrays["top_class"] = np.searchsorted(used, arrays["top_class"]).astype(np.int32)
    facts = {
        "title": film.title, "task": film.task, "names": film.names, "classes": [film.classes[i] for i in used],
        "grid": [film.grid.rows, film.grid.cols, film.grid.patch_px, film.grid.prefix],
        "log": thin_training_log(film.log, max_records), "command": film.command, "data": film.data,
        "shared": film.shared, "class_count": film.class_count, "imagenet": _imagenet_numbers(film, used),
    }  # fmt: skip
    still = {f"still.{name}": value for name, value in {**film.shared_arrays, "photos": film.photos}.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file_atomically(file, lambda to: save_file(contiguous_arrays({"steps": film.steps, **arrays, **still}), to))
    write_file_atomically(file.with_suffix(".json"), json.dumps(facts, ensure_ascii=False))


def _imagenet_numbers(film: Film, used: Sequence[int]) -> list[int]:
    """ImageNet-1k's numbers of these classes of a film; none where its classes are others."""
    from vitcore.models.checkpoint_inspection.saved_settings.class_names_file import imagenet_class_names

    if film.imagenet:
        return [film.imagenet[i] for i in used]
    return [*used] if len(film.classes) == 1000 and film.classes == imagenet_class_names(1000) else []


def thin_training_log(log: list[dict[str, Any]], max_records: int) -> list[dict[str, Any]]:
    """Every n-th record, and those with an evaluation."""
    every = max(1, -(-len(log) // max_records))
    return [r for i, r in enumerate(log) if i % every == 0 or "val_loss" in r or i == len(log) - 1]


def open_film(file: Path) -> Film:
    """A film that `save_film` wrote. Raises: RunError."""
    try:
        arrays, facts = load_file(file), json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, SafetensorError, ValueError) as error:
        raise RunError("the recording {name} can't be read: {error}", name=file.name, error=error) from None
    still = {name.removeprefix("still."): arrays.pop(name) for name in list(arrays) if name.startswith("still.")}
    return Film(
        facts["title"], facts["task"], Grid(*facts["grid"]), arrays.pop("steps"), arrays, still.pop("photos"),
        tuple(facts["names"]), tuple(facts["classes"]), still, facts["log"], facts.get("command", ""),
        facts.get("data", ""), facts.get("shared", False), facts.get("class_count", 0), tuple(facts.get("imagenet", ())),
    )  # fmt: skip

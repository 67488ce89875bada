"""Which photos of a data set a model is judged on: all, or a split of them, the same photos every time."""

from dataclasses import dataclass
from pathlib import Path

from vitcore.errors import check_choice
from vitcore.train import run_folder
from vitcore.train.data.photo_sources import open_photo_source
from vitcore.train.data.photos import Photos, join_photos

SPLITS = ("all", "train", "validation")


@dataclass(frozen=True, eq=False)
class SplitPhotos:
    """The photos of a split; those of the other one, which `few-shot` learns from where validation photos are asked about."""

    split: str
    photos: Photos
    other: Photos | None = None  # None: the split is all of them

    @property
    def outside_split(self) -> int:
        """How many photos the data set has beside them."""
        return 0 if self.other is None else len(self.other)


def open_split(source: str, split: str | None = None, model: str = "") -> SplitPhotos:
    """The photos of a source (`open_photo_source`) that a model is judged on.

    By default these are the validation photos that the source has of its own, else all. Of the source that the run `model` was
    trained on, they are those that this run held out; of a source without validation photos, a split is the one that trainings
    make by default. Raises: DataError; ValueError, for a split that there is not.
    """
    if split is not None:
        check_choice("split", split, SPLITS)
    run = run_trained_on(source, model)
    whole, own = open_photo_source(source, holdout=0)
    if own is whole:  # one set serves as both
        return SplitPhotos(split or "all", whole)
    chosen = split or ("validation" if len(own) or run else "all")
    if chosen == "all":
        return SplitPhotos("all", join_photos(whole, own) if len(own) else whole)
    if run or not len(own):
        seed = run_folder.read_recipe(run).seed if run else 0
        whole, own = open_photo_source(source, seed=seed)
    first, second = (whole, own) if chosen == "train" else (own, whole)
    return SplitPhotos(chosen, first, second)


def run_trained_on(source: str, model: str) -> run_folder.RunFolder | None:
    """The run that `model` names, if it was trained on this source; else None."""
    try:
        run = run_folder.find_run(model)
        learned = run_folder.read_source(run)
    except (OSError, ValueError, KeyError):
        return None
    return run if learned == source or _same_path(learned, source) else None


def _same_path(one: str, two: str) -> bool:
    try:
        paths = [Path(name).expanduser() for name in (one, two)]
        return all(path.exists() for path in paths) and paths[0].samefile(paths[1])
    except (OSError, ValueError):
        return False

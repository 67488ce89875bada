"""Sources: where photographs for training come from: folders, Parquet files, the hub, CIFAR, drawn pictures, our samples."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vitcore.assets import SAMPLES, sample_photo_rows
from vitcore.errors import refusal_reason
from vitcore.images import SUFFIXES
from vitcore.train.data import hub_and_parquet_datasets
from vitcore.train.data.encoded_photos import EncodedPhotos
from vitcore.train.data.photos import DataError, Photos, check_has_classes, data_folder, split_photos
from vitcore.train.data.synthetic_dataset import SOURCE_NAME, open_synthetic_dataset

__all__ = ["CIFAR", "DataError", "Photos", "check_has_classes", "open_photo_source", "open_training_photos"]

CIFAR = {"cifar10": "CIFAR10", "cifar100": "CIFAR100"}  # names in torchvision.datasets
DIGITS_HELD_OUT = 0.2
VALIDATION_FOLDERS = ("val", "validation", "test")  # folder names, in this order of preference


def open_photo_source(source: str, holdout: float = 0.1, seed: int = 0) -> tuple[Photos, Photos]:
    """(train, validation) photographs from `source`.

    `samples`: the photos of this project; `digits`: scikit-learn's 1,797 handwritten digits of 8×8 pixels (a fifth of each
    class is held out); `drawn`, or `drawn:classes=10,px=32,difficulty=0.5,photos=10000,validation=1000` with any of these
    options: pictures made by code, whose classes are arrangements of parts (`synthetic_dataset.SyntheticDataset`), a seed its own;
    `cifar10`, `cifar100`: downloaded once; a folder of class folders, with `train/` and `val/` (or `validation/`, `test/`)
    around them if you like; a folder of photos, unlabelled; a .parquet file, a folder of them, or several with commas
    between; `hf:owner/name`: a data set of the Hugging Face hub.
    Where there is no validation set, the share `holdout` of each class is held out: the same photos every time,
    whatever their order; another `seed`, another choice.

    Raises: DataError, with a sentence that says what is wrong.
    """
    if not 0 <= holdout < 1:
        raise DataError("the held-out share is 0 or more and below 1, not {holdout!r}.", holdout=holdout)
    if source == "samples":
        return _samples()
    if source == "digits":
        return _digits(seed)
    if source.partition(":")[0] == SOURCE_NAME:
        return open_synthetic_dataset(source, seed)
    if source in CIFAR:
        return _cifar(source)
    if source.startswith("hf:"):
        return hub_and_parquet_datasets.open_hub_dataset(source, holdout, seed)
    tables = _tables(source)
    if tables:
        return hub_and_parquet_datasets.open_parquet_files(source, tables, holdout, seed)
    return _folder(_existing(source), holdout, seed)


def open_training_photos(source: str, validation: str = "", seed: int = 0) -> tuple[Photos, Photos]:
    """(train, validation) photographs of a training, the second from a source of their own if one is named.

    Nothing of `source` is then held out; validation photos that it has of its own stay aside. Of `validation` they are those
    that it has of its own, else all, numbered by the training's classes.
    Raises: DataError, also for a class that the training photos lack, and for photos that are trained on.
    """
    if not validation:
        return open_photo_source(source, seed=seed)
    train = open_photo_source(source, holdout=0, seed=seed)[0]
    whole, own = open_photo_source(validation, holdout=0, seed=seed)
    judged = own if len(own) else whole
    if (source == validation and judged is whole) or _overlap(train, judged):
        raise DataError("{name} holds photos that are trained on: name other photos to validate on.", name=validation)
    return train, _numbered_by(train.classes, judged)


def _overlap(train: Photos, judged: Photos) -> bool:
    """Whether one of two folders lies in the other, or a row of a Parquet file is in both."""
    if isinstance(train.items, EncodedPhotos) and isinstance(judged.items, EncodedPhotos):
        return train.items.shares_photos(judged.items)
    if train.root is None or judged.root is None:
        return False
    one, two = train.root.resolve(), judged.root.resolve()
    return one.is_relative_to(two) or two.is_relative_to(one)


def _numbered_by(classes: tuple[str, ...], photos: Photos) -> Photos:
    """The photos with labels that number `classes`; as they are where there are none."""
    if not classes:
        return photos
    at = {name: i for i, name in enumerate(classes)}
    present = np.unique(photos.labels[photos.labels >= 0])
    if unknown := [photos.classes[i] for i in present if photos.classes[i] not in at]:
        raise DataError("{root} has a class that the training photos lack: {name}.", root=photos.name, name=unknown[0])
    renumbered = np.array([*(at.get(name, -1) for name in photos.classes), -1])  # label -1 stays so
    return replace(photos, labels=renumbered[photos.labels], classes=classes)


def _samples() -> tuple[Photos, Photos]:
    """Each photo is a class of its own, told apart by its crops: exemplar classes (arXiv 1406.6909)."""
    try:
        credits = sample_photo_rows()
    except (OSError, ValueError):
        raise DataError("the sample photos are not in {samples}: run from a checkout of the project.", samples=SAMPLES) from None
    files = [SAMPLES / f"{row['id']}.jpg" for row in credits]
    photos = Photos("samples", files, np.arange(len(files)), tuple(row["title"] for row in credits), SAMPLES)
    return photos, photos


def _digits(seed: int) -> tuple[Photos, Photos]:
    """scikit-learn's digits: real handwriting of many people (UCI, CC BY 4.0) that comes with a package we need anyway."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    pixels = np.round(digits.images * (255 / 16)).astype(np.uint8)  # (1797, 8, 8)
    photos = Photos("digits", pixels, digits.target.astype(np.int64), tuple("0123456789"))
    return split_photos(photos, [one.tobytes() for one in pixels], DIGITS_HELD_OUT, seed)


def _cifar(name: str) -> tuple[Photos, Photos]:
    from filelock import FileLock
    from torchvision import datasets

    make: Callable[..., Any] = getattr(datasets, CIFAR[name])
    home = data_folder()
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / f"{name}.lock"):  # of several processes one downloads
            train, test = (make(home, train=part, download=True) for part in (True, False))
    except Exception as error:  # addresses, archives and the disk each raise their own
        facts = {"said": refusal_reason(error, 120), "file": getattr(make, "filename", f"the archive of {name}"), "home": home}
        raise DataError(
            "{name} could not be downloaded ({said}): try again when online, or place {file} in {home}.", name=name, **facts
        ) from None
    return tuple(  # type: ignore[return-value]
        Photos(name, part.data, np.array(part.targets, np.int64), tuple(part.classes)) for part in (train, test)
    )


def _tables(where: str) -> dict[str, Path]:
    """The Parquet files that are meant, by the name their split is read from; none, if it is not about Parquet."""
    parts = [where] if _path(where).exists() else where.split(",")
    if len(parts) == 1 and not (_path(where).is_dir() or where.endswith(".parquet")):
        return {}
    files: dict[str, Path] = {}
    for n, path in enumerate(_existing(part.strip()) for part in parts):
        inside = [path] if path.is_file() else [*path.glob("*.parquet"), *path.glob("*/*.parquet")]
        home = path.parent if path.is_file() else path
        files |= {f"{n}/{file.relative_to(home).as_posix()}": file for file in sorted(inside)}
    return files


def _path(where: str) -> Path:
    """The path `where`; one that no file can have is nowhere."""
    path = Path(where).expanduser()
    try:
        path.exists()
    except (OSError, ValueError):
        return Path("\0")
    return path


def _existing(where: str) -> Path:
    path = _path(where)
    if not where.strip() or not path.exists():
        raise DataError("{path!r} does not exist: a folder of photos or a .parquet file was expected.", path=where.strip()[:200])
    return path


def _folder(root: Path, holdout: float, seed: int) -> tuple[Photos, Photos]:
    if not root.is_dir():
        raise DataError("{path} is a file: a folder of photos or a .parquet file was expected.", path=root)
    splits = {folder.name.lower(): folder for folder in sorted(root.iterdir()) if folder.is_dir()}
    if "train" not in splits or not (len(splits) == 1 or any(name in splits for name in VALIDATION_FOLDERS)):
        return _held_out(root, holdout, seed)
    train = _scan(splits["train"])
    for name in (name for name in VALIDATION_FOLDERS if name in splits):
        validation = _scan(splits[name], train.classes)
        if len(validation) and (not train.classes or (validation.labels >= 0).all()):
            return train, validation
    return _held_out(splits["train"], holdout, seed)


def _held_out(root: Path, holdout: float, seed: int) -> tuple[Photos, Photos]:
    photos = _scan(root)
    return split_photos(photos, [file.relative_to(root).as_posix().encode() for file in photos.items], holdout, seed)


def _scan(root: Path, known: tuple[str, ...] = ()) -> Photos:
    """The photos below a folder; the first folder on the way to a photo is its class. `known`: classes to number by."""
    import timm  # noqa: F401
    from timm.data.readers.reader_image_folder import find_images_and_targets

    try:
        listed = [Path(file) for file, _ in find_images_and_targets(str(root), types=SUFFIXES)[0]]
    except OSError as error:
        raise DataError("{root} can't be read: {reason}.", root=root, reason=error.strerror) from None
    ways = {file: file.relative_to(root).parts for file in listed}
    files = [
        file for file, way in ways.items() if not any(part.startswith(".") or part == "__MACOSX" for part in way)
    ]  # macOS' are none
    if not files and not known:
        raise DataError("{root} is empty: no photos ({kinds}) are in it.", root=root, kinds=", ".join(SUFFIXES))
    if len({len(ways[file]) > 1 for file in files}) == 2:
        raise DataError("{root} holds photos beside folders of photos: move them into a class folder, or out.", root=root)
    named = [ways[file][0] if len(ways[file]) > 1 else "" for file in files]
    classes = known or tuple(sorted(set(named) - {""}))
    if unknown := sorted(set(named) - {"", *classes}):
        raise DataError("{root} has a class that the training photos lack: {name}.", root=root, name=unknown[0])
    at = {name: i for i, name in enumerate(classes)} | {"": -1}
    return Photos(root.name or str(root), files, np.array([at[name] for name in named], np.int64), classes, root)

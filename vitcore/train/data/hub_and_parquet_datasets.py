"""Parquet: photographs as rows of encoded bytes, in files here or in a data set of the Hugging Face hub."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vitcore.errors import first_error_line, raise_own_mistake
from vitcore.train.data.encoded_photos import open_encoded_photos
from vitcore.train.data.photos import DataError, Photos, data_folder, split_photos

SPLIT_NAMES = {"train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "dev": "val",
          "test": "test", "testing": "test"}  # fmt: skip
CONVERTED_REVISION = "refs/convert/parquet"  # where the hub keeps Parquet of data sets that are something else


def _split_from_name(name: str) -> str:
    """`train`, `val` or `test`, as a file's name and folders say; train if they say nothing."""
    words = re.split(r"[^a-z]+", name.lower())
    return next((SPLIT_NAMES[word] for word in reversed(words) if word in SPLIT_NAMES), "train")


def open_parquet_files(name: str, files: dict[str, Path], holdout: float, seed: int) -> tuple[Photos, Photos]:
    """(train, validation) from Parquet files; the keys are the names their splits are read from.

    Columns: `image` (bytes, or a struct with bytes and path), `label` (int or str; may be missing) and, if there,
    `split`. The photos stay as they are encoded, in memory or mapped (`encoded`).
    Raises: DataError.
    """
    read = [(file, *_read(file, _split_from_name(key))) for key, file in sorted(files.items())]
    with _readable(name):
        photos = open_encoded_photos([(file, image) for file, image, *_ in read], data_folder() / "arrow")
    splits = np.array([SPLIT_NAMES.get(str(split).lower(), "") for *_, part, _ in read for split in part])
    rows_of = {str(split): np.flatnonzero(splits == split) for split in dict.fromkeys(splits.tolist()) if split}
    if not rows_of:
        raise DataError("{name} holds no photos.", name=name)
    if "train" not in rows_of:  # one split alone is the set
        rows_of = {"train": np.concatenate(list(rows_of.values()))}
    given = [label for *_, part, _, _ in read for label in part]
    labels = [label if split else None for label, split in zip(given, splits, strict=True)]
    classes, numbers = _number_labels(name, labels, next((names for *_, names in read if names), ()))
    sets = {split: Photos(name, photos.select(which), numbers[which], classes) for split, which in rows_of.items()}
    train = sets["train"]
    for split in ("val", "test"):
        if split in sets and (not train.classes or (sets[split].labels >= 0).all()):
            return train, sets[split]
    return split_photos(train, photos.select(rows_of["train"]).keys(), holdout, seed)


@contextmanager
def _readable(file: object) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            "{file} is not a Parquet file that can be read ({reason}).", file=file, reason=first_error_line(error, 100)
        ) from None


def _read(file: Path, split: str) -> tuple[str, list[Any], list[Any], tuple[str, ...]]:
    """The column of images, and of each row label and split; the class names that Hugging Face metadata gives."""
    with _readable(file):
        schema = pq.read_schema(file)
        features = _features(schema)
        image = _column(schema, features, "Image", ("image", "img"))
        if image is None:
            raise DataError("{file} has no column `image`; it has {columns}.", file=file, columns=", ".join(schema.names) or "none")
        label = _column(schema, features, "ClassLabel", ("label", "labels", "fine_label"))
        table = pq.read_table(file, columns=[column for column in (label, "split") if column in schema.names])
        count = pq.read_metadata(file).num_rows
    labels = _labels(table[label], file) if label else [None] * count
    splits = table["split"].to_pylist() if "split" in schema.names else [split] * count
    names = features.get(label or "", {}).get("names") or ()
    return image, labels, splits, tuple(map(str, names))


def _features(schema: pa.Schema) -> dict[str, dict]:
    """What `datasets` wrote of each column's type."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        return {name: kind for name, kind in features.items() if isinstance(kind, dict)}
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}


def _column(schema: pa.Schema, features: dict[str, dict], kind: str, usual: Sequence[str]) -> str | None:
    """The column with a usual name, else the first of that Hugging Face type."""
    typed = [name for name, about in features.items() if about.get("_type") == kind]
    return next((name for name in [*usual, *typed] if name in schema.names), None)


def _labels(column: pa.ChunkedArray, file: Path) -> list[Any]:
    """Whole numbers, strings or None."""
    values = column.to_pylist()
    if all(isinstance(v, int | str | None) for v in values):
        return values
    raise DataError("the labels of {file} are {type}; whole numbers or strings were expected.", file=file, type=column.type)


def _number_labels(name: str, labels: Sequence[Any], named: tuple[str, ...]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Class names and each label as a position in them, -1 for none.

    Without names given the labels themselves name the classes: numbers in their order, strings in theirs. Raises: DataError.
    """
    present = {y for y in labels if y is not None and y != -1}
    in_order = sorted(present, key=None if all(isinstance(y, int) for y in present) else str)
    classes = named or tuple(dict.fromkeys(map(str, in_order)))
    at: dict[Any, int] = {label: i for i, label in enumerate(classes)}
    at |= {i: i for i in range(len(named))} if named else {y: at[str(y)] for y in present}
    if wrong := [y for y in labels if y in present and y not in at]:
        facts = {"name": name, "wrong": wrong[0], "count": len(classes)}
        raise DataError("{name} has a label {wrong!r} that is none of its {count} {count:class|classes}.", **facts)
    return classes, np.array([at.get(y, -1) for y in labels], np.int64)


def open_hub_dataset(where: str, holdout: float, seed: int) -> tuple[Photos, Photos]:
    """(train, validation) of `hf:owner/name` or `hf:owner/name/config`, downloaded once. Raises: DataError."""
    owner, _, rest = where.removeprefix("hf:").partition("/")
    name, _, config = rest.partition("/")
    if not re.fullmatch(r"[\w.-]+", owner) or not re.fullmatch(r"[\w.-]+", name):
        raise DataError("{where!r} is not a data set of the hub: they are written hf:owner/name.", where=where)
    files = _download(f"{owner}/{name}", config)
    return open_parquet_files(where, files, holdout, seed)


def _download(repo: str, config: str) -> dict[str, Path]:
    """The Parquet files of a data set by name: of its main branch, else of the hub's own conversion."""
    from huggingface_hub import HfApi, hf_hub_download, snapshot_download
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    for revision in ("main", CONVERTED_REVISION):
        options: dict[str, Any] = {"repo_id": repo, "repo_type": "dataset", "revision": revision}
        try:
            try:
                listed = HfApi().list_repo_files(**options)
            except (RepositoryNotFoundError, RevisionNotFoundError):
                raise
            except Exception as error:  # not reached: what was downloaded before will do
                raise_own_mistake(error)
                folder = Path(snapshot_download(**options, local_files_only=True))
                listed = [file.relative_to(folder).as_posix() for file in folder.rglob("*.parquet")]
            chosen = _of_one_config(repo, [file for file in listed if file.endswith(".parquet")], config)
            if chosen:
                return {file: Path(hf_hub_download(filename=file, **options)) for file in sorted(chosen)}
        except RevisionNotFoundError:
            break
        except RepositoryNotFoundError:
            raise DataError("The hub has no data set {repo}, or it is private.", repo=repo) from None
        except DataError:
            raise
        except Exception as error:  # the hub's client, its transports and the disk each raise their own
            raise_own_mistake(error)
            raise DataError(
                "hf:{repo} could not be downloaded: the hub can't be reached. Try again when online, or give the Parquet "
                "files themselves.",
                repo=repo,
            ) from None
    if config:
        raise DataError("hf:{repo} has no Parquet files of {config!r}.", repo=repo, config=config)
    raise DataError("hf:{repo} has no Parquet files.", repo=repo)


def _of_one_config(repo: str, files: list[str], config: str) -> list[str]:
    """The files of one configuration: the one asked for, or the only one, or the one called default or data."""
    groups = defaultdict[str, list[str]](list)
    for file in files:
        first, slash, _ = file.partition("/")
        groups[first if slash and first.lower() not in SPLIT_NAMES else ""].append(file)
    if config or len(groups) < 2:
        return groups[config] if config else files
    usual = next((groups[name] for name in ("default", "data") if name in groups), None)
    if usual is None:
        raise DataError(
            "hf:{repo} has several configurations; choose one: hf:{repo}/{choices}.", repo=repo, choices="|".join(sorted(groups))
        )
    return usual

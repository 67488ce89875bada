"""Parquet: photographs as rows of encoded bytes, in files here or in a data set of the Hugging Face hub."""

import io
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from PIL import Image

from vitcore.train.data.photos import DataError, Photos, parted
from vitcore.translation import say

SPLITS = {"train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "dev": "val",
          "test": "test", "testing": "test"}  # fmt: skip
CONVERTED = "refs/convert/parquet"  # where the hub keeps Parquet of data sets that are something else
Row = tuple[bytes, Any, bytes]  # encoded photo, label, what its hash is taken of
Table = dict[str, list[Row]]  # rows of each split


def rows(files: Sequence[Path], split: str = "train") -> list[tuple[bytes, str]]:
    """(encoded photo, label) of every row of the split; files without a `split` column count whole."""
    found: list[tuple[bytes, str]] = []
    for file in files:
        table = pq.read_table(file).to_pydict()
        splits = table.get("split", [split] * len(table["image"]))
        found += [(i, str(y)) for i, y, s in zip(table["image"], table["label"], splits, strict=True) if s == split]
    return found


def decode(photos: Iterable[bytes]) -> Iterable[Image.Image]:
    """RGB images of encoded photos."""
    return (Image.open(io.BytesIO(photo)).convert("RGB") for photo in photos)


def split_of(name: str) -> str:
    """`train`, `val` or `test`, as a file's name and folders say; train if they say nothing."""
    words = re.split(r"[^a-z]+", name.lower())
    return next((SPLITS[word] for word in reversed(words) if word in SPLITS), "train")


def from_files(name: str, files: dict[str, Path], holdout: float, seed: int) -> tuple[Photos, Photos]:
    """(train, validation) from Parquet files; the keys are the names their splits are read from.

    Columns: `image` (bytes, or a struct with bytes and path), `label` (int or str; may be missing) and, if there,
    `split`. The photos are held in memory as they are encoded.
    Raises: DataError.
    """
    _require_memory(name, list(files.values()))
    table: defaultdict[str, list[Row]] = defaultdict(list)
    names: tuple[str, ...] = ()
    for key, file in sorted(files.items()):
        found, classes = _read(file, split_of(key))
        names = names or classes
        for split, part in found.items():
            table[split] += part
    if not any(table.values()):
        raise DataError(say("{name} holds no photos.", name=name))
    if not table["train"]:  # one split alone is the set
        table = defaultdict(list, train=[row for part in table.values() for row in part])
    classes = names or _classes(table)
    sets = {split: _photos(name, part, classes, bool(names)) for split, part in table.items()}
    train = sets["train"]
    for split in ("val", "test"):
        if split in sets and len(sets[split]) and (not train.classes or (sets[split].labels >= 0).all()):
            return train, sets[split]
    return parted(train, [key for *_, key in table["train"]], holdout, seed)


def _require_memory(name: str, files: list[Path]) -> None:
    try:
        need = sum(file.stat().st_size for file in files)
        have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, AttributeError, ValueError):  # no such count on this system
        return
    if need > 0.7 * have:
        raise DataError(
            say(
                "{name} is {size_gb:.0f} GB, too much to hold in memory: unpack it as folders of photos.",
                name=name,
                size_gb=need / 1e9,
            )
        )


def _read(file: Path, split: str) -> tuple[Table, tuple[str, ...]]:
    """The rows of a file by split, and the class names its Hugging Face metadata gives."""
    try:
        schema = pq.read_schema(file)
        features = _features(schema)
        image = _column(schema, features, "Image", ("image", "img"))
        if image is None:
            raise DataError(
                say(
                    "{file} has no column `image`; it has {columns}.",
                    file=file,
                    columns=", ".join(schema.names) or "none",
                )
            )
        label = _column(schema, features, "ClassLabel", ("label", "labels", "fine_label"))
        wanted = [column for column in (image, label, "split") if column in schema.names]
        table = pq.read_table(file, columns=wanted)
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            say(
                "{file} is not a Parquet file that can be read ({reason}).",
                file=file,
                reason=str(error).splitlines()[0][:100],
            )
        ) from None
    photos, keys = _encoded(table[image].combine_chunks(), file)
    labels = _labels(table[label], file) if label else [None] * len(photos)
    splits = table["split"].to_pylist() if "split" in wanted else [split] * len(photos)
    found: Table = {}
    for photo, y, key, s in zip(photos, labels, keys, splits, strict=True):
        if str(s).lower() in SPLITS:
            found.setdefault(SPLITS[str(s).lower()], []).append((photo, y, key or photo))
    names = features.get(label or "", {}).get("names") or ()
    return found, tuple(map(str, names))


def _features(schema: pa.Schema) -> dict[str, dict]:
    """What `datasets` wrote of each column's type."""
    try:
        found = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        return {name: kind for name, kind in found.items() if isinstance(kind, dict)}
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}


def _column(schema: pa.Schema, features: dict[str, dict], kind: str, usual: Sequence[str]) -> str | None:
    """The column with a usual name, else the first of that Hugging Face type."""
    typed = [name for name, about in features.items() if about.get("_type") == kind]
    return next((name for name in [*usual, *typed] if name in schema.names), None)


def _encoded(column: pa.Array, file: Path) -> tuple[list[bytes], list[bytes]]:
    """Encoded photos, and their paths where the column has them; empty where there is nothing."""
    paths: list[Any] = [None] * len(column)
    if isinstance(column, pa.ChunkedArray):  # too large for one chunk
        parts = [_encoded(chunk, file) for chunk in column.chunks]
        return [p for photos, _ in parts for p in photos], [k for _, keys in parts for k in keys]
    if pa.types.is_struct(column.type) and column.type.get_field_index("bytes") >= 0:
        if column.type.get_field_index("path") >= 0:
            paths = pc.struct_field(column, "path").to_pylist()
        column = pc.struct_field(column, "bytes")
    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        raise DataError(
            say("the images of {file} are {type}, not the bytes of picture files.", file=file, type=column.type)
        )
    return [photo or b"" for photo in column.to_pylist()], [str(path or "").encode() for path in paths]


def _labels(column: pa.ChunkedArray, file: Path) -> list[Any]:
    """Whole numbers, strings or None."""
    values = column.to_pylist()
    if all(isinstance(v, int | str | None) for v in values):
        return values
    raise DataError(
        say("the labels of {file} are {type}; whole numbers or strings were expected.", file=file, type=column.type)
    )


def _classes(table: Table) -> tuple[str, ...]:
    """Class names from the labels themselves: numbers in their order, strings in theirs."""
    found = {y for part in table.values() for _, y, _ in part if y is not None and y != -1}
    whole = all(isinstance(y, int) for y in found)
    return tuple(map(str, sorted(found) if whole else sorted(map(str, found))))


def _photos(name: str, part: list[Row], classes: tuple[str, ...], numbered: bool) -> Photos:
    """Rows as Photos; `numbered`: labels are positions in `classes` already."""
    at: dict[Any, int] = {name: i for i, name in enumerate(classes)}
    if numbered:
        at |= {i: i for i in range(len(classes))}
    labels = [-1 if y in (None, -1) else at.get(y if numbered else str(y), -2) for _, y, _ in part]
    if -2 in labels:
        wrong = part[labels.index(-2)][1]
        raise DataError(
            say(
                "{name} has a label {wrong!r} that is none of its {count} {count:class|classes}.",
                name=name,
                wrong=wrong,
                count=len(classes),
            )
        )
    return Photos(name, [photo for photo, *_ in part], np.array(labels, np.int64), classes)


def from_hub(where: str, holdout: float, seed: int) -> tuple[Photos, Photos]:
    """(train, validation) of `hf:owner/name` or `hf:owner/name/config`, downloaded once. Raises: DataError."""
    owner, _, rest = where.removeprefix("hf:").partition("/")
    name, _, config = rest.partition("/")
    if not re.fullmatch(r"[\w.-]+", owner) or not re.fullmatch(r"[\w.-]+", name):
        raise DataError(say("{where!r} is not a data set of the hub: they are written hf:owner/name.", where=where))
    files = _download(f"{owner}/{name}", config)
    return from_files(where, files, holdout, seed)


def _download(repo: str, config: str) -> dict[str, Path]:
    """The Parquet files of a data set by name: of its main branch, else of the hub's own conversion."""
    from huggingface_hub import HfApi, hf_hub_download, snapshot_download
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    for revision in ("main", CONVERTED):
        options: dict[str, Any] = {"repo_id": repo, "repo_type": "dataset", "revision": revision}
        try:
            try:
                listed = HfApi().list_repo_files(**options)
            except (RepositoryNotFoundError, RevisionNotFoundError):
                raise
            except Exception:  # not reached: what was downloaded before will do
                folder = Path(snapshot_download(**options, local_files_only=True))
                listed = [file.relative_to(folder).as_posix() for file in folder.rglob("*.parquet")]
            chosen = _of_one_config(repo, [file for file in listed if file.endswith(".parquet")], config)
            if chosen:
                return {file: Path(hf_hub_download(filename=file, **options)) for file in sorted(chosen)}
        except RevisionNotFoundError:
            break
        except RepositoryNotFoundError:
            raise DataError(say("The hub has no data set {repo}, or it is private.", repo=repo)) from None
        except DataError:
            raise
        except Exception:  # the hub's client, its transports and the disk each raise their own
            raise DataError(
                say(
                    "hf:{repo} could not be downloaded: the hub can't be reached. Try again when online, or give the Parquet "
                    "files themselves.",
                    repo=repo,
                )
            ) from None
    if config:
        raise DataError(say("hf:{repo} has no Parquet files of {config!r}.", repo=repo, config=config))
    raise DataError(say("hf:{repo} has no Parquet files.", repo=repo))


def _of_one_config(repo: str, files: list[str], config: str) -> list[str]:
    """The files of one configuration: the one asked for, or the only one, or the one called default or data."""
    groups = defaultdict[str, list[str]](list)
    for file in files:
        first, slash, _ = file.partition("/")
        groups[first if slash and first.lower() not in SPLITS else ""].append(file)
    if config or len(groups) < 2:
        return groups[config] if config else files
    usual = next((groups[name] for name in ("default", "data") if name in groups), None)
    if usual is None:
        raise DataError(
            say(
                "hf:{repo} has several configurations; choose one: hf:{repo}/{choices}.",
                repo=repo,
                choices="|".join(sorted(groups)),
            )
        )
    return usual

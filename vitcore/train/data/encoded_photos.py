"""Encoded photos in Arrow's memory: as Parquet files hold them, or, where those are large, in a file that is mapped.

A Parquet file is compressed by columns and can't be asked for one row. So what is too large to hold is written once, a few
hundred rows at a time, as an Arrow file (arrow.apache.org/docs/python/ipc.html), from which the system reads the pages that
are asked for and drops them when memory is short: any order costs the same.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vitcore.train.data.photos import DataError
from vitcore.train.processor_and_memory import machine_memory_bytes

MAX_MEMORY_SHARE = 0.25  # of the machine's memory, at most; what is larger is mapped
ROWS_PER_WRITE = 256  # written at a time
SCHEMA = pa.schema([("photo", pa.large_binary()), ("path", pa.large_string())])


class EncodedPhotos(Sequence[bytes]):
    """Rows `which` of a table with the columns `photo` and `path`; of `files` that are mapped, or of one in memory.

    Another process opens the files again rather than being sent what is in them. `parquet`: the files that the table's rows are
    from, with as many rows of each, in order; another process does without.
    """

    def __init__(
        self, table: pa.Table, which: NDArray[np.int64], files: tuple[Path, ...] = (), parquet: tuple[tuple[Path, int], ...] = ()
    ) -> None:
        self._table, self._which, self._files, self._parquet = table, which, files, parquet

    def __len__(self) -> int:
        return len(self._which)

    def __getitem__(self, i: Any) -> Any:
        return self._table["photo"][int(self._which[i])].as_py() or b""

    def select(self, indices: NDArray[np.int64]) -> "EncodedPhotos":
        """The photos at `indices`, in that order; none is read."""
        return EncodedPhotos(self._table, self._which[indices], self._files, self._parquet)

    def shares_photos(self, other: "EncodedPhotos") -> bool:
        """Whether a row of a Parquet file is in both."""
        rows, theirs = self._rows_by_file(), other._rows_by_file()
        return any(np.intersect1d(rows[file], theirs[file]).size for file in rows.keys() & theirs.keys())

    def _rows_by_file(self) -> dict[Path, NDArray[np.int64]]:
        found, start = {}, 0
        for file, count in self._parquet:
            found[file] = self._which[(self._which >= start) & (self._which < start + count)] - start
            start += count
        return found

    def keys(self) -> Iterator[bytes]:
        """What each photo is known by: its path, else its bytes."""
        paths = self._table["path"]
        for i, row in enumerate(self._which):
            yield (paths[int(row)].as_py() or "").encode() or self[i]

    def __reduce__(self) -> tuple[Any, ...]:
        return (_again, (self._files, self._which)) if self._files else (EncodedPhotos, (self._table, self._which))


def open_encoded_photos(files: Sequence[tuple[Path, str]], home: Path) -> EncodedPhotos:
    """All photos of Parquet files, each with the name of its column of images, in order.

    They are mapped if together they are larger than `MAX_MEMORY_SHARE`; the Arrow files are kept in `home`, one a Parquet file.
    Raises: DataError, if the column holds no bytes, or there is no room on the disk.
    """
    mapped: tuple[Path, ...] = ()
    if sum(file.stat().st_size for file, _ in files) > MAX_MEMORY_SHARE * machine_memory_bytes():
        mapped = tuple(_mapped(file, column, home) for file, column in files)
        tables = _map_tables(mapped)
    else:
        tables = [_plain(pq.read_table(file, columns=[column]), column, file) for file, column in files]
    parquet = tuple((file.resolve(), len(table)) for (file, _), table in zip(files, tables, strict=True))
    return EncodedPhotos(pa.concat_tables(tables), np.arange(sum(map(len, tables))), mapped, parquet)


def _map_tables(files: tuple[Path, ...]) -> list[pa.Table]:
    return [pa.ipc.open_file(pa.memory_map(str(file))).read_all() for file in files]


def _again(files: tuple[Path, ...], which: NDArray[np.int64]) -> EncodedPhotos:
    return EncodedPhotos(pa.concat_tables(_map_tables(files)), which, files)


def _mapped(file: Path, column: str, home: Path) -> Path:
    """The Arrow file of a Parquet file, written if it isn't there or the Parquet file has changed since."""
    from filelock import FileLock

    about = file.stat()
    state = f"{about.st_size} {about.st_mtime_ns} {column}".encode()
    made = home / f"{hashlib.blake2b(str(file.resolve()).encode(), digest_size=8).hexdigest()}.arrow"
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(made.with_suffix(".lock")):  # of several processes one writes
            if not _is_current(made, state):
                _write(file, column, made, state)
    except OSError as error:
        if error.errno is None:  # the Parquet file is damaged
            raise
        reason = error.strerror or str(error)
        raise DataError(
            "{file} is read from a copy that could not be written in {home} ({reason}).", file=file, home=home, reason=reason
        ) from None
    return made


def _is_current(made: Path, state: bytes) -> bool:
    try:
        with pa.memory_map(str(made)) as opened:
            return bool((pa.ipc.open_file(opened).schema.metadata or {}).get(b"state") == state)
    except (OSError, pa.ArrowException):
        return False


def _write(file: Path, column: str, made: Path, state: bytes) -> None:
    new = made.with_suffix(".new")
    try:
        with pq.ParquetFile(file, memory_map=True, pre_buffer=False) as source:
            with pa.ipc.new_file(str(new), SCHEMA.with_metadata({b"state": state})) as sink:
                for batch in source.iter_batches(ROWS_PER_WRITE, columns=[column]):
                    sink.write_table(_plain(pa.table(batch), column, file))
        new.replace(made)
    finally:
        new.unlink(missing_ok=True)


def _plain(table: pa.Table, column: str, file: Path) -> pa.Table:
    """A column of bytes, or of structs with bytes and path, as the two columns. Raises: DataError."""
    given, path = table[column], None
    if pa.types.is_struct(given.type) and given.type.get_field_index("bytes") >= 0:
        if given.type.get_field_index("path") >= 0:
            path = pc.struct_field(given, "path")
        given = pc.struct_field(given, "bytes")
    if not (pa.types.is_binary(given.type) or pa.types.is_large_binary(given.type)):
        raise DataError("the images of {file} are {type}, not the bytes of picture files.", file=file, type=given.type)
    path = pa.nulls(len(table), pa.large_string()) if path is None else path.cast(pa.large_string())
    return pa.table({"photo": given.cast(pa.large_binary()), "path": path}, schema=SCHEMA)

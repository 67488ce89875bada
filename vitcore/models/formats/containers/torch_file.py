"""Files of torch.save, in its archive since torch 1.6 and in the pickles before it, and TorchScript: values as they are asked for.

An archive is a ZIP: `data.pkl` says which tensors there are, an entry each holds the values of a storage. What came before are
five pickles in a row and then the storages. TorchScript's archive holds a program, too, which is left alone.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor

from vitcore.models.formats.containers.file_errors import (
    damaged_file_error,
    needs_code_error,
    no_model_error,
    no_weights_error,
    too_large_tensor_error,
)
from vitcore.models.formats.containers.lazy_tensor import LazyTensor, torch_dtype
from vitcore.models.formats.containers.pickle_objects import ObjectStub, PlainArray, TensorPlace, TensorStorage
from vitcore.models.formats.containers.unpickle import NeedsCodeError, read_pickle
from vitcore.models.model_cards import ModelError
from vitcore.translation import say

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C  # torch.save's, before torch 1.6
MAX_PICKLE_BYTES = 200 * 10**6
MAX_NESTING = 7
CHUNK_BYTES = 2**22
SETTINGS = (str, int, float, list, tuple)  # what is kept of what is no tensor

ReadBytes = Callable[[str, int, int], Tensor]  # of a storage: its key, the first byte and how many


def read_torch_archive(file: Path, entries: list[zipfile.ZipInfo]) -> Mapping[str, Any]:
    """What torch.save or torch.jit.save put into an archive. Raises: ModelError."""
    by_name = {entry.filename: entry for entry in entries}
    roof = next(name.removesuffix("data.pkl") for name in by_name if name.endswith("/data.pkl"))
    entry = by_name[f"{roof}data.pkl"]
    if entry.file_size > MAX_PICKLE_BYTES:
        raise ModelError(
            "{name} has {size:.0f} MB in its pickle, which is read up to {most:.0f} MB: save its weights as tensors of torch.",
            name=file.name, size=entry.file_size / 1e6, most=MAX_PICKLE_BYTES / 1e6,
        )  # fmt: skip
    try:
        order = b"".join(_chunks(file, by_name[f"{roof}byteorder"])) if f"{roof}byteorder" in by_name else b"little"
        pickled = b"".join(_chunks(file, entry))
        held, modules = read_pickle(io.BytesIO(pickled), len(pickled))
    except Exception as error:
        raise _error(file, error) from None
    if order != b"little":
        raise ModelError("{name} was saved on a machine with another order of bytes: save it again as .safetensors.",
                         name=file.name)  # fmt: skip
    is_program = any(name.startswith(f"{roof}code/") for name in by_name)

    def sizes(key: str) -> int:
        return by_name[f"{roof}data/{key}"].file_size

    def read(key: str, start: int, count: int) -> Tensor:
        stored = by_name[f"{roof}data/{key}"]
        return _read_span(_chunks(file, stored), start, count)

    if is_program and isinstance(held, ObjectStub):
        held = dict(_attributes(held))
        if not held:
            raise ModelError("{name} is a frozen TorchScript program, whose weights have lost their names: in Python, save the "
                             "state_dict() of the module that it was made of.", name=file.name)  # fmt: skip
    return _tree(held, modules, file, sizes, read)


def read_legacy_torch_file(file: Path) -> Mapping[str, Any]:
    """What torch.save put into a file from before torch 1.6. Raises: ModelError."""
    size = file.stat().st_size
    try:
        with file.open("rb") as stream:
            magic, modules = read_pickle(stream, size)
            if isinstance(magic, dict) and not modules:  # written by pickle itself: its arrays are in it
                tree = _tree(magic, modules, file, lambda _: 0, lambda *_: torch.empty(0))
                if _holds_tensors(tree):
                    return tree
            if magic != MAGIC_NUMBER:
                raise ModelError("{name} is a pickle that torch.save did not write: in Python, save its weights with torch.save.",
                                 name=file.name)  # fmt: skip
            read_pickle(stream, size)
            system, _ = read_pickle(stream, size)
            if isinstance(system, dict) and system.get("little_endian") is False:
                raise ModelError("{name} was saved on a machine with another order of bytes: save it again as .safetensors.",
                                 name=file.name)  # fmt: skip
            held, modules = read_pickle(stream, size)
            keys, _ = read_pickle(stream, size)
            places = dict(_old_storages(stream, keys, _storages(held), size))
    except ModelError:
        raise
    except Exception as error:
        raise _error(file, error) from None

    def read(key: str, start: int, count: int) -> Tensor:
        at, _ = places[key]
        with file.open("rb") as again:
            again.seek(at + start)
            return _read_span(iter(partial(again.read, CHUNK_BYTES), b""), 0, count)

    return _tree(held, modules, file, lambda key: places[key][1], read)


def _error(file: Path, error: Exception) -> ModelError:
    if isinstance(error, NeedsCodeError):
        return no_model_error(file.name, [str(error)]) or needs_code_error(file, str(error))
    named = isinstance(error, (OSError, zipfile.BadZipFile, zlib.error))
    return damaged_file_error(file, error if named else say("its pickle can't be decoded"))


def _attributes(held: ObjectStub, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, TensorPlace]]:
    """Tensors of a TorchScript module by their names in its state: attributes of attributes."""
    if depth > 40:
        return
    for name, value in held.attributes.items():
        if isinstance(value, TensorPlace):
            yield f"{prefix}{name}", value
        elif isinstance(value, ObjectStub):
            yield from _attributes(value, f"{prefix}{name}.", depth + 1)


def _storages(held: Any) -> dict[str, TensorStorage]:
    found: dict[str, TensorStorage] = {}
    waiting, seen = [held], set[int]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, TensorPlace) and value.storage:
            found[value.storage.key] = value.storage
        elif isinstance(value, dict | list | tuple) and id(value) not in seen:
            seen.add(id(value))
            waiting += value.values() if isinstance(value, dict) else value
            waiting += [value.attributes] if isinstance(value, ObjectStub) else []
    return found


def _old_storages(
    stream: IO[bytes], keys: Any, storages: Mapping[str, TensorStorage], size: int
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Where the values of each storage begin, and how many bytes they have: a count of values is before them."""
    for key in keys:
        (count,) = struct.unpack("<q", stream.read(8))
        storage = storages.get(key)
        width = storage.dtype.itemsize if storage and storage.dtype else 1
        start = stream.tell()
        if not 0 <= count * width <= size - start:
            raise EOFError("a storage is longer than the file")
        yield key, (start, count * width)
        stream.seek(start + count * width)


def _tree(held: Any, modules: list[str], file: Path, sizes: Callable[[str], int], read: ReadBytes) -> Mapping[str, Any]:
    """What was saved, nested as it was, with a `LazyTensor` in the place of each tensor. Raises: ModelError."""
    if isinstance(held, TensorPlace):
        raise ModelError("{name} holds a single tensor, not a model.", name=file.name)
    if isinstance(held, ObjectStub) and not held:
        raise needs_code_error(file, held.name)
    held = _numbered(held)
    if not isinstance(held, dict):
        raise no_weights_error(file.name)
    found: list[LazyTensor] = []
    tree = _with_tensors(held, file, sizes, read, found, set())
    if modules and not found:
        raise needs_code_error(file, modules[-1])
    return tree


def _with_tensors(
    held: Mapping[Any, Any], file: Path, sizes: Callable[[str], int], read: ReadBytes, found: list[LazyTensor], seen: set[int],
    depth: int = 0,
) -> dict[str, Any]:  # fmt: skip
    seen.add(id(held))
    tree: dict[str, Any] = {}
    for key, value in held.items():
        name = str(key) if isinstance(key, str | int) else repr(type(key))
        if isinstance(value, TensorPlace):
            tree[name] = _lazy(name, value, file, sizes, read)
            found.append(tree[name])
        elif isinstance(value, ObjectStub) and value.array is not None:
            tree[name] = _lazy_array(value.array, file)
            found.append(tree[name])
        elif isinstance(value, ObjectStub) and not value:
            tree[name] = _settings(value, seen)
        elif isinstance(inner := _numbered(value), dict) and (inner or not isinstance(value, list | tuple)):
            if depth < MAX_NESTING and id(value) not in seen:
                seen.add(id(value))
                tree[name] = _with_tensors(inner, file, sizes, read, found, seen, depth + 1)
        elif isinstance(value, SETTINGS):
            tree[name] = value
    return tree


def _settings(held: Any, seen: set[int], depth: int = 0) -> Any:
    """The attributes of an object that keeps settings (argparse's, OmegaConf's), of objects in it, too; tensors are left out."""
    if isinstance(held, ObjectStub):
        if held.names is not None:
            return held.names
        if "_val" in held.attributes:  # a node of OmegaConf's
            return _settings(held.attributes["_val"], seen, depth)
        held = held.attributes.get("_content", held.attributes)
    if isinstance(held, dict | list | tuple) and (id(held) in seen or depth > MAX_NESTING):
        return None
    if isinstance(held, dict):
        if "_parameters" in held:  # a module
            return None
        seen.add(id(held))
        return {str(name): _settings(one, seen, depth + 1) for name, one in held.items() if isinstance(name, str | int)}
    if isinstance(held, list | tuple) and any(isinstance(one, ObjectStub) for one in held):
        seen.add(id(held))
        return [_settings(one, seen, depth + 1) for one in held]
    return held if isinstance(held, SETTINGS) else None


def _holds_tensors(tree: Mapping[str, Any]) -> bool:
    return any(isinstance(one, LazyTensor) or (isinstance(one, dict) and _holds_tensors(one)) for one in tree.values())


def _numbered(held: Any) -> Any:
    """Dictionaries and tensors of a list or tuple by their places, and pairs of a name and one (Composer's); else as it is."""
    if not isinstance(held, list | tuple):
        return held
    named = (isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], dict) for one in held)
    return {i: one for (i, one), pair in zip(enumerate(held), named, strict=True) if pair or isinstance(one, dict | TensorPlace)}


def _lazy(name: str, place: TensorPlace, file: Path, sizes: Callable[[str], int], read: ReadBytes) -> LazyTensor:
    """Raises: ModelError, for one that is larger than what the file holds of it."""
    if place.storage is None or place.dtype is None:
        return LazyTensor(place.shape, lambda: torch.empty(0), file, None, place.kind)
    dtype, width = place.dtype, place.dtype.itemsize
    count = 1
    for side in place.shape:
        count *= side
    last = sum((side - 1) * stride for side, stride in zip(place.shape, place.strides, strict=True)) if count else -1
    try:
        held = sizes(place.storage.key)
    except KeyError:
        raise damaged_file_error(file, repr(name[:60])) from None
    if (place.offset + last + 1) * width > held or count * width > 4 * file.stat().st_size:
        raise too_large_tensor_error(file, name)

    def values() -> Tensor:
        raw = read(place.storage.key, place.offset * width, (last + 1) * width)  # type: ignore[union-attr]
        return raw.view(dtype).as_strided(place.shape, place.strides)

    return LazyTensor(place.shape, values, file, dtype)


def _lazy_array(array: PlainArray, file: Path) -> LazyTensor:
    native = array.dtype.newbyteorder("=")

    def values() -> Tensor:
        read = np.frombuffer(array.data, array.dtype).reshape(array.shape, order="F" if array.order == "F" else "C")
        return torch.from_numpy(np.array(read, native, order="C"))

    return LazyTensor(array.shape, values, file, torch_dtype(native))


def _read_span(chunks: Iterator[bytes], start: int, count: int) -> Tensor:
    """Bytes from `start` on, in memory once (uint8). Raises: EOFError."""
    values = torch.empty(count, dtype=torch.uint8)
    into, at = memoryview(values.numpy().data), 0
    for chunk in chunks:
        low, high = max(0, start - at), min(len(chunk), start + count - at)
        if low < high:
            into[at + low - start : at + high - start] = chunk[low:high]
        at += len(chunk)
        if at > start + count:  # else the rest is read, too: its end says whether it is whole
            return values
    if at < start + count:
        raise EOFError("a storage is shorter than it says")
    return values


def _chunks(file: Path, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """The bytes of an entry of an archive, which is not searched again. Raises: BadZipFile, where they are not those saved."""
    with file.open("rb") as stream:
        stream.seek(entry.header_offset)
        header = stream.read(30)
        if header[:4] != b"PK\x03\x04":
            raise zipfile.BadZipFile(f"there is no entry {entry.filename[:60]!r}")
        stream.seek(sum(struct.unpack("<HH", header[26:30])), io.SEEK_CUR)
        left, check, unpack = entry.compress_size, 0, zlib.decompressobj(-15)
        count = 0
        while left:
            packed = stream.read(min(left, CHUNK_BYTES))
            if not packed:
                raise EOFError("the file ends too early")
            left -= len(packed)
            for chunk in [packed] if entry.compress_type == zipfile.ZIP_STORED else _unpacked(unpack, packed):
                count += len(chunk)
                if count > entry.file_size:
                    raise zipfile.BadZipFile(f"{entry.filename[:60]!r} is longer than it says")
                check = zlib.crc32(chunk, check)
                yield chunk
        if entry.CRC not in (0, check) or count != entry.file_size:  # 0: torch was told to save none
            raise zipfile.BadZipFile(f"bad CRC-32 of {entry.filename[:60]!r}")


def _unpacked(unpack: Any, packed: bytes) -> Iterator[bytes]:
    while packed:
        yield unpack.decompress(packed, CHUNK_BYTES)
        packed = unpack.unconsumed_tail

"""One weights file, opened without running anything in it: names and shapes first, values only when they are asked for.

safetensors are read tensor by tensor, pickles of torch.save with `weights_only=True` and mapped into memory, NumPy archives
by their headers. What a file is, its first bytes say, not its name.
"""

import argparse
import json
import pathlib
import pickle
import re
import struct
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor

from vitcore.errors import refusal_reason
from vitcore.models.model_cards import ModelError
from vitcore.translation import say

MAX_HEADER_BYTES = 100 * 10**6  # as safetensors itself has it
MAX_GROWTH = 12  # a zip may unpack to so many times its size: weights hardly compress at all
SPARE_BYTES = 64 * 10**6  # and to so much more, whatever its size
OTHER_FILES = {
    b"\x89HDF": "Keras (HDF5)", b"GGUF": "GGUF", b"\x08\x07\x12": "ONNX", b"\x08\x08\x12": "ONNX", b"\x93NUMPY": "NumPy (.npy)",
    b"\x1f\x8b": "gzip", b"7z\xbc\xaf": "7-Zip", b"Rar!": "RAR", b"\x89PNG": "PNG", b"\xff\xd8\xff": "JPEG", b"%PDF": "PDF",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class LazyTensor:
    """One tensor of a file: its shape is known, its values are read when asked for, each time anew."""

    shape: tuple[int, ...]
    values: Callable[[], Tensor]


def read_weights(file: Path, mapped: bool = True) -> Mapping[str, Any]:
    """What a file holds: `LazyTensor`s by name, for torch's pickles nested as they were saved, beside whatever else there is.

    mapped: torch's pickles stay on the disk until a tensor is copied out of them; else they are read whole, and nothing is copied.
    Raises: ModelError, one sentence: what the file is instead, or what is wrong with it.
    """
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            start = stream.read(16)
    except OSError as error:
        raise ModelError("{name} can't be read: {reason}.", name=file.name, reason=error.strerror) from None
    if not size:
        raise ModelError("{name} is empty.", name=file.name)
    if start.startswith(b"PK\x03\x04"):
        return _zip(file, size, mapped)
    if start[0] == 0x80:  # the pickle of torch.save before torch 1.6
        return _torch(file, mmap=False)
    if start[8:9] == b"{" or file.suffix == ".safetensors":
        return _safetensors(file, start, size)
    other = next((kind for magic, kind in OTHER_FILES.items() if start.startswith(magic)), None)
    if other:
        raise ModelError("{name} is a {kind} file, which can't be opened here: save the weights as .safetensors.",
                         name=file.name, kind=other)  # fmt: skip
    raise ModelError("{name} is no model's file: those end in .safetensors, .pth, .pt, .bin or .npz.", name=file.name)


def damaged_file_error(file: Path, reason: object) -> ModelError:
    """The sentence about a file that can't be decoded, with the first line of the reason."""
    short = (str(reason).splitlines() or [""])[0][:160].rstrip(".")
    return ModelError("{name} is damaged or incomplete: {reason}.", name=file.name, reason=short or type(reason).__name__)


def _safetensors(file: Path, start: bytes, size: int) -> dict[str, LazyTensor]:
    from safetensors import SafetensorError, safe_open

    header = struct.unpack("<Q", start[:8])[0] if len(start) >= 8 else 0
    if header > min(MAX_HEADER_BYTES, size - 8) or header < 2:
        raise damaged_file_error(file, say("its header says that it is {header} bytes long, the file has {size}",
                                header=f"{header:,}", size=f"{size:,}"))  # fmt: skip

    def values(name: str) -> Callable[[], Tensor]:
        def load() -> Tensor:
            with safe_open(file, framework="pt", backend="pread") as again:  # into memory once, nothing mapped
                return again.get_tensor(name)

        return load

    try:
        with safe_open(file, framework="pt") as opened:
            return {n: LazyTensor(tuple(opened.get_slice(n).get_shape()), values(n)) for n in opened.keys()}
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise damaged_file_error(file, error) from None


def _zip(file: Path, size: int, mapped: bool) -> Mapping[str, Any]:
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise damaged_file_error(file, error) from None
    names = [entry.filename for entry in entries]
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > MAX_GROWTH * size + SPARE_BYTES:
        raise ModelError("{name} would grow from {size:.1f} MB to {unpacked:.1f} GB when it is unpacked, which no weights do.",
                         name=file.name, size=size / 1e6, unpacked=unpacked / 1e9)  # fmt: skip
    if twice := _twice(names):
        raise ModelError("{name} holds two entries named {entry}.", name=file.name, entry=repr(twice))
    if any(name.endswith("/data.pkl") for name in names):
        if any("/code/" in name for name in names):
            raise ModelError("{name} is a TorchScript program, and programs are not run here: in Python, save its weights with "
                             "torch.save(torch.jit.load(FILE).state_dict(), NEW_FILE).", name=file.name)  # fmt: skip
        return _torch(file, mmap=mapped and all(entry.compress_type == zipfile.ZIP_STORED for entry in entries))
    if any(name.endswith(".npy") for name in names):
        return _npz(file, entries)
    raise ModelError("{name} is a ZIP archive without weights in it: unpack it, and open the model's file.", name=file.name)


def _twice(names: Iterable[str]) -> str | None:
    met: set[str] = set()
    return next((name for name in names if name in met or met.add(name)), None)  # type: ignore[func-returns-value]


def _torch(file: Path, mmap: bool) -> Mapping[str, Any]:
    """A pickle of torch.save, by torch's own unpickler that knows tensors and plain containers only."""
    known = [argparse.Namespace, np.dtype, pathlib.PosixPath, _numpy_scalar(), *map(type, map(np.dtype, "?bhilqefd"))]
    try:
        with torch.serialization.safe_globals(known), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            held = torch.load(file, map_location="cpu", weights_only=True, mmap=mmap)
    except pickle.UnpicklingError as error:
        needed = re.findall(r"GLOBAL ([\w.]+)", str(error))
        raise _needs_code(file, needed[0]) if needed else damaged_file_error(file, "pickle") from None
    except Exception as error:  # whatever a damaged pickle makes of torch
        raise damaged_file_error(file, refusal_reason(error)) from None
    if isinstance(held, Mapping):
        return _weights(held, file, mmap)
    if isinstance(held, Tensor):
        raise ModelError("{name} holds a single tensor, not a model.", name=file.name)
    raise ModelError("{name} holds no weights by name.", name=file.name)


def _needs_code(file: Path, code: str) -> ModelError:
    return ModelError(
        "{name} can't be opened without running code in it ({code}), which is not done here: where you trust it, save only "
        'its weights with torch.save(model.state_dict(), "weights.pth").',
        name=file.name,
        code=code,
    )


def _numpy_scalar() -> Any:
    return np.float64(0).__reduce__()[0]


def _weights(held: Mapping[Any, Any], file: Path, copied: bool, depth: int = 0) -> dict[str, Any]:
    """The same nesting with Weights in the place of tensors. Raises: ModelError, for one larger than all that the file holds."""
    most = 4 * file.stat().st_size
    weights: dict[str, Any] = {}
    for name, value in held.items():
        if isinstance(value, Tensor) and value.layout == torch.strided:
            if value.numel() * value.element_size() > most:
                raise damaged_file_error(file, say("{tensor} claims more values than there are", tensor=repr(str(name)[:60])))
            weights[str(name)] = LazyTensor(tuple(value.shape), value.detach().clone if copied else value.detach)
        elif isinstance(value, Mapping) and depth < 5:
            weights[str(name)] = _weights(value, file, copied, depth + 1)
        else:
            weights[str(name)] = value
    return weights


def _npz(file: Path, entries: list[zipfile.ZipInfo]) -> dict[str, LazyTensor]:
    def values(name: str) -> Callable[[], Tensor]:
        def load() -> Tensor:
            with np.load(file, allow_pickle=False) as archive:
                return torch.from_numpy(archive[name])

        return load

    weights = {}
    try:
        with zipfile.ZipFile(file) as archive:
            for entry in entries:
                with archive.open(entry) as stream:
                    shape, dtype = _npy_header(stream)
                if dtype.hasobject:
                    raise _needs_code(file, "pickle")
                if int(np.prod(shape, dtype=object)) * dtype.itemsize > entry.file_size:
                    raise ValueError(f"{entry.filename} is shorter than its shape says")
                name = entry.filename.removesuffix(".npy")
                weights[name] = LazyTensor(shape, values(name))
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, NotImplementedError) as error:
        if isinstance(error, ModelError):
            raise
        raise damaged_file_error(file, error) from None
    return weights


def _npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    version = np.lib.format.read_magic(stream)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(stream)
    return shape, dtype


def read_json_object(file: Path) -> dict[str, Any]:
    """A JSON file beside the weights. Raises: ModelError, when it is no JSON object or longer than any such file."""
    try:
        said = json.loads(file.read_text(encoding="utf-8")) if file.stat().st_size < 50 * 10**6 else None
    except (OSError, ValueError, RecursionError) as error:
        raise damaged_file_error(file, error) from None
    if not isinstance(said, dict):
        raise ModelError("{name} is not a JSON object.", name=file.name)
    return said

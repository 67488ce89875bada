"""NumPy's archives, `.npz`, as JAX's users save weights: headers first, values as they are wanted; no objects, which are code."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor

from vitcore.models.formats.containers.file_errors import damaged_file_error, needs_code_error, too_large_tensor_error
from vitcore.models.formats.containers.lazy_tensor import LazyTensor, torch_dtype
from vitcore.models.model_cards import ModelError
from vitcore.translation import say

MAX_TEXT_BYTES = 10**7
BFLOAT16 = "V2"  # NumPy has no such type: JAX's arrays of it come as two bytes without a meaning


def read_npz(file: Path, entries: list[zipfile.ZipInfo]) -> dict[str, Any]:
    """Arrays by their names, a list of texts where an array is of those. Raises: ModelError."""
    weights: dict[str, Any] = {}
    try:
        with zipfile.ZipFile(file) as archive:
            for entry in entries:
                if entry.filename.endswith(".npy"):
                    with archive.open(entry) as stream:
                        shape, dtype = _header(stream)
                    name = entry.filename.removesuffix(".npy")
                    if dtype.kind == "U":
                        weights[name] = _texts(file, entry)
                    else:
                        weights[name] = _lazy(file, entry, name, shape, dtype)
    except ModelError:
        raise
    except Exception as error:  # NumPy and zipfile raise a dozen kinds
        said = isinstance(error, (OSError, zipfile.BadZipFile))
        raise damaged_file_error(file, error if said else say("the header of an array can't be read")) from None
    return weights


def _texts(file: Path, entry: zipfile.ZipInfo) -> list[str]:
    """An array of texts, such as names of classes; none of a large one."""
    if entry.file_size > MAX_TEXT_BYTES:
        return []
    with zipfile.ZipFile(file) as archive, archive.open(entry) as stream:
        return list(map(str, np.lib.format.read_array(stream, allow_pickle=False).ravel()))


def _lazy(file: Path, entry: zipfile.ZipInfo, name: str, shape: tuple[int, ...], dtype: np.dtype) -> LazyTensor:
    if dtype.hasobject:
        raise needs_code_error(file, "pickle")
    if not all(type(side) is int and side >= 0 for side in shape):
        raise damaged_file_error(file, repr(name[:60]))
    if int(np.prod(shape, dtype=object)) * dtype.itemsize > entry.file_size:
        raise too_large_tensor_error(file, name)
    bfloat16 = dtype.str[1:] == BFLOAT16 and dtype.fields is None
    native = np.dtype(np.uint16) if bfloat16 else dtype.newbyteorder("=")
    known = torch.bfloat16 if bfloat16 else torch_dtype(native)
    return LazyTensor(shape, _values(file, entry.filename, native, bfloat16), file, known)


def _values(file: Path, name: str, native: np.dtype, bfloat16: bool) -> Callable[[], Tensor]:
    def read() -> Tensor:
        with zipfile.ZipFile(file) as archive, archive.open(name) as stream:
            array = np.lib.format.read_array(stream, allow_pickle=False)
        values = torch.from_numpy(array.view(native) if bfloat16 else array.astype(native, copy=False))
        return values.view(torch.bfloat16) if bfloat16 else values

    return read


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    return shape, dtype

"""What stands for the objects of a pickle that is read and not run: names, stubs, tensors and arrays by where their values lie."""

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch


@dataclass(frozen=True)
class GlobalName:
    """A name that a pickle refers to, `module.name`, which is not imported."""

    name: str


class ObjectStub(dict[Any, Any]):
    """What stands for an object of a class that is not imported: its items, and its attributes apart."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name, self.attributes = name, dict[Any, Any]()
        self.array: PlainArray | None = None  # of NumPy's arrays
        self.names: list[str] | None = None  # of NumPy's arrays of text
        self.dtype_name, self.byte_order = "", "="  # of NumPy's types


@dataclass(frozen=True)
class TensorStorage:
    """Where values of tensors lie in a file: the name of the entry, and of what type they are."""

    key: str
    dtype: torch.dtype | None
    count: int


@dataclass(frozen=True)
class TensorPlace:
    """A tensor as a pickle describes it: a storage, and which of its values in which shape."""

    storage: TensorStorage | None  # None: one without values of its own, quantised, sparse or on the meta device
    dtype: torch.dtype | None
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    kind: str = ""  # of one without values: "sparse", "meta", "distributed", or the library that quantised it or whose class it has


@dataclass(frozen=True)
class PlainArray:
    """An array of NumPy's as a pickle holds it, numbers and all."""

    shape: tuple[int, ...]
    dtype: np.dtype
    order: str  # "C" or "F"
    data: bytes | bytearray


def stub_of_call(name: str, args: tuple[Any, ...]) -> ObjectStub:
    """What stands for what a harmless call would make; of NumPy, its types and its arrays are told."""
    stub = ObjectStub(name)
    if name == "numpy.dtype" and args and isinstance(args[0], str):
        stub.dtype_name = args[0]
    elif name.endswith("._frombuffer") and len(args) == 4:
        data, kind, shape, order = args
        stub.array, stub.names = plain_array(shape, kind, str(order), data), plain_texts(shape, kind, data)
    return stub


def plain_array(shape: Any, kind: Any, order: str, data: Any) -> PlainArray | None:
    """None, for one of other than numbers. Raises: ValueError, where it has not as many bytes as its shape says."""
    if (
        not isinstance(kind, ObjectStub)
        or not re.fullmatch(r"[biufc]\d{1,2}", kind.dtype_name)
        or not isinstance(data, bytes | bytearray)
    ):
        return None
    dtype = np.dtype(kind.byte_order + kind.dtype_name)
    if not are_tensor_sizes(shape) or math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError("an array of another size")
    return PlainArray(shape, dtype, order, data)


def plain_texts(shape: Any, kind: Any, data: Any) -> list[str] | None:
    """The texts of a flat array of NumPy's; None for one of anything else."""
    if not isinstance(kind, ObjectStub) or not are_tensor_sizes(shape) or len(shape) != 1:
        return None
    if isinstance(data, list):
        return data if kind.dtype_name.startswith("O") and all(isinstance(one, str) for one in data) else None
    if not re.fullmatch(r"U\d{1,4}", kind.dtype_name) or not isinstance(data, bytes | bytearray):
        return None
    dtype = np.dtype(kind.byte_order + kind.dtype_name)
    return list(map(str, np.frombuffer(data, dtype))) if dtype.itemsize * shape[0] == len(data) > 0 else None


def are_tensor_sizes(numbers: Any) -> bool:
    """Whether these are sides of a tensor that a file can hold."""
    return isinstance(numbers, tuple) and all(type(n) is int and 0 <= n < 2**62 for n in numbers)

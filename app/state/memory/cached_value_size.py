"""How many bytes of memory a value holds, buffer by buffer, so that what two values share can be counted once."""

import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

WEIGHTLESS_TYPES = (bool, int, float, complex, type(None), type, FunctionType, MethodType, BuiltinFunctionType, ModuleType)
SLOT_BYTES = 32  # bytes of a number in a list, with its place there


def bytes_by_buffer(value: Any) -> dict[int, int]:
    """Bytes by the identity of each buffer that a value holds: arrays, tensors, pictures, strings, and what holds these."""
    buffers: dict[int, int] = {}
    todo: list[Any] = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, WEIGHTLESS_TYPES) or id(one) in buffers:
            continue
        owner, size = _buffer(one)
        buffers[owner] = size
        buffers[id(one)] = buffers.get(id(one), 0)
        todo.extend(_children(one))
    return {owner: size for owner, size in buffers.items() if size}


def _buffer(one: Any) -> tuple[int, int]:
    """The identity of what owns a value's bytes, and how many they are."""
    if isinstance(one, str | bytes | bytearray):
        return id(one), sys.getsizeof(one)
    if hasattr(one, "untyped_storage"):  # a tensor
        storage = one.untyped_storage()
        return storage.data_ptr() or id(one), storage.nbytes()
    if hasattr(one, "__array_interface__") and hasattr(one, "base"):
        while getattr(one.base, "nbytes", 0) and hasattr(one.base, "__array_interface__"):
            one = one.base
        return id(one), one.nbytes
    if hasattr(one, "getbands") and hasattr(one, "size"):  # a picture of Pillow's: RGB takes 4 bytes a pixel
        bands = len(one.getbands())
        return id(one), one.size[0] * one.size[1] * (4 if bands > 1 else 1)
    if isinstance(one, list | tuple | set | frozenset | dict):
        return id(one), SLOT_BYTES * len(one)
    return id(one), 0


def _children(one: Any) -> Iterator[Any]:
    """What a value holds that may be large."""
    if isinstance(one, dict):
        yield from one.values()
    elif isinstance(one, list | tuple | set | frozenset):
        yield from one
    elif hasattr(one, "named_parameters"):  # a module; what is beside its weights is small
        yield from one.parameters()
        yield from one.buffers()
    elif is_dataclass(one) and not isinstance(one, type):
        yield from (getattr(one, field.name, None) for field in fields(one))
    elif not hasattr(one, "__array_interface__") and not hasattr(one, "untyped_storage"):
        yield from getattr(one, "__dict__", {}).values()

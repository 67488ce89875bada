"""Which layers are meant: one meaning of a selection of blocks wherever a caller names some, that of Python's own indices."""

from collections.abc import Iterable, Sized
from typing import Any

import numpy as np

Layers = int | slice | Iterable[int] | str  # a number, several, a slice, "all" or "last"


def layer_indices(layers: Any, block_count: int, what: str = "layers") -> tuple[int, ...]:
    """The layers that are meant, ascending, each once, of a model of so many blocks.

    A number, any iterable of numbers (of arrays and tensors their values), a slice, "last", or "all" or None; negative numbers
    are counted from the last. Raises: ValueError, for what is none of these, and for layers that there are not.
    """
    if isinstance(layers, slice):
        return tuple(sorted(range(block_count)[layers]))
    if layers is None or (isinstance(layers, str) and layers == "all"):
        return tuple(range(block_count))
    layers = -1 if isinstance(layers, str) and layers == "last" else layers
    numbers = {_layer_number(one, what) for one in (layers if _are_many(layers) else [layers])}
    if missing := ", ".join(str(number) for number in sorted(numbers) if not -block_count <= number < block_count):
        raise ValueError(f"{what} are from 0 to {block_count - 1}, or from -{block_count} to -1, not {missing}"[:300])
    return tuple(sorted({number % block_count for number in numbers}))


def layer_index(layer: Any, block_count: int, what: str = "layers") -> int:
    """The one layer that is meant; a negative number is counted from the last. Raises: ValueError."""
    return layer_indices((layer,), block_count, what)[0]


def has_any_layer(layers: Any) -> bool:
    """Whether any are meant: of a model without layers even these are too many."""
    return not (_are_many(layers) and isinstance(layers, Sized) and not len(layers))


def _are_many(given: Any) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, str | bytes) and getattr(given, "ndim", 1) != 0


def _layer_number(given: Any, what: str) -> int:
    """A whole number as it is given, numpy's and torch's, too. Raises: ValueError."""
    number = given.item() if getattr(given, "ndim", None) == 0 else given
    if not isinstance(number, int | np.integer) or isinstance(number, bool):
        raise ValueError(f'{what} are whole numbers, one or several, a slice, "all" or "last", not {given!r}'[:300])
    return int(number)

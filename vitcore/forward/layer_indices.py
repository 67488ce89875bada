"""Which layers are meant: one meaning of a selection of blocks wherever a caller names some, that of Python's own indices."""

from collections.abc import Iterable, Sized
from typing import Any

import numpy as np

Layers = int | slice | Iterable[int] | str  # a number, several, a slice, "all" or "last"


def layer_indices(given: Any, blocks: int, what: str = "layers") -> tuple[int, ...]:
    """The layers that are meant, ascending, each once, of a model of so many blocks.

    A number, any iterable of numbers (of arrays and tensors their values), a slice, "last", or "all" or None; negative numbers
    are counted from the last. Raises: ValueError, for what is none of these, and for layers that there are not.
    """
    if isinstance(given, slice):
        return tuple(sorted(range(blocks)[given]))
    if given is None or (isinstance(given, str) and given == "all"):
        return tuple(range(blocks))
    given = -1 if isinstance(given, str) and given == "last" else given
    numbers = {_layer_number(one, what) for one in (given if _are_many(given) else [given])}
    if missing := sorted(number for number in numbers if not -blocks <= number < blocks):
        raise ValueError(f"{what} are from 0 to {blocks - 1}, or from -{blocks} to -1, not {', '.join(map(str, missing))}"[:300])
    return tuple(sorted({number % blocks for number in numbers}))


def layer_index(given: Any, blocks: int, what: str = "layers") -> int:
    """The one layer that is meant; a negative number is counted from the last. Raises: ValueError."""
    return layer_indices((given,), blocks, what)[0]


def are_layers_named(given: Any) -> bool:
    """Whether any are meant: of a model without layers even these are too many."""
    return not (_are_many(given) and isinstance(given, Sized) and not len(given))


def _are_many(given: Any) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, str | bytes) and getattr(given, "ndim", 1) != 0


def _layer_number(given: Any, what: str) -> int:
    """A whole number as it is given, numpy's and torch's, too. Raises: ValueError."""
    number = given.item() if getattr(given, "ndim", None) == 0 else given
    if not isinstance(number, int | np.integer) or isinstance(number, bool):
        raise ValueError(f'{what} are whole numbers, one or several, a slice, "all" or "last", not {given!r}'[:300])
    return int(number)

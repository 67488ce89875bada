"""Numbers as files: NPZ, and CSV as one long table of array name, indices by name, value and unit, whatever the arrays' shapes.

NumPy is imported where arrays are written: the shell's verbs are listed without it.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

UNNAMED = tuple("ijklmn")  # the axes of an array that has no others
VARIANT = re.compile(r"(_(a|b|before|after|own|other))+$")  # of two models, two passes, two photos: the same axes
FROM_ONE = {"component"}  # counted from 1, as the field and the pages number principal components; all else counts from 0
UNITS = {"px": "px", "percent": "%", "mb": "MB", "per_s": "1/s"}  # by the end of an array's name
UNITS_OF_ARRAYS = {
    **dict.fromkeys(("rollout", "build_up", "attention", "class_attention"), "share of the total"),
    **dict.fromkeys(("logits", "drop_of_logit", "integrated_gradients"), "logits"),
}  # fmt: skip
ARRAYS_OF_AXES = {
    "layer head": "distance_px distance_renormalised_px prefix_share heads_off drop_of_logit",
    "row column": "rollout gradient_rollout chefer integrated_gradients grad_cam class_attention attention map difference "
                  "patches answer",
    "layer row column": "build_up share_of_squares", "head row column": "attention",
    "layer patch": "outliers times", "layer token": "norms", "layer": "attention_off mlp_off cuts",
    "layer tokens": "logit_difference share",
    "layer_of_a layer_of_b": "cka", "class": "logits", "true_class answered_class": "confusion", "patch": "covered votes",
    "patch y x colour": "patches", "patch dimension": "embeddings", "component": "variance", "component y x colour": "components",
    "photo patch colour": "colours", "photo patch": "first_component", "head patch": "by_offset",
    "position other_position": "cosine", "other_position": "cosine",
}  # fmt: skip
AXES = {(name, len(axes.split())): tuple(axes.split()) for axes, names in ARRAYS_OF_AXES.items() for name in names.split()}


def _axis_names(array: str, ndim: int) -> tuple[str, ...]:
    """What the indices of an array of this name count, such as layer and head; i, j, k, l where nobody knows."""
    return AXES.get((VARIANT.sub("", array), ndim), UNNAMED[:ndim])


def _value_unit(array: str, ndim: int) -> str:
    """The unit of the array of this name, or the one that the name ends with, as of distance_px; empty where nobody knows."""
    stem = VARIANT.sub("", array)
    if (stem, ndim) in AXES and stem in UNITS_OF_ARRAYS:
        return UNITS_OF_ARRAYS[stem]
    return next((unit for end, unit in UNITS.items() if stem.endswith(f"_{end}")), "")


def to_csv(arrays: Mapping[str, ArrayLike]) -> bytes:
    """Every number of every array as a row: the array's name, a column for each index, the value, its unit if any has one.

    An index is named for what it counts, such as layer and head, and counts from 0, a component (`FROM_ONE`) from 1. It is
    empty in rows of arrays without it.
    """
    import numpy as np

    given = {name: np.asarray(values) for name, values in arrays.items()}
    axes = {name: _axis_names(name, values.ndim) for name, values in given.items()}
    columns = list(dict.fromkeys(axis for named in axes.values() for axis in named))
    units = {name: _value_unit(name, values.ndim) for name, values in given.items()}
    has_units = any(units.values())
    file = io.StringIO()
    out = csv.writer(file, lineterminator="\n")
    out.writerow(["array", *columns, "value", *["unit"] * has_units])
    for name, values in given.items():
        places = [axes[name].index(column) if column in axes[name] else None for column in columns]
        for index, value in np.ndenumerate(values):
            numbers = [number + (axis in FROM_ONE) for number, axis in zip(index, axes[name], strict=True)]
            indices = ["" if place is None else numbers[place] for place in places]
            written = f"{value:.7g}" if values.dtype.kind == "f" else value
            out.writerow([name, *indices, written, *[units[name]] * has_units])
    return file.getvalue().encode()


def to_npz(arrays: Mapping[str, ArrayLike]) -> bytes:
    """The arrays, by name, as the bytes of one compressed NPZ file."""
    import numpy as np

    file = io.BytesIO()
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def table_as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]], made_by: str) -> str:
    """A table below what made it."""
    file = io.StringIO()
    file.write(f"# {made_by}\n")
    out = csv.writer(file, lineterminator="\n")
    out.writerow(columns)
    out.writerows(rows)
    return file.getvalue()


def rows_of_csv(text: str) -> Iterator[dict[str, str]]:
    """The rows of such a table, each by its columns."""
    return csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))


def number_for_csv(value: float) -> str:
    """To four places; "" for what is not defined."""
    return "" if math.isnan(value) else f"{value:.4f}"

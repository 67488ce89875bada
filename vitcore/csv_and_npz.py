"""Numbers as files: NPZ, and CSV as one long table of array name, indices and value, whatever the arrays' shapes."""

import csv
import io
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike


def to_csv(arrays: Mapping[str, ArrayLike]) -> bytes:
    """Every number of every array as a row: name, up to four indices from 0, value."""
    file = io.StringIO()
    out = csv.writer(file, lineterminator="\n")
    out.writerow(["array", "i", "j", "k", "l", "value"])
    for name, given in arrays.items():
        values = np.asarray(given)
        for index, value in np.ndenumerate(values):
            out.writerow([name, *index, *[""] * (4 - len(index)), f"{value:.7g}" if values.dtype.kind == "f" else value])
    return file.getvalue().encode()


def to_npz(arrays: Mapping[str, ArrayLike]) -> bytes:
    """The arrays, by name, as the bytes of one compressed NPZ file."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()
